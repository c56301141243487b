//! What became of a fetch, and what follows from it: one exhaustive table from outcome to verdict ([`judge`]: the URL's next try)
//! and one to the host's mood ([`pace_signal`]: how long it is left alone). A 503 goes through both.
//!
//! | outcome | retries | in the end | state | stored | parsed |
//! |---|---|---|---|---|---|
//! | 2xx, whole, or cut by a limit of ours | - | [`Verdict::Store`] | done | yes | yes |
//! | 2xx that the connection cut, some of it there | all; the half is stored and parsed at once, [`Verdict::StoreHalf`] | [`Verdict::Store`] | done | yes | yes |
//! | 2xx that the connection cut before a byte of its body | all | [`Verdict::Fail`] | error `body_cut` | no | no |
//! | 300-303, 307, 308 with Location | - | [`Verdict::Follow`] | done | yes | no |
//! | 304 to a request that did not ask | one | [`Verdict::Fail`] | error `not_modified_unasked` | no | no |
//! | 304 to a request that did | - | [`Verdict::NotModified`] | done | yes | no |
//! | any other 3xx, as 2xx: browsers show its body (Fetch standard, HTTP-redirect fetch) | - | [`Verdict::Store`] | done | yes | yes |
//! | a firewall's challenge, whatever its status | all | [`Verdict::Fail`] | error `challenge` | no | no |
//! | 408, 425, 429 | all | [`Verdict::StoreOnly`] | error `status_4xx` | yes | no |
//! | any other 4xx | - | [`Verdict::StoreOnly`] | error `status_4xx` | yes | no |
//! | 5xx | all | [`Verdict::StoreOnly`] | error `status_5xx` | yes | no |
//! | a status outside 200-599 | - | [`Verdict::StoreOnly`] | error `status_other` | yes | no |
//! | our own disk refused the body (spill) | without end, none counted | - | - | no | no |
//! | name server failed, connect, time-outs, reset | all | [`Verdict::Fail`] | error | no | no |
//! | TLS refused, answer not HTTP | one | [`Verdict::Fail`] | error | no | no |
//! | name does not exist | one, late | [`Verdict::Fail`] | error | no | no |
//! | page that ends the parser | - | [`Verdict::Fail`] | error | no | no |
//! | address forbidden | - | [`Verdict::Reject`] | rejected | no | no |
//!
//! A body that the connection cut is kept at once, for no retry may come to more; the URL waits for a better copy. What is no better
//! than the half that is kept, an error among it, leaves it as it is ([`Verdict::beside_half`]): after the last try the URL is done
//! with its half.
//! A name that does not exist is asked for once more, after the second delay, since the first (1 min) would be answered
//! by the resolver's own memory of the failure (15 min).

use std::time::Duration;

use super::politeness::{PaceSignal, RetryAfter};
use super::reason::{Failure, Rejection};
use crate::base::time::UnixMillis;
use crate::domain::cut::Cut;

/// How a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// The server answered.
    Answer(Answer),
    /// No answer that could be kept.
    Fault(Failure),
}

/// What of an answer decides over the URL; headers and body travel elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The final status code.
    pub status: u16,
    /// Whether it has a Location header that is not empty.
    pub has_location: bool,
    /// What its Retry-After asks for ([`RetryAfter::parse`]).
    pub retry_after: Option<Duration>,
    /// Why the body is not whole, if it is not.
    pub cut: Option<Cut>,
    /// Bytes of body that came.
    pub bytes: u64,
    /// Whether it is a firewall's challenge ([`challenge`](crate::content::challenge)) in place of the page.
    pub challenge: bool,
    /// Whether the request asked for the page only if it had changed.
    pub conditional: bool,
}

impl Answer {
    /// A whole answer with this status and nothing special.
    pub fn of(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

/// When a URL that failed is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// The wait before each retry; as many retries as there are delays.
    pub delays: Vec<Duration>,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self { delays: [60, 15 * 60, 2 * 60 * 60].map(Duration::from_secs).to_vec() }
    }
}

impl RetryRules {
    /// The wait after a fault of this machine, which `before` others in a row have preceded: each doubles it, up to an hour.
    pub fn own_fault(&self, before: u32) -> Duration {
        const MOST: Duration = Duration::from_secs(60 * 60);
        let first = self.delays.first().copied().unwrap_or(Duration::from_secs(60));
        first.max(first.saturating_mul(1 << before.min(20)).min(MOST))
    }
}

/// What is done with the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store the capture and parse it for links; the URL is done.
    Store,
    /// The connection cut it: store and parse what came, and try the URL again.
    StoreHalf {
        /// Not before this moment.
        at: UnixMillis,
    },
    /// Nothing is stored; the URL is done with the half that an earlier try has left.
    KeepHalf,
    /// Store the capture, do not parse it. With a failure the URL ends as error, else as done.
    StoreOnly(Option<Failure>),
    /// Store the capture; the URL is done as a redirect and its Location becomes a new URL, where redirects are followed.
    Follow,
    /// The page is as it was at its last capture: a reference to that is stored, and the URL is done.
    NotModified,
    /// Nothing is stored; the URL is tried again.
    Retry {
        /// Not before this moment.
        at: UnixMillis,
        /// What went wrong this time.
        reason: Failure,
    },
    /// Nothing can be stored; the URL ends as error.
    Fail(Failure),
    /// The URL is turned away.
    Reject(Rejection),
}

/// The state a URL ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalState {
    /// Fetched.
    Done,
    /// Failed for good.
    Error(Failure),
    /// Turned away.
    Rejected(Rejection),
}

impl Verdict {
    /// The state the URL ends in; `None` when it will be tried again.
    pub fn final_state(&self) -> Option<FinalState> {
        match *self {
            Self::Store | Self::Follow | Self::NotModified | Self::KeepHalf | Self::StoreOnly(None) => {
                Some(FinalState::Done)
            }
            Self::StoreOnly(Some(failure)) | Self::Fail(failure) => Some(FinalState::Error(failure)),
            Self::Reject(rejection) => Some(FinalState::Rejected(rejection)),
            Self::Retry { .. } | Self::StoreHalf { .. } => None,
        }
    }

    /// Whether the answer goes into the archive.
    pub fn stores(&self) -> bool {
        matches!(self, Self::Store | Self::StoreHalf { .. } | Self::StoreOnly(_) | Self::Follow | Self::NotModified)
    }

    /// Whether the body is parsed for links.
    pub fn parses(&self) -> bool {
        matches!(self, Self::Store | Self::StoreHalf { .. })
    }

    /// The same where an earlier try has left a `half` of so many bytes: of a body that is cut the longer one is kept, and no error
    /// takes its place.
    #[must_use]
    pub fn beside_half(self, half: Option<u64>, outcome: &FetchOutcome) -> Self {
        let Some(half) = half else { return self };
        let better = match outcome {
            FetchOutcome::Answer(answer) => answer.cut.is_none() || answer.bytes > half,
            FetchOutcome::Fault(_) => false,
        };
        match self {
            Self::StoreHalf { at } if !better => Self::Retry { at, reason: Failure::BodyCut },
            Self::Store if !better => Self::KeepHalf,
            Self::StoreOnly(Some(_)) | Self::Fail(_) | Self::Reject(_) => Self::KeepHalf,
            verdict => verdict,
        }
    }
}

/// What follows from `outcome`. `attempts` is the number of earlier attempts at this URL, this one not counted.
pub fn judge(outcome: &FetchOutcome, attempts: u8, now: UnixMillis, rules: &RetryRules) -> Verdict {
    match *outcome {
        FetchOutcome::Answer(answer) => judge_answer(&answer, attempts, now, rules),
        FetchOutcome::Fault(failure) => judge_fault(failure, attempts, now, rules),
    }
}

fn judge_answer(answer: &Answer, attempts: u8, now: UnixMillis, rules: &RetryRules) -> Verdict {
    let again = |reason| match rules.delays.get(usize::from(attempts)) {
        Some(delay) => {
            let asked = answer.retry_after.unwrap_or_default().min(RetryAfter::MAX);
            Verdict::Retry { at: now.plus(asked.max(*delay)), reason }
        }
        None => Verdict::StoreOnly(Some(reason)),
    };
    if answer.challenge {
        // A refusal whatever status it wears; its page is not the page asked for, and no content.
        return match again(Failure::Challenge) {
            Verdict::StoreOnly(_) => Verdict::Fail(Failure::Challenge),
            retry => retry,
        };
    }
    match answer.status {
        304 if answer.conditional => Verdict::NotModified,
        304 => judge_fault(Failure::NotModifiedUnasked, attempts, now, rules),
        300..=303 | 307 | 308 if answer.has_location => Verdict::Follow,
        200..=399 if answer.cut == Some(Cut::Disconnect) => match again(Failure::BodyCut) {
            Verdict::Retry { at, .. } if answer.bytes > 0 => Verdict::StoreHalf { at },
            Verdict::StoreOnly(_) if answer.bytes > 0 => Verdict::Store,
            Verdict::StoreOnly(_) => Verdict::Fail(Failure::BodyCut),
            retry => retry,
        },
        200..=399 => Verdict::Store,
        408 | 425 | 429 => again(Failure::Status4xx),
        400..=499 => Verdict::StoreOnly(Some(Failure::Status4xx)),
        500..=599 => again(Failure::Status5xx),
        _ => Verdict::StoreOnly(Some(Failure::StatusOther)),
    }
}

fn judge_fault(failure: Failure, attempts: u8, now: UnixMillis, rules: &RetryRules) -> Verdict {
    use Failure::*;
    let attempts = usize::from(attempts);
    let delay = match failure {
        AddressRefused => return Verdict::Reject(Rejection::Address),
        DnsFailed | ConnectRefused | ConnectTimeout | TlsTimeout | FirstByteTimeout | BodyTimeout | TooSlow | Reset
        | BodyCut | Proxy | Challenge | RobotsUnreachable => rules.delays.get(attempts),
        // This machine's trouble: it costs the URL no attempt (`Ending::Retry` of the ledger), and never ends it.
        Spill => return Verdict::Retry { at: now.plus(rules.own_fault(0)), reason: failure },
        Tls | TlsExpired | TlsName | TlsSelfSigned | TlsIssuer | TlsCertificate | TlsOld | NotModifiedUnasked
        | BadHttp => rules.delays.first().filter(|_| attempts == 0),
        DnsNotFound => rules.delays.get(1).or(rules.delays.first()).filter(|_| attempts == 0),
        // Not faults of a fetch; were one reported as such, trying again would not help.
        Status4xx | Status5xx | StatusOther | Poison => None,
    };
    match delay {
        Some(delay) => Verdict::Retry { at: now.plus(*delay), reason: failure },
        None => Verdict::Fail(failure),
    }
}

/// What `outcome` says about how its host feels.
pub fn pace_signal(outcome: &FetchOutcome) -> PaceSignal {
    use Failure::*;
    match *outcome {
        FetchOutcome::Answer(answer) => answer_signal(&answer),
        FetchOutcome::Fault(failure) => match failure {
            // Nothing the host did: the policy, our disk, our parser.
            AddressRefused | Spill | Poison | Proxy => PaceSignal::Neutral,
            RobotsUnreachable => PaceSignal::Neutral,
            Status4xx | StatusOther | NotModifiedUnasked => PaceSignal::Ok,
            Challenge => PaceSignal::Challenge,
            Status5xx => PaceSignal::ServerError,
            DnsNotFound | DnsFailed | ConnectRefused | ConnectTimeout | Tls | TlsExpired | TlsName | TlsSelfSigned
            | TlsIssuer | TlsCertificate | TlsOld | TlsTimeout | FirstByteTimeout | BodyTimeout | TooSlow | Reset
            | BodyCut | BadHttp => PaceSignal::Fault,
        },
    }
}

fn answer_signal(answer: &Answer) -> PaceSignal {
    let retry_after = answer.retry_after;
    if answer.challenge && retry_after.is_none() {
        return PaceSignal::Challenge;
    }
    match answer.status {
        429 | 503 => PaceSignal::Throttled { retry_after },
        // A server that names a time with a refusal or an error means it.
        403 | 500..=599 if retry_after.is_some() => PaceSignal::Throttled { retry_after },
        _ if answer.challenge => PaceSignal::Throttled { retry_after },
        403 => PaceSignal::Challenge,
        500..=599 => PaceSignal::ServerError,
        _ if answer.cut == Some(Cut::Disconnect) && answer.bytes == 0 => PaceSignal::Fault,
        _ => PaceSignal::Ok,
    }
}

#[cfg(test)]
mod tests;
