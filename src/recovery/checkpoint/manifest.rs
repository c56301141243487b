//! The manifest: what a checkpoint is made of, with every digest. It is written last, so that what has one is whole.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CheckpointError, Result, files, uploads};
use crate::base::time::UnixMillis;
use crate::storage::folder::MARKER;
use crate::storage::values::Counters;
use crate::warc::date::{digits17, parse_iso};

/// Its name in the checkpoint's folder.
pub const MANIFEST: &str = "manifest.json";
/// Its format.
pub const FORMAT: u32 = 2;
/// Largest manifest that is read, bytes: half a million files.
pub const LARGEST: u64 = 64 << 20;

/// A file of a checkpoint, or one of the archive that it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Path below the checkpoint's folder, or name in the archive's.
    pub file: String,
    /// Length; an archive file has at least so much.
    pub bytes: u64,
    /// SHA-256 in hexadecimal; none for files that are only referred to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
}

/// The counts at that moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[expect(missing_docs, reason = "the names of the status")]
pub struct Counts {
    pub discovered: u64,
    pub waiting: u64,
    pub done: u64,
    pub errors: u64,
    pub rejected: u64,
    pub pages_stored: u64,
    pub bytes: u64,
}

impl From<&Counters> for Counts {
    fn from(c: &Counters) -> Self {
        Self {
            discovered: c.discovered,
            waiting: c.queued,
            done: c.done,
            errors: c.error(),
            rejected: c.rejected_total(),
            pages_stored: c.pages_stored,
            bytes: c.bytes,
        }
    }
}

/// What a checkpoint is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Manifest {
    pub format: u32,
    pub program: String,
    pub name: String,
    pub crawl: String,
    /// The moment, as `2024-05-06T07:08:09.012Z`.
    pub ts: String,
    /// The same in milliseconds since 1970.
    pub ts_ms: u64,
    /// Seed of the data folder's keys, sixteen hexadecimal digits.
    pub seed: String,
    pub run: u32,
    /// Asked for by somebody: the periodic ones do not push it out.
    #[serde(default)]
    pub by_hand: bool,
    pub sequence: u64,
    pub counts: Counts,
    /// Length of `crawl.jsonl`.
    pub jsonl: Stored,
    /// Digest of the last bytes of that length, by which its lines are found again.
    pub lines_mark: String,
    /// The files of the archive: all that the database may refer to. None is open.
    pub archive: Vec<Stored>,
    /// The files of the checkpoint.
    pub files: Vec<Stored>,
}

/// A checkpoint in a few figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// The moment.
    pub ts: String,
    /// Name of the crawl.
    pub crawl: String,
    /// Number of the run.
    pub run: u32,
    /// Asked for by somebody.
    #[serde(default)]
    pub by_hand: bool,
    /// The database's sequence number.
    pub sequence: u64,
    /// Counts.
    pub counts: Counts,
    /// Its own files.
    pub files: usize,
    /// Their bytes, most of them shared with the database and other checkpoints.
    pub bytes: u64,
    /// Archive files it refers to.
    pub archive_files: usize,
    /// Their bytes.
    pub archive_bytes: u64,
    /// Its copy elsewhere, once that is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub copied: Option<Copied>,
}

/// What a copy cost that is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Copied {
    /// Where it is.
    pub to: String,
    /// Objects that were sent, its manifest among them.
    pub objects: usize,
    /// Their bytes, without archive files.
    pub sent_bytes: u64,
    /// Bytes that were there already.
    pub reused_bytes: u64,
}

impl From<&Manifest> for Summary {
    fn from(m: &Manifest) -> Self {
        Self {
            name: m.name.clone(),
            ts: m.ts.clone(),
            crawl: m.crawl.clone(),
            run: m.run,
            by_hand: m.by_hand,
            sequence: m.sequence,
            counts: m.counts,
            files: m.files.len(),
            bytes: m.bytes(),
            archive_files: m.archive.len(),
            archive_bytes: m.archive.iter().map(|f| f.bytes).sum(),
            copied: None,
        }
    }
}

/// The name of a checkpoint: the moment and the run. Names sort by time.
pub fn name(at: UnixMillis, run: u32) -> String {
    format!("{}-r{run:05}", digits17(at))
}

/// The moment in a name.
pub fn moment(name: &str) -> Option<UnixMillis> {
    let time = name.split_once("-r")?.0;
    let part = |range: std::ops::Range<usize>| time.get(range);
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second, ms) = (part(8..10)?, part(10..12)?, part(12..14)?, part(14..17)?);
    parse_iso(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{ms}Z"))
}

/// True for what [`name`] gives.
pub fn is_name(text: &str) -> bool {
    let digits = |t: &str, n: usize| t.len() >= n && t.bytes().all(|b| b.is_ascii_digit());
    text.split_once("-r").is_some_and(|(time, run)| digits(time, 17) && time.len() == 17 && digits(run, 5))
}

impl Manifest {
    /// Reads a manifest; `at` says where it is from.
    ///
    /// # Errors
    /// [`CheckpointError::Manifest`]: no manifest, of another format, or with names that would leave their folder.
    pub fn parse(bytes: &[u8], at: &str) -> Result<Self> {
        let wrong = |problem: String| CheckpointError::Manifest { at: at.to_owned(), problem };
        serde_json::from_slice::<Self>(bytes).map_err(|e| wrong(e.to_string()))?.checked(at)
    }

    /// Looks whether it is one of this format, whose names stay in their folder.
    pub(super) fn checked(self, at: &str) -> Result<Self> {
        let wrong = |problem: String| CheckpointError::Manifest { at: at.to_owned(), problem };
        let read = self;
        if read.format != FORMAT {
            return Err(wrong(format!("its format is {}, this program reads {FORMAT}", read.format)));
        }
        let below = |path: &str| path.strip_prefix("db/").unwrap_or(path).to_owned();
        let names = read.files.iter().map(|f| below(&f.file)).chain(read.archive.iter().map(|f| f.file.clone()));
        let beside = |f: &&Stored| !f.file.starts_with("db/") && f.file != MARKER && f.file != uploads::LIST;
        if let Some(other) = read.files.iter().find(beside) {
            return Err(wrong(format!("{:?} is no file of a checkpoint", other.file)));
        }
        if read.jsonl.file != uploads::JSONL {
            return Err(wrong(format!("{:?} is not {}", read.jsonl.file, uploads::JSONL)));
        }
        match names.into_iter().find(|name| !is_plain(name)) {
            Some(name) => Err(wrong(format!("{name:?} is no name of a file"))),
            None if !is_name(&read.name) => Err(wrong(format!("{:?} is no name of a checkpoint", read.name))),
            None => Ok(read),
        }
    }

    /// Reads the manifest of the checkpoint in `dir`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and [`CheckpointError::Io`].
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST);
        if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            let problem = "it is no file".to_owned(); // opening a pipe would wait for ever
            return Err(CheckpointError::Manifest { at: path.display().to_string(), problem });
        }
        let mut bytes = Vec::new();
        let all = std::fs::File::open(&path).and_then(|file| {
            files::digest_of(file, LARGEST, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })
        });
        all.map_err(CheckpointError::io("read", &path))?;
        Self::parse(&bytes, &path.display().to_string())
    }

    /// The manifest as it is written.
    pub fn text(&self) -> Vec<u8> {
        // Texts and numbers; writing them into memory cannot fail. An empty manifest would be refused by every reader.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Bytes of its own files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// A name without a way out of its folder.
pub(in crate::recovery) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::warc::date::iso;

    pub(in crate::recovery::checkpoint) fn sample() -> Manifest {
        let stored = |file: &str| Stored { file: file.into(), bytes: 3, sha256: Some("ab".into()) };
        Manifest {
            format: FORMAT,
            program: "Lycosa/0".into(),
            name: name(UnixMillis(1_714_979_289_012), 7),
            crawl: "default".into(),
            ts: iso(UnixMillis(1_714_979_289_012)),
            ts_ms: 1_714_979_289_012,
            seed: "0000000000000007".into(),
            run: 7,
            by_hand: false,
            sequence: 99,
            counts: Counts::default(),
            jsonl: stored("crawl.jsonl"),
            lines_mark: String::new(),
            archive: vec![stored("a.warc.gz")],
            files: vec![stored("FORMAT"), stored("db/CURRENT")],
        }
    }

    #[test]
    fn names_sort_by_time_and_are_known_again() {
        let early = name(UnixMillis(1_714_979_289_012), 700);
        let late = name(UnixMillis(1_714_979_289_013), 2);
        assert_eq!(early, "20240506070809012-r00700");
        assert!(early < late && is_name(&early) && is_name(&late));
        for other in ["", "20240506070809012", "20240506070809012-r1", "20240506070809012-r00700.partial", "x-r00001"] {
            assert!(!is_name(other), "{other}");
        }
    }

    #[test]
    fn a_manifest_is_read_back() {
        assert_eq!(Manifest::parse(&sample().text(), "x").unwrap(), sample());
    }

    #[test]
    fn a_manifest_that_leads_out_of_its_folder_or_is_of_another_format_is_refused() {
        let with = |file: &str| Stored { file: file.into(), bytes: 1, sha256: None };
        for bad in ["../x", "db/../x", "/etc/passwd", "db/", ".hidden", "db//x", "sub/x"] {
            let own = Manifest { files: vec![with(bad)], ..sample() };
            let archive = Manifest { archive: vec![with(bad)], ..sample() };
            for manifest in [own, archive] {
                assert!(Manifest::parse(&manifest.text(), "x").is_err(), "{bad}");
            }
        }
        assert!(Manifest::parse(&Manifest { format: FORMAT + 1, ..sample() }.text(), "x").is_err());
        assert!(Manifest::parse(&Manifest { name: "../x".into(), ..sample() }.text(), "x").is_err());
        assert!(Manifest::parse(b"{}", "x").is_err());
    }
}
