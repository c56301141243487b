//! Body in, with its caps: size, whole time, minimum rate. What has arrived when one of them strikes is kept and marked.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::document::{Document, DocumentWriter, SpillConfig, SpillError};
use crate::domain::cut::Cut;
use crate::domain::note::Note;
use crate::domain::reason::Failure;

use super::super::framing::{BodyForm, BodyReader, Ended, Framing};
use super::super::protocol::{FetchRequest, TimeoutsSection, Timings};
use super::connect::Link;
use super::{Fault, HttpConfig, injected};

/// Chunk lines and trailers that are read at most, where `fetch.max_body` is less.
const LEAST_FRAMING: u64 = 16 << 20;

/// A body as far as it came.
pub(super) struct Received {
    pub(super) document: Document,
    /// The same as it came, where that was asked for and can be had.
    pub(super) exact: Option<Document>,
    pub(super) cut: Option<Cut>,
    /// Why it was cut, or what else was odd.
    pub(super) note: Option<Note>,
    /// It came to its end, framing and all.
    pub(super) ended: bool,
}

/// Receives a body into a document.
pub(super) async fn receive(
    link: &mut Link,
    form: BodyForm,
    request: &FetchRequest,
    config: &HttpConfig,
    timings: &mut Timings,
) -> Result<Received, Fault> {
    injected(config.faults.wait("net.body").await)?;
    let limits = &request.limits;
    let mut clock = BodyClock::new(Instant::now(), &limits.timeouts);
    let mut reader = BodyReader::new(form);
    let mut kept = Kept::new(form, limits.spill(&config.spill), config.exact, limits.max_body);
    let mut paid = 0;
    let (cut, note) = loop {
        let next = next_piece(link, &mut reader, &mut clock, kept.payload.len()).await;
        if let Some(throttle) = &config.throttle {
            let came = link.tap.bytes;
            clock.pause(throttle.pause(came.saturating_sub(paid)).await);
            paid = came;
        }
        timings.body = link.tap.first_byte.map_or(Duration::ZERO, |at| at.elapsed());
        match next {
            Next::Piece(piece, is_data) => {
                let fits;
                (kept, fits) = kept.push(piece, is_data).await.map_err(spill_fault)?;
                if !fits {
                    break (Some(Cut::Length), None);
                }
            }
            Next::End if form.framing == Framing::Close && link.tap.unclosed => {
                break (None, Some(Note::TlsUnclosed));
            }
            Next::End => break (None, None),
            Next::Ended(Ended::Whole(note)) => break (None, note),
            Next::Ended(Ended::Cut(note)) => {
                let (host, bytes) = (request.url.host(), kept.payload.len());
                log::debug!("body broke off host={host} bytes={bytes} how={note}");
                break (Some(Cut::Disconnect), Some(note));
            }
            Next::Late(failure, detail) if kept.payload.is_empty() => return Err(Fault::new(failure, detail)),
            Next::Late(Failure::TooSlow, _) => break (Some(Cut::Time), Some(Note::TooSlow)),
            Next::Late(..) => break (Some(Cut::Time), Some(Note::BodyTimeout)),
        }
    };
    let ended = cut.is_none() && reader.is_done();
    let (document, exact) = kept.finish(ended).await.map_err(spill_fault)?;
    if config.exact && exact.is_none() {
        log::debug!("body not kept as it came, it is cut or its chunks cannot be followed: url={}", request.url);
    }
    Ok(Received { document, exact, cut, note, ended })
}

/// What of a body is kept.
struct Kept {
    payload: DocumentWriter,
    exact: Exact,
    /// Bytes that were no payload.
    framing: u64,
    most: u64,
}

/// What becomes of the exact bytes.
enum Exact {
    /// Nobody wants them, or they cannot be had.
    Not,
    /// They are the payload.
    Payload,
    /// They are written beside it.
    Beside(DocumentWriter),
}

impl Kept {
    fn new(form: BodyForm, spill: SpillConfig, exact: bool, most: u64) -> Self {
        let exact = match form.framing {
            _ if !exact || !form.plain || form.unchunked.is_some() => Exact::Not,
            Framing::Chunks => Exact::Beside(DocumentWriter::new(spill.clone())),
            Framing::None | Framing::Length(_) | Framing::Close => Exact::Payload,
        };
        let payload = DocumentWriter::new(spill);
        let payload = match form.framing {
            Framing::Length(bytes) => payload.expecting(bytes),
            Framing::None | Framing::Chunks | Framing::Close => payload,
        };
        Self { payload, exact, framing: 0, most }
    }

    /// Keeps a piece; false when it, or its framing, was too much.
    async fn push(mut self, piece: Bytes, is_data: bool) -> Result<(Self, bool), SpillError> {
        if let Exact::Beside(writer) = self.exact {
            let writer = writer.push(&piece).await?;
            // More framing than payload may be would be there to fill the disk.
            let bounded = writer.len().saturating_sub(self.payload.len()) <= self.most.saturating_mul(2);
            self.exact = if bounded { Exact::Beside(writer) } else { Exact::Not };
        }
        if !is_data {
            self.framing += piece.len() as u64;
            let fits = self.framing <= self.most.max(LEAST_FRAMING);
            return Ok((self, fits));
        }
        let room = self.most.saturating_sub(self.payload.len());
        let fits = piece.len() as u64 <= room;
        let kept = if fits { piece } else { piece.slice(..usize::try_from(room).unwrap_or(0)) };
        self.payload = self.payload.push(&kept).await?;
        Ok((self, fits))
    }

    /// The payload, and the body as it came. A chunked body that is cut is told by its head to go on, and readers of archives
    /// stumble over it: its bytes are given up.
    async fn finish(self, ended: bool) -> Result<(Document, Option<Document>), SpillError> {
        let document = self.payload.finish().await?;
        let exact = match self.exact {
            Exact::Payload => Some(document.clone()),
            Exact::Beside(writer) if ended => Some(writer.finish().await?),
            Exact::Not | Exact::Beside(_) => None,
        };
        Ok((document, exact))
    }
}

fn spill_fault(error: SpillError) -> Fault {
    Fault::new(Failure::Spill, error.to_string())
}

enum Next {
    /// Bytes of one kind: payload or not.
    Piece(Bytes, bool),
    /// The end of the body, or of the connection that delimits it.
    End,
    /// The end of the connection, or of what can be read.
    Ended(Ended),
    Late(Failure, String),
}

/// The next piece of the body, or why there is none. `have` is the payload that arrived before.
async fn next_piece(link: &mut Link, reader: &mut BodyReader, clock: &mut BodyClock, have: u64) -> Next {
    loop {
        if reader.is_done() {
            return Next::End;
        }
        if !link.unread().is_empty() {
            return match reader.step(link.unread()) {
                Ok(step) => Next::Piece(link.unread().split_to(step.taken).freeze(), step.is_data),
                Err(_) => Next::Ended(Ended::Cut(Note::ChunkFault)),
            };
        }
        let result = timeout_at(clock.next_look(), link.read_more()).await;
        if let Some((failure, detail)) = clock.verdict(Instant::now(), have) {
            return Next::Late(failure, detail);
        }
        match result {
            Ok(Ok(0)) if reader.ended() == Ended::Whole(None) => return Next::End,
            Ok(Ok(0)) => return Next::Ended(reader.ended()),
            Ok(Err(error)) => return Next::Ended(broken(&error, reader.ended())),
            Ok(Ok(_)) | Err(_) => {}
        }
    }
}

/// A connection that broke rather than ended.
fn broken(error: &io::Error, ended: Ended) -> Ended {
    match ended {
        Ended::Cut(note) if error.kind() == io::ErrorKind::UnexpectedEof => Ended::Cut(note),
        _ => Ended::Cut(Note::Reset),
    }
}

/// The two time limits of a body. `now` is an argument.
struct BodyClock {
    deadline: Instant,
    limit: Duration,
    /// By how much pauses of ours may still move the deadline.
    grace: Duration,
    rate: u64,
    window: Duration,
    /// The window being measured: its end, and the bytes there were at its beginning.
    window_end: Option<Instant>,
    window_base: u64,
}

impl BodyClock {
    fn new(now: Instant, timeouts: &TimeoutsSection) -> Self {
        let TimeoutsSection { body: limit, min_rate: rate, min_rate_window: window, .. } = *timeouts;
        let far = now + Duration::from_secs(365 * 24 * 3600);
        let window_end = if rate == 0 || window.is_zero() { None } else { now.checked_add(window) };
        let deadline = now.checked_add(limit).unwrap_or(far);
        Self { deadline, limit, grace: limit, rate, window, window_end, window_base: 0 }
    }

    /// Time in which we did not listen: it is not the server's. The deadline moves by its own length at most, so that a
    /// fetch comes to an end whatever `fetch.max_bandwidth` leaves it.
    fn pause(&mut self, time: Duration) {
        let moved = time.min(self.grace);
        self.grace = self.grace.saturating_sub(moved);
        self.deadline = self.deadline.checked_add(moved).unwrap_or(self.deadline);
        self.window_end = self.window_end.and_then(|end| end.checked_add(time));
    }

    /// When to look at the clock even if nothing comes.
    fn next_look(&self) -> Instant {
        self.window_end.map_or(self.deadline, |end| end.min(self.deadline))
    }

    /// Whether a limit has struck, `have` bytes having arrived by `now`.
    fn verdict(&mut self, now: Instant, have: u64) -> Option<(Failure, String)> {
        if now >= self.deadline {
            let detail = format!("the body was not whole within {} s", self.limit.as_secs_f32());
            return Some((Failure::BodyTimeout, detail));
        }
        let end = self.window_end.filter(|end| now >= *end)?;
        // A late look measures a longer window, so that a busy thread here is not the server's fault.
        let seconds = (self.window + now.duration_since(end)).as_secs_f64();
        let came = have.saturating_sub(self.window_base);
        if (came as f64) < self.rate as f64 * self.window.as_secs_f64() {
            let detail = format!("{came} bytes in {seconds:.1} s, less than {} bytes/s", self.rate);
            return Some((Failure::TooSlow, detail));
        }
        (self.window_end, self.window_base) = (now.checked_add(self.window), have);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn clock(start: Instant, body: Duration, (min_rate, min_rate_window): (u64, Duration)) -> BodyClock {
        BodyClock::new(start, &TimeoutsSection { body, min_rate, min_rate_window, ..TimeoutsSection::default() })
    }

    #[test]
    fn a_body_is_late_at_its_deadline_and_not_before() {
        let start = Instant::now();
        let mut clock = self::clock(start, 10 * SECOND, (0, SECOND));
        assert_eq!(clock.next_look(), start + 10 * SECOND);
        assert!(clock.verdict(start + 9 * SECOND, 0).is_none());
        assert_eq!(clock.verdict(start + 10 * SECOND, 1 << 40).unwrap().0, Failure::BodyTimeout);
    }

    #[test]
    fn each_window_must_bring_its_bytes() {
        let start = Instant::now();
        let mut clock = self::clock(start, 1000 * SECOND, (10, 5 * SECOND));
        assert_eq!(clock.next_look(), start + 5 * SECOND);
        assert!(clock.verdict(start + SECOND, 0).is_none(), "inside the window nothing is judged");
        assert!(clock.verdict(start + 5 * SECOND, 50).is_none());
        assert_eq!(clock.next_look(), start + 10 * SECOND);
        let (failure, detail) = clock.verdict(start + 10 * SECOND, 99).unwrap();
        assert_eq!(failure, Failure::TooSlow);
        assert!(detail.contains("49 bytes"), "{detail}");
    }

    #[test]
    fn a_pause_of_ours_moves_the_window_and_the_deadline_but_not_without_end() {
        let start = Instant::now();
        let mut clock = self::clock(start, 10 * SECOND, (10, 5 * SECOND));
        clock.pause(4 * SECOND);
        assert_eq!(clock.next_look(), start + 9 * SECOND);
        assert!(clock.verdict(start + 8 * SECOND, 0).is_none());
        clock.pause(60 * SECOND);
        assert!(clock.verdict(start + 19 * SECOND, 0).is_none());
        assert_eq!(clock.verdict(start + 20 * SECOND, 1 << 40).unwrap().0, Failure::BodyTimeout);
    }

    #[test]
    fn without_a_rate_only_the_deadline_counts() {
        let start = Instant::now();
        for rate in [(0, SECOND), (10, Duration::ZERO)] {
            let mut clock = self::clock(start, 1000 * SECOND, rate);
            assert!(clock.verdict(start + 999 * SECOND, 0).is_none());
        }
    }
}
