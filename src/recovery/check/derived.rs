//! What is made of the feed beside the database, such as the index of pages: it is true up to an entry that the feed has (I10).

use std::fs;
use std::path::PathBuf;

use super::pass::Pass;
use super::{CheckError, Fault, Note, Result, stored_counters};
use crate::storage::values::FeedLog;
use crate::storage::{mark, read};

/// Something that was made of a feed, by what it says of itself.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Where it is. It can be removed and made again.
    pub folder: PathBuf,
    /// Of which feed.
    pub log: [u8; 8],
    /// The last entry that it has.
    pub seq: u64,
}

/// Each is of this feed, or of one that this one is known to have come after.
pub fn derived(pass: &mut Pass<'_>, all: &[Derived]) -> Result<()> {
    let log: FeedLog = read::meta(pass.storage, ()).ok().flatten().unwrap_or_default();
    let own = stored_counters(pass.storage).fed;
    let shown = pass.files.as_ref().and_then(|files| mark::fed(files.data()));
    for Derived { folder, log: id, seq } in all {
        let common = if *id == log.id { own } else { log.common_with(id).unwrap_or(0) };
        if *seq <= common {
            continue;
        }
        let subject = folder.display().to_string();
        let detail = format!("is true up to entry {seq}; of that feed {common} are here");
        // The database was put back: what was shown since is noted beside it.
        let was_shown = shown.as_ref().is_some_and(|shown| {
            shown.log.id == *id && *seq <= shown.high || shown.log.common_with(id).is_some_and(|_| *id != log.id)
        });
        if was_shown || log.common_with(id).is_some() {
            pass.note(Note::IndexOfBefore, || format!("{subject} {detail}"));
            continue;
        }
        pass.find(Fault::IndexAhead, &subject, &detail, |_| {})?;
        if pass.repairing {
            let removed = crate::recovery::if_there(fs::remove_dir_all(folder));
            if removed.map_err(CheckError::io("remove", folder))?.is_some() {
                pass.mended(Fault::IndexAhead, &subject, &detail);
            }
        }
    }
    Ok(())
}
