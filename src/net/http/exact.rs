//! The exact bytes of a chunked body, kept beside its payload (`store.http_body = "exact"`).
//!
//! Bytes come off the wire before the parser has read them, and behind the end of the body there may be more. So they wait
//! until the payload that they carry has been taken. Nothing here changes what becomes of a fetch: where the bytes cannot be
//! followed, they alone are given up.

use bytes::{Buf, BytesMut};

use crate::document::{Document, DocumentWriter, SpillConfig, SpillError};
use crate::domain::chunks::Chunks;

/// A chunked body as it comes.
pub(super) struct Exact {
    chunks: Chunks,
    /// Came, but its payload is still with the parser.
    waiting: BytesMut,
    /// None once the bytes are given up.
    writer: Option<DocumentWriter>,
    payload: u64,
    /// Bytes that are no payload at most; more would be there to fill the disk.
    most: u64,
}

impl Exact {
    pub(super) fn new(spill: SpillConfig, most: u64) -> Self {
        let (chunks, waiting) = (Chunks::default(), BytesMut::new());
        Self { chunks, waiting, writer: Some(DocumentWriter::new(spill)), payload: 0, most }
    }

    /// Takes `came` in, and keeps what carries the first `payload` bytes of payload; with its end when it is `whole`.
    pub(super) async fn follow(&mut self, came: Option<Vec<u8>>, payload: u64, whole: bool) -> Result<(), SpillError> {
        let (Some(mut writer), Some(came)) = (self.writer.take(), came) else { return Ok(()) };
        self.waiting.extend_from_slice(&came);
        loop {
            let enough = self.payload == payload && !whole && self.chunks.is_between();
            if enough || self.waiting.is_empty() {
                break;
            }
            let Ok(step) = self.chunks.step(&self.waiting, payload.saturating_sub(self.payload)) else {
                return Ok(()); // the parser took what we cannot read
            };
            if step.taken == 0 {
                break;
            }
            writer = writer.push_off_thread(self.waiting.get(..step.taken).unwrap_or_default()).await?;
            self.waiting.advance(step.taken);
            self.payload += if step.is_data { step.taken as u64 } else { 0 };
        }
        if writer.len().saturating_sub(self.payload) <= self.most {
            self.writer = Some(writer);
        }
        Ok(())
    }

    /// The bytes of the whole body; none when they do not carry the `payload` bytes of payload that were taken.
    pub(super) async fn finish(self, payload: u64) -> Result<Option<Document>, SpillError> {
        let Some(writer) = self.writer else { return Ok(None) };
        // An answer that has no body, such as 304, may name its coding all the same.
        let bodiless = writer.is_empty() && self.waiting.is_empty();
        let fits = self.payload == payload && (self.chunks.is_done() || bodiless);
        if fits { writer.finish_off_thread().await.map(Some) } else { Ok(None) }
    }
}
