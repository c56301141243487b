//! Reads a record whole: checks its digests and finds what an index needs to know.

use std::io::{self, BufRead, Read};

use sha1::{Digest as _, Sha1};

use super::cdxj::CdxjEntry;
use super::date::parse_iso;
use super::digest::WarcDigest;
use super::http_head::{self, Coding};
use super::reader::{ReadError, WarcHeader, WarcReader};
use crate::document::chunks::Chunks;

/// Longest HTTP head looked at, bytes; a longer one counts as none.
pub const MAX_HEAD: usize = 1024 * 1024;

/// A record that was read to its end.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Its header.
    pub header: WarcHeader,
    /// Bytes it takes in the file.
    pub length: u64,
    /// The HTTP head, when its content is a response and has one.
    pub head: Option<Vec<u8>>,
    /// Digest of the content.
    pub block: WarcDigest,
    /// Digest of what follows the HTTP head, its chunks undone. `None` without head, and in a transfer coding that cannot be read.
    pub payload: Option<WarcDigest>,
}

/// A digest in a header that the content does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestFault {
    /// `WARC-Block-Digest`.
    #[error("WARC-Block-Digest is not that of the content")]
    Block,
    /// `WARC-Payload-Digest`.
    #[error("WARC-Payload-Digest is not that of the payload")]
    Payload,
}

impl Scanned {
    /// Compares the digests in the header, where there are any of a known form, with those found.
    pub fn check_digests(&self) -> Result<(), DigestFault> {
        let said = |name| self.header.get(name).and_then(|v| v.parse::<WarcDigest>().ok());
        if said("WARC-Block-Digest").is_some_and(|d| d != self.block) {
            return Err(DigestFault::Block);
        }
        let own_payload = self.header.kind() == "response";
        match (said("WARC-Payload-Digest"), self.payload) {
            (Some(said), Some(found)) if own_payload && said != found => Err(DigestFault::Payload),
            _ => Ok(()),
        }
    }

    /// What CDXJ says of it; `None` for records that are not indexed (all but `response` and `revisit`).
    pub fn cdxj_entry(&self) -> Option<CdxjEntry> {
        let revisit = match self.header.kind() {
            "response" => false,
            "revisit" => true,
            _ => return None,
        };
        let date = parse_iso(self.header.get("WARC-Date")?)?;
        let digest = self.header.get("WARC-Payload-Digest").and_then(|d| d.parse().ok());
        Some(CdxjEntry::new(self.header.target()?, date, self.head.as_deref().unwrap_or_default(), digest, revisit))
    }
}

/// Reads the next record to its end; `None` at the end of the file.
pub fn scan_next<R: BufRead>(reader: &mut WarcReader<R>) -> Result<Option<Scanned>, ReadError> {
    let Some(header) = reader.next_record()? else { return Ok(None) };
    let http = header.get("Content-Type").is_some_and(|t| t.starts_with("application/http"));
    let mut content = ContentScan::new(http && matches!(header.kind(), "response" | "revisit"));
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.content().read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => content.take(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(ReadError::from_io(header.offset, e)),
        }
    }
    let length = reader.finish()?;
    let (block, head, payload) = content.done();
    Ok(Some(Scanned { header, length, head, block, payload }))
}

/// Splits content into HTTP head and payload while it passes by.
struct ContentScan {
    block: Sha1,
    payload: Sha1,
    head: Vec<u8>,
    part: Part,
}

enum Part {
    Head,
    Payload,
    Chunks(Chunks),
    /// Behind a head, in a coding that cannot be read.
    Unread,
    NoHead,
}

impl ContentScan {
    fn new(http: bool) -> Self {
        let part = if http { Part::Head } else { Part::NoHead };
        Self { block: Sha1::new(), payload: Sha1::new(), head: Vec::new(), part }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        self.block.update(bytes);
        while matches!(self.part, Part::Head) {
            let Some(end) = bytes.iter().position(|b| *b == b'\n') else {
                self.head.extend_from_slice(bytes);
                return self.cap_head();
            };
            let (line, rest) = bytes.split_at(end + 1);
            self.head.extend_from_slice(line);
            bytes = rest;
            if http_head::ends_here(&self.head) {
                self.part = match http_head::transfer_coding(&self.head) {
                    Coding::Plain => Part::Payload,
                    Coding::Chunked => Part::Chunks(Chunks::default()),
                    Coding::Other => Part::Unread,
                };
            }
            self.cap_head();
        }
        match &mut self.part {
            Part::Payload => self.payload.update(bytes),
            Part::Chunks(chunks) => {
                if chunks.each(bytes, |payload| self.payload.update(payload)).is_err() {
                    self.part = Part::Unread;
                }
            }
            Part::Head | Part::Unread | Part::NoHead => {}
        }
    }

    fn cap_head(&mut self) {
        if matches!(self.part, Part::Head) && self.head.len() > MAX_HEAD {
            self.head = Vec::new();
            self.part = Part::NoHead;
        }
    }

    fn done(self) -> (WarcDigest, Option<Vec<u8>>, Option<WarcDigest>) {
        let (head, payload) = match self.part {
            Part::Payload | Part::Chunks(_) => (Some(self.head), Some(self.payload.into())),
            Part::Unread => (Some(self.head), None),
            Part::Head | Part::NoHead => (None, None),
        };
        (self.block.into(), head, payload)
    }
}
