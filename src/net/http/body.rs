//! Body in, with its caps: size, whole time, minimum rate. What has arrived when one of them strikes is kept and marked.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::document::{Document, DocumentWriter, SpillConfig, SpillError};
use crate::domain::note::Note;
use crate::domain::reason::Failure;
use crate::fault::Faults;

use super::super::protocol::{Cut, FetchRequest, Timings};
use super::super::throttle::Throttle;
use super::connect::Link;
use super::exact::Exact;
use super::exchange::{Framing, describe, io_cause};
use super::{Fault, injected};

/// A body as far as it came.
pub(super) struct Received {
    pub(super) document: Document,
    /// The same as it came, where that was asked for and can be had.
    pub(super) exact: Option<Document>,
    pub(super) cut: Option<Cut>,
    /// Why it was cut, or what else was odd.
    pub(super) note: Option<Note>,
}

/// What a body is received with.
pub(super) struct Means<'a> {
    pub(super) spill: &'a SpillConfig,
    pub(super) throttle: Option<&'a Throttle>,
    pub(super) faults: &'a Faults,
    /// The exact bytes are wanted.
    pub(super) exact: bool,
}

/// Receives a body into a document.
pub(super) async fn receive(
    link: &mut Link,
    mut body: Incoming,
    framing: Framing,
    request: &FetchRequest,
    means: &Means<'_>,
    timings: &mut Timings,
) -> Result<Received, Fault> {
    injected(means.faults.wait("net.body").await)?;
    let limits = &request.limits;
    let mut clock = BodyClock::new(Instant::now(), limits.body, limits.min_rate);
    let mut writer = DocumentWriter::new(limits.spill(means.spill));
    let coded = means.exact && framing == Framing::Chunks;
    let mut exact = coded.then(|| Exact::new(limits.spill(means.spill), limits.max_body));
    let mut paid = 0;
    let (cut, note) = loop {
        let next = next_piece(link, &mut body, &mut clock, writer.len()).await;
        if let Some(throttle) = means.throttle {
            let came = link.log().bytes();
            clock.pause(throttle.pause(came.saturating_sub(paid)).await);
            paid = came;
        }
        timings.body = link.log().first_byte().map_or(Duration::ZERO, |at| at.elapsed());
        match next {
            Next::Piece(piece) => {
                let room = limits.max_body.saturating_sub(writer.len());
                let fits = piece.len() as u64 <= room;
                let kept = if fits { piece } else { piece.slice(..usize::try_from(room).unwrap_or(0)) };
                writer = writer.push_off_thread(&kept).await.map_err(spill_fault)?;
                if let Some(exact) = &mut exact {
                    exact.follow(link.log().drain(), writer.len(), false).await.map_err(spill_fault)?;
                }
                if !fits {
                    break (Some(Cut::Length), None);
                }
            }
            Next::End if framing == Framing::Close && link.log().unclosed() => {
                break (Some(Cut::Disconnect), Some(Note::TlsUnclosed));
            }
            Next::End => break (None, None),
            Next::Broken(error) => {
                let (host, bytes, error, note) =
                    (request.url.host(), writer.len(), describe(&error), broken(&error, framing));
                log::debug!("body broke off host={host} bytes={bytes} how={note} error={error:?}");
                break (Some(Cut::Disconnect), Some(note));
            }
            Next::Late(failure, detail) if writer.is_empty() => return Err(Fault::new(failure, detail)),
            Next::Late(Failure::TooSlow, _) => break (Some(Cut::Time), Some(Note::TooSlow)),
            Next::Late(..) => break (Some(Cut::Time), Some(Note::BodyTimeout)),
        }
    };
    let document = writer.finish_off_thread().await.map_err(spill_fault)?;
    let exact = match exact {
        Some(exact) => ended(exact, link, &document, cut).await.map_err(spill_fault)?,
        None => means.exact.then(|| document.clone()),
    };
    if means.exact && exact.is_none() {
        log::debug!("body not kept as it came, it is cut or its chunks cannot be followed: url={}", request.url);
    }
    Ok(Received { document, exact, cut, note })
}

/// The chunked body as it came, when it is whole: what is cut is told by its head to go on, and readers of archives stumble over it.
async fn ended(
    mut exact: Exact,
    link: &Link,
    document: &Document,
    cut: Option<Cut>,
) -> Result<Option<Document>, SpillError> {
    if cut.is_some() {
        return Ok(None);
    }
    exact.follow(link.log().drain(), document.len(), true).await?;
    exact.finish(document.len()).await
}

/// How a body broke off: hyper tells a connection that ended, framing that cannot be read, and all else that TCP says.
fn broken(error: &hyper::Error, framing: Framing) -> Note {
    match io_cause(error).map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) if framing == Framing::Length => Note::EndedEarly,
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            Note::ChunkFault
        }
        _ => Note::Reset,
    }
}

fn spill_fault(error: SpillError) -> Fault {
    Fault::new(Failure::Spill, error.to_string())
}

enum Next {
    Piece(Bytes),
    End,
    Broken(hyper::Error),
    Late(Failure, String),
}

/// The next piece of payload, or why there is none. `have` is what arrived before.
async fn next_piece(link: &mut Link, body: &mut Incoming, clock: &mut BodyClock, have: u64) -> Next {
    loop {
        let result = timeout_at(clock.next_look(), link.drive(body.frame())).await;
        let frame = match result {
            Ok(None) => return Next::End,
            Ok(Some(Err(error))) => return Next::Broken(error),
            Ok(Some(Ok(frame))) => Some(frame),
            Err(_) => None,
        };
        if let Some((failure, detail)) = clock.verdict(Instant::now(), have) {
            return Next::Late(failure, detail);
        }
        if let Some(frame) = frame {
            match frame.into_data() {
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => return Next::Piece(piece),
                Err(_trailers) => {}
            }
        }
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
    fn new(now: Instant, limit: Duration, (rate, window): (u64, Duration)) -> Self {
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

    #[test]
    fn a_body_is_late_at_its_deadline_and_not_before() {
        let start = Instant::now();
        let mut clock = BodyClock::new(start, 10 * SECOND, (0, SECOND));
        assert_eq!(clock.next_look(), start + 10 * SECOND);
        assert!(clock.verdict(start + 9 * SECOND, 0).is_none());
        assert_eq!(clock.verdict(start + 10 * SECOND, 1 << 40).unwrap().0, Failure::BodyTimeout);
    }

    #[test]
    fn each_window_must_bring_its_bytes() {
        let start = Instant::now();
        let mut clock = BodyClock::new(start, 1000 * SECOND, (10, 5 * SECOND));
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
        let mut clock = BodyClock::new(start, 10 * SECOND, (10, 5 * SECOND));
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
            let mut clock = BodyClock::new(start, 1000 * SECOND, rate);
            assert!(clock.verdict(start + 999 * SECOND, 0).is_none());
        }
    }
}
