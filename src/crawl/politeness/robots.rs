//! robots.txt of one host: fetching with redirects (RFC 9309, 2.3.1), kept copy, freshness.
//!
//! [`follow`] and [`value_of`] are all that a crawl and `lycosa fetch` know of it:
//!
//! | the last answer | access | asked again |
//! |---|---|---|
//! | 2xx whose text came whole, or as whole lines up to the limits of size | as its rules say | after `robots.max_age` |
//! | 2xx whose text was cut, or is in a coding that is broken or unknown | as for 5xx | as for 5xx |
//! | 3xx that leads nowhere ([`Nowhere`]), 4xx but 429 | all is allowed | after `robots.max_age` |
//! | 429, 5xx, any other status, a firewall's own page, none at all | as what was known before says, for `robots.keep_stale`; then, or where nothing was, nothing is allowed | after the next step of `robots.error_retry`, from the host's next request on |

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use super::lane::{Lane, NotReady};
use super::{pacers, sitemaps};
use crate::base::time::UnixMillis;
use crate::crawl::deduper::Announced;
use crate::crawl::fetcher::{Report, RobotsAnswer};
use crate::crawl::lease::Lease;
use crate::crawl::node::Node;
use crate::crawl::rules::Rules;
use crate::crawl::slot::Pacer;
use crate::crawl::store::Commit;
use crate::domain::outcome::{Answer, FetchOutcome};
use crate::domain::reason::Failure;
use crate::domain::robots::{RobotsAccess, RobotsCopy, RobotsRules, RobotsStatus, classify};
use crate::domain::url::{PageUrl, Scheme};
use crate::storage::keys::{HostAt, RobotsKey};
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::values::RobotsValue;

/// Redirects followed for robots.txt (RFC 9309, 2.3.1.2).
const MAX_HOPS: usize = 5;

/// So many failures of robots.txt in a row are not held against its host's pages.
const PATIENT: u8 = 3;

/// Whether a page of the host would have met the same.
fn is_of_the_host(fault: Failure) -> bool {
    use Failure as F;
    matches!(fault, F::DnsNotFound | F::DnsFailed | F::ConnectRefused | F::ConnectTimeout | F::AddressRefused)
        || matches!(fault, F::Tls | F::TlsTimeout | F::TlsExpired | F::TlsName | F::TlsSelfSigned | F::TlsIssuer)
        || matches!(fault, F::TlsCertificate | F::TlsOld | F::Proxy)
}

/// A robots.txt that cannot be had, and no copy of it.
pub(super) struct RobotsUnreachable {
    /// When it is asked for again.
    pub until: UnixMillis,
    /// Why there was no answer, if there was none.
    pub fault: Option<Failure>,
    /// That costs its URLs an attempt, whoever asks.
    pub charged: bool,
}

/// One kept robots.txt: what holds for us. Its text, up to half a megabyte, is on disk.
struct Kept {
    copy: RobotsCopy,
    rules: RobotsRules,
    fault: Option<Failure>,
}

impl Kept {
    fn new(node: &Node, value: &RobotsValue, fault: Option<Failure>) -> Self {
        let rules = rules_of(&node.crawl.rules, value);
        Self { copy: value.copy, rules, fault }
    }

    /// Its text, as it is on disk; none when that is not there as it was learned.
    fn text(&self, node: &Node, key: RobotsKey) -> Option<Vec<u8>> {
        if self.copy.fetched.0 == 0 {
            return Some(Vec::new());
        }
        let stored = read::robots(&*node.storage, key).ok().flatten();
        stored.filter(|stored| stored.copy.fetched == self.copy.fetched).map(|stored| stored.text)
    }

    /// Its fault costs a page an attempt also where nothing need come to an end, so that a dead host does. What
    /// happened to robots.txt alone says little about the page until it has happened again and again.
    fn away(&self, now: UnixMillis) -> RobotsUnreachable {
        let charged = self.fault.is_some_and(|fault| is_of_the_host(fault) || self.copy.failures > PATIENT);
        RobotsUnreachable { until: self.copy.retry_at.unwrap_or(now), fault: self.fault, charged }
    }
}

/// The copies of one host, one for each scheme and port.
#[derive(Default)]
pub(super) struct Cache {
    kept: RefCell<HashMap<(Scheme, u16), Kept>>,
    /// Held while a copy is fetched, so that the lanes of one host do not all ask for it.
    pub fetching: tokio::sync::Mutex<()>,
    /// The host's queue was seen to hold URLs of several schemes or ports.
    pub mixed: Cell<bool>,
}

/// What a request for robots.txt brought: the last answer, with the records of all of them.
pub(crate) struct Learned {
    pub status: Result<RobotsAnswer, Failure>,
    /// How its redirects ended, when that was not at an answer.
    pub nowhere: Option<Nowhere>,
}

/// How redirects end that lead to no robots.txt: it is as if there were none (RFC 9309, 2.3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nowhere {
    /// There are more than [`MAX_HOPS`].
    Endless,
    /// At what is no http(s) URL.
    NoUrl,
    /// At a host or URL that the operator has ruled out.
    RuledOut,
    /// At an address that must not be contacted.
    Refused,
}

impl Cache {
    /// What holds for `url` by the copy at hand; `None` when one must be fetched first.
    pub fn standing(&self, node: &Node, at: HostAt, url: &PageUrl, pacer: &Pacer) -> Option<Result<(), NotReady>> {
        let place = (url.scheme(), url.port());
        if !self.kept.borrow().contains_key(&place) {
            let stored = read::robots(&*node.storage, at.robots(url.scheme(), url.port())).ok().flatten()?;
            self.keep(place, Kept::new(node, &stored, None), pacer);
        }
        let is_due = |kept: &Kept| node.crawl.rules.robots.is_due(&kept.copy, node.clock.now());
        let is_fresh = self.kept.borrow().get(&place).is_some_and(|kept| !is_due(kept));
        is_fresh.then(|| self.says(node, url))
    }

    /// What the copy at hand says, though another may be due; without one nothing is allowed.
    pub fn says(&self, node: &Node, url: &PageUrl) -> Result<(), NotReady> {
        let now = node.clock.now();
        let kept = self.kept.borrow();
        let Some(kept) = kept.get(&(url.scheme(), url.port())) else {
            return Err(NotReady::RobotsUnreachable(RobotsUnreachable { until: now, fault: None, charged: false }));
        };
        match node.crawl.rules.robots.standing(&kept.copy, now) {
            RobotsAccess::AllowAll => Ok(()),
            RobotsAccess::DisallowAll => Err(NotReady::RobotsUnreachable(kept.away(now))),
            RobotsAccess::Fetched | RobotsAccess::Stale if kept.rules.allows(url.asked_tail()) => Ok(()),
            RobotsAccess::Fetched | RobotsAccess::Stale => Err(NotReady::Disallowed),
        }
    }

    /// What the copy at hand says of the use of a URL's content.
    pub fn usage(&self, url: &PageUrl) -> Option<String> {
        self.kept.borrow().get(&(url.scheme(), url.port()))?.rules.usage(url.asked_tail())
    }

    /// Keeps a copy. The longest Crawl-delay of all copies holds: a host has one pace, whatever scheme and port.
    fn keep(&self, place: (Scheme, u16), copy: Kept, pacer: &Pacer) {
        let mut kept = self.kept.borrow_mut();
        kept.insert(place, copy);
        pacer.set_crawl_delay(kept.values().filter_map(|k| k.rules.crawl_delay()).max());
    }

    /// Takes in what was fetched, and has it stored with the host's politeness.
    pub fn learn(&self, node: &Node, at: HostAt, lease: &Lease, pacer: &Pacer, learned: Learned) {
        let url = &lease.url;
        let place = (url.scheme(), url.port());
        let now = node.clock.now();
        let key: RobotsKey = at.robots(url.scheme(), url.port());
        let old = self.kept.borrow_mut().remove(&place);
        let text = old.as_ref().map(|old| old.text(node, key));
        let known =
            old.as_ref().map(|old| RobotsValue { text: text.clone().flatten().unwrap_or_default(), copy: old.copy });
        let value = value_of(&node.crawl.rules, known, learned.status.as_ref(), now, now.max(pacer.earliest()));
        let fault = learned.status.as_ref().err().copied();
        if let (Some(old), Some(None)) = (old, text)
            && value.copy.failures > 0
        {
            // What stands in is still on its way to the disk: this failure must not take its place there.
            return self.keep(place, Kept { copy: value.copy, rules: old.rules, fault }, pacer);
        }
        let kept = Kept::new(node, &value, fault);
        let found = if kept.copy.failures > 0 { Vec::new() } else { sitemaps::announced(node, lease, &kept.rules) };
        self.keep(place, kept, pacer);
        let change = Change::Robots {
            key,
            host: url.host().to_owned(),
            value: Box::new(value),
            pace: Some(pacer.pace().encode()),
            sitemaps: Box::default(),
        };
        let records = learned.status.map(|answer| answer.records).unwrap_or_default();
        let commit = Commit { records, ..Commit::bare(change) };
        if found.is_empty() {
            node.mailboxes().store.tell(commit);
        } else {
            node.mailboxes().deduper.tell(Announced { commit, found }); // one commit: a copy on disk has told its sitemaps
        }
    }
}

/// The rules in it that are meant for this crawler.
pub(crate) fn rules_of(rules: &Rules, value: &RobotsValue) -> RobotsRules {
    let tokens: Vec<&str> = rules.settings.agent.robots_tokens.iter().map(String::as_str).collect();
    RobotsRules::parse(&value.text, &tokens)
}

/// The record after a request: a failure keeps what was learned before as a stand-in. A text that did not come whole is one
/// too (RFC 9309, 2.3.1.4). `earliest`: the host's next request.
pub(crate) fn value_of(
    rules: &Rules,
    old: Option<RobotsValue>,
    answer: Result<&RobotsAnswer, &Failure>,
    now: UnixMillis,
    earliest: UnixMillis,
) -> RobotsValue {
    let status = answer.map_or(0, |a| a.status);
    let found = classify(status) == RobotsStatus::Found;
    let text = answer.ok().and_then(|a| a.text.as_ref());
    if answer.is_err() || classify(status) == RobotsStatus::Unreachable || found && text.is_none() {
        let (text, fetched, failures) =
            old.map_or((Vec::new(), UnixMillis(0), 0), |old| (old.text, old.copy.fetched, old.copy.failures));
        let failures = failures.saturating_add(1);
        let retry_at = Some(rules.robots.retry_at(earliest, u32::from(failures)));
        return RobotsValue { copy: RobotsCopy { status, fetched, failures, retry_at }, text };
    }
    let text = text.filter(|_| found).cloned().unwrap_or_default();
    RobotsValue { copy: RobotsCopy { status, fetched: now, failures: 0, retry_at: None }, text }
}

/// Asks for the robots.txt of `url`'s scheme, host and port, and follows its redirects, also to other hosts (RFC 9309,
/// 2.3.1.2) unless `is_ruled_out`. `ask` makes one request, whose redirect is an answer; `None` when it had no turn.
pub(crate) async fn follow(
    rules: &Rules,
    url: &PageUrl,
    is_ruled_out: impl Fn(&PageUrl) -> bool,
    mut ask: impl AsyncFnMut(&PageUrl) -> Option<Report>,
) -> Learned {
    let failed = |failure| Learned { status: Err(failure), nowhere: None };
    let (mut status, mut records, mut nowhere) = (404, Vec::new(), None);
    // An address without a place for robots.txt has none.
    let mut target = PageUrl::from_parts(url.scheme(), url.host(), url.port(), "/robots.txt").ok();
    let mut hops = 0;
    while let Some(here) = target {
        let own = here.host() == url.host();
        if !own && is_ruled_out(&here) {
            nowhere = Some(Nowhere::RuledOut);
            break;
        }
        let answer = match ask(&here).await {
            None => return failed(Failure::FirstByteTimeout),
            // A firewall in between says nothing about what the site allows.
            Some(Report { outcome: FetchOutcome::Answer(Answer { challenge: true, .. }), .. }) => {
                return failed(Failure::Challenge);
            }
            Some(Report { outcome: FetchOutcome::Fault(Failure::AddressRefused), .. }) if !own => {
                nowhere = Some(Nowhere::Refused);
                break;
            }
            Some(Report { outcome: FetchOutcome::Fault(failure), .. }) => return failed(failure),
            Some(Report { outcome: FetchOutcome::Answer(_), robots: None }) => return failed(Failure::BadHttp),
            Some(Report { outcome: FetchOutcome::Answer(_), robots: Some(answer) }) => answer,
        };
        status = answer.status;
        records.extend(answer.records);
        let Some(next) = answer.location.filter(|_| (300..400).contains(&status)) else {
            let answer = RobotsAnswer { status, text: answer.text, location: None, records };
            return Learned { status: Ok(answer), nowhere: None };
        };
        target = rules.canon.join_as_written(&here.to_url(), &next, None).ok();
        nowhere = target.is_none().then_some(Nowhere::NoUrl);
        hops += 1;
        if hops > MAX_HOPS && target.is_some() {
            nowhere = Some(Nowhere::Endless);
            break;
        }
    }
    // What is kept is what was answered.
    Learned { status: Ok(RobotsAnswer { status, text: None, location: None, records }), nowhere }
}

/// The same in a crawl: each request under the slot of the host it goes to, to another host without credentials, and a mere
/// refusal that it meets there is not held against that host.
pub(super) async fn fetch(lane: &Lane, url: &PageUrl) -> Learned {
    let is_ruled_out = |target: &PageUrl| {
        let scope = lane.node.crawl.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        scope.judge_sitemap(target).is_err()
    };
    follow(&lane.node.crawl.rules, url, is_ruled_out, async |here| {
        let host = here.host();
        if host == url.host() {
            return lane.ask_robots(here, &lane.pacer, Duration::MAX).await;
        }
        let pacer = pacers::own(&lane.node, HostAt::of(&lane.node.prints, host), host);
        lane.ask_robots_elsewhere(here, &pacer).await
    })
    .await
}
