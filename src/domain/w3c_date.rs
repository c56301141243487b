//! Dates as sitemaps have them (W3C-DTF, a profile of ISO 8601): `1997`, `1997-07`, `1997-07-16`, `1997-07-16T19:20+01:00`,
//! `1997-07-16T19:20:30Z`, `1997-07-16T19:20:30.45+01:00`. In the field also with a blank for `T`, and without a zone.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use crate::base::time::UnixMillis;

/// The moment a text names, the earliest of a year, month or day; without a zone that of UTC. `None` for what is no date, and
/// for one before 1970.
pub fn w3c_date(text: &str) -> Option<UnixMillis> {
    let (date, rest) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let (time, zone) = split_zone(rest.trim());
    let moment = DateTime::from_parts(day(date)?, if time.is_empty() { Time::midnight() } else { clock(time)? });
    let moment = offset(zone)?.to_timestamp(moment).ok()?;
    u64::try_from(moment.as_millisecond()).ok().map(UnixMillis)
}

fn day(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?;
    let (month, day) = (parts.next().unwrap_or("01"), parts.next().unwrap_or("01"));
    let two = month.len() == 2 && day.len() == 2 && parts.next().is_none();
    if !two {
        return None;
    }
    Date::new(number(year)?, number(month)?, number(day)?).ok()
}

/// What stands before and after the sign of the zone, which stays with it.
fn split_zone(text: &str) -> (&str, &str) {
    let at = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// Hours, minutes and perhaps seconds; parts of a second are left out.
fn clock(text: &str) -> Option<Time> {
    let mut parts = text.trim().split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = parts.next().unwrap_or("0").split(['.', ',']).next()?;
    let leap = |second: i8| if second == 60 { 59 } else { second };
    Time::new(hour, minute, leap(number(seconds)?), 0).ok()
}

fn offset(zone: &str) -> Option<Offset> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return Some(Offset::UTC),
        Some('-') => -1,
        Some(_) => 1,
    };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = (digits.get(..2)?, digits.get(2..4).unwrap_or("00"));
    let seconds = number::<i32>(hours)? * 3_600 + number::<i32>(minutes)? * 60;
    Offset::from_seconds(sign * seconds).ok()
}

/// A number of digits only.
fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    #[test]
    fn dates_are_those_of_the_note_of_the_w3c_and_what_the_field_makes_of_them() {
        check(include_str!("../../tests/data/sitemap/dates.txt"), |[text]| {
            [w3c_date(text).map_or("-".to_owned(), |at| (at.0 / 1_000).to_string())]
        });
        assert_eq!(w3c_date(""), None);
    }
}
