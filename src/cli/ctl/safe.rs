//! What an endpoint answers, shown so that it cannot steer the terminal.

use std::io::{Result, Write};

/// Writes on, with every control character but the ends of lines and tabs, and every one that turns the direction of text,
/// written as JSON would escape it.
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

fn plain(text: &str) -> String {
    let steers = |c: char| {
        let direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        direction || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    let shown = |c: char| if steers(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    // The lines of a CSV end in both.
    let lines: Vec<String> = text.split("\r\n").map(|line| line.chars().map(shown).collect()).collect();
    lines.join("\r\n")
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
