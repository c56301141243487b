//! The cycle of a page, as it is written in settings: `off`, a duration, five fields of cron with a zone, or `adapt`.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use serde::{Deserialize, Serialize};

use super::interval::Pace;
use super::rate::Rate;
use crate::base::time::UnixMillis;
use crate::base::units::format_duration;

/// When a page is visited again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Cycle {
    /// Never.
    #[default]
    Off,
    /// So long after each visit.
    Every(Duration),
    /// At these times of a clock on the wall.
    At(Clock),
    /// As its rate of change deserves.
    Adapt,
}

/// Times as cron has them, in a zone.
#[derive(Clone, Debug)]
pub struct Clock {
    text: String,
    cron: Box<Cron>,
    zone: Tz,
}

impl Eq for Clock {}

impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Why a text is no cycle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum CycleError {
    #[error(
        "\"{0}\" is no cycle: write \"off\", \"adapt\", a duration such as \"6h\", or five fields of cron such as \"30 6 * * 1-5 Asia/Shanghai\""
    )]
    Unknown(String),
    #[error("a cycle of {0} is below one second")]
    Short(String),
    #[error("in the cycle \"{text}\" the fields of cron cannot be read: {why}")]
    Cron { text: String, why: String },
    #[error("in the cycle \"{text}\" no such time ever comes")]
    Never { text: String },
    #[error(
        "in the cycle \"{text}\" the zone \"{zone}\" is not known: write one such as Asia/Shanghai, Europe/Berlin, UTC"
    )]
    Zone { text: String, zone: String },
}

/// Fields of cron: minute, hour, day of the month, month, day of the week.
const FIELDS: usize = 5;

impl TryFrom<String> for Cycle {
    type Error = CycleError;

    fn try_from(text: String) -> Result<Self, CycleError> {
        text.parse()
    }
}

impl From<Cycle> for String {
    fn from(cycle: Cycle) -> Self {
        cycle.to_string()
    }
}

impl FromStr for Cycle {
    type Err = CycleError;

    fn from_str(text: &str) -> Result<Self, CycleError> {
        let text = text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        match *words.as_slice() {
            ["off"] => Ok(Self::Off),
            ["adapt"] => Ok(Self::Adapt),
            ref words => match humantime::parse_duration(text) {
                Ok(every) if every < Duration::from_secs(1) => Err(CycleError::Short(text.to_owned())),
                Ok(every) => Ok(Self::Every(every)),
                Err(_) if words.len() == FIELDS || words.len() == FIELDS + 1 => clock(text, words).map(Self::At),
                Err(_) => Err(CycleError::Unknown(text.to_owned())),
            },
        }
    }
}

fn clock(text: &str, words: &[&str]) -> Result<Clock, CycleError> {
    let own = || text.to_owned();
    let (fields, zone) = words.split_at(FIELDS);
    let zone = zone.first().copied().unwrap_or("UTC");
    let zone = zone.parse().map_err(|_| CycleError::Zone { text: own(), zone: zone.to_owned() })?;
    let cron = Cron::from_str(&fields.join(" ")).map_err(|e| CycleError::Cron { text: own(), why: e.to_string() })?;
    let clock = Clock { text: words.join(" "), cron: Box::new(cron), zone };
    clock.after(UnixMillis(0)).map(|_| clock).ok_or(CycleError::Never { text: own() })
}

impl Clock {
    /// The first of its times after a moment.
    pub fn after(&self, moment: UnixMillis) -> Option<UnixMillis> {
        let moment: DateTime<Utc> = DateTime::from_timestamp_millis(i64::try_from(moment.0).ok()?)?;
        let next = self.cron.find_next_occurrence(&moment.with_timezone(&self.zone), false).ok()?;
        u64::try_from(next.timestamp_millis()).ok().map(UnixMillis)
    }
}

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Every(every) => f.write_str(&format_duration(*every)),
            Self::At(clock) => f.write_str(&clock.text),
            Self::Adapt => f.write_str("adapt"),
        }
    }
}

impl Cycle {
    /// When a page comes next that was visited at `last`; none when it never does.
    pub fn next(
        &self,
        last: UnixMillis,
        (rate, weight): (Rate, f64),
        pace: &Pace,
        stretch: f64,
        key: &[u8],
    ) -> Option<UnixMillis> {
        match self {
            Self::Off => None,
            Self::Every(every) => Some(last.plus(Pace::fixed(*every, key))),
            Self::At(clock) => clock.after(last),
            Self::Adapt => Some(last.plus(pace.interval(rate, weight, stretch, key))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2027-01-01 and 2028-01-01.
    const YEAR: std::ops::Range<u64> = 1_798_761_600..1_830_297_600;

    fn times(cycle: &str) -> Vec<u64> {
        let Cycle::At(clock) = cycle.parse().unwrap() else { panic!("{cycle} is no clock") };
        let first = UnixMillis(YEAR.start * 1_000 - 1);
        let all = std::iter::successors(clock.after(first), |last| clock.after(*last));
        all.map(|at| at.0 / 1_000).take_while(|at| YEAR.contains(at)).collect()
    }

    #[test]
    fn times_of_a_clock_are_those_of_another_reader_of_cron_over_a_year() {
        for line in include_str!("../../../tests/data/cron.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split('|');
            let (cycle, count, some) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
            let found = times(cycle);
            assert_eq!(found.len(), count.parse::<usize>().unwrap(), "{cycle}");
            let some: Vec<u64> = some.split_whitespace().map(|at| at.parse().unwrap()).collect();
            let within = |at: &&u64| {
                (1_804_636_800..1_807_315_200).contains(*at) || (1_823_990_400..1_825_804_800).contains(*at)
            };
            assert_eq!(found.iter().filter(within).copied().collect::<Vec<_>>(), some, "{cycle}");
        }
    }

    #[test]
    fn a_time_that_a_day_has_twice_or_not_comes_once_that_day() {
        for cycle in ["15 2 * * * Europe/Berlin", "30 1 * * * America/New_York"] {
            assert_eq!(times(cycle).len(), 365, "{cycle}");
        }
    }

    #[test]
    fn a_cycle_is_written_as_it_is_read() {
        for text in ["off", "adapt", "6h", "36h", "45d", "400d", "90s", "30 6 * * 1-5 Asia/Shanghai", "*/10 * * * *"] {
            assert_eq!(text.parse::<Cycle>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("sometimes", "no cycle"),
            ("", "no cycle"),
            ("10ms", "below one second"),
            ("61 * * * *", "cannot be read"),
            ("0 0 30 2 *", "ever comes"),
            ("0 0 * * * Mars/Olympus", "Mars/Olympus"),
            ("1 2 3", "no cycle"),
        ] {
            let error = text.parse::<Cycle>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
