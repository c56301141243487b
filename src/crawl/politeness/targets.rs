//! Places to which robots.txt of other hosts redirect, as they answered: many hosts may lead to one, which is asked once.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::crawl::fetcher::{Report, RobotsAnswer};
use crate::domain::outcome::{Answer, FetchOutcome};
use crate::domain::robots::{RobotsStatus, classify};
use crate::domain::url::PageUrl;

/// Answers kept; the oldest goes.
const KEPT: usize = 128;
/// Longer texts are not kept.
const LONGEST: usize = 64 * 1024;

/// The answers kept, at most some 8 MB.
#[derive(Default)]
pub struct Targets(Mutex<VecDeque<(String, Known)>>);

struct Known {
    at: UnixMillis,
    status: u16,
    text: Option<Vec<u8>>,
    location: Option<String>,
}

impl Targets {
    /// The answer of that place, when it is younger than `max_age`.
    pub(super) fn known(&self, url: &PageUrl, now: UnixMillis, max_age: Duration) -> Option<Report> {
        let kept = lock(&self.0);
        let (_, known) = kept.iter().find(|(place, known)| place == url.as_str() && now.since(known.at) < max_age)?;
        let Known { status, text, location, .. } = known;
        let (text, location) = (text.clone(), location.clone());
        let answer = RobotsAnswer { status: *status, text, location, records: Vec::new() }; // the archive has it already
        Some(Report { outcome: FetchOutcome::Answer(Answer::of(*status)), robots: Some(answer) })
    }

    /// Keeps what says something: not a fault, nor a refusal that may be over soon.
    pub(super) fn keep(&self, url: &PageUrl, report: &Report, now: UnixMillis) {
        let (FetchOutcome::Answer(answer), Some(robots)) = (&report.outcome, &report.robots) else { return };
        let lost = match classify(robots.status) {
            RobotsStatus::Found => robots.text.as_ref().is_none_or(|text| text.len() > LONGEST),
            RobotsStatus::Unavailable => false,
            RobotsStatus::Unreachable => true,
        };
        if answer.challenge || lost {
            return;
        }
        let text = robots.text.clone().filter(|text| text.len() <= LONGEST);
        let known = Known { at: now, status: robots.status, text, location: robots.location.clone() };
        let mut kept = lock(&self.0);
        match kept.iter_mut().find(|(place, _)| place == url.as_str()) {
            Some((_, former)) => *former = known,
            None => kept.push_back((url.as_str().to_owned(), known)),
        }
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Failure;

    const AGE: Duration = Duration::from_secs(10);

    fn url(path: &str) -> PageUrl {
        crate::domain::url::Canonicaliser::default().parse(&format!("http://rules.test{path}")).unwrap()
    }

    fn answer(status: u16, text: Option<&[u8]>) -> Report {
        let robots = RobotsAnswer { status, text: text.map(<[u8]>::to_vec), location: None, records: Vec::new() };
        Report { outcome: FetchOutcome::Answer(Answer::of(status)), robots: Some(robots) }
    }

    #[test]
    fn an_answer_is_shared_until_it_is_old_when_it_says_something() {
        let long = vec![b'#'; LONGEST + 1];
        for (report, shared) in [
            (answer(200, Some(b"Disallow: /")), true),
            (answer(404, None), true),
            (answer(301, None), true),
            (answer(200, None), false), // it did not come whole
            (answer(200, Some(&long)), false),
            (answer(503, None), false),
            (answer(429, None), false),
            (Report::fault(Failure::Reset), false),
        ] {
            let targets = Targets::default();
            targets.keep(&url("/x"), &report, UnixMillis(1_000));
            assert_eq!(targets.known(&url("/x"), UnixMillis(10_999), AGE).is_some(), shared, "{:?}", report.outcome);
            assert!(targets.known(&url("/x"), UnixMillis(11_000), AGE).is_none());
            assert!(targets.known(&url("/y"), UnixMillis(1_000), AGE).is_none());
        }
    }

    #[test]
    fn the_number_kept_is_bounded() {
        let targets = Targets::default();
        (0..KEPT + 5).for_each(|n| targets.keep(&url(&format!("/{n}")), &answer(404, None), UnixMillis(1)));
        assert_eq!(lock(&targets.0).len(), KEPT);
        let known = |n: usize| targets.known(&url(&format!("/{n}")), UnixMillis(1), AGE).is_some();
        assert!(!known(4) && known(5));
    }
}
