//! Errors that end a command.

use std::io::Write as _;

use super::safe::Safe;
pub use crate::base::exit::Exit;

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
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::json!({ "title": self.exit.as_str(), "detail": self.message, "exit": self.exit.code() }).to_string()
    }

    /// The message on one line, with nothing in it that moves a cursor.
    #[must_use]
    pub fn line(&self) -> String {
        crate::telemetry::log::escaped(&self.message.lines().map(str::trim).collect::<Vec<_>>().join("; "))
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
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self { exit: Exit::Done, message: String::new() };
        }
        Self::new(format!("writing the answer: {error}"))
    }
}

/// Tells an error also on stdout, as an object of JSON, to those who asked for JSON. The line on stderr stays.
///
/// # Errors
/// That error; a fault of the output.
pub fn in_json<T>(json: bool, done: Result<T, CliError>, out: &mut dyn std::io::Write) -> Result<T, CliError> {
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
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_no_fault_but_a_full_disk_is() {
        assert!(unless_gone(Err(std::io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_gone(Err(std::io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn an_error_is_one_line() {
        assert_eq!(CliError::new("a\n  b\u{1b}").line(), "a; b\\u{1b}");
    }
}
