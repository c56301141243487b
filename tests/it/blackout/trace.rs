//! The trace that `tests/tools/powerloss.c` writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One call of the traced process.
pub struct Event {
    /// When, microseconds since 1970.
    pub at: u64,
    pub call: Call,
}

/// What was called; names are absolute.
pub enum Call {
    Open { fd: i32, path: String, flags: i32 },
    Same { fd: i32, of: i32 },
    Close { fd: i32 },
    Write { fd: i32, at: usize, data: Vec<u8> },
    Resize { fd: i32, len: usize },
    Sync { fd: i32 },
    Rename { from: String, to: String },
    Link { from: String, to: String },
    Remove { path: String },
    Folder { path: String },
}

/// Builds the library once and gives its path.
pub fn library() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/powerloss.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("powerloss-{}.so", std::process::id()));
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(source).arg("-ldl");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

/// All whole records; a kill may have torn the last.
pub fn read(path: &Path) -> Vec<Event> {
    let bytes = fs::read(path).unwrap();
    let (mut rest, mut events) = (&bytes[..], Vec::new());
    while let Some((event, after)) = next(rest) {
        events.push(event);
        rest = after;
    }
    events
}

fn next(bytes: &[u8]) -> Option<(Event, &[u8])> {
    let (head, rest) = bytes.split_at_checked(33)?;
    let int = |at: usize| i32::from_ne_bytes(head[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap());
    let (fd, flags, number) = (int(1), int(5), long(9) as usize);
    let (a, rest) = rest.split_at_checked(int(25) as usize)?;
    let (b, rest) = rest.split_at_checked(int(29) as usize)?;
    let [path, to] = [a, b].map(|t| if head[0] == 3 { String::new() } else { tidy(t) });
    let call = match head[0] {
        1 if a.is_empty() => Call::Same { fd, of: i32::try_from(number - 1).unwrap() },
        1 => Call::Open { fd, path, flags },
        2 => Call::Close { fd },
        3 => Call::Write { fd, at: number, data: a.to_vec() },
        4 => Call::Resize { fd, len: number },
        5 => Call::Sync { fd },
        6 => Call::Rename { from: path, to },
        7 | 9 => Call::Remove { path },
        8 => Call::Folder { path },
        10 => Call::Link { from: path, to },
        other => panic!("no such record: {other}"),
    };
    Some((Event { at: long(17), call }, rest))
}

fn tidy(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.replace("//", "/").trim_end_matches('/').to_owned()
}
