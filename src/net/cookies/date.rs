//! Dates of cookies, which come in every form (RFC 6265 section 5.1.1).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::base::time::UnixMillis;

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// The moment that a date means; before 1970 it is that year's beginning. None for what is no date.
pub(super) fn parse(text: &[u8]) -> Option<UnixMillis> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|b| is_delimiter(*b)).filter(|token| !token.is_empty()) {
        if time.is_none() && clock(token).is_some() {
            time = clock(token);
        } else if day.is_none() && number(token, 1, 2).is_some() {
            day = number(token, 1, 2);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() && number(token, 2, 4).is_some() {
            year = number(token, 2, 4);
        }
    }
    let ((hour, minute, second), day, month) = (time?, i8::try_from(day?).ok()?, month?);
    let year = match i16::try_from(year?).ok()? {
        year @ 70..=99 => 1900 + year,
        year @ 0..=69 => 2000 + year,
        year @ 1601.. => year,
        _ => return None,
    };
    let date = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    let at = date.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp().as_millisecond();
    Some(UnixMillis(u64::try_from(at).unwrap_or(0)))
}

fn is_delimiter(b: u8) -> bool {
    matches!(b, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number of `least` to `most` digits that a token begins with; no further digit may follow.
fn number(token: &[u8], least: usize, most: usize) -> Option<u32> {
    let digits = token.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = token.get(..digits).filter(|_| (least..=most).contains(&digits))?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `h:m:s`, each of one or two digits; anything but a digit may follow.
fn clock(token: &[u8]) -> Option<(i8, i8, i8)> {
    let mut parts = token.splitn(3, |b| *b == b':');
    let mut part = |whole: bool| {
        let text = parts.next()?;
        let all = text.iter().all(u8::is_ascii_digit);
        i8::try_from(number(text, 1, 2).filter(|_| all || !whole)?).ok()
    };
    let (hour, minute, second) = (part(true)?, part(true)?, part(false)?);
    (hour <= 23 && minute <= 59 && second <= 59).then_some((hour, minute, second))
}

fn month_of(token: &[u8]) -> Option<i8> {
    let name = token.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| *month == name)?;
    i8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_form_are_read() {
        let at = Some(UnixMillis(784_111_777_000));
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 nov 1994 8:49:37",
            "1994 6 NOVEMBER 08:49:37.5 +0200",
            "08:49:37 6-Nov-1994",
        ] {
            assert_eq!(parse(text.as_bytes()), at, "{text}");
        }
        assert_eq!(parse(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(UnixMillis(0)));
        assert_eq!(parse(b"Mon, 01 Jan 1900 00:00:00 GMT"), Some(UnixMillis(0)));
        assert_eq!(parse(b"Tue, 19 Jan 2038 03:14:07 GMT"), Some(UnixMillis(2_147_483_647_000)));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "tomorrow",
            "Sun, 06 Nov 1994",
            "06 Nov 1994 24:00:00",
            "31 Feb 2030 00:00:00",
            "06 Nov 1600 00:00:00",
            "06 Now 1994 08:49:37",
            "006 Nov 94 08:49:37",
            "06 Nov 19945 08:49:37",
            "06 Nov 1994 08:49",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
