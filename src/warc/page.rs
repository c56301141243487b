//! All records of one fetched page, made in one go.

use std::net::IpAddr;

use super::cdxj::CdxjEntry;
use super::digest::{Digests, WarcDigest};
use super::http_head::stored_response;
use super::metadata::Metadata;
use super::record::{
    Capture, RecordBuilder, RecordBytes, RecordError, RecordId, RecordKind, RefersTo, ResponseNotes, fault,
};
use crate::base::time::UnixMillis;
use crate::net::Fetched;

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
    /// Records of a capture that was stored before, in their order; `named`: its name, URL and date.
    pub(super) fn carried(
        records: Vec<RecordBytes>,
        entry: CdxjEntry,
        (id, url, date): (RecordId, String, UnixMillis),
        payload: Option<WarcDigest>,
    ) -> Self {
        let parts = RevisitParts { id, url, date, ip: None, head: Vec::new() };
        Self { records, entry, payload: payload.unwrap_or(WarcDigest([0; 20])), parts }
    }

    /// The records; the first is the response or revisit, the one that is indexed.
    pub fn records(&self) -> &[RecordBytes] {
        &self.records
    }

    /// What the index says of the page, all but its place.
    pub fn entry(&self) -> &CdxjEntry {
        &self.entry
    }

    /// Digest of the body without transfer coding.
    pub fn payload_digest(&self) -> WarcDigest {
        self.payload
    }

    /// Bytes of all records.
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|r| r.data.len()).sum()
    }

    /// Replaces the response by a revisit that refers to an earlier capture with this payload. The body is dropped.
    ///
    /// # Errors
    /// [`RecordError`]; the records are then as before.
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
    pub fn is_revisit(&self) -> bool {
        self.records.first().is_some_and(|r| r.kind == RecordKind::Revisit)
    }
}

impl RecordBuilder {
    /// Makes the records of what was fetched: response; request, with credentials redacted, where its head is known; and metadata, where
    /// there is some. `identified_type`: the MIME type found by looking at the payload. The head of the answer tells what is stored of its
    /// body: as it came, head and all, where that was kept, and else without transfer coding.
    pub fn page(
        &mut self,
        capture: &Capture<'_>,
        fetched: &Fetched,
        metadata: Option<Metadata<'_>>,
        identified_type: Option<&str>,
    ) -> Result<PageRecords, RecordError> {
        let (id, body) = (RecordId::random(), &fetched.body);
        let (head, stored) = match &fetched.exact {
            Some(exact) => (fetched.response_head.clone(), exact),
            None => (stored_response(&fetched.response_head, body.len()), body),
        };
        let block = self.block_digest.then_some(&*head);
        // Chunk lines make a body longer.
        let digests = match stored.len() == body.len() {
            true => Digests::of(block, stored),
            false => Digests::of_coded(block, stored, body),
        };
        let digests = digests.map_err(fault(RecordKind::Response, capture))?;
        let notes = ResponseNotes { truncated: fetched.cut, identified_type };
        let mut records = vec![self.response(capture, id, &head, stored, &digests, notes)?];
        if !fetched.request_head.is_empty() {
            records.push(self.request(capture, RecordId::random(), id, &fetched.request_head)?);
        }
        if let Some(metadata) = &metadata {
            records.push(self.metadata(capture, RecordId::random(), id, metadata)?);
        }
        let entry = CdxjEntry::new(capture.url, capture.date, &head, Some(digests.payload), false);
        let parts = RevisitParts { id, url: capture.url.to_owned(), date: capture.date, ip: capture.ip, head };
        Ok(PageRecords { records, entry, payload: digests.payload, parts })
    }
}
