//! Names and kinds of records.

use std::fmt;

use uuid::Uuid;

use crate::domain::coded::names;

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

names! {
    /// The record types Lycosa writes (WARC 1.1, section 6), by their names in `WARC-Type`.
    RecordKind {
        /// What the file is and who made it.
        Warcinfo = "warcinfo";
        /// The request as sent, credentials redacted.
        Request = "request";
        /// The response.
        Response = "response";
        /// A response whose payload is held by an earlier record.
        Revisit = "revisit";
        /// How the URL was found and where it leads.
        Metadata = "metadata";
    }
}
