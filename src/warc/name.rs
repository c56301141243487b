//! Names of archive files: `PREFIX-YYYYMMDDhhmmssSSS-SERIAL-HOST.warc.gz` or `.warc.zst`, and what goes with it.

use super::date::digits17;
use super::error::WarcError;
use super::member::Compression;
use crate::base::time::UnixMillis;

const CDXJ: &str = ".cdxj";
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
    pub fn warc_name(&self, at: UnixMillis, serial: u32, compression: Compression) -> String {
        format!("{}-{}-{serial:05}-{}{}", self.prefix, digits17(at), self.host, compression.ending())
    }

    /// The serial number in a name of this series, open or closed, WARC or CDXJ; `None` for any other file.
    pub fn serial_of(&self, name: &str) -> Option<u32> {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        let stem = stem(name).or_else(|| name.strip_suffix(CDXJ))?;
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
    let named = cleaned.contains(|c: char| c.is_ascii_alphanumeric());
    if named { Ok(cleaned) } else { Err(WarcError::BadName { what, value: value.to_owned() }) }
}

/// Whether a final name is that of a WARC.
pub fn is_warc(name: &str) -> bool {
    Compression::of(name).is_some()
}

/// `x` of `x.warc.gz` and `x.warc.zst`.
fn stem(warc: &str) -> Option<&str> {
    warc.strip_suffix(Compression::of(warc)?.ending())
}

/// `x.warc.gz` or `x.warc.zst` to `x.cdxj`.
pub fn cdxj_name(warc: &str) -> String {
    format!("{}{CDXJ}", stem(warc).unwrap_or(warc))
}

/// The names that the WARC of an index may have.
pub fn warc_names(cdxj: &str) -> [String; 2] {
    let stem = cdxj.strip_suffix(CDXJ).unwrap_or(cdxj);
    Compression::BOTH.map(|one| format!("{stem}{}", one.ending()))
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
        let stem = "LYCOSA-20240506070809012-00007-crawler-1.example.org";
        let names = Compression::BOTH.map(|one| series.warc_name(UnixMillis(1_714_979_289_012), 7, one));
        assert_eq!(names, [format!("{stem}.warc.gz"), format!("{stem}.warc.zst")]);
        for name in &names {
            assert!(is_warc(name) && !is_warc(&open_name(name)) && !is_warc(&cdxj_name(name)));
            assert_eq!(cdxj_name(name), format!("{stem}.cdxj"));
            for own in [name.clone(), open_name(name), cdxj_name(name), open_name(&cdxj_name(name))] {
                assert_eq!(series.serial_of(&own), Some(7), "{own}");
            }
            assert_eq!(closed_name(&open_name(name)), Some(name.as_str()));
            assert_eq!(warc_names(&cdxj_name(name)), names);
        }
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
            "LYCOSA-20240506070809012-00007-h.zst",
            "notes.txt",
            "",
        ] {
            assert_eq!(series.serial_of(other), None, "{other}");
        }
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        let series = Series::new("../a-b/c", "h/../x y").unwrap();
        let name = series.warc_name(UnixMillis(0), 1, Compression::Gzip(1));
        assert_eq!(name, "_a_b_c-19700101000000000-00001-h_.._x_y.warc.gz");
        assert!(matches!(Series::new("...", "h"), Err(WarcError::BadName { .. })));
        assert!(matches!(Series::new("p", ""), Err(WarcError::BadName { .. })));
    }
}
