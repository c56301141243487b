//! Names and kinds of records.

use std::fmt;

use uuid::Uuid;

/// The name of a record: a random UUID (RFC 9562, version 4), written `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(pub(super) Uuid);

impl RecordId {
    /// Another name.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.0.urn())
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
