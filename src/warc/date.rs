//! The three ways archives write a moment, all UTC.

use jiff::Timestamp;

use crate::base::time::{UnixMillis, millis};
use crate::base::units::parse_duration;

/// Last moment that four-digit years can write; later ones are written as this one.
const LATEST: u64 = 253_402_207_200_000; // 9999-12-30T22:00:00Z, the last that jiff knows

fn moment(at: UnixMillis) -> Timestamp {
    let ms = i64::try_from(at.0.min(LATEST)).unwrap_or(0);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `2024-05-06T07:08:09.012Z`: WARC-Date with milliseconds (WARC 1.1, section 5.4) and the `ts` of `crawl.jsonl`.
pub fn iso(at: UnixMillis) -> String {
    format!("{:.3}", moment(at))
}

/// `20240506070809`: the 14 digits of CDXJ.
pub fn digits14(at: UnixMillis) -> String {
    moment(at).strftime("%Y%m%d%H%M%S").to_string()
}

/// `20240506070809012`: the 17 digits of a WARC's file name.
pub fn digits17(at: UnixMillis) -> String {
    moment(at).strftime("%Y%m%d%H%M%S%3f").to_string()
}

/// Reads a WARC-Date, with or without a fraction. `None` for anything else, and for moments before 1970.
pub fn parse_iso(text: &str) -> Option<UnixMillis> {
    if text.len() > 40 {
        return None;
    }
    let stamp: Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond()).ok().map(UnixMillis)
}

/// What people may type for a moment.
pub const MOMENT: &str = "milliseconds since 1970, a time such as 2026-11-28T12:00:00Z, a day such as 2026-11-28 (UTC), or how long ago such as 2h";

/// Reads a moment as people type it ([`MOMENT`]).
pub fn typed_moment(text: &str, now: UnixMillis) -> Option<UnixMillis> {
    let ago = || parse_duration(text).ok().map(|ago| UnixMillis(now.0.saturating_sub(millis(ago))));
    let at = || parse_iso(text).or_else(|| parse_iso(&format!("{text}T00:00:00Z")));
    text.parse().ok().map(UnixMillis).or_else(ago).or_else(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_typed_as_a_number_a_time_a_day_or_how_long_ago() {
        let now = UnixMillis(1_714_979_289_012);
        for (text, at) in [
            ("17", Some(17)),
            ("2024-05-06T07:08:09Z", Some(1_714_979_289_000)),
            ("2024-05-06", Some(1_714_953_600_000)),
            ("2h", Some(1_714_979_289_012 - 7_200_000)),
            ("1000d", Some(1_714_979_289_012 - 86_400_000_000)),
            ("yesterday", None),
            ("2024-13-06", None),
            ("", None),
            ("-5", None),
        ] {
            assert_eq!(typed_moment(text, now), at.map(UnixMillis), "{text}");
        }
    }

    #[test]
    fn a_moment_is_written_in_all_three_forms() {
        let at = UnixMillis(1_714_979_289_012);
        assert_eq!(iso(at), "2024-05-06T07:08:09.012Z");
        assert_eq!(digits14(at), "20240506070809");
        assert_eq!(digits17(at), "20240506070809012");
    }

    #[test]
    fn a_moment_beyond_four_digit_years_is_written_as_the_last_one() {
        assert_eq!(iso(UnixMillis(u64::MAX)), iso(UnixMillis(LATEST)));
        assert!(iso(UnixMillis(LATEST)).starts_with("9999-12-"));
    }

    #[test]
    fn dates_of_other_writers_are_read_and_nonsense_is_not() {
        assert_eq!(parse_iso("1970-01-01T00:00:01Z"), Some(UnixMillis(1000)));
        assert_eq!(parse_iso("1970-01-01T00:00:01.123456789Z"), Some(UnixMillis(1123)));
        assert_eq!(parse_iso("yesterday"), None);
        assert_eq!(parse_iso("1960-01-01T00:00:00Z"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ms in 0..LATEST) {
            prop_assert_eq!(parse_iso(&iso(UnixMillis(ms))), Some(UnixMillis(ms)));
        }
    }
}
