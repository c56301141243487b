//! Names and kinds of records.

use std::fmt;

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

/// Why a body is not whole (WARC 1.1, section 5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truncated {
    /// Longer than `fetch.max_body`.
    Length,
    /// Took longer than `fetch.timeouts.body`.
    Time,
    /// The connection ended early.
    Disconnect,
    /// Any other cause.
    Unspecified,
}

impl Truncated {
    /// Its name in `WARC-Truncated`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_version_4_uuid_whatever_the_bytes() {
        assert_eq!(RecordId::from_random([0xff; 16]).to_string(), "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>");
        assert_eq!(RecordId::from_random([0; 16]).to_string(), "<urn:uuid:00000000-0000-4000-8000-000000000000>");
    }
}
