//! The lines of `crawl.jsonl` since the last barrier: until the next start they stand in the database too, and the end of
//! the file is written anew from there, whatever has become of it.

use std::io::{Seek, SeekFrom, Write};

use super::error::{CheckError, Result};
use super::fault::Fault;
use super::files::Files;
use super::findings::Findings;
use crate::base::disk::own;
use crate::storage::values::UnsyncedLines;
use crate::storage::{Batch, read};

/// What the next start writes.
pub struct Pending {
    /// Where in the file.
    pub from: u64,
    /// The lines.
    pub text: String,
    numbers: Vec<u64>,
}

/// What is pending, when it is the end of the file; else it is found, and a repair takes it off the lists.
pub fn pending(findings: &mut Findings<'_>, files: &Files) -> Result<Option<Pending>> {
    let lists = read::unsynced_lines(findings.storage, usize::MAX).unwrap_or_default();
    let Some((_, first)) = lists.first() else { return Ok(None) };
    let mut pending = Pending { from: first.from, text: String::new(), numbers: Vec::new() };
    for (number, list) in &lists {
        if pending.from.checked_add(pending.text.len() as u64) != Some(list.from) {
            break;
        }
        pending.text.push_str(&list.text);
        pending.numbers.push(*number);
    }
    let end = pending.from.saturating_add(pending.text.len() as u64);
    if pending.numbers.len() == lists.len()
        && files.file_lengths.as_ref().is_none_or(|file_lengths| file_lengths.jsonl == end)
    {
        return Ok(Some(pending));
    }
    for (number, _) in &lists {
        let subject = format!("lines/{number}");
        findings.find(Fault::UnsyncedStray, &subject, "lines that are not the end of crawl.jsonl", |batch| {
            batch.delete_meta::<UnsyncedLines>(*number);
        })?;
    }
    Ok(None)
}

impl Pending {
    /// Does what the next start would: afterwards the file alone counts.
    pub fn settle(&self, findings: &mut Findings<'_>, files: &Files) -> Result<()> {
        let path = files.lines();
        let write = || -> std::io::Result<()> {
            let mut file = own::open(&path, |how| how.create(true).truncate(false).write(true))?;
            let from = self.from.min(file.metadata()?.len());
            file.set_len(from)?;
            file.seek(SeekFrom::Start(from))?;
            file.write_all(self.text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(CheckError::io("write", &path))?;
        let mut batch = Batch::new();
        self.numbers.iter().for_each(|number| batch.delete_meta::<UnsyncedLines>(*number));
        findings.storage.write(&batch)?;
        findings.changes += 1; // the next round reads the file
        Ok(())
    }
}
