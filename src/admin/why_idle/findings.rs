//! Why nothing is being fetched: one truth for the status, `why-idle` and the explanation of a URL.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::admin::views::WaitWhy;
use crate::admin::waits::{dns_fails, of_pace, pace_of, robots_waits, wait_of};
use crate::admin::why_idle::{Finding, IdleCode};
use crate::base::clock::Jump;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::base::units::{counted, roughly};
use crate::crawl::node::{Node, Stop};
use crate::crawl::stats::{ActorStats, Life};
use crate::crawl::together::Standing;
use crate::domain::fingerprint::HostKey;
use crate::domain::url::PageUrl;
use crate::storage::keys::{KeyRange, SeenKey};
use crate::storage::tables::Parked;
use crate::storage::values::{Place, UrlState};
use crate::storage::{StorageError, read};
use crate::telemetry::StatusSnapshot;
use crate::telemetry::trouble::{CLOCK, CLOCK_ADVICE};

/// Parked hosts looked at.
const LOOKED_AT: usize = 256;
/// A page that the parser has for longer is worth a word; most take it milliseconds.
const LONG_PARSE: Duration = Duration::from_secs(5);
/// What to do about a slow store.
const SLOW_DISK: &str = "look at the disk; durability.sync says how often it is waited for";
/// A jump of the clock is told for so long.
const A_DAY: Duration = Duration::from_secs(86_400);
/// Visits that are late by less begin in a moment.
const LATE: Duration = Duration::from_secs(1);
/// A trouble is told for so long.
const LATELY: Duration = Duration::from_secs(3_600);

fn finding(code: IdleCode, sentence: impl Into<String>, advice: &str) -> Finding {
    Finding { code, sentence: sentence.into(), advice: advice.to_owned(), until_ms: None, node: None }
}

/// What blocks, the strongest first; never empty.
pub(in crate::admin) fn findings(node: &Node, s: &StatusSnapshot) -> Vec<Finding> {
    let mut found = Vec::new();
    if s.in_flight > 0 {
        let requests = are(s.in_flight, "request");
        found.push(finding(IdleCode::NotIdle, format!("not idle: {requests} in flight"), ""));
    }
    found.extend(hold(node));
    if s.in_flight == 0 {
        found.extend(resting(node));
    }
    if found.is_empty() {
        found.extend(long_parse(node));
        found.extend(work(node, s));
    }
    if s.in_flight == 0 && node.checkpoints.available_permits() == 0 {
        found.push(finding(IdleCode::Checkpoint, "a checkpoint is under way", "wait; the crawl goes on beside it"));
    }
    if s.held_back.urls > 0 {
        let advice = "if that is wrong, `lycosa ctl urls readmit --held-back` takes them up; traps.barren_pages says how many pages";
        found.push(finding(IdleCode::HeldBack, s.held_back.sentence(), advice));
    }
    if s.in_flight == 0 {
        found.extend(clock(node));
    }
    found
}

/// The system's clock was set within a day: whoever wonders about times should know.
fn clock(node: &Node) -> Option<Finding> {
    let lately = |jump: &Jump| node.clock.uptime().saturating_sub(jump.uptime) < A_DAY;
    let jump = node.clock.last_jump().filter(lately)?;
    Some(finding(IdleCode::ClockJumped, jump.to_string(), CLOCK_ADVICE))
}

/// What keeps every host from being asked.
pub(in crate::admin) fn hold(node: &Node) -> Option<Finding> {
    if node.crawl.switches.draining.load(Ordering::Acquire) {
        let (said, advice) = match &*node.stop.borrow() {
            Some(Stop::Moves) => {
                ("draining: this member rests, for partitions go to others or come", "it goes on by itself")
            }
            Some(Stop::Erase) => ("draining: a host is erased", "it goes on by itself"),
            _ => ("draining: the crawl is coming to its end", "wait for its end"),
        };
        return Some(finding(IdleCode::Draining, said, advice));
    }
    if node.fence.is_over() {
        let said = "the lease of this member is over: the engine has not answered for nearly a whole lease, so another may take its place";
        let advice = "bring the servers of cluster.servers back: the crawl goes on by itself then (`lycosa ctl nodes`)";
        return Some(finding(IdleCode::LeaseOver, said, advice));
    }
    if let Some(why) = node.disk.why() {
        let code = if node.disk.is_low() { IdleCode::DiskLow } else { IdleCode::DiskFault };
        let advice = match code {
            IdleCode::DiskLow => "make room on that disk, or start with a smaller disk.pause_below",
            _ => "look at the disk and at the log of the system",
        };
        return Some(finding(code, format!("paused: {why}"), advice));
    }
    let paused = node.crawl.switches.paused.load(Ordering::Acquire);
    paused.then(|| finding(IdleCode::Paused, "paused by the operator", "resume with `lycosa ctl resume`"))
}

/// Actors that rest after a death, the Hosts apart: each of those holds up its own host only.
fn resting(node: &Node) -> Option<Finding> {
    let mailboxes = node.actors.mailboxes.get()?; // none before the actors are started
    let stats = [
        &mailboxes.frontier.meter.stats,
        &mailboxes.parser.meter.stats,
        &mailboxes.deduper.meter.stats,
        &mailboxes.store.meter.stats,
    ];
    let down = stats.into_iter().chain(mailboxes.fetchers.iter().map(|mailbox| &mailbox.meter.stats));
    let down: Vec<&ActorStats> =
        down.map(|stats| &**stats).filter(|stats| stats.life() != Life::Running && stats.faults() > 0).collect();
    let first = down.first()?;
    let why = first.last_fault().map(|(_, why)| format!(" after: {why}")).unwrap_or_default();
    let sentence = match down.len() {
        1 => format!("the {} rests{why}", first.kind.as_str()),
        n => format!("{n} actors rest, first the {}{why}", first.kind.as_str()),
    };
    Some(finding(IdleCode::ActorRestarting, sentence, "wait, it comes back by itself; the log has the reason"))
}

/// A page that keeps the parser: all that comes after it may wait for that.
fn long_parse(node: &Node) -> Option<Finding> {
    let since = node.actors.pulses.at_work_since("parser")?;
    let taken = node.clock.now().since(since);
    if node.permits.links.is_short() {
        let sentence = "the store is slow: parsers wait until it has written the links of other pages";
        return Some(finding(IdleCode::StoreSlow, sentence, SLOW_DISK));
    }
    let sentence = format!("the parser has worked on one page for {}", roughly(taken));
    let advice = "wait; a page that takes longer than supervision.blocked_after ends the process, and is given up after a few starts";
    (taken >= LONG_PARSE).then(|| finding(IdleCode::ParserSlow, sentence, advice))
}

/// Is there work, and can it be begun?
fn work(node: &Node, s: &StatusSnapshot) -> Vec<Finding> {
    let bounded = visits_bounded(node);
    if let (0, Some(bounded)) = (s.waiting + s.processing, &bounded) {
        return vec![bounded.clone()];
    }
    if s.waiting + s.processing == 0 {
        return vec![if node.crawl.live().settings.crawl.until_done {
            members(node, "nothing to do here").unwrap_or_else(|| {
                finding(IdleCode::FrontierEmpty, "the frontier is empty: the crawl is about to end", "")
            })
        } else {
            let advice = "add seeds with `lycosa ctl seeds add URL` or end with `lycosa ctl stop`";
            let next = node.crawl.next_visit();
            let sitemap = next.is_some() && next == node.crawl.next_sitemap();
            let what = if sitemap { "the next sitemap is read" } else { "the next page is visited" };
            let read = |at: UnixMillis| format!(": {what} again in {}", roughly(at.since(node.clock.date())));
            let sentence = format!("the frontier is empty{}", next.map(read).unwrap_or_default());
            Finding { until_ms: next.map(|at| at.0), ..finding(IdleCode::FrontierEmpty, sentence, advice) }
        }];
    }
    if node.permits.free() == 0 {
        return vec![permits(node, s)];
    }
    if node.crawl.lease_room() == 0 && s.processing == 0 {
        let sentence = "crawl.max_pages is reached: the crawl is about to end";
        return vec![finding(IdleCode::LimitReached, sentence, "start with a larger crawl.max_pages")];
    }
    let mut found = waiting(node, s).unwrap_or_else(|e| {
        let sentence = format!("what hosts wait for cannot be read now: {e}");
        vec![finding(IdleCode::DiskFault, sentence, "see the log")]
    });
    found.extend(bounded);
    if node.crawl.together.standing() == Some(Standing::GivenUp) {
        found.extend(members(node, "what is left here is not waited for"));
    }
    found
}

/// What of the other members the end is waited for.
fn members(node: &Node, here: &str) -> Option<Finding> {
    let sentence = format!("{here}: {}", node.crawl.together.waits_for()?);
    Some(finding(
        IdleCode::WaitsForMembers,
        sentence,
        "wait, or start those that are away; `lycosa ctl nodes` shows all",
    ))
}

/// Visits have been due for a while: they wait for `refresh.max_rate`.
fn visits_bounded(node: &Node) -> Option<Finding> {
    let settings = &node.crawl.live().settings;
    let rate = settings.refresh.max_rate.filter(|_| !settings.crawl.until_done)?;
    let due = node.crawl.next_page_visit().map(|due| node.clock.date().since(due)).filter(|late| *late >= LATE)?;
    let sentence =
        format!("visits are due, the first for {}, and refresh.max_rate lets {rate} a second begin", roughly(due));
    Some(finding(IdleCode::VisitsBounded, sentence, "wait, or raise it: `lycosa ctl set refresh.max_rate=…`"))
}

/// Why all page permits are taken.
fn permits(node: &Node, s: &StatusSnapshot) -> Finding {
    if s.permits_withheld > 0 {
        let sentence = "memory is short (memory.max): fewer pages are taken at a time until it is not";
        return finding(IdleCode::MemoryShort, sentence, "raise memory.max, or lower fetch.concurrency");
    }
    let mailboxes = node.mailboxes();
    let parsing = mailboxes.parser.meter.depth() + node.permits.parsing.load(Ordering::Relaxed);
    let storing = mailboxes.store.meter.depth() + mailboxes.deduper.meter.depth();
    let all = "all page permits are taken";
    match (parsing, storing) {
        (0, 0) => finding(
            IdleCode::PermitsTaken,
            format!("{all}: the store or the parser is slow"),
            "see `lycosa ctl actors`",
        ),
        (p, s) if p > s => {
            finding(IdleCode::ParserSlow, format!("{all}: the parser is slow, {p} pages wait"), "raise parse.threads")
        }
        (_, s) => finding(IdleCode::StoreSlow, format!("{all}: the store is slow, {s} messages wait"), SLOW_DISK),
    }
}

/// Hosts by what they wait for, with the first end of a wait.
type Waits = BTreeMap<WaitWhy, (u64, Option<UnixMillis>)>;

fn count(waits: &mut Waits, why: WaitWhy, until: Option<UnixMillis>) {
    let (n, first) = waits.entry(why).or_default();
    *n += 1;
    *first = [*first, until].into_iter().flatten().min();
}

/// What hosts and URLs wait for.
fn waiting(node: &Node, s: &StatusSnapshot) -> Result<Vec<Finding>, StorageError> {
    let now = node.clock.now();
    let mut waits = Waits::new();
    let active: Vec<HostKey> = lock(&node.actors.hosts).keys().copied().collect();
    for host in &active {
        let wait = node.slots.pace_of(host).and_then(|pace| of_pace(&pace, now));
        count(&mut waits, WaitWhy::Gap, wait.map(|wait| wait.until));
    }
    let parked = read::scan::<Parked>(&*node.storage, &KeyRange::all(), LOOKED_AT)?;
    for (_, until) in
        robots_waits(node, LOOKED_AT, now)?.iter().filter(|(host, _)| !parked.iter().any(|(k, ())| k.host == **host))
    {
        count(&mut waits, WaitWhy::RobotsUnreachable, Some(*until));
    }
    for (key, ()) in &parked {
        let at = key.host_at();
        let state = read::host_state(&*node.storage, at)?;
        let pace = pace_of(node, at, state.as_ref());
        let wait = wait_of(node, at, &pace, Place::Parked { time: key.time }, now)?;
        count(&mut waits, wait.map_or(WaitWhy::Gap, |w| w.why), Some(wait.map_or(key.time, |w| w.until)));
    }
    let unseen = s.hosts_parked.saturating_sub(parked.len() as u64);
    let mut found = told(node, s, &waits, unseen, now);
    for finding in &mut found {
        finding.until_ms = finding.until_ms.map(|until| node.clock.date_of(UnixMillis(until)).0);
    }
    Ok(found)
}

/// In sentences. `unseen`: parked hosts that were not looked at.
fn told(node: &Node, s: &StatusSnapshot, waits: &Waits, unseen: u64, now: UnixMillis) -> Vec<Finding> {
    let sum = |of: &dyn Fn(WaitWhy) -> bool| {
        let of = waits.iter().filter(|(why, _)| of(**why)).map(|(_, wait)| *wait);
        of.fold((0, None), |(n, first), (more, until)| (n + more, [first, until].into_iter().flatten().min()))
    };
    let mut found = Vec::new();
    let mut tell = |code, (n, until): (u64, Option<UnixMillis>), text: &dyn Fn(u64) -> String, advice: &str| {
        if n > 0 {
            found.push(Finding { until_ms: until.map(|t| t.0), ..finding(code, text(n), advice) });
        }
    };
    let hosts = |n| counted(n, "host");
    let (robots, dns) = (sum(&|why| why == WaitWhy::RobotsUnreachable), sum(&|why| why == WaitWhy::DnsFailing));
    let (n, until) = sum(&|why| matches!(why, WaitWhy::RetryAfter | WaitWhy::Backoff | WaitWhy::Parked));
    tell(
        IdleCode::HostsWaiting,
        sum(&WaitWhy::is_ordinary),
        &|n| format!("{} between two requests", hosts(n)),
        "wait; politeness.min_delay and robots.txt say how long",
    );
    tell(
        IdleCode::HostsHeld,
        (s.hosts_held, None), // those that have URLs, as the gauge counts them: the others keep nothing from being done
        &|n| format!("{} paused or blocked by the operator", hosts(n)),
        "resume with `lycosa ctl host NAME resume`",
    );
    tell(
        IdleCode::HostsBackingOff,
        (n + unseen, until),
        &|n| format!("{} parked (back-off or Retry-After)", hosts(n)),
        "wait; `lycosa ctl hosts --state parked` names them and their reasons",
    );
    tell(
        IdleCode::HostsBackingOff,
        sum(&|why| why == WaitWhy::Brake),
        &|n| format!("{} left alone after many refusals in a row (fetch.waf_brake)", hosts(n)),
        "wait, or slow down (politeness.min_delay) and see that the site can reach you (agent.url); it does not want this crawler",
    );
    tell(
        IdleCode::RobotsUnreachable,
        robots,
        &|n| format!("robots.txt of {} cannot be reached", hosts(n)),
        "without its robots.txt nothing of its scheme, host and port is crawled (RFC 9309); it is asked again",
    );
    tell(
        IdleCode::DnsFailing,
        (dns.0.max(u64::from(dns_fails(node, now))), dns.1),
        &|_| dns_sentence(node),
        "check this machine's network, or set dns.servers",
    );
    if found.is_empty() {
        found.push(rest(s, now));
    }
    found
}

fn dns_sentence(node: &Node) -> String {
    let example = node.telemetry.troubles.last("dns_failed").map(|(_, example)| format!(" (last: {example})"));
    format!("names cannot be resolved{}", example.unwrap_or_default())
}

/// No host waits: URLs do, or the first hosts are being taken up.
fn rest(s: &StatusSnapshot, now: UnixMillis) -> Finding {
    if s.hosts_waiting > 0 || s.processing > 0 {
        let sentence = format!("{} about to be taken up", are(s.hosts_waiting, "host"));
        return finding(IdleCode::Starting, sentence, "wait; `lycosa ctl actors` shows who is at work");
    }
    let sentence = match s.waiting {
        1 => "1 URL waits for its next try".to_owned(),
        n => format!("{n} URLs wait for their next try"),
    };
    let until = s.next_try_seconds.map(|s| now.plus(Duration::from_secs_f64(s.max(0.0))).0);
    Finding { until_ms: until, ..finding(IdleCode::RetriesWaiting, sentence, "wait; fetch.retry_delays says how long") }
}

fn are(n: u64, what: &str) -> String {
    format!("{} {}", counted(n, what), if n == 1 { "is" } else { "are" })
}

/// The findings in one line; empty when something is being fetched.
pub(in crate::admin) fn idle_reason(node: &Node, s: &StatusSnapshot, found: &[Finding]) -> String {
    let Some(first) = found.first().filter(|first| first.code != IdleCode::NotIdle) else { return String::new() };
    let jump = found.last().filter(|last| last.code == IdleCode::ClockJumped);
    let jump = jump.map(|jump| format!("; {}", jump.sentence)).unwrap_or_default();
    let found: Vec<&Finding> = found.iter().filter(|finding| finding.code != IdleCode::ClockJumped).collect();
    let line = match first.code {
        IdleCode::Paused | IdleCode::FrontierEmpty if !first.advice.is_empty() => {
            format!("{}; {}", first.sentence, first.advice)
        }
        IdleCode::HostsWaiting
        | IdleCode::HostsHeld
        | IdleCode::HostsBackingOff
        | IdleCode::RobotsUnreachable
        | IdleCode::DnsFailing
        | IdleCode::RetriesWaiting
        | IdleCode::VisitsBounded
        | IdleCode::Starting => waiting_line(node, s, &found),
        _ => first.sentence.clone(),
    };
    line + &jump
}

/// True when the URL of a trouble waits no more: it says nothing of what does.
fn is_over(node: &Node, example: &str) -> bool {
    let Some(url) = example.split_whitespace().next().and_then(|url| PageUrl::from_canonical(url).ok()) else {
        return false;
    };
    let state = read::seen_state(&*node.storage, SeenKey::of(&node.prints, node.crawl.id, &url));
    matches!(state, Ok(Some(state)) if !matches!(state, UrlState::Waiting { .. }))
}

fn waiting_line(node: &Node, s: &StatusSnapshot, found: &[&Finding]) -> String {
    let waits = found.iter().filter(|finding| finding.code != IdleCode::HeldBack);
    let sentences: Vec<&str> = waits.map(|finding| finding.sentence.as_str()).collect();
    let mut text = sentences.join(", ");
    if let Some(seconds) = s.next_try_seconds {
        // Writing to a String cannot fail.
        let _ = write!(text, "; the next in {}", roughly(Duration::from_secs_f64(seconds.max(0.0))));
    }
    if let Some((when, reason, example)) = node.telemetry.troubles.latest()
        && node.clock.now().since(when) < LATELY
        && reason != CLOCK
        && !is_over(node, &example)
    // which is said at the end
    {
        let _ = write!(text, "; last trouble: {reason} {example}");
    }
    text
}
