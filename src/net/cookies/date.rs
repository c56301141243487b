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
    use crate::domain::cases::{rows, unescaped};

    #[test]
    fn dates_of_every_form_are_read_and_what_is_no_date_is_none() {
        for row in rows(include_str!("../../../tests/data/http/dates.txt"), 2) {
            let want = row.cells[1].parse().ok().map(UnixMillis);
            assert_eq!(parse(&unescaped(row.cells[0])), want, "line {}: {}", row.line, row.text);
        }
    }
}
