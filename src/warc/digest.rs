//! Digests of records: SHA-1 in base32, the form that archives and their readers share.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use data_encoding::BASE32;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};

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
    /// Over the whole block: the head as stored, then the body as stored.
    pub block: WarcDigest,
    /// Over the body without transfer coding, content coding kept (WARC 1.1, section 5.9).
    pub payload: WarcDigest,
    /// Bytes of the body as stored.
    pub body_len: u64,
}

impl Digests {
    /// Reads `body` once to its end. `head` is the head as it will be stored.
    pub fn of(head: &[u8], body: &mut dyn Read) -> io::Result<Self> {
        let mut block = Sha1::new();
        let mut payload = Sha1::new();
        block.update(head);
        let mut body_len = 0;
        each_chunk(body, |chunk| {
            block.update(chunk);
            payload.update(chunk);
            body_len += chunk.len() as u64;
        })?;
        Ok(Self { block: block.into(), payload: payload.into(), body_len })
    }

    /// For a body stored with its transfer coding: `stored` is the body with chunk lines, `payload` the one without.
    pub fn of_coded(head: &[u8], stored: &mut dyn Read, payload: &mut dyn Read) -> io::Result<Self> {
        let outer = Self::of(head, stored)?;
        let inner = Self::of(&[], payload)?;
        Ok(Self { payload: inner.payload, ..outer })
    }
}

fn each_chunk(from: &mut dyn Read, mut with: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024]; // on the stack: a larger one costs more to clear than it saves
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => with(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let digests = Digests::of(b"head", &mut &b"body"[..]).unwrap();
        assert_eq!(digests.block, WarcDigest::of(b"headbody"));
        assert_eq!(digests.payload, WarcDigest::of(b"body"));
        assert_eq!(digests.body_len, 4);
    }

    #[test]
    fn a_body_stored_with_its_chunks_has_the_payload_without_them() {
        let digests = Digests::of_coded(b"h", &mut &b"4\r\nbody\r\n0\r\n\r\n"[..], &mut &b"body"[..]).unwrap();
        assert_eq!(digests.payload, WarcDigest::of(b"body"));
        assert_eq!(digests.body_len, 14);
        assert_eq!(digests.block, WarcDigest::of(b"h4\r\nbody\r\n0\r\n\r\n"));
    }
}
