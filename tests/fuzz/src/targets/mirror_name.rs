//! File names of a mirror. Input: URLs, one a line, behind a byte each for the media type.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};

use unicode_normalization::UnicodeNormalization;

use super::domain::mirror_names::{MAX_COMPONENT, MAX_PATH, Names};
use super::domain::url::Canonicaliser;
use super::input::{byte, text};

/// URLs have a file each inside the folder, by names that file systems take, and no name is both a file and a folder.
pub fn check(data: &[u8]) {
    let (canon, mut names) = (Canonicaliser::default(), Names::new(&["MANIFEST.json"]));
    let (mut of, mut files, mut folders) = (HashMap::new(), HashSet::new(), HashSet::new());
    for line in data.split(|b| *b == b'\n').take(200) {
        let (mime, rest) = byte(line);
        let mime = [None, Some("text/html"), Some("text/css"), Some("image/png")][usize::from(mime % 4)];
        let Ok(url) = canon.parse(&format!("http://{}", text(rest))) else { continue };
        let path = names.add(&url, mime);
        assert_eq!(names.path(&url).as_ref(), Some(&path));
        if let Some(before) = of.insert(url.as_str().to_owned(), path.clone()) {
            assert_eq!(before, path, "{url}");
            continue;
        }
        assert!(path.len() <= MAX_PATH, "{url} {path}");
        assert!(Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))), "{url} {path}");
        assert!(path.split('/').all(|part| (1..=MAX_COMPONENT).contains(&part.len()) && !part.ends_with(['.', ' '])));
        assert!(!path.contains(|c: char| c.is_control() || "<>:\"\\|?*".contains(c)), "{url} {path}");
        let folded: String = path.to_lowercase().nfc().collect();
        folders.extend(folded.match_indices('/').map(|(at, _)| folded[..at].to_owned()));
        assert!(files.insert(folded), "{url} {path}");
    }
    assert!(files.is_disjoint(&folders), "{:?}", files.intersection(&folders).next());
}
