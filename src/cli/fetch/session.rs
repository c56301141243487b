//! Resolving, checking and asking, as a crawl does it, for one URL at a time.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::clock::Clock;
use crate::base::units::roughly;
use crate::cli::exit::CliError;
use crate::config::{Layers, Settings};
use crate::crawl::fetcher::{Report, RobotsAnswer};
use crate::crawl::live::Live;
use crate::crawl::politeness::{Nowhere, follow, rules_of, value_of};
use crate::crawl::rules::Rules;
use crate::document::{SpillBudget, SpillConfig};
use crate::domain::login::login_refused;
use crate::domain::reason::Failure;
use crate::domain::robots::{RobotsAccess, RobotsRules, RobotsStatus, classify};
use crate::domain::scope::Scope;
use crate::domain::url::PageUrl;
use crate::net::answer::outcome_of;
use crate::net::guard::AddressPolicy;
use crate::net::protocol::FetchLimits;
use crate::net::proxy::Routes;
use crate::net::robots::{robots_limits, robots_text};
use crate::net::tls::STRICT;
use crate::net::{FetchRequest, Fetched, Http, HttpConfig, Resolver};
use crate::telemetry::advice::advice;

/// A wait longer than this is told.
const WORTH_TELLING: Duration = Duration::from_secs(2);

pub(super) struct Session {
    pub rules: Rules,
    pub live: Live,
    pub clock: Clock,
    policy: Arc<AddressPolicy>,
    resolver: Resolver,
    routes: Routes,
    http: Http,
    /// The end of the last request to each host, and its Crawl-delay.
    hosts: RefCell<HashMap<String, Pause>>,
    /// robots.txt as read, by scheme and authority.
    robots: RefCell<HashMap<String, Known>>,
    /// What opening the connection to a scheme and authority took.
    opened: RefCell<HashMap<String, Opened>>,
}

/// Phases that come before the first request on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    pub dns: Duration,
    pub connect: Duration,
    pub tls: Duration,
}

#[derive(Clone, Copy, Default)]
struct Pause {
    last: Option<Instant>,
    crawl_delay: Duration,
}

/// An answer and how its address was found.
pub(super) struct Reply {
    pub fetched: Fetched,
    pub addresses: Vec<SocketAddr>,
    /// Why some of them were not to be connected to.
    pub refused: Vec<String>,
    /// What opening its connection took, also when that was done for robots.txt.
    pub opened: Opened,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) struct NoAnswer {
    pub reason: Failure,
    detail: String,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Failure::AddressRefused => f.write_str(&self.detail), // it says what to type
            // It says by which setting.
            reason if self.detail.ends_with(STRICT) => write!(f, "{reason}: {}", self.detail),
            reason => write!(f, "{reason}: {}; {}", self.detail, advice(reason.as_str())),
        }
    }
}

#[derive(Clone)]
struct Known {
    outcome: String,
    rules: RobotsRules,
    reachable: bool,
    none: &'static str,
}

impl Known {
    /// Whether a URL is allowed, and the deciding line or why there is none.
    fn verdict(&self, url: &PageUrl) -> (bool, String) {
        let verdict = self.rules.verdict(url.asked_tail());
        let line = verdict.line.filter(|_| self.reachable).unwrap_or_else(|| self.none.into());
        (self.reachable && verdict.allowed, line)
    }
}

/// What robots.txt says about the URL.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Robots {
    pub url: String,
    pub outcome: String,
    pub allowed: bool,
    /// False when nothing is known and so nothing is allowed.
    pub reachable: bool,
    /// The deciding line, or why there is none.
    pub line: String,
    pub crawl_delay_seconds: Option<f64>,
    /// What it says of the use of the URL's content.
    pub usage: Option<String>,
    /// The sitemaps it names, absolute.
    pub sitemaps: Vec<String>,
}

impl Session {
    pub(super) fn new(settings: Settings) -> Result<Self, CliError> {
        let own = settings.admin_listen.into_iter().collect();
        let policy = Arc::new(settings.address_policy(own).map_err(CliError::usage)?);
        let resolver = Resolver::new(settings.dns.clone()).map_err(CliError::usage)?;
        let budget = SpillBudget::new(settings.fetch.max_spill);
        let memory_body = settings.fetch_limits().memory_body;
        let spill = SpillConfig {
            dir: std::env::temp_dir(),
            memory_body,
            shared: SpillBudget::new(settings.fetch.body_memory),
            budget,
        };
        let (verify, old) = (settings.tls.verify, settings.tls.old);
        let clock = Clock::real();
        let access = settings.access(&clock).map_err(CliError::usage)?;
        let (source, throttle) = (settings.source(), settings.throttle());
        let roots = settings.tls_roots().map_err(CliError::usage)?;
        let config =
            HttpConfig { verify, old, roots, source, access, throttle, ..HttpConfig::new(Arc::clone(&policy), spill) };
        let http = Http::new(config).map_err(CliError::new)?;
        let routes = settings.routes();
        let live = Live::new(settings.clone(), Arc::new(Layers::new()), 1);
        let rules = Rules::new(settings, String::new());
        Ok(Self {
            rules,
            live,
            clock,
            policy,
            resolver,
            routes,
            http,
            hosts: RefCell::default(),
            robots: RefCell::default(),
            opened: RefCell::default(),
        })
    }

    pub(super) fn canonical(&self, url: &str) -> Result<PageUrl, CliError> {
        if let Some(why) = login_refused(url) {
            return Err(CliError::usage(why));
        }
        self.rules.canon.parse(url).map_err(|e| CliError::usage(format!("{url}: {e}")))
    }

    /// One request, not before the gap after the last one to the same host is over; redirects are answers.
    pub(super) async fn get(&self, url: &PageUrl) -> Result<Reply, NoAnswer> {
        self.get_within(url, self.rules.limits.clone(), false).await
    }

    /// `anonymous`: without credentials and cookies.
    async fn get_within(&self, url: &PageUrl, limits: FetchLimits, anonymous: bool) -> Result<Reply, NoAnswer> {
        let started = Instant::now();
        let via = self.routes.of(url);
        let unknown = via.as_ref().is_some_and(|proxy| proxy.resolves);
        let addresses = if unknown { Vec::new() } else { self.resolve(url).await? };
        let dns = started.elapsed();
        let (allowed, refused) = if unknown { Default::default() } else { self.allowed(url, &addresses)? };
        self.wait(url).await;
        let headers = self.rules.settings.headers_for(&self.rules.headers, url.host());
        let request =
            FetchRequest { url: url.clone(), addresses: allowed, headers, via, anonymous, conditional: None, limits };
        let fetched = self.http.fetch(request).await;
        self.hosts.borrow_mut().entry(url.host().to_owned()).or_default().last = Some(Instant::now());
        let fetched = fetched.map_err(|fault| NoAnswer { reason: fault.failure, detail: fault.detail })?;
        let opened = self.opened(url, dns, &fetched);
        Ok(Reply { fetched, addresses, refused, opened })
    }

    async fn resolve(&self, url: &PageUrl) -> Result<Vec<SocketAddr>, NoAnswer> {
        let found = self.resolver.resolve(url.host(), url.port()).await;
        found.map_err(|fault| NoAnswer { reason: fault.failure(), detail: fault.to_string() })
    }

    /// The phases of the connection used, kept for when it is used again.
    fn opened(&self, url: &PageUrl, dns: Duration, fetched: &Fetched) -> Opened {
        let mut all = self.opened.borrow_mut();
        let known = all.entry(place(url)).or_default();
        if !fetched.reused {
            let t = &fetched.timings;
            // The second look-up is answered by the resolver's memory.
            *known = Opened { dns: dns.max(known.dns), connect: t.connect, tls: t.tls };
        }
        *known
    }

    /// The addresses that may be connected to, as in a crawl, never none; and why the others may not.
    fn allowed(&self, url: &PageUrl, addresses: &[SocketAddr]) -> Result<(Vec<SocketAddr>, Vec<String>), NoAnswer> {
        let (mut allowed, mut refused) = (Vec::new(), Vec::new());
        for address in addresses {
            match self.policy.check(url.host(), *address) {
                Ok(()) => allowed.push(*address),
                Err(why) => refused.push(why.to_string()),
            }
        }
        if !allowed.is_empty() {
            return Ok((allowed, refused));
        }
        let detail = refused.into_iter().next().unwrap_or_else(|| "the name has no address".into());
        Err(NoAnswer { reason: Failure::AddressRefused, detail })
    }

    /// Keeps the gap that a crawl keeps between two requests to a host.
    async fn wait(&self, url: &PageUrl) {
        let pause = self.hosts.borrow().get(url.host()).copied().unwrap_or_default();
        let Some(last) = pause.last else { return };
        let gap = self.rules.settings.pace_rules_for(url.host()).min_delay.max(pause.crawl_delay);
        let wait = gap.saturating_sub(last.elapsed());
        if wait > WORTH_TELLING {
            let why = if gap == pause.crawl_delay { "the Crawl-delay of its robots.txt" } else { "politeness" };
            // A closed stderr is no reason to fail.
            let _ = writeln!(std::io::stderr(), "waiting {} before {url}: {why}", roughly(wait));
        }
        tokio::time::sleep(wait).await;
    }

    /// Fetches the robots.txt that holds for a URL, unless it is known, and asks it.
    ///
    /// # Errors
    /// No answer at all: then none is to be had from the host.
    pub(super) async fn robots(&self, url: &PageUrl, scope: &Scope) -> Result<Robots, NoAnswer> {
        let place = place(url);
        let known = self.robots.borrow().get(&place).cloned();
        let known = match known {
            Some(known) => known,
            None => self.learn(url, scope).await?,
        };
        let crawl_delay = known.rules.crawl_delay();
        self.hosts.borrow_mut().entry(url.host().to_owned()).or_default().crawl_delay = crawl_delay.unwrap_or_default();
        self.robots.borrow_mut().insert(place.clone(), known.clone());
        let (allowed, line) = known.verdict(url);
        let sitemaps = self.sitemaps(&known, url).map(|map| map.to_string()).collect();
        Ok(Robots {
            url: format!("{place}/robots.txt"),
            outcome: known.outcome,
            allowed: allowed || !self.rules.settings.politeness.respect_robots,
            reachable: known.reachable,
            line,
            crawl_delay_seconds: crawl_delay.map(|delay| delay.as_secs_f64()),
            usage: known.rules.usage(url.asked_tail()),
            sitemaps,
        })
    }

    /// The line of a robots.txt already read that keeps a URL of its host from being fetched.
    pub(super) fn forbidden(&self, url: &PageUrl) -> Option<String> {
        let all = self.robots.borrow();
        let known = all.get(&place(url)).filter(|_| self.rules.settings.politeness.respect_robots)?;
        let (allowed, line) = known.verdict(url);
        (!allowed).then_some(line)
    }

    /// Whether a robots.txt already read names the URL as a sitemap of its own host.
    pub(super) fn names_as_sitemap(&self, url: &PageUrl) -> bool {
        let all = self.robots.borrow();
        let Some(known) = all.get(&place(url)) else { return false };
        self.sitemaps(known, url).any(|named| named == *url)
    }

    /// Those that a robots.txt names.
    fn sitemaps<'k>(&'k self, known: &'k Known, url: &PageUrl) -> impl Iterator<Item = PageUrl> + 'k {
        let base = url.to_url();
        known.rules.sitemaps().iter().filter_map(move |text| self.live.canon.join(&base, text.trim(), None).ok())
    }

    /// Asks for the robots.txt of a URL as a crawl does.
    async fn learn(&self, url: &PageUrl, scope: &Scope) -> Result<Known, NoAnswer> {
        let (mut status, mut unread, mut fault) = (404, None, None);
        let limits = robots_limits(&self.rules.limits);
        let learned = follow(
            &self.rules,
            url,
            |to| scope.judge_sitemap(to).is_err(),
            async |at| {
                let fetched = match self.get_within(at, limits.clone(), at.host() != url.host()).await {
                    Ok(reply) => reply.fetched,
                    Err(why) => {
                        let report = Report::fault(why.reason);
                        let of = format!("its robots.txt redirects to {at}, which gave no answer: ");
                        let of = if at.host() == url.host() { String::new() } else { of };
                        fault = Some(NoAnswer { detail: of + &why.detail, ..why });
                        return Some(report);
                    }
                };
                status = fetched.status;
                let read = robots_text(&fetched);
                unread = read.as_ref().err().cloned();
                let location = fetched.reference("location").map(Cow::into_owned);
                let outcome = outcome_of(Ok(&fetched), false, self.clock.now());
                Some(Report {
                    outcome,
                    robots: Some(RobotsAnswer { status, text: read.ok(), location, records: Vec::new() }),
                })
            },
        );
        let learned = learned.await;
        if let (Err(_), Some(fault)) = (&learned.status, fault) {
            return Err(fault);
        }
        let said = match learned.nowhere {
            Some(Nowhere::Endless) => ", and its redirects do not end (five are followed)",
            Some(Nowhere::NoUrl) => ", and its redirect leads to no URL",
            Some(Nowhere::RuledOut) => ", and its redirect leads to what the rules turn away",
            Some(Nowhere::Refused) => ", and its redirect leads to an address that must not be contacted",
            None if learned.status.is_err() => ", but a firewall answered in place of the site",
            None => "",
        };
        let unread = unread.filter(|_| classify(status) == RobotsStatus::Found).map(|why| format!(", but {why}"));
        let now = self.clock.now();
        let value = value_of(&self.rules, None, learned.status.as_ref(), now, now);
        let (rules, none) = match self.rules.robots.standing(&value.copy, now) {
            RobotsAccess::Fetched | RobotsAccess::Stale => (rules_of(&self.rules, &value), "no rule matches"),
            RobotsAccess::AllowAll => (RobotsRules::allow_all(), "there is none: all is allowed"),
            RobotsAccess::DisallowAll => (RobotsRules::disallow_all(), "out of reach: nothing is allowed for now"),
        };
        let outcome = format!("{status}{said}{}", unread.unwrap_or_default());
        Ok(Known { outcome, rules, reachable: value.copy.failures == 0, none })
    }
}

fn place(url: &PageUrl) -> String {
    format!("{}://{}", url.scheme().as_str(), url.authority())
}
