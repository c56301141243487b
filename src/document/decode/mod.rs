//! Takes the content coding off a body (RFC 9110 section 8.4) without trusting it.
//!
//! Servers lie: a body may be cut, carry a coding it is not in, or decode to a thousand times its size. So a
//! [`Decoded`] never fails on what the body says. It gives the bytes that can be had, ends, and then
//! [`end`](Decoded::end) tells how. Only a failing source (a disk) is an error. Memory is bounded: 32 KiB of window for
//! gzip and deflate, 16 MiB for br (RFC 7932; the large-window variant is refused), 8 MiB for zstd (RFC 9659). Work is bounded in
//! proportion to what came over the wire: from [`FREE`] bytes on, no stage gives more than [`RATIO`] times the bytes of the body.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

use crate::domain::note::Note;

/// Bytes that a stage may give whatever it is made of: more than any page.
pub const FREE: u64 = 16 << 20;
/// Times the bytes of the body that a stage may give beyond that. Text compresses to a hundredth at best; gzip makes at most a
/// thousandth of anything, gzip in gzip a millionth.
pub const RATIO: u64 = 300;
/// Members of one gzip body that are taken apart beyond one for each of so many bytes: making ready for one costs more than such a
/// member holds.
const MEMBER: u64 = 1 << 10;
/// Codings taken off one body at most.
const MAX_CODINGS: usize = 3;
/// Largest zstd window accepted, as a power of two: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
const BUFFER: usize = 8 * 1024;
/// What a gzip body begins with (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes that a coding is told by.
const LOOK: u64 = 16;
/// Fewer bytes than this say nothing about a body being a text.
const LEAST_TEXT: usize = 13;

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

/// A body with its content codings taken off; made by [`decoded`] or [`decoded_as`].
pub struct Decoded<'r> {
    /// None once it has ended.
    stage: Option<Source<'r>>,
    max: u64,
    left: u64,
    end: DecodedEnd,
    /// A text whose first bytes are still to be looked at.
    unseen_text: bool,
    /// It was compressed once more than the codings said.
    extra: bool,
    signs: Arc<Signs>,
}

/// What the stages of one body tell.
#[derive(Debug, Default)]
struct Signs {
    /// The source failed, not the coding.
    source_failed: AtomicBool,
    /// A stage gave as much as is allowed.
    stage_capped: AtomicBool,
    /// It had given too much for what came.
    out_of_proportion: AtomicBool,
    /// Bytes of the body that were read.
    read: AtomicU64,
    /// A coding was named that the body is not in.
    plain: AtomicBool,
}

impl Signs {
    fn set(sign: &AtomicBool) {
        sign.store(true, Ordering::Relaxed);
    }

    fn is(sign: &AtomicBool) -> bool {
        sign.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Decoded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoded").field("left", &self.left).field("end", &self.end).finish_non_exhaustive()
    }
}

/// Reads `body` with the codings of the `Content-Encoding` value taken off, last one first; at most `max_decoded` bytes.
///
/// gzip (also x-gzip, several members, rubbish after the last), deflate (zlib or raw), br, zstd, identity, and up to
/// three of them stacked. A gzip or zstd body without its magic number, and a deflate or br body that begins as a text, is
/// passed through as it is, and so are values that name no coding at all (`utf-8`, `none` …): the server lies about it, and
/// browsers read it all the same.
pub fn decoded<'r>(body: impl Read + Send + 'r, content_encoding: &str, max_decoded: u64) -> Decoded<'r> {
    decoded_as(body, content_encoding, None, max_decoded)
}

/// As [`decoded`], knowing the `Content-Type`: a text or XML that begins with gzip's magic number was compressed once more
/// than its headers say, and that comes off too.
pub fn decoded_as<'r>(
    body: impl Read + Send + 'r,
    content_encoding: &str,
    content_type: Option<&str>,
    max_decoded: u64,
) -> Decoded<'r> {
    let signs = Arc::new(Signs::default());
    let watched = Watched { inner: body, signs: Arc::clone(&signs) };
    let mut stage: Source<'r> = Box::new(BufReader::with_capacity(BUFFER, watched));
    let codings = codings(content_encoding);
    let end = if codings.is_some() { DecodedEnd::Whole } else { DecodedEnd::Unsupported };
    for coding in codings.iter().flatten().rev() {
        let (coding, waiting, running) = (*coding, Some(stage), None);
        stage = limited(Lazy { coding, waiting, running, signs: Arc::clone(&signs) }, max_decoded, &signs);
    }
    let stage = codings.is_some().then_some(stage);
    let unseen_text = content_type.is_some_and(is_text);
    Decoded { stage, max: max_decoded, left: max_decoded, end, unseen_text, extra: false, signs }
}

/// A stage that gives at most `max` bytes.
fn limited<'r>(inner: impl Read + Send + 'r, max: u64, signs: &Arc<Signs>) -> Source<'r> {
    Box::new(BufReader::with_capacity(BUFFER, Limited { inner, left: max, given: 0, signs: Arc::clone(signs) }))
}

/// Whether a media type is one whose bytes never begin with those of gzip.
fn is_text(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/") || essence.ends_with("/xml") || essence.ends_with("+xml")
}

impl<'r> Decoded<'r> {
    /// How the body ended; [`DecodedEnd::Whole`] as long as it has not ended.
    pub fn end(&self) -> DecodedEnd {
        self.end
    }

    /// What was odd about the codings; final once `read` has returned 0.
    pub fn notes(&self) -> Vec<Note> {
        let end = match self.end {
            DecodedEnd::Whole => None,
            DecodedEnd::Capped => Some(Note::DecodeCapped),
            DecodedEnd::Corrupt => Some(Note::DecodeCorrupt),
            DecodedEnd::Unsupported => Some(Note::DecodeUnsupported),
        };
        let extra = self.extra.then_some(Note::DecodeExtra);
        let plain = Signs::is(&self.signs.plain).then_some(Note::DecodePlain);
        let bomb = Signs::is(&self.signs.out_of_proportion).then_some(Note::DecodeRatio);
        [end, extra, plain, bomb].into_iter().flatten().collect()
    }

    fn finish(&mut self, end: DecodedEnd) -> io::Result<usize> {
        self.end = end;
        Ok(0)
    }

    /// A text that begins as gzip is taken apart once more.
    fn look_at_text(&mut self, stage: &mut Source<'r>) -> io::Result<()> {
        if !std::mem::take(&mut self.unseen_text) {
            return Ok(());
        }
        // A stage may give its first bytes one by one.
        let mut start = Vec::new();
        stage.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
        let rest = std::mem::replace(stage, Box::new(io::empty()));
        self.extra = start == GZIP;
        let whole: Source<'r> = Box::new(io::Cursor::new(start).chain(rest));
        *stage = if self.extra {
            limited(GzipMembers::new(whole, Arc::clone(&self.signs)), self.max, &self.signs)
        } else {
            whole
        };
        Ok(())
    }

    /// At the cap: one byte more tells a body that fits exactly from one that goes on.
    fn at_cap(&mut self, stage: &mut Source<'r>) -> io::Result<usize> {
        match stage.read(&mut [0]) {
            Ok(0) if !Signs::is(&self.signs.stage_capped) => self.finish(DecodedEnd::Whole),
            Ok(_) => self.finish(DecodedEnd::Capped),
            Err(error) => self.broken(error),
        }
    }

    fn broken(&mut self, error: io::Error) -> io::Result<usize> {
        if error.kind() == io::ErrorKind::Interrupted || Signs::is(&self.signs.source_failed) {
            return Err(error);
        }
        self.finish(DecodedEnd::Corrupt)
    }

    fn read_stage(&mut self, stage: &mut Source<'r>, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return self.at_cap(stage);
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        match self.look_at_text(stage).and_then(|()| stage.read(buf.get_mut(..want).unwrap_or_default())) {
            Ok(0) if Signs::is(&self.signs.stage_capped) => self.finish(DecodedEnd::Capped),
            Ok(0) => self.finish(DecodedEnd::Whole),
            Ok(n) => {
                self.left = self.left.saturating_sub(n as u64);
                Ok(n)
            }
            Err(error) => self.broken(error),
        }
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let Some(mut stage) = self.stage.take() else { return Ok(0) };
        let read = self.read_stage(&mut stage, buf);
        if !matches!(read, Ok(0)) {
            self.stage = Some(stage);
        }
        read
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
    signs: Arc<Signs>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buf);
        self.signs.read.fetch_add(*result.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        if result.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted) {
            Signs::set(&self.signs.source_failed);
        }
        result
    }
}

/// Caps what one stage gives, so that a bomb inside a bomb costs no more than one, and each no more than its bytes are worth.
struct Limited<R> {
    inner: R,
    left: u64,
    given: u64,
    signs: Arc<Signs>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if self.inner.read(&mut [0])? > 0 {
                Signs::set(&self.signs.stage_capped);
            }
            return Ok(0);
        }
        if self.given > FREE && self.given / RATIO > self.signs.read.load(Ordering::Relaxed) {
            Signs::set(&self.signs.stage_capped);
            Signs::set(&self.signs.out_of_proportion);
            return Ok(0);
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        let n = self.inner.read(buf.get_mut(..want).unwrap_or_default())?;
        self.left = self.left.saturating_sub(n as u64);
        self.given += n as u64;
        Ok(n)
    }
}

/// One coding, begun at the first read: only then are the first bytes there to be looked at.
struct Lazy<'r> {
    coding: Coding,
    waiting: Option<Source<'r>>,
    running: Option<Box<dyn Read + Send + 'r>>,
    signs: Arc<Signs>,
}

impl Read for Lazy<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(source) = self.waiting.take() {
            self.running = begin(self.coding, source, &self.signs)?;
        }
        self.running.as_mut().map_or(Ok(0), |running| running.read(buf))
    }
}

/// The decoder for a body, chosen after a look at its first bytes; none for an empty body.
fn begin<'r>(
    coding: Coding,
    mut source: Source<'r>,
    signs: &Arc<Signs>,
) -> io::Result<Option<Box<dyn Read + Send + 'r>>> {
    let mut start = Vec::new();
    source.by_ref().take(LOOK).read_to_end(&mut start)?;
    let source = Box::new(io::Cursor::new(start.clone()).chain(source));
    Ok(Some(match (coding, start.as_slice()) {
        (_, []) => return Ok(None),
        (Coding::Deflate | Coding::Brotli, start) if begins_as_text(start) => {
            Signs::set(&signs.plain);
            source
        }
        (Coding::Gzip, [0x1f, 0x8b, ..] | [0x1f]) => Box::new(GzipMembers::new(source, Arc::clone(signs))),
        (Coding::Deflate, [cmf, flg, ..]) if is_zlib(*cmf, *flg) => Box::new(flate2::bufread::ZlibDecoder::new(source)),
        (Coding::Deflate, _) => Box::new(flate2::bufread::DeflateDecoder::new(source)),
        // A first byte with these low bits announces a window of up to 1 GiB; RFC 7932 section 9.1 reserves it.
        (Coding::Brotli, [first, ..]) if first & 0x7f == 0x11 => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "brotli large window"));
        }
        (Coding::Brotli, _) => Box::new(brotli::Decompressor::new(source, BUFFER)),
        // The magic number of a frame, or of a skippable one (RFC 8878 section 3.1).
        (Coding::Zstd, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        (Coding::Gzip | Coding::Zstd, _) => {
            Signs::set(&signs.plain);
            source
        }
    }))
}

/// Whether the first bytes are plainly those of a text: neither deflate nor br has a magic number, but of their streams
/// fewer than one in a hundred thousand begins with so many printable characters.
fn begins_as_text(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    text.len() >= LEAST_TEXT && text.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}

/// Whether two bytes are a zlib header (RFC 1950 section 2.2): deflate, window up to 32 KiB, check bits right.
fn is_zlib(cmf: u8, flg: u8) -> bool {
    cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(cmf) << 8 | u16::from(flg)).is_multiple_of(31)
}

/// gzip members one after the other (RFC 1952 section 2.2); what follows the last one is ignored, as browsers do.
struct GzipMembers<R> {
    member: Option<GzDecoder<R>>,
    begun: u64,
    given: u64,
    signs: Arc<Signs>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R, signs: Arc<Signs>) -> Self {
        Self { member: Some(GzDecoder::new(source)), begun: 1, given: 0, signs }
    }

    /// Goes on to the next member, if there is one.
    fn advance(&mut self) -> io::Result<()> {
        if let Some(done) = self.member.take() {
            let mut source = done.into_inner();
            if source.fill_buf()?.first() == Some(&GZIP[0]) {
                if self.begun > MEMBER + self.given / MEMBER {
                    Signs::set(&self.signs.stage_capped);
                    Signs::set(&self.signs.out_of_proportion);
                    return Ok(());
                }
                self.begun += 1;
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
                n => {
                    self.given += n as u64;
                    return Ok(n);
                }
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
pub(crate) mod tests;
