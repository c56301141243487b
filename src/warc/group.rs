//! The records of one capture as they lie in their file: response or revisit, then the request and metadata that are of it, in that order. What
//! copies them needs their lengths, and an index what the first says.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cdxj::CdxjEntry;
use super::date::parse_iso;
use super::pick::{PickError, opened_file};
use super::reader::{ReadError, WarcReader};
use super::scan::{Scanned, scan_next};
use crate::base::time::UnixMillis;

/// Records that are of a capture beside the first.
const OTHERS: usize = 4;
/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// The records of one capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Bytes of each as compressed, in their order; they follow each other.
    pub lengths: Vec<u64>,
    /// What an index says of the first.
    pub entry: CdxjEntry,
    /// When the capture was made that it refers to, if it is a revisit.
    pub refers_to: Option<UnixMillis>,
    /// What is wrong with its own that follow the last length, if anything is.
    pub damaged: Option<String>,
}

impl Group {
    /// Bytes of all of them.
    pub fn length(&self) -> u64 {
        self.lengths.iter().sum()
    }
}

/// The records of the capture that begins in `file` (its final name) of `dir` at `offset`, of which `until` bytes count; each is read to its
/// end, and its digests are checked.
///
/// # Errors
/// The first cannot be read, or is neither response nor revisit.
pub fn group_at(dir: &Path, file: &str, offset: u64, until: Option<u64>) -> Result<Group, PickError> {
    let damaged = |why: String| PickError::Damaged { file: file.to_owned(), offset, why };
    let open = || -> io::Result<WarcReader<BufReader<io::Take<File>>>> {
        let mut found = opened_file(dir, file)?;
        found.seek(SeekFrom::Start(offset))?;
        let left = found.take(until.map_or(u64::MAX, |until| until.saturating_sub(offset)));
        Ok(WarcReader::new(BufReader::with_capacity(PIECE, left), offset))
    };
    let mut reader = open().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => PickError::Gone(file.to_owned()),
        _ => damaged(e.to_string()),
    })?;
    let first = checked(scan_next(&mut reader)).map_err(damaged)?;
    let first = first.ok_or_else(|| damaged("the file ends before it".into()))?;
    let kind = || damaged(format!("it is a record of the type {:?}", first.header.kind()));
    let entry = first.cdxj_entry().ok_or_else(kind)?;
    let id = first.header.get("WARC-Record-ID");
    let refers_to = first.header.get("WARC-Refers-To-Date").and_then(parse_iso);
    let mut group = Group { lengths: vec![first.length], entry, refers_to, damaged: None };
    // Metadata are the last: what follows is of another capture, in whatever state it is.
    let mut is_whole = false;
    while !is_whole && group.lengths.len() <= OTHERS {
        match checked(scan_next(&mut reader)) {
            Ok(Some(next)) if id.is_some() && next.header.get("WARC-Concurrent-To") == id => {
                group.lengths.push(next.length);
                is_whole = next.header.kind() == "metadata";
            }
            Ok(_) => is_whole = true,
            Err(why) => {
                group.damaged = Some(format!("a record behind that in {file} at {offset}: {why}"));
                is_whole = true;
            }
        }
    }
    Ok(group)
}

fn checked(scanned: Result<Option<Scanned>, ReadError>) -> Result<Option<Scanned>, String> {
    let scanned = scanned.map_err(|e| e.to_string())?;
    if let Some(Err(why)) = scanned.as_ref().map(Scanned::check_digests) {
        return Err(why.to_string());
    }
    Ok(scanned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::tests::pages::Maker;

    #[test]
    fn a_record_that_is_damaged_is_missed_by_its_own_capture_and_by_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut maker = Maker::new(dir.path());
        let records: Vec<Vec<u8>> = (1..3)
            .flat_map(|n| maker.html(n).records().iter().map(|r| r.data.to_vec().unwrap()).collect::<Vec<_>>())
            .collect();
        let begin = |nth: usize| records.iter().take(nth).map(Vec::len).sum::<usize>();
        // Which of two captures of three records is damaged; how many the captures have then, and which say that one is missing.
        for (damaged, lengths, told) in [
            (6, [Some(3), Some(3)], [false, false]),
            (2, [Some(2), Some(3)], [true, false]),
            (3, [Some(3), None], [false, false]),
            (4, [Some(3), Some(1)], [false, true]),
        ] {
            let mut bytes = records.concat();
            if let Some(record) = records.get(damaged) {
                bytes[begin(damaged) + record.len() / 2] ^= 0x55;
            }
            std::fs::write(dir.path().join("a.warc.gz"), bytes).unwrap();
            let groups = [0, 3].map(|nth| group_at(dir.path(), "a.warc.gz", begin(nth) as u64, None).ok());
            let found = groups.each_ref().map(|group| group.as_ref().map(|group| group.lengths.len()));
            let missing = groups.each_ref().map(|group| group.as_ref().is_some_and(|group| group.damaged.is_some()));
            assert_eq!((found, missing), (lengths, told), "{damaged}");
        }
    }
}
