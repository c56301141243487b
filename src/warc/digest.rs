//! Digests of records: SHA-1 in base32, the form that archives and their readers share.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use data_encoding::BASE32;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};

use crate::document::Document;

/// A SHA-1 digest; written `sha1:` and 32 characters of base32 (RFC 4648, section 6).
///
/// It finds equal payloads between honest captures as all archives do; Lycosa's own content test uses BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WarcDigest(pub [u8; 20]);

impl WarcDigest {
    /// The digest of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha1::digest(bytes).into())
    }
}

impl From<Sha1> for WarcDigest {
    /// The digest of everything taken in.
    fn from(running: Sha1) -> Self {
        Self(running.finalize().into())
    }
}

impl fmt::Display for WarcDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha1:{}", BASE32.encode(&self.0))
    }
}

impl fmt::Debug for WarcDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no `sha1:` digest in base32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest must be `sha1:` and 32 characters of base32")]
pub struct BadDigest;

impl FromStr for WarcDigest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let (name, value) = text.split_once(':').ok_or(BadDigest)?;
        if !name.eq_ignore_ascii_case("sha1") || value.len() != 32 {
            return Err(BadDigest);
        }
        let bytes = BASE32.decode(value.to_ascii_uppercase().as_bytes()).map_err(|_| BadDigest)?;
        bytes.try_into().map(Self).map_err(|_| BadDigest)
    }
}

impl Serialize for WarcDigest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WarcDigest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What the headers of a response record must know before its body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Over the whole block, where it is wanted: the head as stored, then the body as stored.
    pub block: Option<WarcDigest>,
    /// Over the body without transfer coding, content coding kept (WARC 1.1, section 5.9).
    pub payload: WarcDigest,
}

impl Digests {
    /// Reads `body` once. `head`: the head as it will be stored, where the block's digest is wanted too.
    pub fn of(head: Option<&[u8]>, body: &Document) -> io::Result<Self> {
        let mut running = Running { block: head.map(Sha1::new_with_prefix), payload: Sha1::new() };
        body.write_to(&mut running)?;
        let block = running.block.map(Into::into);
        Ok(Self { block, payload: running.payload.into() })
    }

    /// For a body stored with its transfer coding: `stored` is the body with chunk lines, `payload` the one without.
    pub fn of_coded(head: Option<&[u8]>, stored: &Document, payload: &Document) -> io::Result<Self> {
        let alone = |head: &[u8], body: &Document| {
            let mut running = Running { block: None, payload: Sha1::new_with_prefix(head) };
            body.write_to(&mut running).map(|()| WarcDigest::from(running.payload))
        };
        let block = head.map(|head| alone(head, stored)).transpose()?;
        Ok(Self { block, payload: alone(b"", payload)? })
    }
}

/// Digests of what is written to it.
struct Running {
    block: Option<Sha1>,
    payload: Sha1,
}

impl Write for Running {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(block) = &mut self.block {
            block.update(bytes);
        }
        self.payload.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doc(bytes: &'static [u8]) -> Document {
        Document::from_bytes(bytes)
    }

    #[test]
    fn the_digest_of_nothing_is_the_one_every_archive_writes() {
        assert_eq!(WarcDigest::of(b"").to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    }

    #[test]
    fn a_digest_is_read_back_whatever_the_case_of_its_letters() {
        let digest = WarcDigest::of(b"lycosa");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().to_lowercase().parse(), Ok(digest));
        for bad in
            ["", "sha1", "sha1:", "sha256:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "sha1:!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"]
        {
            assert_eq!(bad.parse::<WarcDigest>(), Err(BadDigest), "{bad}");
        }
    }

    #[test]
    fn the_block_covers_head_and_body_and_the_payload_the_body_alone() {
        let digests = Digests::of(Some(b"head"), &doc(b"body")).unwrap();
        assert_eq!(digests.block, Some(WarcDigest::of(b"headbody")));
        assert_eq!(digests.payload, WarcDigest::of(b"body"));
        let without = Digests::of(None, &doc(b"body")).unwrap();
        assert_eq!(without, Digests { block: None, ..digests });
    }

    #[test]
    fn a_body_stored_with_its_chunks_has_the_payload_without_them() {
        let of = |head| Digests::of_coded(head, &doc(b"4\r\nbody\r\n0\r\n\r\n"), &doc(b"body")).unwrap();
        let digests = of(Some(b"h"));
        assert_eq!(digests.payload, WarcDigest::of(b"body"));
        assert_eq!(digests.block, Some(WarcDigest::of(b"h4\r\nbody\r\n0\r\n\r\n")));
        assert_eq!(of(None), Digests { block: None, ..digests });
    }
}
