//! Folders of the settings that must not lie inside each other.

use std::path::{Component, Path, PathBuf};

use super::{ConfigError, Settings};
use crate::recovery::checkpoint::Target;

impl Settings {
    /// Checks that archive, checkpoints and copies have places of their own, also by the names that links give them.
    ///
    /// # Errors
    /// [`ConfigError::Place`]: which key, and what it lies in.
    pub fn places(&self) -> Result<(), ConfigError> {
        let data = plain(&self.store.data_dir);
        let taken = |name: &str| (data.join(name), format!("the data folder's {name}/"));
        let (archive, checkpoints) = (plain(&self.warc_dir()), plain(&self.checkpoint_dir()));
        if checkpoints == data {
            return Err(place("checkpoint.dir", &checkpoints, "the data folder itself"));
        }
        let (db, spill) = (taken("db"), taken("spill"));
        let of_archive = (archive.clone(), "the archive's folder".to_owned());
        let of_checkpoints = (checkpoints.clone(), "the checkpoints' folder".to_owned());
        for within in [&db, &spill, &of_checkpoints] {
            apart("store.warc_dir", &archive, within)?;
        }
        for within in [&db, &spill, &of_archive] {
            apart("checkpoint.dir", &checkpoints, within)?;
        }
        let exports = plain(&self.export_dir());
        if exports == data {
            return Err(place("export.dir", &exports, "the data folder itself"));
        }
        for within in [&db, &spill, &of_archive, &of_checkpoints] {
            apart("export.dir", &exports, within)?;
        }
        let sinks = plain(&self.sink_dir());
        for sink in self.sink.iter().filter(|sink| sink.kind.is_files()) {
            let folder = plain(&sink.folder(&self.store.data_dir));
            if folder == sinks {
                return Err(place(
                    "sink.folder",
                    &folder,
                    "the data folder's sinks/ itself, where all sinks have their lists: name one in it",
                ));
            }
            if folder.starts_with(&data) && !folder.starts_with(&sinks) {
                return Err(place("sink.folder", &folder, "the data folder: name one in its sinks/, or elsewhere"));
            }
            for within in [&of_archive, &of_checkpoints] {
                apart("sink.folder", &folder, within)?;
            }
        }
        for (key, text) in [
            ("store.upload", &self.store.upload),
            ("checkpoint.upload", &self.checkpoint.upload),
            ("cluster.store", &self.cluster.store),
        ] {
            if let Some(Ok(Target::Folder(to))) = text.as_deref().map(Target::parse) {
                let to = plain(&to);
                apart(key, &to, &(data.clone(), "the data folder: a copy belongs elsewhere".to_owned()))?;
                apart(key, &to, &of_archive)?;
                apart(key, &to, &of_checkpoints)?;
            }
        }
        Ok(())
    }
}

fn apart(key: &'static str, path: &Path, (taken, what): &(PathBuf, String)) -> Result<(), ConfigError> {
    if path.starts_with(taken) { Err(place(key, path, what)) } else { Ok(()) }
}

fn place(key: &'static str, path: &Path, within: &str) -> ConfigError {
    ConfigError::Place { key, path: path.to_owned(), within: within.to_owned() }
}

/// A path without links, as far as it is there, and without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
        plain = plain.canonicalize().unwrap_or(plain);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    fn problem(data: &Path, sets: &[&str]) -> Option<String> {
        let data = format!("store.data_dir={}", data.display());
        let layers = sets.iter().fold(Layers::new().set(&data).unwrap(), |layers, set| layers.set(set).unwrap());
        layers.load().unwrap().places().err().map(|e| e.to_string())
    }

    #[test]
    fn nothing_lies_where_it_would_be_taken_for_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir_all(data.join("warc")).unwrap();
        std::os::unix::fs::symlink(data.join("warc"), dir.path().join("link")).unwrap();
        let (link, other) = (dir.path().join("link"), dir.path().join("copies"));
        let sink = r#"sink=[{name="a", kind="jsonl", folder="../a"}, {name="b", kind="parquet"}]"#;
        let upload = |to: &Path| format!("store.upload={}", to.display());
        for sets in
            [&[][..], &[&*upload(&other)], &["store.warc_dir=archive"], &["checkpoint.dir=../checkpoints"], &[sink]]
        {
            assert_eq!(problem(&data, sets), None, "{sets:?}");
        }
        let (own, linked) = (upload(&data.join("x/../warc")), upload(&link));
        for (set, key) in [
            (own.as_str(), "store.upload"),
            (linked.as_str(), "store.upload"),
            ("checkpoint.dir=db", "checkpoint.dir"),
            ("checkpoint.dir=.", "checkpoint.dir"),
            ("export.dir=.", "export.dir"),
            ("export.dir=warc/x", "export.dir"),
            ("checkpoint.dir=warc/x", "checkpoint.dir"),
            ("store.warc_dir=db/warc", "store.warc_dir"),
            ("store.warc_dir=spill", "store.warc_dir"),
            (r#"sink=[{name="a", kind="jsonl", folder="db/x"}]"#, "sink.folder"),
            (r#"sink=[{name="a", kind="jsonl", folder="sinks"}]"#, "sink.folder"),
            (r#"sink=[{name="a", kind="parquet", folder="sinks/../warc"}]"#, "sink.folder"),
        ] {
            let told = problem(&data, &[set]).unwrap_or_default();
            assert!(told.contains(key), "{set}: {told:?}");
        }
    }
}
