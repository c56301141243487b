//! Closed archive files copied elsewhere. What was copied and verified stands in `uploaded.jsonl`, and nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::Stored;
use super::place::{Place, put_verified};
use super::{CheckpointError, Result, files, make};
use crate::base::disk::own;
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::recovery::if_there;
use crate::warc::date::iso;

/// The list's name in the data folder.
pub const LIST: &str = "uploaded.jsonl";
/// The file of lines of a crawl.
pub const JSONL: &str = "crawl.jsonl";

/// A file that was copied and verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Line {
    pub file: String,
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
    pub to: String,
    pub ts: String,
}

/// The list of a data folder; a torn line, as a kill may leave one, is passed over: its file is copied again.
pub fn read_list(data: &Path) -> Result<BTreeMap<String, Line>> {
    let path = data.join(LIST);
    let text = if_there(fs::read(&path)).map_err(CheckpointError::io("read", &path))?;
    Ok(parse_list(&text.unwrap_or_default()))
}

/// The lines of such a list.
pub(in crate::recovery) fn parse_list(text: &[u8]) -> BTreeMap<String, Line> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    lines.map(|line| (line.file.clone(), line)).collect()
}

#[expect(missing_docs, reason = "each name says it")]
pub struct Uploads<'p> {
    pub data: PathBuf,
    pub warc_dir: PathBuf,
    pub place: &'p dyn Place,
    /// Remove what was copied.
    pub delete: bool,
}

impl Uploads<'_> {
    /// Closed files that are not on the list, in the order of their names.
    pub fn due(&self) -> Result<Vec<Stored>> {
        let listed = read_list(&self.data)?;
        let mut due = make::closed_files(&self.warc_dir)?;
        due.retain(|file| listed.get(&file.file).is_none_or(|line| line.bytes != file.bytes));
        Ok(due)
    }

    /// Copies a file, verifies the copy, writes it on the list; the line is on the disk when this returns.
    ///
    /// # Errors
    /// Those of the place; then the file stays due.
    pub fn upload(&self, file: &Stored, now: UnixMillis, faults: &Faults) -> Result<Line> {
        faults.check("upload.begin")?;
        let (bytes, sha256) = put_verified(self.place, &file.file, &self.warc_dir.join(&file.file), u64::MAX)?;
        faults.check("upload.verified")?;
        let line = Line { file: file.file.clone(), bytes, sha256, to: self.place.url(&file.file), ts: iso(now) };
        self.note(&line)?;
        faults.check("upload.listed")?;
        Ok(line)
    }

    fn note(&self, line: &Line) -> Result<()> {
        let path = self.data.join(LIST);
        let write = || {
            let former = if_there(fs::read(&path))?.unwrap_or_default();
            let mut file = own::open(&path, |how| how.create(true).append(true))?;
            let torn = former.last().is_some_and(|byte| *byte != b'\n');
            let text = serde_json::to_string(line)?;
            file.write_all(format!("{}{text}\n", if torn { "\n" } else { "" }).as_bytes())?;
            file.sync_all()
        };
        write().map_err(CheckpointError::io("append to", &path))?;
        files::sync_dir(&self.data)
    }

    /// Removes files that are on the list with their present length, but those that are `needed`; gives their names. Does nothing unless
    /// that was asked for.
    pub fn remove_listed(&self, needed: impl Fn(&str) -> bool) -> Result<Vec<String>> {
        if !self.delete {
            return Ok(Vec::new());
        }
        let listed = read_list(&self.data)?;
        let mut copied = make::closed_files(&self.warc_dir)?;
        copied.retain(|f| listed.get(&f.file).is_some_and(|line| line.bytes == f.bytes));
        copied.retain(|f| !needed(&f.file));
        copied.retain(|f| !self.place.is_itself(&f.file, &self.warc_dir.join(&f.file)));
        for file in &copied {
            let path = self.warc_dir.join(&file.file);
            fs::remove_file(&path).map_err(CheckpointError::io("remove", &path))?;
        }
        Ok(copied.into_iter().map(|f| f.file).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::*;

    fn folder() -> (tempfile::TempDir, Box<dyn Place>) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("warc")).unwrap();
        for name in ["a.warc.zst", "a.cdxj", "b.warc.gz.open", "b.cdxj.open", ".lycosa-owner"] {
            fs::write(dir.path().join("warc").join(name), name).unwrap();
        }
        let place = Target::Folder(dir.path().join("to")).open(None).unwrap();
        (dir, place)
    }

    fn uploads<'p>(dir: &tempfile::TempDir, place: &'p dyn Place, delete: bool) -> Uploads<'p> {
        Uploads { data: dir.path().to_owned(), warc_dir: dir.path().join("warc"), place, delete }
    }

    fn names(files: Vec<Stored>) -> Vec<String> {
        files.into_iter().map(|f| f.file).collect()
    }

    #[test]
    fn closed_files_are_copied_once_and_removed_only_when_they_are_listed() {
        let (dir, place) = folder();
        let all = uploads(&dir, &*place, true);
        let due = all.due().unwrap();
        assert_eq!(names(due.clone()), ["a.cdxj", "a.warc.zst"]);
        all.upload(&due[1], UnixMillis(5), &Faults::default()).unwrap();
        assert_eq!(names(all.due().unwrap()), ["a.cdxj"]);
        assert_eq!(all.remove_listed(|file| file == "a.warc.zst").unwrap(), [""; 0]);
        assert_eq!(all.remove_listed(|_| false).unwrap(), ["a.warc.zst"]);
        assert_eq!(fs::read_to_string(dir.path().join("to/a.warc.zst")).unwrap(), "a.warc.zst");
        assert_eq!(names(all.due().unwrap()), ["a.cdxj"]);
        assert_eq!(uploads(&dir, &*place, false).remove_listed(|_| false).unwrap(), [""; 0]);
    }

    #[test]
    fn a_torn_line_is_passed_over_and_the_next_one_stands_for_itself() {
        let (dir, place) = folder();
        fs::write(dir.path().join(LIST), "{\"file\":\"a.cdxj\",\"by").unwrap();
        let all = uploads(&dir, &*place, false);
        let due = all.due().unwrap();
        assert_eq!(due.len(), 2);
        for file in &due {
            all.upload(file, UnixMillis(5), &Faults::default()).unwrap();
        }
        assert_eq!(read_list(dir.path()).unwrap().len(), 2);
        assert!(all.due().unwrap().is_empty());
    }
}
