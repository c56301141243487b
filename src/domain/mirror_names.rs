//! File names of a mirror (`export::mirror`): which file a URL is, whatever the URL is made of.
//!
//! A file is `host/path` with the query behind an `@`, in the characters of the URL as far as all file systems take them. Two URLs never
//! share a file, not on a file system that takes capitals and small letters for the same either, and no name is both a file and a folder.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use crate::domain::url::PageUrl;

/// The longest component, in bytes: what Linux, macOS and Windows take.
pub const MAX_COMPONENT: usize = 255;
/// The longest path, in bytes. Linux takes 4,096, of which the folder that the mirror is in needs some.
pub const MAX_PATH: usize = 2_000;
/// Letters of a digest in a name that was shortened, and in one that would clash.
const LONG: usize = 16;
const SHORT: usize = 8;
/// Names that Windows keeps for devices, whatever their ending; `COM` and `LPT` with a digit too.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Media types whose files need an ending for browsers to know them, that ending, and others that tell the same.
const ENDINGS: &[(&str, &str, &[&str])] = &[
    ("text/html", ".html", &[".htm"]),
    ("application/xhtml+xml", ".xhtml", &[".xht"]),
    ("text/css", ".css", &[]),
    ("text/javascript", ".js", &[".mjs"]),
    ("application/javascript", ".js", &[".mjs"]),
    ("image/svg+xml", ".svg", &[".svgz"]),
];

/// Which URL is which file.
pub struct Names {
    /// Of each URL that has a file: its path, where that is not the plain one of its type.
    urls: HashMap<Key, Named>,
    files: HashSet<Key>,
    folders: HashSet<Key>,
}

/// Digest of a URL, or of a path in small letters.
type Key = [u8; 16];

struct Named {
    /// Its place in [`ENDINGS`].
    ending: Option<u8>,
    /// Its path, where that is not the plain one.
    own: Option<Box<str>>,
}

fn digest(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

fn key(text: &str) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(digest(text).as_bytes().get(..16).unwrap_or(&[0; 16]));
    key
}

/// The same for all paths that some file system takes for one.
fn key_of_path(path: &str) -> Key {
    key(&path.to_lowercase().nfc().collect::<String>())
}

impl Names {
    /// No URL has a file; `taken` are the names of files that are no page's.
    pub fn new(taken: &[&str]) -> Self {
        let files = taken.iter().map(|name| key_of_path(name)).collect();
        Self { urls: HashMap::new(), files, folders: HashSet::new() }
    }

    /// Gives a URL its file, once; the path is relative to the mirror. `mime`: the type of what it holds.
    pub fn add(&mut self, url: &PageUrl, mime: Option<&str>) -> String {
        if let Some(path) = self.path(url) {
            return path;
        }
        let ending = ENDINGS.iter().position(|(of, ..)| mime.is_some_and(|mime| mime.eq_ignore_ascii_case(of)));
        let ending = ending.and_then(|nth| u8::try_from(nth).ok());
        let plain = plain(url, ending);
        let mut path = self.in_free_folders(&plain);
        let (folder, name) = split(&path);
        let (folder, name) = (folder.to_owned(), name.to_owned());
        for nth in 0_u32.. {
            let key = key_of_path(&path);
            if !self.folders.contains(&key) && self.files.insert(key) {
                break;
            }
            let mark = digest(&format!("{nth} {url}")).to_hex();
            path = format!("{folder}{}", marked(&name, mark.get(..SHORT).unwrap_or_default()));
        }
        self.folders.extend(folders(&path).map(key_of_path));
        let own = Some(path.as_str()).filter(|path| *path != plain).map(Box::from);
        self.urls.insert(key(url.as_str()), Named { ending, own });
        path
    }

    /// The file of a URL, when it has one.
    pub fn path(&self, url: &PageUrl) -> Option<String> {
        let named = self.urls.get(&key(url.as_str()))?;
        Some(named.own.as_deref().map_or_else(|| plain(url, named.ending), str::to_owned))
    }

    /// A folder whose name a file has gets a `~`.
    fn in_free_folders(&self, path: &str) -> String {
        let (folder, name) = split(path);
        let mut free = String::with_capacity(path.len() + 2);
        for component in folder.split_terminator('/') {
            free.push_str(component);
            while self.files.contains(&key_of_path(&free)) {
                free.push('~');
            }
            free.push('/');
        }
        free + name
    }
}

/// The folder with its final `/`, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

/// The folders above a path, without final `/`.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// The path that a URL has when nothing else is in its way.
fn plain(url: &PageUrl, ending: Option<u8>) -> String {
    let mut path = component(&url.authority(), "");
    let mut parts = url.path().split('/').skip(1).peekable();
    let ending = ending.and_then(|nth| ENDINGS.get(usize::from(nth)));
    while let Some(part) = parts.next() {
        path.push('/');
        if parts.peek().is_some() {
            path.push_str(&component(part, ""));
            continue;
        }
        let mut name = readable(if part.is_empty() { "index.html" } else { part });
        if let Some(query) = url.query() {
            name = format!("{name}@{}", readable(query));
        }
        let added = ending.filter(|(_, ending, others)| {
            let name = name.to_ascii_lowercase();
            !others.iter().chain([ending]).any(|ending| name.ends_with(ending))
        });
        path.push_str(&component(&name, added.map_or("", |(_, ending, _)| ending)));
    }
    if path.len() <= MAX_PATH {
        return path;
    }
    let host = component(&url.authority(), "");
    format!("{host}/~{}{}", hex(url.as_str()), ending.map_or("", |(_, ending, _)| ending))
}

/// Escapes of letters beyond ASCII undone.
fn readable(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('%') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        // Bytes beyond ASCII that stand together, escaped.
        let is_high = |escape: &[u8]| matches!(escape, [b'%', b'8' | b'9' | b'A'..=b'F' | b'a'..=b'f', d] if d.is_ascii_hexdigit());
        let run = 3 * escaped.as_bytes().chunks(3).take_while(|escape| is_high(escape)).count();
        let (run, after) = escaped.split_at(run.max(1));
        let decoded = percent_encoding::percent_decode_str(run).decode_utf8().ok();
        let letters = decoded.filter(|text| run.len() > 1 && text.chars().all(char::is_alphanumeric));
        out.push_str(letters.as_deref().unwrap_or(run));
        rest = after;
    }
    out + rest
}

/// A component that every file system takes, with an ending; shortened when it is too long.
fn component(part: &str, ending: &str) -> String {
    let mut name = String::with_capacity(part.len() + ending.len());
    let readable = readable(part);
    let last = readable.chars().count().saturating_sub(1);
    for (nth, c) in readable.chars().enumerate() {
        let hidden_end = nth == last && ending.is_empty() && matches!(c, '.' | ' ');
        let dots = nth == 0 && c == '.' && readable.bytes().all(|b| b == b'.');
        if c.is_control() || "<>:\"/\\|?*".contains(c) || hidden_end || dots {
            name.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            name.push(c);
        }
    }
    if name.is_empty() {
        name.push('~');
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = stem.len() == 4
        && (stem.starts_with("com") || stem.starts_with("lpt"))
        && stem.ends_with(|c: char| c.is_ascii_digit());
    if numbered || DEVICES.contains(&stem.as_str()) {
        name.insert(0, '_');
    }
    if name.len() + ending.len() <= MAX_COMPONENT {
        return name + ending;
    }
    let mark = hex(part);
    let ending = if ending.is_empty() { ending_of(&name) } else { ending };
    let room = MAX_COMPONENT - ending.len() - LONG - 1;
    format!("{}~{mark}{ending}", crate::domain::text::cut_at(&name, room))
}

fn hex(text: &str) -> String {
    digest(text).to_hex().chars().take(LONG).collect()
}

/// The ending of a name that says its type: a dot and at most five letters or digits.
fn ending_of(name: &str) -> &str {
    let ending = name.rfind('.').filter(|dot| *dot > 0).and_then(|dot| name.get(dot..)).unwrap_or_default();
    let says = (2..=6).contains(&ending.len()) && ending.bytes().skip(1).all(|b| b.is_ascii_alphanumeric());
    if says { ending } else { "" }
}

/// A name with a mark before its ending, shortened where it becomes too long.
fn marked(name: &str, mark: &str) -> String {
    let ending = ending_of(name);
    let stem = name.strip_suffix(ending).unwrap_or(name);
    let stem = crate::domain::text::cut_at(stem, MAX_COMPONENT - ending.len() - mark.len() - 1);
    format!("{stem}~{mark}{ending}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Component, Path};

    use super::*;
    use crate::domain::cases::{check, unescape};
    use crate::domain::url::Canonicaliser;
    use proptest::prelude::*;

    fn url(text: &str) -> PageUrl {
        Canonicaliser::default().parse(text).unwrap()
    }

    #[test]
    fn urls_get_the_files_of_the_table_one_after_another() {
        let mut names = Names::new(&["MANIFEST.json"]);
        check(include_str!("../../tests/data/export/mirror_names.txt"), |[mime, address]| {
            let url = url(&unescape(address));
            let path = names.add(&url, Some(mime));
            assert_eq!(names.path(&url).as_deref(), Some(path.as_str()));
            [path]
        });
        assert_eq!(names.path(&url("http://h.test/never")), None);
    }

    #[test]
    fn long_names_are_shortened_and_stay_apart() {
        let mut names = Names::new(&[]);
        let long = |end: &str| url(&format!("http://h.test/{}{end}", "a".repeat(400)));
        let deep = |end: &str| PageUrl::from_canonical(&format!("http://h.test/{}{end}", "a/".repeat(1500))).unwrap();
        let chinese = |end: &str| url(&format!("http://h.test/{}{end}", "中".repeat(200)));
        let mut seen = BTreeSet::new();
        for url in [long(""), long("b"), long(".png"), long("?q=1"), deep("x"), deep("y"), chinese(""), chinese("文")]
        {
            let path = names.add(&url, Some("text/html"));
            assert!(path.split('/').all(|part| (1..=255).contains(&part.len())) && path.len() <= MAX_PATH, "{path}");
            assert!(path.ends_with(".html") && seen.insert(path.clone()), "{path}");
        }
        assert!(names.add(&long(".jpeg"), Some("image/jpeg")).ends_with(".jpeg"));
    }

    /// Pieces of URLs that are hard on file names.
    fn piece() -> impl Strategy<Value = String> {
        let nasty = [
            "a",
            "A",
            "a/",
            "/",
            "//",
            "%2f",
            "%2F",
            "%2e%2e",
            "..",
            ".",
            "%00",
            "%0a",
            "%5c",
            "\\",
            ":",
            "*",
            "?",
            "@",
            "index.html",
            ".html",
            "con",
            "NUL.txt",
            "com1",
            "é",
            "e%CC%81",
            "%E4%BD%A0",
            "%E4",
            "~",
            "%7E",
            " ",
            ". ",
            "|",
            "\"",
            "<",
            "&",
            "=",
            "%25",
            "%3F",
            "#f",
        ];
        prop_oneof![8 => prop::sample::select(nasty.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{1,5}", 1 => Just("x".repeat(200))]
    }

    proptest! {
        #[test]
        fn different_urls_have_different_files_inside_the_folder(
            told in prop::collection::vec((prop::collection::vec(piece(), 0..6), 0_usize..3, 0_usize..3), 1..40)
        ) {
            let mut names = Names::new(&["MANIFEST.json"]);
            let (mut urls, mut files, mut folders) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for (pieces, host, mime) in told {
                let host = ["h.test", "H.test:8080", "[2001:db8::1]"][host];
                let Ok(url) = Canonicaliser::default().parse(&format!("http://{host}/{}", pieces.concat())) else { continue };
                let mime = ["text/html", "image/png", "text/css"][mime];
                let path = names.add(&url, Some(mime));
                prop_assert_eq!(names.path(&url), Some(path.clone()));
                if !urls.insert(url.as_str().to_owned()) {
                    continue;
                }
                let plain = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
                let ends = path.split('/').all(|part| !part.ends_with(['.', ' ']) && (1..=255).contains(&part.len()));
                let letters = !path.contains(|c: char| c.is_control() || "<>:\"\\|?*".contains(c));
                prop_assert!(plain && ends && letters && path.matches('/').count() >= 1, "{} {}", url, path);
                let folded: String = path.to_lowercase().nfc().collect();
                folders.extend(super::folders(&folded).map(str::to_owned));
                prop_assert!(files.insert(folded), "{} {}", url, path);
                prop_assert!(files.is_disjoint(&folders), "{} {}", url, path);
            }
        }
    }
}
