//! How a restored state takes its place, whenever the process is killed.
//!
//! The new state is built in `DATA/restoring/`. Until the note `DATA/RESTORING` is written nothing else has changed: a kill
//! leaves the former state, and the next start removes the folder. The note says what goes where; from then on the steps
//! are carried out, and whoever comes next (a start, another restore) carries out the rest. Each step can be repeated.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use serde::{Deserialize, Serialize};

use super::{CheckpointError, Result, files};
use crate::base::fault::Faults;
use crate::storage::folder::MARKER;
use crate::warc::repair::close_stray;

/// Where the new state is built.
pub const STAGING: &str = "restoring";
/// The note.
pub const NOTE: &str = "RESTORING";

/// What is to be done, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The checkpoint.
    pub checkpoint: String,
    /// Folder, in the data folder, for what has to make room.
    pub aside: String,
    /// What only has to make room.
    pub away: Vec<PathBuf>,
    /// What is moved from the staging folder to its place; what is there makes room.
    pub place: Vec<PathBuf>,
    /// Open archive files that no commit knows any more: closed with the whole records they have.
    pub close: Vec<PathBuf>,
}

/// A restore under way: no other one, and no start, on the same folder.
#[derive(Debug)]
pub struct Swap {
    data: PathBuf,
    _alone: Flock<File>,
    _database: Option<File>,
}

impl Swap {
    /// Begins one on the data folder `data`, made when it is missing. What another one left is settled first.
    ///
    /// # Errors
    /// [`CheckpointError::InUse`], [`CheckpointError::Io`].
    pub fn begin(data: &Path, faults: &Faults) -> Result<Self> {
        files::make_dir(data)?;
        let alone = alone(data)?;
        settle_alone(data, faults)?;
        let database = lock_database(data)?;
        let staging = data.join(STAGING);
        fs::create_dir(&staging).map_err(CheckpointError::io("make the folder", &staging))?;
        Ok(Self { data: data.to_owned(), _alone: alone, _database: database })
    }

    /// Where the new state is to be built, forced to the disk.
    pub fn staging(&self) -> PathBuf {
        self.data.join(STAGING)
    }

    /// Puts the new state into its place.
    ///
    /// # Errors
    /// [`CheckpointError`]; when the note is written, the next start or restore goes on.
    pub fn commit(self, plan: &Plan, faults: &Faults) -> Result<()> {
        faults.check("restore.staged")?;
        let text = serde_json::to_vec_pretty(plan).unwrap_or_default(); // texts; read back before it is followed
        files::write_whole(&self.data.join(NOTE), &text)?;
        faults.check("restore.noted")?;
        follow(&self.data, plan, faults)
    }
}

/// Whether a restore into `data` was begun and not ended: it runs, or was killed.
pub fn is_begun(data: &Path) -> bool {
    data.join(NOTE).exists() || data.join(STAGING).exists()
}

/// Carries out or takes back what a killed restore left in `data`; gives the checkpoint that is now in place.
///
/// # Errors
/// [`CheckpointError::InUse`] while a restore runs; [`CheckpointError::Io`].
pub fn settle(data: &Path, faults: &Faults) -> Result<Option<String>> {
    if !is_begun(data) {
        return Ok(None);
    }
    let _alone = alone(data)?;
    settle_alone(data, faults)
}

fn settle_alone(data: &Path, faults: &Faults) -> Result<Option<String>> {
    let note = data.join(NOTE);
    if !note.exists() {
        files::remove_dir(&data.join(STAGING))?;
        return Ok(None);
    }
    let bytes = fs::read(&note).map_err(CheckpointError::io("read", &note))?;
    let wrong =
        |e: serde_json::Error| CheckpointError::Manifest { at: note.display().to_string(), problem: e.to_string() };
    let plan: Plan = serde_json::from_slice(&bytes).map_err(wrong)?;
    follow(data, &plan, faults)?;
    Ok(Some(plan.checkpoint))
}

/// Every step may have been done before.
fn follow(data: &Path, plan: &Plan, faults: &Faults) -> Result<()> {
    let (staging, aside) = (data.join(STAGING), data.join(&plan.aside));
    for open in &plan.close {
        if open.exists() {
            close_stray(open)?;
        }
        faults.check("restore.closed")?;
    }
    for path in &plan.away {
        move_away(data, &aside, path)?;
        faults.check("restore.away")?;
    }
    for path in &plan.place {
        // A name is taken from the staging folder once; when it is gone there, it has been placed.
        if staging.join(path).exists() {
            move_away(data, &aside, path)?;
            faults.check("restore.placing")?;
            files::rename(&staging.join(path), &data.join(path))?;
        }
        faults.check("restore.placed")?;
    }
    let note = data.join(NOTE);
    fs::remove_file(&note).map_err(CheckpointError::io("remove", &note))?;
    files::sync_dir(data)?;
    files::remove_dir(&staging)
}

fn move_away(data: &Path, aside: &Path, path: &Path) -> Result<()> {
    if !data.join(path).exists() {
        return Ok(());
    }
    files::rename(&data.join(path), &aside.join(path))
}

/// No other restore at the same time.
fn alone(data: &Path) -> Result<Flock<File>> {
    let folder = File::open(data).map_err(CheckpointError::io("open", data))?;
    let in_use = |_| CheckpointError::InUse(data.to_owned());
    Flock::lock(folder, FlockArg::LockExclusiveNonblock).map_err(in_use)
}

/// Takes RocksDB's own lock, held until the end: no crawl runs and none begins.
fn lock_database(data: &Path) -> Result<Option<File>> {
    let path = data.join("db/LOCK");
    if !path.exists() {
        return Ok(None);
    }
    let file = File::options().read(true).write(true).open(&path).map_err(CheckpointError::io("open", &path))?;
    let lock = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as i16,
        l_whence: nix::libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_SETLK(&lock)).map_err(|_| CheckpointError::InUse(data.to_owned()))?;
    Ok(Some(file))
}

/// Looks at a folder that a state is to be put into: whether it is a data folder, or new or empty.
///
/// # Errors
/// [`CheckpointError::NotEmpty`] for a folder with other things in it.
pub fn is_live(data: &Path) -> Result<bool> {
    if data.join(MARKER).exists() {
        return Ok(true);
    }
    let free = files::names(data)?
        .iter()
        .all(|n| matches!(n.as_str(), STAGING | "lost+found" | "FORMAT.new" | "RESTORING.new"));
    if free { Ok(false) } else { Err(CheckpointError::NotEmpty(data.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(dir: &Path, text: &str) {
        files::make_dir(&dir.join("db")).unwrap();
        for name in ["db/CURRENT", "crawl.jsonl", MARKER] {
            fs::write(dir.join(name), text).unwrap();
        }
    }

    fn plan() -> Plan {
        let place = ["db", "crawl.jsonl", MARKER].map(PathBuf::from).to_vec();
        let away = vec!["seen.bloom".into()];
        Plan { checkpoint: "c".into(), aside: "replaced-1".into(), place, away, close: Vec::new() }
    }

    fn texts(dir: &Path) -> Vec<String> {
        ["db/CURRENT", "crawl.jsonl", MARKER].iter().map(|n| fs::read_to_string(dir.join(n)).unwrap()).collect()
    }

    #[cfg(feature = "faults")]
    #[test]
    fn killed_at_any_step_the_former_state_stands_or_the_new_one_is_completed() {
        let steps = [("restore.staged", 1), ("restore.noted", 1), ("restore.away", 1)];
        let steps = steps.into_iter().chain((1..=3).flat_map(|n| [("restore.placing", n), ("restore.placed", n)]));
        for (point, n) in steps {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            state(data, "former");
            fs::write(data.join("seen.bloom"), "x").unwrap();
            let faults = Faults::default();
            faults.set(point, crate::base::fault::Fault::Error, n, n);
            let swap = Swap::begin(data, &faults).unwrap();
            state(&swap.staging(), "new");
            assert!(swap.commit(&plan(), &faults).is_err(), "{point} was not reached");
            let settled = settle(data, &Faults::default()).unwrap();
            if point == "restore.staged" {
                assert_eq!((settled, texts(data)), (None, vec!["former".to_owned(); 3]));
            } else {
                assert_eq!((settled.as_deref(), texts(data)), (Some("c"), vec!["new".to_owned(); 3]), "{point} {n}");
                assert_eq!(texts(&data.join("replaced-1")), vec!["former"; 3], "{point} {n}");
                assert!(data.join("replaced-1/seen.bloom").exists() && !data.join("seen.bloom").exists());
            }
            assert!(!data.join(NOTE).exists() && !data.join(STAGING).exists());
            assert_eq!(settle(data, &faults).unwrap(), None);
        }
    }

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Swap::begin(folder.path(), &Faults::default()).unwrap();
        let error = Swap::begin(folder.path(), &Faults::default()).unwrap_err();
        assert!(matches!(error, CheckpointError::InUse(_)), "{error}");
        assert!(matches!(settle(folder.path(), &Faults::default()), Err(CheckpointError::InUse(_))));
        drop(first);
        Swap::begin(folder.path(), &Faults::default()).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_is_no_ground() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_live(&folder.path().join("new")).unwrap());
        fs::create_dir(folder.path().join(STAGING)).unwrap();
        assert!(!is_live(folder.path()).unwrap());
        fs::write(folder.path().join("thesis.txt"), "x").unwrap();
        assert!(matches!(is_live(folder.path()), Err(CheckpointError::NotEmpty(_))));
        fs::write(folder.path().join(MARKER), "x").unwrap();
        assert!(is_live(folder.path()).unwrap());
    }
}
