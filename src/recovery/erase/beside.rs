//! What lies beside archive and database: the index of pages, the filter of known URLs, checkpoints, the list of copies.

use std::fs;

use super::{BESIDE, EraseError, Result, Work};
use crate::recovery::checkpoint::{files, uploads};
use crate::recovery::if_there;

/// The index of pages, in the data folder: it is made anew by the next start that wants one.
pub const INDEX: &str = "index";
/// Files that a start makes anew: the filter of known URLs, and strikes of pages that were in hand when a process ended.
const MADE_ANEW: [&str; 2] = ["seen.bloom", "in-hand"];

impl Work<'_> {
    pub(super) fn beside(&mut self) -> Result<()> {
        self.tell(BESIDE, "index, filter, checkpoints", 0);
        let data = self.erase.data();
        files::remove_dir(&data.join(INDEX))?;
        for name in MADE_ANEW {
            let path = data.join(name);
            if_there(fs::remove_file(&path)).map_err(EraseError::io("remove", &path))?;
        }
        self.checkpoints()?;
        self.copies()?;
        files::sync_dir(data)?;
        Ok(self.erase.faults.check("erase.beside")?)
    }

    /// All checkpoints are of a time before.
    fn checkpoints(&mut self) -> Result<()> {
        if self.note.keep_checkpoints {
            return Ok(());
        }
        let shelf = &self.erase.shelf;
        let names = shelf.names()?;
        self.note.checkpoints.extend(names.iter().cloned());
        self.note.checkpoints.sort_unstable();
        self.note.checkpoints.dedup();
        self.note.write(self.erase.data())?;
        for name in names {
            files::remove_dir(&shelf.path(&name))?;
        }
        shelf.sweep()?;
        Ok(())
    }

    /// Changed files leave the list of what was copied elsewhere, so that they are copied again.
    fn copies(&mut self) -> Result<()> {
        let path = self.erase.data().join(uploads::LIST);
        let Some(text) = if_there(fs::read(&path)).map_err(EraseError::io("read", &path))? else { return Ok(()) };
        let changed = |line: &&[u8]| {
            let file = serde_json::from_slice::<uploads::Line>(line).map(|line| line.file);
            file.is_ok_and(|file| self.note.files.contains_key(&file))
        };
        let kept: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').filter(|line| !changed(line)).collect();
        let kept = kept.concat();
        if kept != text {
            files::write_whole(&path, &kept)?;
        }
        Ok(())
    }
}
