//! Reads case tables of `tests/data` with one case a line: cells apart by ` | `, the last one the source of the rule.

/// One row.
pub struct Row<'t> {
    /// Its cells, without the source; trimmed.
    pub cells: Vec<&'t str>,
    /// Its line in the file, from 1.
    pub line: usize,
    /// As it stands there.
    pub text: &'t str,
}

/// The rows of `table`, each with so many `cells` and a source. Empty lines and those that begin with `#` are remarks.
pub fn rows(table: &str, cells: usize) -> impl Iterator<Item = Row<'_>> {
    let lines = table.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty() && !text.starts_with('#'));
    lines.map(move |(text, line)| {
        let mut parts: Vec<&str> = text.split(" | ").map(str::trim).collect();
        assert_eq!(parts.len(), cells + 1, "line {line} has not {cells} cells and a source: {text}");
        assert!(!parts.pop().unwrap_or_default().is_empty(), "line {line} names no source: {text}");
        Row { cells: parts, line, text }
    })
}

/// The bytes of a cell, its escapes `\r \n \t \0 \\ \s \xNN` undone; `\s` is a space, which may stand at the end.
pub fn unescaped(cell: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = cell.bytes();
    while let Some(byte) = bytes.next() {
        let escape = if byte == b'\\' { bytes.next() } else { None };
        out.push(match escape {
            None => byte,
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b's') => b' ',
            Some(b'0') => 0,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits: Vec<u8> = bytes.by_ref().take(2).collect();
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            Some(other) => panic!("unknown escape {}", char::from(other)),
        });
    }
    out
}
