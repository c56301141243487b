//! All records of one fetched page, made in one go.

use std::net::IpAddr;

use super::cdxj::CdxjEntry;
use super::digest::{Digests, WarcDigest};
use super::http_head::{exact_response, stored_response};
use super::id::{RecordId, RecordKind};
use super::metadata::Metadata;
use super::record::{Capture, RecordBuilder, RecordBytes, RecordError, RefersTo, ResponseNotes};
use crate::base::time::UnixMillis;
use crate::document::Document;
use crate::domain::cut::Cut;

/// What was fetched.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// URL, time and address.
    pub capture: Capture<'a>,
    /// The request's head as sent; credentials are redacted on the way. Empty: no request record.
    pub request_head: &'a [u8],
    /// The response's head as received; framing fields are made true on the way, unless the body is stored as it came.
    pub response_head: &'a [u8],
    /// The body without transfer coding, content coding kept.
    pub body: &'a Document,
    /// The body as it came: the block then holds it and the head as they are. None: it holds `body`.
    pub exact: Option<&'a Document>,
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Cut>,
    /// The MIME type found by looking at the payload.
    pub identified_type: Option<&'a str>,
    /// How the page was found and where it leads; `None`: no metadata record.
    pub metadata: Option<Metadata<'a>>,
}

/// The records of one page, ready to be appended.
#[derive(Debug)]
pub struct PageRecords {
    records: Vec<RecordBytes>,
    entry: CdxjEntry,
    payload: WarcDigest,
    parts: RevisitParts,
}

/// What is needed to turn the response into a revisit later.
#[derive(Debug)]
struct RevisitParts {
    id: RecordId,
    url: String,
    date: UnixMillis,
    ip: Option<IpAddr>,
    head: Vec<u8>,
}

impl PageRecords {
    /// The records; the first is the response or revisit, the one that is indexed.
    #[must_use]
    pub fn records(&self) -> &[RecordBytes] {
        &self.records
    }

    /// What the index says of the page, all but its place.
    #[must_use]
    pub fn entry(&self) -> &CdxjEntry {
        &self.entry
    }

    /// Digest of the body without transfer coding.
    #[must_use]
    pub fn payload_digest(&self) -> WarcDigest {
        self.payload
    }

    /// Bytes of all records.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|r| r.data.len()).sum()
    }

    /// Replaces the response by a revisit that refers to an earlier capture with this payload. The body is dropped.
    ///
    /// # Errors
    /// [`RecordError::Io`]; the records are then as before.
    pub fn make_revisit(
        &mut self,
        builder: &mut RecordBuilder,
        refers_to: &RefersTo<'_>,
        payload: WarcDigest,
    ) -> Result<(), RecordError> {
        let parts = &self.parts;
        let capture = Capture { url: &parts.url, date: parts.date, ip: parts.ip };
        let record = builder.revisit(&capture, parts.id, &parts.head, payload, refers_to)?;
        self.payload = payload;
        self.entry = CdxjEntry::new(&parts.url, parts.date, &parts.head, Some(payload), true);
        if let Some(first) = self.records.first_mut() {
            *first = record;
        }
        Ok(())
    }

    /// True when the first record is a revisit.
    #[must_use]
    pub fn is_revisit(&self) -> bool {
        self.records.first().is_some_and(|r| r.kind == RecordKind::Revisit)
    }
}

impl RecordBuilder {
    /// Makes the records of a page: response, request, metadata.
    pub fn page(&mut self, page: &PageSource<'_>) -> Result<PageRecords, RecordError> {
        let capture = &page.capture;
        let id = RecordId::random();
        let (head, stored) = match page.exact {
            Some(exact) => (exact_response(page.response_head), exact),
            None => (stored_response(page.response_head, page.body.len()), page.body),
        };
        // Chunk lines make a body longer.
        let digests = match stored.len() == page.body.len() {
            true => Digests::of(&head, &mut stored.reader()),
            false => Digests::of_coded(&head, &mut stored.reader(), &mut page.body.reader()),
        };
        let digests = digests.map_err(|source| RecordError::Io {
            kind: RecordKind::Response,
            url: capture.url.to_owned(),
            source,
        })?;
        let notes = ResponseNotes { truncated: page.truncated, identified_type: page.identified_type };
        let mut records = vec![self.response(capture, id, &head, &mut stored.reader(), &digests, notes)?];
        if !page.request_head.is_empty() {
            records.push(self.request(capture, RecordId::random(), id, page.request_head)?);
        }
        if let Some(metadata) = &page.metadata {
            records.push(self.metadata(capture, RecordId::random(), id, metadata)?);
        }
        let entry = CdxjEntry::new(capture.url, capture.date, &head, Some(digests.payload), false);
        let parts = RevisitParts { id, url: capture.url.to_owned(), date: capture.date, ip: capture.ip, head };
        Ok(PageRecords { records, entry, payload: digests.payload, parts })
    }
}
