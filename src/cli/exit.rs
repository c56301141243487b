//! Errors that end a command; and what others have written, shown so that it cannot steer the terminal.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

pub use crate::base::exit::Exit;
use crate::telemetry::log::{escaped, is_unsafe};

/// An error that ends a command: one line for stderr, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// How the program ends.
    pub exit: Exit,
    /// What, where, what to do.
    pub message: String,
}

impl CliError {
    /// An error with the exit code 1.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Error, message: message.to_string() }
    }

    /// A mistake of the caller's: exit code 2.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// The error for machines: `title`, `detail`, `exit`.
    pub fn json(&self) -> String {
        serde_json::json!({ "title": self.exit.as_str(), "detail": self.message, "exit": self.exit.code() }).to_string()
    }

    /// The message on one line, with nothing in it that moves a cursor.
    pub fn line(&self) -> String {
        escaped(&self.message.lines().map(str::trim).collect::<Vec<_>>().join("; "))
    }
}

impl From<crate::config::ConfigError> for CliError {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<std::io::Error> for CliError {
    /// A reader that went away (`lycosa config show | head`) has what it wanted.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self { exit: Exit::Done, message: String::new() };
        }
        Self::new(format!("writing the answer: {error}"))
    }
}

/// Tells an error also on stdout, as an object of JSON, to those who asked for JSON. The line on stderr stays.
///
/// # Errors
/// That error; a fault of the output.
pub fn in_json<T>(json: bool, done: Result<T, CliError>, out: &mut dyn Write) -> Result<T, CliError> {
    if let (true, Err(error)) = (json, &done)
        && error.exit != Exit::Done
    {
        unless_gone(writeln!(&mut Safe(out), "{}", error.json()))?;
    }
    done
}

/// Lets a reader that went away pass: what was done has its own exit code, whoever reads about it.
///
/// # Errors
/// Any other fault of the output.
pub fn unless_gone(written: std::io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes on, with every control character but the ends of lines and tabs, and every one that turns the direction of text,
/// written as JSON would escape it: what is JSON stays the same JSON. Each write is to hold whole characters, as those of
/// texts do. Every command writes through one, whatever it escapes itself; only bodies and archive files go out as they are.
pub(super) struct Safe<'o>(pub &'o mut dyn Write);

impl Write for Safe<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(plain(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
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
    fn a_reader_that_went_away_is_no_fault_but_a_full_disk_is() {
        assert!(unless_gone(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_gone(Err(ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn an_error_is_one_line() {
        assert_eq!(CliError::new("a\n  b\u{1b}").line(), "a; b\\u{1b}");
    }

    #[test]
    fn what_steers_a_terminal_is_written_out_and_the_rest_stays() {
        let mut out = Vec::new();
        let hostile = "\r\u{1b}]0;x\u{7}\u{9b}\u{202e}";
        Safe(&mut out).write_all(format!("a\tü\r\n{hostile}").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\tü\r\n\\u000d\\u001b]0;x\\u0007\\u009b\\u202e");
    }
}
