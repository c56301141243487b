//! Which robots.txt was in force when a page was fetched: the newest capture of it of that moment or before, looked up in the indexes of the
//! archive. Nothing is read whole but the index of an open file, whose lines are not sorted yet.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::date::digits14;
use super::name::{cdxj_name, closed_name, open_name};
use super::surt::surt;
use crate::base::time::UnixMillis;

/// Path of robots.txt.
const PATH: &str = "/robots.txt";
/// Of so many pairs of a robots.txt and an index is remembered what the one has of the other.
const REMEMBERED: usize = 1_000_000;
/// Bytes read at a time: a few lines.
const PIECE: usize = 2 << 10;

/// A capture of a robots.txt: the place of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RobotsPlace {
    /// Its archive file, by its final name.
    pub file: String,
    /// Its first byte in that file.
    pub offset: u64,
    /// HTTP status of the answer; none where the index knows none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
}

/// A line of an index, as far as it is needed.
#[derive(Deserialize)]
struct Line<'l> {
    url: String,
    status: &'l str,
    offset: &'l str,
    filename: &'l str,
}

/// When a robots.txt was captured, with 14 digits, and where it is.
type Captured = (String, RobotsPlace);

/// The captures of robots.txt in an archive.
pub struct RobotsCaptures {
    dir: PathBuf,
    /// Final names of all indexes, in the order of time.
    indexes: Vec<String>,
    /// By index that is still open: the captures in it, by URL, as they stand there.
    open: RefCell<HashMap<String, HashMap<String, Vec<Captured>>>>,
    /// By URL: its captures in each index that was asked.
    known: RefCell<HashMap<String, Vec<Option<Vec<Captured>>>>>,
}

impl RobotsCaptures {
    /// Of the archive in a folder; without indexes, or without the folder, none are known.
    ///
    /// # Errors
    /// The system's own.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        let mut indexes = Vec::new();
        for entry in entries.into_iter().flatten() {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let name = closed_name(&name).map_or(name.clone(), str::to_owned);
            if name.ends_with(".cdxj") && !indexes.contains(&name) {
                indexes.push(name);
            }
        }
        indexes.sort();
        Ok(Self { dir: dir.to_owned(), indexes, open: RefCell::default(), known: RefCell::default() })
    }

    /// The newest capture of `url`, a robots.txt, that was made at this moment or before (to the second), and stands in the archive file
    /// `file` or in an older one; in any when none is named.
    ///
    /// # Errors
    /// An index that cannot be read.
    pub fn in_force(&self, url: &str, at: UnixMillis, file: Option<&str>) -> io::Result<Option<RobotsPlace>> {
        let at = digits14(at);
        let named = file.and_then(|file| self.indexes.binary_search(&cdxj_name(file)).ok());
        let upto = named.map_or(self.indexes.len(), |nth| nth + 1);
        let mut known = self.known.borrow_mut();
        if known.len().saturating_mul(self.indexes.len()) >= REMEMBERED {
            known.clear();
        }
        let known = known.entry(url.to_owned()).or_insert_with(|| vec![None; self.indexes.len()]);
        for (index, slot) in self.indexes.iter().zip(known).take(upto).rev() {
            let all = match slot {
                Some(all) => all,
                None => slot.insert(self.captures_in(index, url)?),
            };
            if let Some((_, place)) = all.iter().filter(|(time, _)| *time <= at).max_by(|a, b| a.0.cmp(&b.0)) {
                return Ok(Some(place.clone()));
            }
        }
        Ok(None)
    }

    /// The captures of it in an index.
    fn captures_in(&self, index: &str, url: &str) -> io::Result<Vec<Captured>> {
        let file = match File::open(self.dir.join(index)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let mut open = self.open.borrow_mut();
                let all = match open.get(index) {
                    Some(all) => all,
                    None => open.entry(index.to_owned()).or_insert(captures(&self.dir.join(open_name(index)))?),
                };
                return Ok(all.get(url).cloned().unwrap_or_default());
            }
            file => file?,
        };
        let key = format!("{} ", surt(url));
        let mut lines = BufReader::with_capacity(PIECE, file);
        seek_to(&mut lines, key.as_bytes())?;
        let (mut line, mut found) = (Vec::new(), Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 && line.starts_with(key.as_bytes()) {
            found.extend(captured(&line).filter(|(of, _)| of == url).map(|(_, captured)| captured));
            line.clear();
        }
        Ok(found)
    }
}

/// All that an index has of robots.txt, by URL; nothing of one that is gone.
fn captures(path: &Path) -> io::Result<HashMap<String, Vec<Captured>>> {
    let mut all: HashMap<String, Vec<Captured>> = HashMap::new();
    let mut lines = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(all),
        file => BufReader::new(file?),
    };
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some((url, captured)) = captured(&line).filter(|(url, _)| url.ends_with(PATH)) {
            all.entry(url).or_default().push(captured);
        }
        line.clear();
    }
    Ok(all)
}

/// URL, time and place that a line tells.
fn captured(line: &[u8]) -> Option<(String, Captured)> {
    let mut parts = std::str::from_utf8(line).ok()?.splitn(3, ' ');
    let (_, time, json) = (parts.next()?, parts.next()?, parts.next()?);
    let line: Line<'_> = serde_json::from_str(json).ok()?;
    let (file, offset, status) = (line.filename.to_owned(), line.offset.parse().ok()?, line.status.parse().ok());
    Some((line.url, (time.to_owned(), RobotsPlace { file, offset, status })))
}

/// Goes to the first line of a sorted file that is not before `wanted`.
fn seek_to(lines: &mut (impl BufRead + Seek), wanted: &[u8]) -> io::Result<()> {
    let (mut low, mut high) = (0, lines.seek(SeekFrom::End(0))?);
    let mut line = Vec::new();
    // Each line that begins before `low` is before it; the first that begins at `high` or behind is not.
    while low < high {
        let middle = low + (high - low) / 2;
        let mut begin = low;
        line.clear();
        if middle > low {
            lines.seek(SeekFrom::Start(middle - 1))?;
            begin = middle - 1 + lines.read_until(b'\n', &mut line)? as u64;
            line.clear();
        } else {
            lines.seek(SeekFrom::Start(low))?;
        }
        if begin >= high {
            high = middle;
            continue;
        }
        lines.read_until(b'\n', &mut line)?;
        if &*line < wanted { low = begin + line.len() as u64 } else { high = middle }
    }
    lines.seek(SeekFrom::Start(low)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `KEY TIME {…}` of a capture.
    fn line(url: &str, second: u64, file: &str, offset: u64) -> String {
        let time = digits14(UnixMillis(second * 1_000));
        let json = serde_json::json!({ "url": url, "mime": "text/plain", "status": "200", "digest": "sha1:A", "length": "9",
            "offset": offset.to_string(), "filename": file });
        format!("{} {time} {json}\n", surt(url))
    }

    #[test]
    fn the_newest_capture_of_a_moment_or_before_is_found_in_sorted_and_in_open_indexes() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, secure, www) =
            ("http://h.test/robots.txt", "https://h.test/robots.txt", "http://www.h.test/robots.txt");
        // Others stand around them, so that each is sought among many.
        let others =
            |file: &str| (0..500).map(|n| line(&format!("http://h{n}.test/page/{n}"), 5, file, n)).collect::<Vec<_>>();
        let mut first = others("1.warc.gz");
        first.extend([
            line(plain, 10, "1.warc.gz", 10),
            line(plain, 20, "1.warc.gz", 20),
            line(secure, 15, "1.warc.gz", 15),
        ]);
        first.sort();
        let mut second = others("2.warc.gz");
        second.push(line(www, 30, "2.warc.gz", 30));
        second.sort();
        let open = [line(plain, 40, "3.warc.gz", 40), line("http://a.test/", 41, "3.warc.gz", 41), "torn".into()];
        for (name, lines) in [("1.cdxj", first.concat()), ("2.cdxj", second.concat()), ("3.cdxj.open", open.concat())] {
            fs::write(dir.path().join(name), lines).unwrap();
        }
        let captures = RobotsCaptures::of(dir.path()).unwrap();
        for (url, second, file, expected) in [
            (plain, 9, Some("1.warc.gz"), None),
            (plain, 10, Some("1.warc.gz"), Some(10)),
            (plain, 25, Some("2.warc.gz"), Some(20)),
            (plain, 15, Some("2.warc.gz"), Some(10)),
            (secure, 39, Some("2.warc.gz"), Some(15)),
            (www, 29, Some("2.warc.gz"), None),
            (www, 31, Some("2.warc.gz"), Some(30)),
            (plain, 39, Some("3.warc.gz"), Some(20)),
            (plain, 45, Some("3.warc.gz"), Some(40)),
            (plain, 45, None, Some(40)),
            (plain, 12, Some("1.warc.gz"), Some(10)),
            ("http://none.test/robots.txt", 45, None, None),
        ] {
            // Whatever was asked before.
            for captures in [&captures, &RobotsCaptures::of(dir.path()).unwrap()] {
                let found = captures.in_force(url, UnixMillis(second * 1_000), file).unwrap();
                assert_eq!(found.map(|place| place.offset), expected, "{url} {second} {file:?}");
            }
        }
    }

    #[test]
    fn an_archive_without_indexes_and_one_that_was_moved_away_have_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(RobotsCaptures::of(&dir.path().join("away")).unwrap().indexes.is_empty());
        assert_eq!(
            RobotsCaptures::of(dir.path()).unwrap().in_force("http://h.test/robots.txt", UnixMillis(1), None).unwrap(),
            None
        );
    }
}
