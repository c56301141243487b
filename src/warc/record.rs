//! Builds whole records, each one member, ready to be appended to a WARC.
//!
//! A thread that makes records keeps one [`RecordBuilder`]; what it gives needs no more work by the one who appends.
//! The headers stand before the body and hold its digests, so a body is read twice: [`Digests::of`], then the record.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use tempfile::{SpooledData, spooled_tempfile_in};
use uuid::{Builder, Uuid};

use super::date::iso;
use super::digest::{Digests, WarcDigest};
use super::header::HeaderBlock;
use super::http_head::redacted_request;
use super::info::WarcInfo;
use super::member::{Compression, Packer};
use super::metadata::Metadata;
use crate::base::kinds::names;
use crate::base::time::UnixMillis;
use crate::document::Document;
use crate::domain::cut::Cut;

/// Profile of a revisit whose payload equals an earlier one (WARC 1.1, section 6.7.2).
pub const PROFILE_IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// Profile of a revisit the server answered with 304 (WARC 1.1, section 6.7.3).
pub const PROFILE_NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The name of a record: a UUID (RFC 9562), written `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId(pub(super) Uuid);

impl RecordId {
    /// Another name.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// The name that these bytes have, the same each time (RFC 9562, version 8: bits of their SHA-256).
    pub fn of(bytes: &[u8]) -> Self {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let mut bits = [0; 16];
        bits.copy_from_slice(digest.split_at(16).0);
        Self(Builder::from_custom_bytes(bits).into_uuid())
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
        /// Another form of a payload: its text.
        Conversion = "conversion";
    }
}

/// A finished record.
#[derive(Debug)]
pub struct RecordBytes {
    /// Its type.
    pub kind: RecordKind,
    /// Its bytes: one member.
    pub data: Document,
}

/// Why a record could not be built: the body cannot be read, or the temporary file of a large record not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not build the {kind} record of {url}: {source}")]
pub struct RecordError {
    /// The type of the record.
    kind: RecordKind,
    /// The URL it is for.
    url: String,
    /// The system's own words.
    source: io::Error,
}

/// What all records of one fetch share.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// The URL fetched.
    pub url: &'a str,
    /// When the request was sent.
    pub date: UnixMillis,
    /// The address it was sent to.
    pub ip: Option<IpAddr>,
}

/// What a response record may say besides its body.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseNotes<'a> {
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Cut>,
    /// The MIME type found by looking at the payload.
    pub identified_type: Option<&'a str>,
}

/// The earlier record that holds the payload of a revisit.
#[derive(Clone, Copy, Debug)]
pub struct RefersTo<'a> {
    /// One of [`PROFILE_IDENTICAL`] and [`PROFILE_NOT_MODIFIED`].
    pub profile: &'static str,
    /// The URL it was captured from.
    pub url: &'a str,
    /// When it was captured.
    pub date: UnixMillis,
}

/// What a record that is made of another one says beside its content.
#[derive(Clone, Copy, Debug)]
pub struct Derived<'a> {
    /// [`RecordKind::Conversion`] or [`RecordKind::Metadata`].
    pub kind: RecordKind,
    /// `WARC-Record-ID` of the other one.
    pub refers_to: &'a str,
    /// The type of its content.
    pub content_type: &'static str,
    /// ISO 639-3, as Common Crawl has it in a field of its own.
    pub language: Option<&'a str>,
}

/// Where records go that outgrow memory.
#[derive(Clone, Debug)]
pub struct SpoolRule {
    /// Folder of the temporary files; they have no name and vanish with their last handle.
    pub dir: PathBuf,
    /// Bytes a record may have in memory.
    pub memory: usize,
}

/// Builds records; keeps its compressor between them.
pub struct RecordBuilder {
    packer: Packer,
    spool: SpoolRule,
    pub(super) block_digest: bool,
}

impl RecordBuilder {
    /// Its records go into files of that compression.
    pub fn new(compression: Compression, spool: SpoolRule) -> Self {
        Self { packer: Packer::new(compression), spool, block_digest: false }
    }

    /// Response records say their `WARC-Block-Digest` too; all others do anyway, being small.
    #[must_use]
    pub fn with_block_digest(self, wanted: bool) -> Self {
        Self { block_digest: wanted, ..self }
    }

    /// The record a WARC begins with; `filename` is the file's final name.
    ///
    /// # Errors
    /// The record outgrows memory and the temporary file fails.
    pub fn warcinfo(
        &mut self,
        id: RecordId,
        date: UnixMillis,
        filename: &str,
        info: &WarcInfo,
    ) -> Result<RecordBytes, RecordError> {
        let capture = Capture { url: filename, date, ip: None };
        let content = info.to_fields();
        let mut headers = HeaderBlock::default();
        headers.put("WARC-Type", RecordKind::Warcinfo.as_str());
        headers.put("WARC-Record-ID", id);
        headers.put("WARC-Date", iso(date));
        headers.put("WARC-Filename", filename);
        headers.put("WARC-Block-Digest", WarcDigest::of(&content));
        headers.put("Content-Type", "application/warc-fields");
        self.small(RecordKind::Warcinfo, &capture, headers, &content)
    }

    /// The request: its head (credentials are redacted here) and no body.
    pub fn request(
        &mut self,
        capture: &Capture<'_>,
        id: RecordId,
        response: RecordId,
        head: &[u8],
    ) -> Result<RecordBytes, RecordError> {
        let content = redacted_request(head);
        let mut headers = begin(RecordKind::Request, capture, id);
        headers.put("WARC-Concurrent-To", response);
        headers.put("WARC-Block-Digest", WarcDigest::of(&content));
        headers.put("Content-Type", "application/http;msgtype=request");
        self.small(RecordKind::Request, capture, headers, &content)
    }

    /// The response: `head` as it shall be stored (see [`http_head`](super::http_head)), then
    /// `body`. `digests` are those of the same head and body.
    ///
    /// # Errors
    /// The body cannot be read, or the temporary file fails.
    pub fn response(
        &mut self,
        capture: &Capture<'_>,
        id: RecordId,
        head: &[u8],
        body: &Document,
        digests: &Digests,
        notes: ResponseNotes<'_>,
    ) -> Result<RecordBytes, RecordError> {
        let kind = RecordKind::Response;
        let mut headers = begin(kind, capture, id);
        headers.put_opt("WARC-Block-Digest", digests.block);
        headers.put("WARC-Payload-Digest", digests.payload);
        headers.put_opt("WARC-Identified-Payload-Type", notes.identified_type);
        headers.put_opt("WARC-Truncated", notes.truncated.map(Cut::as_str));
        headers.put("Content-Type", "application/http;msgtype=response");
        let headers = headers.finish(body.len().saturating_add(head.len() as u64));
        let data = self
            .compress(&headers, |out| {
                out.write_all(head)?;
                body.write_to(out)
            })
            .map_err(fault(kind, capture))?;
        Ok(RecordBytes { kind, data })
    }

    /// A response whose payload an earlier record holds: the head alone.
    pub fn revisit(
        &mut self,
        capture: &Capture<'_>,
        id: RecordId,
        head: &[u8],
        payload: WarcDigest,
        refers_to: &RefersTo<'_>,
    ) -> Result<RecordBytes, RecordError> {
        let mut headers = begin(RecordKind::Revisit, capture, id);
        headers.put("WARC-Profile", refers_to.profile);
        headers.put_uri("WARC-Refers-To-Target-URI", refers_to.url);
        headers.put("WARC-Refers-To-Date", iso(refers_to.date));
        headers.put("WARC-Block-Digest", WarcDigest::of(head));
        headers.put("WARC-Payload-Digest", payload);
        headers.put("Content-Type", "application/http;msgtype=response");
        self.small(RecordKind::Revisit, capture, headers, head)
    }

    /// How the URL was found and where it leads.
    pub fn metadata(
        &mut self,
        capture: &Capture<'_>,
        id: RecordId,
        response: RecordId,
        metadata: &Metadata<'_>,
    ) -> Result<RecordBytes, RecordError> {
        let content = metadata.to_fields();
        let mut headers = begin(RecordKind::Metadata, capture, id);
        headers.put("WARC-Concurrent-To", response);
        headers.put("WARC-Block-Digest", WarcDigest::of(&content));
        headers.put("Content-Type", "application/warc-fields");
        self.small(RecordKind::Metadata, capture, headers, &content)
    }

    /// A record that is made of another one (WARC 1.1, sections 6.5 and 6.8). Its name is always the same, and so are its bytes.
    ///
    /// # Errors
    /// The record outgrows memory and the temporary file fails.
    pub fn derived(
        &mut self,
        capture: &Capture<'_>,
        derived: &Derived<'_>,
        content: &[u8],
    ) -> Result<RecordBytes, RecordError> {
        let Derived { kind, refers_to, content_type, language } = *derived;
        let id = RecordId::of([kind.as_str(), refers_to, capture.url, &iso(capture.date)].join("\n").as_bytes());
        let mut headers = begin(kind, capture, id);
        headers.put("WARC-Refers-To", refers_to);
        headers.put("WARC-Block-Digest", WarcDigest::of(content));
        headers.put_opt("WARC-Identified-Content-Language", language);
        headers.put("Content-Type", content_type);
        self.small(kind, capture, headers, content)
    }

    fn small(
        &mut self,
        kind: RecordKind,
        capture: &Capture<'_>,
        headers: HeaderBlock,
        content: &[u8],
    ) -> Result<RecordBytes, RecordError> {
        let headers = headers.finish(content.len() as u64);
        let data = self.compress(&headers, |out| out.write_all(content)).map_err(fault(kind, capture))?;
        Ok(RecordBytes { kind, data })
    }

    fn compress(
        &mut self,
        headers: &[u8],
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Document> {
        let mut member = self.packer.member(spooled_tempfile_in(self.spool.memory, &self.spool.dir))?;
        member.write_all(headers)?;
        content(&mut member)?;
        member.write_all(b"\r\n\r\n")?;
        Ok(match member.finish()?.into_inner() {
            SpooledData::InMemory(bytes) => Document::from_bytes(bytes.into_inner()),
            SpooledData::OnDisk(file) => {
                let len = file.metadata()?.len();
                Document::from_file(file, len)
            }
        })
    }
}

fn begin(kind: RecordKind, capture: &Capture<'_>, id: RecordId) -> HeaderBlock {
    let mut headers = HeaderBlock::default();
    headers.put("WARC-Type", kind.as_str());
    headers.put("WARC-Record-ID", id);
    headers.put("WARC-Date", iso(capture.date));
    headers.put_uri("WARC-Target-URI", capture.url);
    headers.put_opt("WARC-IP-Address", capture.ip);
    headers
}

/// Our error for one of the system.
pub(super) fn fault(kind: RecordKind, capture: &Capture<'_>) -> impl FnOnce(io::Error) -> RecordError {
    let url = capture.url.to_owned();
    move |source| RecordError { kind, url, source }
}
