//! What others have written, shown so that it cannot steer the terminal.

use std::borrow::Cow;
use std::io::{Result, Write};

use crate::telemetry::log::is_unsafe;

/// Writes on, with every control character but the ends of lines and tabs, and every one that turns the direction of text,
/// written as JSON would escape it: what is JSON stays the same JSON. Each write is to hold whole characters, as those of
/// texts do. Every command writes through one, whatever it escapes itself; only bodies and archive files go out as they are.
pub(super) struct Safe<'o>(pub &'o mut dyn Write);

impl Write for Safe<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write_all(plain(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => out.push(c), // the lines of a CSV end in both
            c if steers(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.into()
}

fn steers(c: char) -> bool {
    is_unsafe(c) && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out_and_the_rest_stays() {
        let mut out = Vec::new();
        let hostile = "\r\u{1b}]0;x\u{7}\u{9b}\u{202e}";
        Safe(&mut out).write_all(format!("a\tü\r\n{hostile}").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\tü\r\n\\u000d\\u001b]0;x\\u0007\\u009b\\u202e");
    }
}
