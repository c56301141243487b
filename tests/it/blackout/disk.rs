//! A folder as a process saw it and as a loss of power may leave it. The model is explained in `tests/tools/powerloss.c`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use super::names::{Change, Node, Tree};
use super::trace::Call;
use crate::dice::Dice;

const PAGE: usize = 4096;

/// Which changes of names are there after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// ext4, XFS: a beginning of all changes, at least to the last sync of any file.
    Journal,
    /// POSIX: of each folder a beginning of its changes, at least to its last sync.
    EachFolder,
}

enum Edit {
    Write(usize, Vec<u8>),
    Resize(usize),
}

impl Edit {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(at, data) => {
                content.resize(content.len().max(at + data.len()), 0);
                content[*at..at + data.len()].copy_from_slice(data);
            }
            Self::Resize(len) => content.resize(*len, 0),
        }
    }
}

/// A file's contents: now, as of its last sync, and what was done since.
#[derive(Default)]
struct Contents {
    now: Vec<u8>,
    safe: Vec<u8>,
    since: Vec<Edit>,
}

impl Contents {
    fn edit(&mut self, edit: Edit) {
        edit.apply(&mut self.now);
        self.since.push(edit);
    }

    fn sync(&mut self) {
        self.since.iter().for_each(|edit| edit.apply(&mut self.safe));
        self.since.clear();
    }

    /// A beginning of what was done since the last sync, the last write torn, some pages never written.
    fn after_failure(&self, dice: &mut Dice) -> Vec<u8> {
        let kept = [0, self.since.len(), dice.below(self.since.len() as u64 + 1) as usize][dice.below(3) as usize];
        let mut content = self.safe.clone();
        self.since[..kept].iter().for_each(|edit| edit.apply(&mut content));
        if let Some(Edit::Write(at, data)) = self.since.get(kept).filter(|_| dice.below(2) == 0) {
            let part = data[..dice.below(data.len() as u64) as usize].to_vec();
            Edit::Write(*at, part).apply(&mut content);
        }
        if dice.below(3) == 0 {
            let garbage = dice.below(3) == 0;
            self.lose_pages(&mut content, garbage, dice);
        }
        content
    }

    /// Of each page the part that was not there at the last sync.
    fn lose_pages(&self, content: &mut [u8], garbage: bool, dice: &mut Dice) {
        let mut at = self.safe.len();
        while at < content.len() {
            let end = content.len().min((at / PAGE + 1) * PAGE);
            if dice.below(4) == 0 {
                content[at..end].iter_mut().for_each(|b| *b = if garbage { dice.below(256) as u8 } else { 0 });
            }
            at = end;
        }
    }
}

/// The folder.
pub struct Disk {
    model: Names,
    contents: Vec<Contents>,
    now: Tree,
    safe: Tree,
    /// Changes that are not safe, with their numbers.
    since: Vec<(u64, Change)>,
    changes: u64,
    open: HashMap<i32, (String, Option<usize>)>,
}

impl Disk {
    /// Everything below the folder is safe.
    pub fn of(folder: &Path, model: Names) -> Self {
        let (contents, since, open) = (Vec::new(), Vec::new(), HashMap::new());
        let mut disk = Self { model, contents, now: Tree::default(), safe: Tree::default(), since, changes: 0, open };
        disk.load(folder);
        disk.safe = disk.now.clone();
        disk
    }

    fn load(&mut self, folder: &Path) {
        self.now.names.insert(folder.to_str().unwrap().to_owned(), Node::Folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.load(&path);
            } else {
                let now = fs::read(&path).unwrap();
                self.contents.push(Contents { safe: now.clone(), now, since: Vec::new() });
                self.now.names.insert(path.to_str().unwrap().to_owned(), Node::File(self.contents.len() - 1));
            }
        }
    }

    /// Name and contents of an open file.
    pub fn open_file(&self, fd: i32) -> Option<(&str, usize)> {
        self.open.get(&fd).and_then(|(path, file)| Some((path.as_str(), (*file)?)))
    }

    /// What a file holds now, whatever its name.
    pub fn content(&self, file: usize) -> &[u8] {
        &self.contents[file].now
    }

    pub fn apply(&mut self, call: Call) {
        match call {
            Call::Open { fd, path, flags } => self.open(fd, path, flags),
            Call::Same { fd, of } => drop(self.open.get(&of).cloned().map(|f| self.open.insert(fd, f))),
            Call::Close { fd } => drop(self.open.remove(&fd)),
            Call::Write { fd, at, data } => self.edit(fd, Edit::Write(at, data)),
            Call::Resize { fd, len } => self.edit(fd, Edit::Resize(len)),
            Call::Sync { fd } => self.sync(fd),
            Call::Rename { from, to } => self.change(Change::Rename(from, to)),
            Call::Link { from, to } => self.change(Change::Put(to, self.now.names[&from])),
            Call::Remove { path } => self.change(Change::Remove(path)),
            Call::Folder { path } => self.change(Change::Put(path, Node::Folder)),
        }
    }

    fn change(&mut self, change: Change) {
        self.changes += 1;
        self.now.apply(self.changes, &change);
        self.since.push((self.changes, change));
    }

    fn open(&mut self, fd: i32, path: String, flags: i32) {
        let file = match self.now.names.get(&path) {
            Some(Node::Folder) => None,
            Some(Node::File(file)) => Some(*file),
            None => {
                self.contents.push(Contents::default());
                let file = self.contents.len() - 1;
                self.change(Change::Put(path.clone(), Node::File(file)));
                Some(file)
            }
        };
        self.open.insert(fd, (path, file));
        if flags & nix::libc::O_TRUNC != 0 && file.is_some_and(|file| !self.contents[file].now.is_empty()) {
            self.edit(fd, Edit::Resize(0));
        }
    }

    fn edit(&mut self, fd: i32, edit: Edit) {
        let file = self.open[&fd].1.unwrap();
        self.contents[file].edit(edit);
    }

    fn sync(&mut self, fd: i32) {
        let (path, file) = self.open[&fd].clone();
        if let Some(file) = file {
            self.contents[file].sync();
        }
        let covers = |(number, change): &(u64, Change)| match self.model {
            Names::Journal => true,
            Names::EachFolder => file.is_none() && self.now.called(*number, change.folder()) == path,
        };
        let (covered, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.since).into_iter().partition(covers);
        self.since = rest;
        covered.iter().for_each(|(number, change)| self.safe.apply(*number, change));
    }

    /// Names after a failure.
    fn names_after_failure(&self, dice: &mut Dice) -> BTreeMap<String, Node> {
        let mut names = self.safe.clone();
        let mut beginnings: HashMap<String, u64> = HashMap::new();
        for (number, change) in &self.since {
            let of = || self.now.called(*number, change.folder());
            let folder = if self.model == Names::Journal { String::new() } else { of() };
            let left = beginnings.entry(folder).or_insert_with(|| dice.below(2 * self.since.len() as u64 + 1));
            if *left > 0 {
                *left -= 1;
                names.apply(*number, change);
            }
        }
        names.names
    }

    /// Makes the folder as the failure leaves it.
    pub fn fail(&self, folder: &Path, dice: &mut Dice) {
        let names = self.names_after_failure(dice);
        write(folder, &names, |file| self.contents[file].after_failure(dice));
    }

    /// Names that are in one only or whose contents differ; RocksDB's own log is written by calls that nobody notes.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let content = |disk: &Self, path: &String| match disk.now.names.get(path) {
            Some(Node::File(file)) => Some(Some(disk.contents[*file].now.clone())),
            Some(Node::Folder) => Some(None),
            None => None,
        };
        let names: BTreeSet<&String> = self.now.names.keys().chain(other.now.names.keys()).collect();
        let differ = |path: &&String| !path.contains("/db/LOG") && content(self, path) != content(other, path);
        names.into_iter().filter(differ).cloned().collect()
    }
}

/// Replaces the folder; what lies in a folder that is not there is not there either.
fn write(folder: &Path, names: &BTreeMap<String, Node>, mut content: impl FnMut(usize) -> Vec<u8>) {
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    for (path, node) in names.iter().filter(|(path, _)| Path::new(path) != folder) {
        if !Path::new(path).parent().unwrap().is_dir() {
            continue;
        }
        match node {
            Node::Folder => fs::create_dir(path).unwrap(),
            Node::File(file) => fs::write(path, content(*file)).unwrap(),
        }
    }
}
