//! The rooms of the house and their order, held by tests: each imports only rooms above it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the top down.
const ROOMS: [&str; 19] = [
    "base",
    "domain",
    "content",
    "document",
    "net",
    "storage",
    "warc",
    "recovery",
    "telemetry",
    "config",
    "export",
    "index",
    "sink",
    "cluster",
    "crawl",
    "admin",
    "app",
    "testweb",
    "cli",
];

/// Rooms whose functions get everything as arguments.
const PURE: [&str; 2] = ["domain", "content"];

/// What reaches out of a program.
const IMPURE: [&str; 11] = [
    "tokio",
    "actix",
    "rocksdb",
    "std::fs",
    "std::io",
    "std::env",
    "std::thread",
    "std::process",
    "SystemTime",
    "Instant",
    "base::clock",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Lines of code of a room that `wanted` says yes to, as `file: line`; comments and tests apart.
fn lines_of(room: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    sources(&root().join("src").join(room), &mut files);
    assert!(files.len() > 3, "the room {room} is not where it was");
    let is_test =
        |path: &PathBuf| path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
    let mut found = Vec::new();
    for path in files.iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//") && wanted(line));
        found.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    found
}

/// The rooms that a line names.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

#[test]
fn each_room_imports_only_rooms_above_it() {
    for (nth, room) in ROOMS.iter().enumerate() {
        let known = |name: &str| ROOMS.iter().take(nth + 1).any(|above| *above == name);
        assert_eq!(lines_of(room, |line| !named(line).all(known)), Vec::<String>::new(), "{room} reaches down");
    }
}

#[test]
fn every_folder_is_a_room() {
    let entries =
        fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> =
        entries.filter(|name| !matches!(name.as_str(), "lib.rs" | "main.rs" | "rooms.rs")).collect();
    found.sort();
    let mut rooms = ROOMS.to_vec();
    rooms.sort_unstable();
    assert_eq!(found, rooms);
}

#[test]
fn the_list_of_rooms_is_the_same_in_the_crate_and_in_the_architecture() {
    let rows = |file: &str, begin: &str, quote: [&str; 2]| -> Vec<(String, String)> {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let rows = text.lines().filter_map(|line| line.strip_prefix(begin)?.strip_suffix(" |")?.split_once(" | "));
        let of_room = |cell: &str| cell.strip_prefix(quote[0])?.strip_suffix(quote[1]).map(str::to_owned);
        rows.filter_map(|(room, what)| Some((of_room(room)?, what.to_owned()))).take(ROOMS.len()).collect()
    };
    let told = rows("src/lib.rs", "//! | ", ["[`", "`]"]);
    assert_eq!(told.iter().map(|(room, _)| room.as_str()).collect::<Vec<_>>(), ROOMS);
    assert_eq!(rows("docs/architecture.md", "| ", ["`", "`"]), told);
}

#[test]
fn domain_and_content_are_pure() {
    for room in PURE {
        // Decoders write into memory by `std::io::Write`.
        let impure = lines_of(room, |line| {
            IMPURE.iter().any(|word| line.contains(word)) && !line.ends_with("std::io::{self, Write};")
        });
        assert_eq!(impure, Vec::<String>::new());
    }
}

#[test]
fn the_libraries_underneath_have_one_importer_each() {
    let rooms =
        [("rocksdb", "/src/storage/rocks/"), ("tantivy", "/src/index/"), ("async_nats", "/src/cluster/engine/nats/")];
    for (library, room) in rooms {
        let named = |line: &str| line.contains(&format!("{library}::")) || line.contains(&format!("use {library}"));
        let found = ROOMS.iter().flat_map(|room| lines_of(room, named));
        assert_eq!(found.filter(|line| !line.contains(room)).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
