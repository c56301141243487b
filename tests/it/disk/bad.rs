//! A disk that fails on command (`tests/tools/badfs.c`): the library, and its rule.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::errno::Errno;

use super::{Running, run};
use crate::sandbox::{Sandbox, until};

/// The library of `tests/tools/badfs.c`; `None` where there is no C compiler.
pub fn bad_disk() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let build = || {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("badfs.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/badfs.c");
        let built = run("cc", &["-shared", "-fPIC", "-O1", "-o", library.to_str().unwrap(), source, "-ldl"]);
        built.then_some((dir, library))
    };
    BUILT.get_or_init(build).as_ref().map(|(_, library)| &**library)
}

/// The rule of a bad disk: which calls fail.
pub struct Rule(PathBuf);

impl Rule {
    pub fn of(sandbox: &Sandbox) -> Self {
        Self(sandbox.data().with_file_name("rule"))
    }

    pub fn variables(&self, library: &Path) -> [(&'static str, OsString); 2] {
        [("LD_PRELOAD", library.into()), ("BADFS_RULE", self.0.clone().into())]
    }

    pub fn set(&self, (op, how, pattern): Place, errno: Errno) {
        let new = self.0.with_extension("new");
        fs::write(&new, format!("{op} {} {how} {pattern}\n", errno as i32)).unwrap();
        fs::rename(new, &self.0).unwrap();
    }

    pub fn lift(&self) {
        fs::remove_file(&self.0).unwrap();
        let _ = fs::remove_file(self.hits());
    }

    pub fn hits(&self) -> PathBuf {
        self.0.with_extension("hits")
    }

    pub fn until_hit(&self, place: Place, daemon: &Running) {
        until(&format!("a failure of {place:?}"), || self.hits().exists().then_some(()), || daemon.daemon.log());
    }
}

/// Which call, how it fails, on which files.
pub type Place = (&'static str, &'static str, &'static str);
