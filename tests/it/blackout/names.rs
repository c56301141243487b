//! Names of files and folders, and changes of them that may reach the disk in another order than they were made.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    Folder,
    File(usize),
}

/// A change of names, by the names of its moment.
#[derive(Clone)]
pub enum Change {
    Put(String, Node),
    Remove(String),
    Rename(String, String),
}

impl Change {
    /// The folder in which it is.
    pub fn folder(&self) -> &str {
        let (Self::Put(path, _) | Self::Remove(path) | Self::Rename(path, _)) = self;
        path.rsplit_once('/').unwrap().0
    }
}

/// What has which name, by the changes that were applied.
#[derive(Clone, Default)]
pub struct Tree {
    pub names: BTreeMap<String, Node>,
    /// Folders that were renamed: by which change, from, to.
    renamed: Vec<(u64, String, String)>,
}

/// The rest of a path below `folder`, or of the folder itself.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Tree {
    /// Applies the change with this number.
    pub fn apply(&mut self, number: u64, change: &Change) {
        match change {
            Change::Put(path, node) => drop(self.names.insert(self.called(number, path), *node)),
            Change::Remove(path) => drop(self.names.remove(&self.called(number, path))),
            Change::Rename(from, to) => self.rename(number, &self.called(number, from), to),
        }
    }

    /// What was called `path` at that change, by the renames applied since: a folder keeps what is in it.
    pub fn called(&self, number: u64, path: &str) -> String {
        let later = self.renamed.iter().filter(|(at, _, _)| *at > number);
        later.fold(path.to_owned(), |path, (_, from, to)| match below(&path, from) {
            Some(rest) => format!("{to}{rest}"),
            None => path,
        })
    }

    fn rename(&mut self, number: u64, from: &str, to: &str) {
        let moved: Vec<String> = self.names.keys().filter(|path| below(path, from).is_some()).cloned().collect();
        if self.names.get(from) == Some(&Node::Folder) {
            self.renamed.push((number, from.to_owned(), to.to_owned()));
        }
        for path in moved {
            if let Some(node) = self.names.remove(&path) {
                self.names.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
    }
}
