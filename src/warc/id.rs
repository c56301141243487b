//! Names and kinds of records.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The name of a record: a random UUID (RFC 9562, version 4), written `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// Makes a name of 16 random bytes; the six bits that mark version and variant are set here.
    #[must_use]
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<urn:uuid:")?;
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        f.write_str(">")
    }
}

/// Gives record names without asking the system each time: SHA-256 over a secret key and a count.
#[derive(Clone)]
pub struct IdSource {
    key: [u8; 32],
    next: u64,
}

impl IdSource {
    /// The same key gives the same names; for tests.
    #[must_use]
    pub fn from_key(key: [u8; 32]) -> Self {
        Self { key, next: 0 }
    }

    /// A key of the system's randomness.
    ///
    /// # Errors
    /// Those of reading `/dev/urandom`.
    pub fn from_system() -> io::Result<Self> {
        let mut key = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self::from_key(key))
    }

    /// Another name.
    pub fn next_id(&mut self) -> RecordId {
        let hash = Sha256::new().chain_update(self.key).chain_update(self.next.to_le_bytes()).finalize();
        self.next = self.next.wrapping_add(1);
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        RecordId::from_random(bytes)
    }
}

/// The record types Lycosa writes (WARC 1.1, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// What the file is and who made it.
    Warcinfo,
    /// The request as sent, credentials redacted.
    Request,
    /// The response.
    Response,
    /// A response whose payload is held by an earlier record.
    Revisit,
    /// How the URL was found and where it leads.
    Metadata,
}

impl RecordKind {
    /// Its name in `WARC-Type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Request => "request",
            Self::Response => "response",
            Self::Revisit => "revisit",
            Self::Metadata => "metadata",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_gives_a_new_name_each_time() {
        let mut source = IdSource::from_key([7; 32]);
        let names: std::collections::HashSet<_> = (0..1000).map(|_| source.next_id()).collect();
        assert_eq!(names.len(), 1000);
        assert_ne!(IdSource::from_system().unwrap().next_id(), IdSource::from_system().unwrap().next_id());
    }

    #[test]
    fn a_name_is_a_version_4_uuid_whatever_the_bytes() {
        assert_eq!(RecordId::from_random([0xff; 16]).to_string(), "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>");
        assert_eq!(RecordId::from_random([0; 16]).to_string(), "<urn:uuid:00000000-0000-4000-8000-000000000000>");
    }
}
