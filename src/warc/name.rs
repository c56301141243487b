//! Names of archive files: `PREFIX-YYYYMMDDhhmmssSSS-SERIAL-HOST.warc.gz` and what goes with it.

use super::date::digits17;
use super::error::WarcError;
use crate::base::time::UnixMillis;

const WARC: &str = ".warc.gz";
const OPEN: &str = ".open";

/// The parts of names that stay the same: who writes. Files of other writers in the same folder are never touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    prefix: String,
    host: String,
}

impl Series {
    /// Characters other than letters, digits, `.` and `_` become `_` in the prefix, `-` too; in the host `-` may stay.
    ///
    /// # Errors
    /// [`WarcError::BadName`] when no letter or digit is left.
    pub fn new(prefix: &str, host: &str) -> Result<Self, WarcError> {
        let prefix = clean("the prefix", prefix, "._")?;
        let host = clean("the host name", host, "._-")?;
        Ok(Self { prefix, host })
    }

    /// The final name of a WARC.
    pub fn warc_name(&self, at: UnixMillis, serial: u32) -> String {
        format!("{}-{}-{serial:05}-{}{WARC}", self.prefix, digits17(at), self.host)
    }

    /// The serial number in a name of this series, open or closed, WARC or CDXJ; `None` for any other file.
    pub fn serial_of(&self, name: &str) -> Option<u32> {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        let stem = name.strip_suffix(WARC).or_else(|| name.strip_suffix(".cdxj"))?;
        let rest = stem.strip_prefix(&self.prefix)?.strip_prefix('-')?;
        let rest = rest.strip_suffix(&self.host)?.strip_suffix('-')?;
        let (time, serial) = rest.split_once('-')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (time.len() == 17 && digits(time) && digits(serial)).then(|| serial.parse().ok()).flatten()
    }
}

fn clean(what: &'static str, value: &str, also: &str) -> Result<String, WarcError> {
    let good = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    let cleaned: String = value.chars().take(64).map(|c| if good(c) { c } else { '_' }).collect();
    let cleaned = cleaned.trim_start_matches(['.', '-']).to_owned();
    if cleaned.contains(|c: char| c.is_ascii_alphanumeric()) {
        Ok(cleaned)
    } else {
        Err(WarcError::BadName { what, value: value.to_owned() })
    }
}

/// `x.warc.gz` to `x.cdxj`.
pub fn cdxj_name(warc: &str) -> String {
    format!("{}.cdxj", warc.strip_suffix(WARC).unwrap_or(warc))
}

/// The name a file has while it is written.
pub fn open_name(name: &str) -> String {
    format!("{name}{OPEN}")
}

/// The final name of an open file; `None` when it is not open.
pub fn closed_name(open: &str) -> Option<&str> {
    open.strip_suffix(OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_writer_time_and_serial() {
        let series = Series::new("LYCOSA", "crawler-1.example.org").unwrap();
        let name = series.warc_name(UnixMillis(1_714_979_289_012), 7);
        assert_eq!(name, "LYCOSA-20240506070809012-00007-crawler-1.example.org.warc.gz");
        assert_eq!(cdxj_name(&name), "LYCOSA-20240506070809012-00007-crawler-1.example.org.cdxj");
        for own in [name.clone(), open_name(&name), cdxj_name(&name), open_name(&cdxj_name(&name))] {
            assert_eq!(series.serial_of(&own), Some(7), "{own}");
        }
        assert_eq!(closed_name(&open_name(&name)), Some(name.as_str()));
    }

    #[test]
    fn files_of_other_writers_are_not_of_the_series() {
        let series = Series::new("LYCOSA", "h").unwrap();
        for other in [
            "OTHER-20240506070809012-00007-h.warc.gz",
            "LYCOSA-20240506070809012-00007-other.warc.gz",
            "LYCOSA-2024-00007-h.warc.gz",
            "LYCOSA-20240506070809012-x-h.warc.gz",
            "LYCOSA-20240506070809012-00007-h.warc",
            "notes.txt",
            "",
        ] {
            assert_eq!(series.serial_of(other), None, "{other}");
        }
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        let series = Series::new("../a-b/c", "h/../x y").unwrap();
        assert_eq!(series.warc_name(UnixMillis(0), 1), "_a_b_c-19700101000000000-00001-h_.._x_y.warc.gz");
        assert!(matches!(Series::new("...", "h"), Err(WarcError::BadName { .. })));
        assert!(matches!(Series::new("p", ""), Err(WarcError::BadName { .. })));
    }
}
