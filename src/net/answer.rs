//! What the rules are told of an answer, in a crawl as in `lycosa fetch`.

use std::io::Read;

use super::protocol::{FetchFault, Fetched};
use crate::base::time::UnixMillis;
use crate::content::challenge::{self, Sign};
use crate::content::mime::{Kind, sniff};
use crate::domain::outcome::{Answer, FetchOutcome};
use crate::domain::politeness::RetryAfter;

/// The outcome of a request. `conditional`: it carried validators of an earlier capture.
pub fn outcome_of(result: Result<&Fetched, &FetchFault>, conditional: bool, now: UnixMillis) -> FetchOutcome {
    let fetched = match result {
        Ok(fetched) => fetched,
        Err(fault) => return FetchOutcome::Fault(fault.failure),
    };
    FetchOutcome::Answer(Answer {
        status: fetched.status,
        has_location: fetched.reference("location").is_some_and(|to| !to.trim().is_empty()),
        retry_after: fetched.header("retry-after").and_then(|value| RetryAfter::parse(&value, now)),
        cut: fetched.cut,
        bytes: fetched.body.len(),
        challenge: is_challenge(fetched),
        conditional,
    })
}

/// Whether a firewall answered in place of the site. The body is only looked at behind a firewall that is known.
fn is_challenge(fetched: &Fetched) -> bool {
    let suspects = match challenge::of_headers(fetched.headers.iter().map(|(n, v)| (n.as_str(), v.as_slice()))) {
        Sign::None => return false,
        Sign::Challenge => return true,
        Sign::Suspect(suspects) => suspects,
    };
    if fetched.body.is_empty() || fetched.body.len() > challenge::MAX_BODY {
        return false;
    }
    let mut head = Vec::new();
    // What cannot be decoded to its end is judged by what came.
    let _ = fetched.decoded_body(challenge::HEAD as u64).read_to_end(&mut head);
    let html = sniff(fetched.content_type().as_deref(), &head) == Kind::Html;
    let found = suspects.in_body(fetched.status, &head).filter(|_| html);
    if let Some(firewall) = found {
        log::debug!("challenge in place of a page: firewall={firewall} status={}", fetched.status);
    }
    found.is_some()
}
