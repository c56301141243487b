//! Exit codes of the program: stable, scripts rely on them.

use std::process::ExitCode;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// An error.
    Error = 1,
    /// Bad arguments or configuration.
    Usage = 2,
    /// The disk is full or broken.
    Disk = 3,
    /// The crawl ended without a page: no answer said that all is well.
    NothingStored = 9,
    /// Interrupted while `--until-done` was waiting for the end.
    Interrupted = 11,
    /// The limit of failures was reached.
    FailureLimit = 12,
    /// The limit of bytes was reached.
    SizeLimit = 14,
    /// The limit of time was reached.
    TimeLimit = 15,
    /// Stopped by the supervisor: an actor died too often, or a thread hung.
    Supervisor = 70,
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error",
            Self::Usage => "bad arguments or configuration",
            Self::Disk => "disk full or broken",
            Self::NothingStored => "no page fetched",
            Self::Interrupted => "interrupted",
            Self::FailureLimit => "limit of failures reached",
            Self::SizeLimit => "limit of size reached",
            Self::TimeLimit => "limit of time reached",
            Self::Supervisor => "stopped by the supervisor",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_interface_table() {
        use Exit::*;
        let all =
            [Done, Error, Usage, Disk, NothingStored, Interrupted, FailureLimit, SizeLimit, TimeLimit, Supervisor];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 9, 11, 12, 14, 15, 70]);
    }
}
