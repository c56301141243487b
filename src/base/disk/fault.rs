//! The kinds of fault of a disk. RocksDB tells its faults in words only, so they are told from the system's words too.

use std::io;

use crate::base::kinds::kinds;

kinds! {
    /// What is wrong with a disk.
    DiskFault {
        /// No space, no inode or no quota left, or a limit of file sizes (ENOSPC, EDQUOT, EFBIG): waits for space.
        Full = "full",
        /// The device failed (EIO).
        Io = "io",
        /// The file system takes no writes (EROFS).
        ReadOnly = "read_only",
        /// What is stored cannot be read, or is not ours: trying again does not help.
        Damaged = "damaged",
        /// Anything else.
        Other = "other",
    }
}

/// The system's own words for each kind (strerror in the C locale, which this program never leaves).
const WORDS: [(&str, DiskFault); 6] = [
    ("No space left on device", DiskFault::Full),
    ("Disk quota exceeded", DiskFault::Full),
    ("File too large", DiskFault::Full),
    ("Input/output error", DiskFault::Io),
    ("Read-only file system", DiskFault::ReadOnly),
    ("Corruption: ", DiskFault::Damaged), // RocksDB's own word
];

impl DiskFault {
    /// The kind of a system error.
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::of_text(&error.to_string()).unwrap_or(Self::Other),
        }
    }

    /// The kind of an error of which only the words are left; `None` when the system had no part in it.
    pub fn of_text(text: &str) -> Option<Self> {
        let known = WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, fault)| *fault);
        known.or_else(|| text.contains("(os error ").then_some(Self::Other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_errors_are_told_apart_by_number_and_by_their_words() {
        use nix::errno::Errno;
        let cases = [
            (Errno::ENOSPC, DiskFault::Full),
            (Errno::EDQUOT, DiskFault::Full),
            (Errno::EFBIG, DiskFault::Full),
            (Errno::EIO, DiskFault::Io),
            (Errno::EROFS, DiskFault::ReadOnly),
            (Errno::EACCES, DiskFault::Other),
        ];
        for (errno, fault) in cases {
            let error = io::Error::from(errno);
            assert_eq!(DiskFault::of_io(&error), fault, "{errno}");
            let wrapped = format!("could not append to /data/x: {error}");
            assert_eq!(DiskFault::of_text(&wrapped), Some(fault), "{wrapped}");
            let words = error.to_string().replace(&format!(" (os error {})", errno as i32), "");
            let engine = format!("IO error: While appending to file: /data/db/4.log: {words}");
            let known = (fault != DiskFault::Other).then_some(fault);
            assert_eq!(DiskFault::of_text(&engine), known, "RocksDB's words: {engine}");
        }
        assert_eq!(DiskFault::of_text("Corruption: checksum mismatch"), Some(DiskFault::Damaged));
        assert_eq!(DiskFault::of_text("70000 more bytes do not fit the spill budget"), None);
    }
}
