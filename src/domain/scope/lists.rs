//! Lists as users write them: of hosts, and of file types by the ending of the path.

use std::collections::HashSet;

use crate::domain::host::parse_host;

/// Hosts by name (`example.org`) and by what they lie below (`*.example.org`).
#[derive(Clone, Debug, Default)]
pub struct HostPatterns {
    exact: HashSet<Box<str>>,
    below: HashSet<Box<str>>,
}

impl HostPatterns {
    /// Compiles them.
    ///
    /// # Errors
    /// The first pattern that can match no host.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let mut made = Self::default();
        for pattern in patterns {
            let trimmed = pattern.trim();
            let below = trimmed.strip_prefix("*.");
            let host = parse_host(below.unwrap_or(trimmed)).ok_or_else(|| pattern.clone())?;
            let set = if below.is_some() { &mut made.below } else { &mut made.exact };
            set.insert(host.trim_end_matches('.').into());
        }
        Ok(made)
    }

    /// The pattern that covers `host`.
    pub fn find(&self, host: &str) -> Option<&str> {
        if let Some(found) = self.exact.get(host) {
            return Some(found);
        }
        if self.below.is_empty() {
            return None;
        }
        let dots = host.bytes().enumerate().filter(|(_, b)| *b == b'.');
        dots.filter_map(|(at, _)| host.get(at + 1..)).find_map(|parent| self.below.get(parent)).map(|found| &**found)
    }
}

/// Endings skipped by default beside [`SKIPPED_FILES`]: images, sound, video, fonts, which may be parts of pages.
#[rustfmt::skip]
const SKIPPED_PARTS: &[&str] = &[
    "avif", "bmp", "gif", "heic", "ico", "jpe", "jpeg", "jpg", "png", "psd", "svg", "tif", "tiff", "webp",
    "aac", "aif", "aiff", "flac", "m4a", "mid", "midi", "mp3", "oga", "ogg", "opus", "wav", "wma",
    "3gp", "avi", "flv", "m2ts", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "rm", "swf", "webm", "wmv",
    "eot", "otf", "ttf", "woff", "woff2",
];

/// Endings skipped by default: archives, disk images, programs. Documents that hold text (PDF, office formats) are fetched.
#[rustfmt::skip]
const SKIPPED_FILES: &[&str] = &[
    "7z", "ar", "bz2", "cab", "gz", "lz", "lzma", "rar", "tar", "tbz2", "tgz", "txz", "xz", "z", "zip", "zst",
    "dmg", "img", "iso", "vdi", "vhd", "vmdk", "qcow2",
    "apk", "appimage", "bin", "class", "deb", "dll", "exe", "ipa", "jar", "msi", "pkg", "rpm", "war",
];

/// The longest ending that is looked at, in bytes.
const MAX_EXTENSION: usize = 16;

/// A set of endings.
#[derive(Clone, Debug, Default)]
pub(super) struct Extensions(HashSet<Box<str>>);

impl Extensions {
    /// Those of a list; without one the usual ones, of which `assets` are none.
    pub(super) fn new(endings: Option<&[String]>, assets: bool) -> Self {
        let clean = |ending: &String| ending.trim().trim_start_matches('.').to_ascii_lowercase();
        let usual = || [SKIPPED_FILES, if assets { &[] } else { SKIPPED_PARTS }].concat();
        match endings {
            Some(own) => Self(own.iter().map(clean).filter(|e| !e.is_empty()).map(String::into_boxed_str).collect()),
            None => Self(usual().into_iter().map(Box::from).collect()),
        }
    }

    /// The ending of `path` if it is in the set. `.xml.gz` is not `gz`: so sitemaps are named. A colon parts a wiki's namespace from a
    /// title: `/wiki/File:Map.png` is a page about a picture.
    pub(super) fn find(&self, path: &str) -> Option<&str> {
        let file = path.rsplit('/').next()?.split(';').next()?;
        let (stem, ending) = file.rsplit_once('.').filter(|(stem, _)| !stem.contains(':'))?;
        if ending.len() > MAX_EXTENSION || (ending.eq_ignore_ascii_case("gz") && ends_in_xml(stem)) {
            return None;
        }
        let found = match ending.bytes().any(|b| b.is_ascii_uppercase()) {
            true => self.0.get(ending.to_ascii_lowercase().as_str()),
            false => self.0.get(ending),
        };
        found.map(|found| &**found)
    }
}

fn ends_in_xml(stem: &str) -> bool {
    stem.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("xml"))
}
