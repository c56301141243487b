//! Durations (`"10s"`, `"1h 30m"`) and sizes (`"100MiB"`) in configuration files, with serde modules for both.

use std::time::Duration;

const DURATION_FORM: &str = "expected a duration such as \"500ms\", \"10s\", \"20m\", \"1h\" or \"30d\"";
const SIZE_FORM: &str = "expected a size such as 65536, \"64KiB\", \"100MiB\" or \"1GB\"";
const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Longest duration taken, a thousand years: sums with a moment stay far from any overflow.
const LONGEST: Duration = Duration::from_secs(1_000 * 365 * 86_400);

/// Reads a duration with its unit. A number without a unit is refused, `"0"` apart.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text.trim()) {
        Ok(read) if read <= LONGEST => Ok(read),
        Ok(_) | Err(humantime::DurationError::NumberOverflow) => {
            Err(format!("{text:?} is too long; at most {}", format_duration(LONGEST)))
        }
        Err(_) => Err(format!("{text:?} is no duration; {DURATION_FORM}")),
    }
}

/// Writes a duration in the largest unit that keeps it whole: `90s`, `20m`, `24h`, `30d`.
pub fn format_duration(d: Duration) -> String {
    let ms = d.as_millis();
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    for (unit, size) in units {
        let enough = if unit == "d" { 2 * size } else { size };
        if ms >= enough && ms.is_multiple_of(size) {
            return format!("{}{unit}", ms / size);
        }
    }
    if ms == 0 && d.is_zero() { "0s".to_owned() } else { format!("{ms}ms") }
}

/// A duration for people: `58 s`, `14 min`, `1 h 59 min`, `3 d 4 h`; rounded down.
pub fn roughly(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0 => "less than a second".into(),
        1..60 => format!("{s} s"),
        60..3_600 => format!("{} min", s / 60),
        3_600..86_400 => format!("{} h {} min", s / 3_600, s / 60 % 60),
        _ => format!("{} d {} h", s / 86_400, s / 3_600 % 24),
    }
}

/// `1 page`, `7 pages`: a number with what it counts, whose plural has an s.
pub fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Reads a size: a whole number of bytes, or a number with KB, MB, GB, TB (powers of 1,000) or KiB, MiB, GiB, TiB.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size; {SIZE_FORM}");
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = if unit.is_empty() { "B" } else { unit.trim() };
    let factor = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, f)| *f).ok_or_else(wrong)?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// Writes a size in the largest unit that keeps it whole: `100MiB`, `1GB`, `1500`.
pub fn format_size(bytes: u64) -> String {
    match SIZES.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor)) {
        Some((name, factor)) if *factor > 1 => format!("{}{name}", bytes / factor),
        _ => bytes.to_string(),
    }
}

/// Writes a size for people, rounded: `1.4 MiB`.
pub fn human_size(bytes: u64) -> String {
    match SIZES.iter().take(4).find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{:.1} {unit}", bytes as f64 / *factor as f64),
        None => format!("{bytes} B"),
    }
}

/// A value that serde reads from text with a unit.
pub(crate) trait Unit: Sized {
    const FORM: &'static str;
    fn read(text: &str) -> Result<Self, String>;
    fn whole(number: u64) -> Option<Self>;
    fn write(&self) -> String;
}

impl Unit for Duration {
    const FORM: &'static str = DURATION_FORM;
    fn read(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }
    fn whole(number: u64) -> Option<Self> {
        (number == 0).then_some(Duration::ZERO)
    }
    fn write(&self) -> String {
        format_duration(*self)
    }
}

impl Unit for u64 {
    const FORM: &'static str = SIZE_FORM;
    fn read(text: &str) -> Result<Self, String> {
        parse_size(text)
    }
    fn whole(number: u64) -> Option<Self> {
        Some(number)
    }
    fn write(&self) -> String {
        format_size(*self)
    }
}

struct Reader<T>(std::marker::PhantomData<T>);

impl<T: Unit> serde::de::Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(T::FORM.trim_start_matches("expected "))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        T::whole(number).ok_or_else(|| E::custom(format!("{number} has no unit; {}", T::FORM)))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(n) => self.visit_u64(n),
            Err(_) => Err(E::custom(format!("{number} is negative; {}", T::FORM))),
        }
    }
}

/// Text with a unit, for use inside `Option` and `Vec`.
pub(crate) struct Wrapped<T>(pub T);

impl<'de, T: Unit> serde::Deserialize<'de> for Wrapped<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Reader(std::marker::PhantomData)).map(Wrapped)
    }
}

/// `#[serde(with = "duration")]`: a duration with its unit; `#[serde(with = "size")]`: bytes, with or without a unit.
pub mod unit {
    use super::{Unit, Wrapped};

    pub(crate) fn serialize<T: Unit, S: serde::Serializer>(v: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&v.write())
    }

    pub(crate) fn deserialize<'de, T: Unit, D: serde::Deserializer<'de>>(d: D) -> Result<T, D::Error> {
        <Wrapped<T> as serde::Deserialize>::deserialize(d).map(|w| w.0)
    }
}
pub use unit as duration;
pub use unit as size;

/// The same for a value that may be absent.
pub mod optional_unit {
    use super::{Unit, Wrapped};

    pub(crate) fn serialize<T: Unit, S: serde::Serializer>(v: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&v.as_ref().map(Unit::write), s)
    }

    pub(crate) fn deserialize<'de, T: Unit, D: serde::Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
        <Option<Wrapped<T>> as serde::Deserialize>::deserialize(d).map(|o| o.map(|w| w.0))
    }
}
pub use optional_unit as optional_duration;
pub use optional_unit as optional_size;

/// A list of durations.
pub mod durations {
    use std::time::Duration;

    use super::{Unit, Wrapped};

    pub(crate) fn serialize<S: serde::Serializer>(v: &[Duration], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(v.iter().map(Unit::write))
    }

    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
        let list = <Vec<Wrapped<Duration>> as serde::Deserialize>::deserialize(d)?;
        Ok(list.into_iter().map(|w| w.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_in_both_systems_of_units() {
        let cases = [
            ("0", 0),
            ("1500", 1500),
            ("64KiB", 65_536),
            ("1GB", 1_000_000_000),
            ("10 GiB", 10 << 30),
            ("3 mb", 3_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1.5GB", "-1", "10 XB", "99999999999999TiB", "١MB"] {
            let error = parse_size(text).unwrap_err();
            assert!(error.contains("100MiB"), "{error}");
        }
    }

    #[test]
    fn a_duration_needs_its_unit_and_the_error_shows_the_form() {
        assert_eq!(parse_duration("20m"), Ok(Duration::from_secs(1_200)));
        for text in ["10", "soon", "", "-3s"] {
            assert!(parse_duration(text).unwrap_err().contains("\"10s\""), "{text}");
        }
        for text in ["1001y", "365001d", "99999999999999999999s", "9999999999999999y"] {
            assert!(parse_duration(text).unwrap_err().ends_with("is too long; at most 365000d"), "{text}");
        }
    }

    #[test]
    fn durations_are_written_in_the_largest_whole_unit() {
        let cases = [
            (0, "0s"),
            (250, "250ms"),
            (90_000, "90s"),
            (1_200_000, "20m"),
            (86_400_000, "24h"),
            (2_592_000_000, "30d"),
        ];
        for (ms, text) in cases {
            assert_eq!(format_duration(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn sizes_for_people_are_rounded_to_a_tenth() {
        assert_eq!(human_size(12), "12 B");
        assert_eq!(human_size(1_500), "1.5 KiB");
        assert_eq!(human_size(u64::MAX), "16777216.0 TiB");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: u64, ms in 0_u64..10_000_000_000_000) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
            let d = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&format_duration(d)), Ok(d));
        }
    }
}
