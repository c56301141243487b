//! Where copies go and come from: a folder, or a store that speaks S3. Keys are paths with `/`.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::fetch::MAP;
use super::manifest::LARGEST;
use super::{CheckpointError, Result, files};
use crate::base::disk::{is_same_folder, own};
use crate::recovery::if_there;

/// A place as it is named by an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Target {
    Folder(PathBuf),
    /// A bucket and what its keys begin with, without slash at its end; may be empty.
    S3 {
        bucket: String,
        prefix: String,
    },
}

impl Target {
    /// Reads a folder's path or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// [`CheckpointError::Target`].
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |problem: &str| CheckpointError::Target { text: text.to_owned(), problem: problem.to_owned() };
        let Some(rest) = text.strip_prefix("s3://") else {
            if text.is_empty() || text.contains("://") {
                return Err(wrong("name a folder, or s3://BUCKET/PREFIX"));
            }
            return Ok(Self::Folder(text.into()));
        };
        if cfg!(not(feature = "s3")) {
            return Err(wrong("this program was built without the feature s3"));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        if bucket.len() < 3 || !bucket.bytes().all(good) {
            return Err(wrong("its bucket must be 3 or more lower-case letters, digits, hyphens or dots"));
        }
        let prefix = prefix.trim_matches('/');
        if prefix.split('/').any(|part| part.is_empty() && !prefix.is_empty() || part == "." || part == "..") {
            return Err(wrong("its prefix has an empty part"));
        }
        Ok(Self::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The same, one step below.
    pub fn below(&self, name: &str) -> Self {
        match self {
            Self::Folder(dir) => Self::Folder(dir.join(name)),
            Self::S3 { bucket, prefix } => {
                let prefix = format!("{prefix}/{name}").trim_start_matches('/').to_owned();
                Self::S3 { bucket: bucket.clone(), prefix }
            }
        }
    }

    /// Whether a crawl on several machines has its store here. A folder without the map is another one, or a mount point with nothing there.
    ///
    /// # Errors
    /// [`CheckpointError::Place`]. Of a bucket it is not asked: that one does not come back empty.
    pub fn is_store(&self) -> Result<()> {
        match self {
            Self::Folder(dir) if !dir.join(MAP).exists() => Err(CheckpointError::Place {
                doing: "using",
                url: self.to_string(),
                problem: format!("there is no {MAP} in it: is the store there, and mounted?"),
            }),
            _ => Ok(()),
        }
    }

    /// Makes a folder, and tries whether it can be written to.
    ///
    /// # Errors
    /// [`CheckpointError::Io`].
    pub fn is_writable(&self) -> Result<()> {
        let Self::Folder(dir) = self else { return Ok(()) };
        files::make_dir(dir)?;
        tempfile::tempfile_in(dir).map(drop).map_err(CheckpointError::io("write to the store", dir))
    }

    /// Opens it. `endpoint` stands in place of `AWS_ENDPOINT`.
    ///
    /// # Errors
    /// [`CheckpointError::Place`].
    pub fn open(&self, endpoint: Option<&str>) -> Result<Box<dyn Place>> {
        match self {
            Self::Folder(dir) => Ok(Box::new(FolderPlace(dir.clone()))),
            #[cfg(feature = "s3")]
            Self::S3 { bucket, prefix } => Ok(Box::new(super::s3::S3Place::open(bucket, prefix, endpoint)?)),
            #[cfg(not(feature = "s3"))]
            Self::S3 { .. } => {
                let _ = endpoint;
                Err(CheckpointError::Target { text: self.to_string(), problem: "built without the feature s3".into() })
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(dir) => write!(f, "{}", dir.display()),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

/// What is done with each piece of an object.
pub type Each<'e> = &'e mut dyn FnMut(&[u8]) -> io::Result<()>;

/// A place, opened. Calls block; they are made on threads that may wait.
pub trait Place {
    /// Writes the first `most` bytes of a file; gives their number and digest.
    ///
    /// # Errors
    /// [`CheckpointError`]; then nothing, or the former object, has that key.
    fn put(&self, key: &str, from: &Path, most: u64) -> Result<(u64, String)>;

    /// Hands all bytes of an object to `each`; gives their number and digest. `None` when there is none.
    fn get(&self, key: &str, each: Each<'_>) -> Result<Option<(u64, String)>>;

    /// The objects directly below a folder: their keys and lengths; none when there is no such folder.
    fn list(&self, folder: &str) -> Result<HashMap<String, u64>>;

    /// Removes an object; one that is not there is as good.
    fn remove(&self, key: &str) -> Result<()>;

    /// True when the object of this key is the file itself, by whatever way it is reached.
    fn is_itself(&self, _key: &str, _file: &Path) -> bool {
        false
    }

    /// How an object is named to people.
    fn url(&self, key: &str) -> String;
}

/// The folder; made when something is put there.
struct FolderPlace(PathBuf);

impl Place for FolderPlace {
    fn put(&self, key: &str, from: &Path, most: u64) -> Result<(u64, String)> {
        let to = self.0.join(key);
        files::make_dir(to.parent().unwrap_or(&self.0))?;
        // Members may put the same key at a time.
        let new = self.0.join(format!("{key}.{}.new", std::process::id()));
        let done = files::copy(from, &new, most)?;
        files::rename(&new, &to)?;
        Ok(done)
    }

    fn get(&self, key: &str, each: Each<'_>) -> Result<Option<(u64, String)>> {
        let path = self.0.join(key);
        let read = File::open(&path).and_then(|file| files::digest_of(file, u64::MAX, each));
        if_there(read).map_err(CheckpointError::io("read", &path))
    }

    fn list(&self, folder: &str) -> Result<HashMap<String, u64>> {
        let dir = self.0.join(folder);
        let mut found = HashMap::new();
        for name in files::names(&dir)? {
            let about = if_there(fs::metadata(dir.join(&name))).map_err(CheckpointError::io("look at", &dir))?;
            found.extend(about.filter(fs::Metadata::is_file).map(|about| (format!("{folder}/{name}"), about.len())));
        }
        Ok(found)
    }

    fn remove(&self, key: &str) -> Result<()> {
        let path = self.0.join(key);
        if_there(fs::remove_file(&path)).map(drop).map_err(CheckpointError::io("remove", &path))
    }

    fn is_itself(&self, key: &str, file: &Path) -> bool {
        is_same_folder(&self.0.join(key), file)
    }

    fn url(&self, key: &str) -> String {
        self.0.join(key).display().to_string()
    }
}

/// Writes, reads back and compares.
///
/// # Errors
/// [`CheckpointError::Differs`], and those of the place.
pub fn put_verified(place: &dyn Place, key: &str, from: &Path, most: u64) -> Result<(u64, String)> {
    let wanted = place.put(key, from, most)?;
    let found = place.get(key, &mut |_| Ok(()))?;
    if found.as_ref() == Some(&wanted) {
        return Ok(wanted);
    }
    let told = |(bytes, sha): &(u64, String)| format!("{bytes} bytes, SHA-256 {sha}");
    let found = found.as_ref().map_or_else(|| "nothing".to_owned(), told);
    Err(CheckpointError::Differs { url: place.url(key), wanted: told(&wanted), found })
}

/// Writes bytes as an object, reads back and compares.
///
/// # Errors
/// As [`put_verified`]; [`CheckpointError::Io`].
pub fn put_bytes(place: &dyn Place, key: &str, bytes: &[u8]) -> Result<()> {
    let temporary = std::env::temp_dir();
    let here = tempfile::NamedTempFile::new().map_err(CheckpointError::io("make a file in", &temporary))?;
    fs::write(here.path(), bytes).map_err(CheckpointError::io("write", here.path()))?;
    put_verified(place, key, here.path(), u64::MAX).map(drop)
}

/// Reads a small object whole.
///
/// # Errors
/// Those of the place; larger than a manifest may be.
pub fn read_small(place: &dyn Place, key: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let found = place.get(key, &mut |piece| {
        if bytes.len() as u64 + piece.len() as u64 > LARGEST {
            return Err(io::Error::other("larger than such a file may be"));
        }
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(found.map(|_| bytes))
}

/// Fetches an object into a new file, forced to the disk; gives its length and digest.
///
/// # Errors
/// Those of the place, [`CheckpointError::Place`] when it is not there, [`CheckpointError::Io`].
pub fn fetch(place: &dyn Place, key: &str, to: &Path) -> Result<(u64, String)> {
    if let Some(above) = to.parent() {
        files::make_dir(above)?;
    }
    let mut out = own::create(to).map_err(CheckpointError::io("make", to))?;
    let got = place.get(key, &mut |piece| out.write_all(piece))?;
    out.sync_all().map_err(CheckpointError::io("sync", to))?;
    let gone = || CheckpointError::Place { doing: "reading", url: place.url(key), problem: "it is not there".into() };
    got.ok_or_else(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "s3")]
    #[test]
    fn a_place_is_a_folder_or_a_bucket_with_a_prefix() {
        let s3 = |bucket: &str, prefix: &str| Target::S3 { bucket: bucket.into(), prefix: prefix.into() };
        for (text, wanted) in [
            ("/mnt/x", Target::Folder("/mnt/x".into())),
            ("copies", Target::Folder("copies".into())),
            ("s3://my-bucket", s3("my-bucket", "")),
            ("s3://my-bucket/a/b/", s3("my-bucket", "a/b")),
        ] {
            assert_eq!(Target::parse(text).unwrap(), wanted, "{text}");
        }
        assert_eq!(Target::parse("s3://my-bucket/a").unwrap().below("c").to_string(), "s3://my-bucket/a/c");
        for text in ["", "s3://", "s3://x", "s3://My/x", "s3://my-bucket/a//b", "s3://my-bucket/../x", "ftp://x/y"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_copy_that_is_not_like_its_original_is_noticed() {
        /// Loses the last byte of what it is given.
        struct Lossy(FolderPlace);
        impl Place for Lossy {
            fn put(&self, key: &str, from: &Path, most: u64) -> Result<(u64, String)> {
                self.0.put(key, from, most - 1)?;
                files::digest(from, most)
            }
            fn get(&self, key: &str, each: Each<'_>) -> Result<Option<(u64, String)>> {
                self.0.get(key, each)
            }
            fn list(&self, folder: &str) -> Result<HashMap<String, u64>> {
                self.0.list(folder)
            }
            fn remove(&self, key: &str) -> Result<()> {
                self.0.remove(key)
            }
            fn url(&self, key: &str) -> String {
                self.0.url(key)
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        let place = FolderPlace(dir.path().join("to"));
        assert_eq!(put_verified(&place, "a/b", &file, 3).unwrap().0, 3);
        let error = put_verified(&Lossy(place), "a/b", &file, 3).unwrap_err();
        assert!(matches!(error, CheckpointError::Differs { .. }), "{error}");
    }
}
