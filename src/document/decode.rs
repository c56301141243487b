//! Takes the content coding off a body (RFC 9110 section 8.4) without trusting it.
//!
//! Servers lie: a body may be cut, carry a coding it is not in, or decode to a thousand times its size. So a
//! [`Decoded`] never fails on what the body says. It gives the bytes that can be had, ends, and then
//! [`end`](Decoded::end) tells how. Only a failing source (a disk) is an error. Memory is bounded: 32 KiB of window for
//! gzip and deflate, 16 MiB for br (RFC 7932; the large-window variant is refused), 8 MiB for zstd (RFC 9659).

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::GzDecoder;

/// Codings taken off one body at most.
const MAX_CODINGS: usize = 3;
/// Largest zstd window accepted, as a power of two: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
const BUFFER: usize = 8 * 1024;

/// How a decoded body ended; final once `read` has returned 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodedEnd {
    /// All of it was decoded.
    Whole,
    /// It was longer than the cap; what was read is its beginning.
    Capped,
    /// The coded stream is damaged or cut; what was read came before the damage.
    Corrupt,
    /// A coding that is known but not decoded here, or too many of them; nothing was read.
    Unsupported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

type Source<'r> = Box<dyn BufRead + Send + 'r>;

/// A body with its content codings taken off; made by [`decoded`].
pub struct Decoded<'r> {
    stage: Box<dyn Read + Send + 'r>,
    left: u64,
    end: DecodedEnd,
    finished: bool,
    source_failed: Arc<AtomicBool>,
    stage_capped: Arc<AtomicBool>,
}

impl std::fmt::Debug for Decoded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoded").field("left", &self.left).field("end", &self.end).finish_non_exhaustive()
    }
}

/// Reads `body` with the codings of the `Content-Encoding` value taken off, last one first; at most `max_decoded` bytes.
///
/// gzip (also x-gzip, several members, rubbish after the last), deflate (zlib or raw), br, zstd, identity, and up to
/// three of them stacked. A gzip or zstd body without its magic number is passed through as it is, and so are values
/// that name no coding at all (`utf-8`, `none` …): the server lies about it, and browsers read it all the same.
pub fn decoded<'r>(body: impl Read + Send + 'r, content_encoding: &str, max_decoded: u64) -> Decoded<'r> {
    let source_failed = Arc::new(AtomicBool::new(false));
    let stage_capped = Arc::new(AtomicBool::new(false));
    let watched = Watched { inner: body, failed: Arc::clone(&source_failed) };
    let mut stage: Source<'r> = Box::new(BufReader::with_capacity(BUFFER, watched));
    let mut end = DecodedEnd::Whole;
    match codings(content_encoding) {
        None => end = DecodedEnd::Unsupported,
        Some(list) => {
            for coding in list.into_iter().rev() {
                let limited =
                    Limited { inner: Lazy::new(coding, stage), left: max_decoded, hit: Arc::clone(&stage_capped) };
                stage = Box::new(BufReader::with_capacity(BUFFER, limited));
            }
        }
    }
    let finished = end == DecodedEnd::Unsupported;
    Decoded { stage: Box::new(stage), left: max_decoded, end, finished, source_failed, stage_capped }
}

impl Decoded<'_> {
    /// How the body ended; [`DecodedEnd::Whole`] as long as it has not ended.
    #[must_use]
    pub fn end(&self) -> DecodedEnd {
        self.end
    }

    fn finish(&mut self, end: DecodedEnd) -> io::Result<usize> {
        self.end = end;
        self.finished = true;
        Ok(0)
    }

    /// At the cap: one byte more tells a body that fits exactly from one that goes on.
    fn at_cap(&mut self) -> io::Result<usize> {
        match self.stage.read(&mut [0]) {
            Ok(0) if !self.stage_capped.load(Ordering::Relaxed) => self.finish(DecodedEnd::Whole),
            Ok(_) => self.finish(DecodedEnd::Capped),
            Err(error) => self.broken(error),
        }
    }

    fn broken(&mut self, error: io::Error) -> io::Result<usize> {
        if error.kind() == io::ErrorKind::Interrupted || self.source_failed.load(Ordering::Relaxed) {
            return Err(error);
        }
        self.finish(DecodedEnd::Corrupt)
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.finished || buf.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            return self.at_cap();
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        match self.stage.read(buf.get_mut(..want).unwrap_or_default()) {
            Ok(0) if self.stage_capped.load(Ordering::Relaxed) => self.finish(DecodedEnd::Capped),
            Ok(0) => self.finish(DecodedEnd::Whole),
            Ok(n) => {
                self.left = self.left.saturating_sub(n as u64);
                Ok(n)
            }
            Err(error) => self.broken(error),
        }
    }
}

/// The codings in the order they were applied; none when one of them cannot be taken off.
fn codings(content_encoding: &str) -> Option<Vec<Coding>> {
    let mut list = Vec::new();
    for token in content_encoding.split(',') {
        match token.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => list.push(Coding::Gzip),
            "deflate" => list.push(Coding::Deflate),
            "br" => list.push(Coding::Brotli),
            "zstd" => list.push(Coding::Zstd),
            "compress" | "x-compress" | "exi" | "pack200-gzip" | "dcb" | "dcz" | "aes128gcm" => return None,
            _ => {}
        }
        if list.len() > MAX_CODINGS {
            return None;
        }
    }
    Some(list)
}

/// Remembers whether it was the source that failed, not the coding.
struct Watched<R> {
    inner: R,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buf);
        if result.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted) {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }
}

/// Caps what one stage gives, so that a bomb inside a bomb costs no more than one.
struct Limited<R> {
    inner: R,
    left: u64,
    hit: Arc<AtomicBool>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if self.inner.read(&mut [0])? > 0 {
                self.hit.store(true, Ordering::Relaxed);
            }
            return Ok(0);
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        let n = self.inner.read(buf.get_mut(..want).unwrap_or_default())?;
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }
}

/// One coding, begun at the first read: only then are the first bytes there to be looked at.
struct Lazy<'r> {
    coding: Coding,
    state: LazyState<'r>,
}

enum LazyState<'r> {
    Waiting(Source<'r>),
    Running(Box<dyn Read + Send + 'r>),
    Ended,
}

impl<'r> Lazy<'r> {
    fn new(coding: Coding, source: Source<'r>) -> Self {
        Self { coding, state: LazyState::Waiting(source) }
    }
}

impl Read for Lazy<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let LazyState::Waiting(_) = self.state
            && let LazyState::Waiting(source) = std::mem::replace(&mut self.state, LazyState::Ended)
            && let Some(running) = begin(self.coding, source)?
        {
            self.state = LazyState::Running(running);
        }
        match &mut self.state {
            LazyState::Running(running) => running.read(buf),
            _ => Ok(0),
        }
    }
}

/// The decoder for a body, chosen after a look at its first bytes; none for an empty body.
fn begin<'r>(coding: Coding, mut source: Source<'r>) -> io::Result<Option<Box<dyn Read + Send + 'r>>> {
    let mut start = [0; 4];
    let got = peek(&mut source, &mut start)?;
    let source = Box::new(io::Cursor::new(start).take(got as u64).chain(source));
    Ok(Some(match (coding, start.get(..got).unwrap_or_default()) {
        (_, []) => return Ok(None),
        (Coding::Gzip, [0x1f, 0x8b, ..] | [0x1f]) => Box::new(GzipMembers::new(source)),
        (Coding::Deflate, [cmf, flg, ..]) if is_zlib(*cmf, *flg) => Box::new(flate2::bufread::ZlibDecoder::new(source)),
        (Coding::Deflate, _) => Box::new(flate2::bufread::DeflateDecoder::new(source)),
        // A first byte with these low bits announces a window of up to 1 GiB; RFC 7932 section 9.1 reserves it.
        (Coding::Brotli, [first, ..]) if first & 0x7f == 0x11 => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "brotli large window"));
        }
        (Coding::Brotli, _) => Box::new(brotli::Decompressor::new(source, BUFFER)),
        // The magic number of a frame, or of a skippable one (RFC 8878 section 3.1).
        (Coding::Zstd, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]) => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        (Coding::Gzip | Coding::Zstd, _) => source,
    }))
}

/// Whether two bytes are a zlib header (RFC 1950 section 2.2): deflate, window up to 32 KiB, check bits right.
fn is_zlib(cmf: u8, flg: u8) -> bool {
    cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(cmf) << 8 | u16::from(flg)).is_multiple_of(31)
}

/// Fills `buf` as far as the source goes.
fn peek(source: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while let Some(rest) = buf.get_mut(got..)
        && !rest.is_empty()
    {
        match source.read(rest) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

/// gzip members one after the other (RFC 1952 section 2.2); what follows the last one is ignored, as browsers do.
struct GzipMembers<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R) -> Self {
        Self { member: Some(GzDecoder::new(source)) }
    }

    /// Goes on to the next member, if there is one.
    fn advance(&mut self) -> io::Result<()> {
        if let Some(done) = self.member.take() {
            let mut source = done.into_inner();
            if source.fill_buf()?.first() == Some(&0x1f) {
                self.member = Some(GzDecoder::new(source));
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buf)? {
                0 if !buf.is_empty() => self.advance()?,
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
