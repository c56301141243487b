//! Resolving, checking and asking, as a crawl does it, for one URL at a time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::clock::Clock;
use crate::base::units::roughly;
use crate::cli::exit::CliError;
use crate::config::{Layers, Settings};
use crate::crawl::live::Live;
use crate::crawl::rules::Rules;
use crate::document::{SpillBudget, SpillConfig};
use crate::domain::login::login_refused;
use crate::domain::reason::Failure;
use crate::domain::robots::{RobotsRules, RobotsStatus, classify};
use crate::domain::url::PageUrl;
use crate::net::guard::AddressPolicy;
use crate::net::protocol::FetchLimits;
use crate::net::proxy::Routes;
use crate::net::robots::{robots_limits, robots_text};
use crate::net::tls::STRICT;
use crate::net::{FetchRequest, Fetched, Http, HttpConfig, Protocol, Resolver};
use crate::telemetry::advice::advice;

/// Redirects of a robots.txt followed (RFC 9309, section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;
/// A wait longer than this is told.
const WORTH_TELLING: Duration = Duration::from_secs(2);

/// Everything one fetch needs.
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
    reason: Failure,
    detail: String,
}

impl NoAnswer {
    /// Its name in `domain::reason`.
    pub(super) fn reason(&self) -> &'static str {
        self.reason.as_str()
    }
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

/// Status, text or why there is none, and how redirects ended that led nowhere.
type RobotsReply = (u16, Result<Vec<u8>, String>, &'static str);

#[derive(Clone)]
struct Known {
    outcome: String,
    rules: RobotsRules,
    reachable: bool,
    none: &'static str,
}

/// What robots.txt says about the URL.
pub(super) struct Robots {
    pub url: String,
    /// Its status code.
    pub outcome: String,
    pub allowed: bool,
    /// False when nothing is known and so nothing is allowed.
    pub reachable: bool,
    /// The deciding line, or why there is none.
    pub line: String,
    pub crawl_delay: Option<Duration>,
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
        let spill = SpillConfig { dir: std::env::temp_dir(), memory_body, budget };
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

    pub(super) fn max_redirects(&self) -> u8 {
        self.rules.settings.fetch.max_redirects
    }

    /// A hop to a public address needs a contact as a seed does.
    pub(super) fn contact_for(&self, url: &PageUrl) -> Result<(), CliError> {
        Ok(self.rules.settings.contact_for(&[url.as_str().to_owned()])?)
    }

    /// One request, not before the gap after the last one to the same host is over; redirects are answers.
    pub(super) async fn get(&self, url: &PageUrl) -> Result<Reply, NoAnswer> {
        self.get_within(url, self.rules.limits.clone()).await
    }

    async fn get_within(&self, url: &PageUrl, limits: FetchLimits) -> Result<Reply, NoAnswer> {
        let started = Instant::now();
        let via = self.routes.of(url);
        let unknown = via.as_ref().is_some_and(|proxy| proxy.resolves());
        let addresses = if unknown { Vec::new() } else { self.resolve(url).await? };
        let dns = started.elapsed();
        let (allowed, refused) = if unknown { Default::default() } else { self.allowed(url, &addresses)? };
        self.wait(url).await;
        let headers = self.rules.settings.headers_for(&self.rules.headers, url.host());
        let request = FetchRequest {
            url: url.clone(),
            addresses: allowed,
            headers,
            via,
            anonymous: false,
            conditional: None,
            limits,
        };
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
    pub(super) async fn robots(&self, url: &PageUrl) -> Result<Robots, NoAnswer> {
        let place = place(url);
        let known = self.robots.borrow().get(&place).cloned();
        let known = match known {
            Some(known) => known,
            None => self.learn(url).await?,
        };
        let crawl_delay = known.rules.crawl_delay();
        self.hosts.borrow_mut().entry(url.host().to_owned()).or_default().crawl_delay = crawl_delay.unwrap_or_default();
        self.robots.borrow_mut().insert(place.clone(), known.clone());
        let verdict = known.rules.verdict(url.asked_tail());
        let sitemaps = self.sitemaps(&known, url).map(|map| map.to_string()).collect();
        Ok(Robots {
            url: format!("{place}/robots.txt"),
            outcome: known.outcome,
            allowed: (known.reachable && verdict.allowed) || !self.rules.settings.politeness.respect_robots,
            reachable: known.reachable,
            line: verdict.line.filter(|_| known.reachable).unwrap_or_else(|| known.none.into()),
            crawl_delay,
            usage: known.rules.usage(url.asked_tail()),
            sitemaps,
        })
    }

    /// The line of a robots.txt already read that keeps a URL of its host from being fetched.
    pub(super) fn forbidden(&self, url: &PageUrl) -> Option<String> {
        let all = self.robots.borrow();
        let known = all.get(&place(url)).filter(|_| self.rules.settings.politeness.respect_robots)?;
        let verdict = known.rules.verdict(url.asked_tail());
        let forbidden = !known.reachable || !verdict.allowed;
        forbidden.then(|| verdict.line.filter(|_| known.reachable).unwrap_or_else(|| known.none.into()))
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

    async fn learn(&self, url: &PageUrl) -> Result<Known, NoAnswer> {
        const UNREACHABLE: &str = "out of reach: nothing is allowed for now";
        let (status, text, ends) = match PageUrl::from_parts(url.scheme(), url.host(), url.port(), "/robots.txt") {
            Ok(at) => self.robots_text(at).await?,
            Err(_) => (404, Ok(Vec::new()), ""), // an address without a place for robots.txt has none
        };
        let mut outcome = format!("{status}{ends}");
        let (rules, none) = match (classify(status), text) {
            (RobotsStatus::Found, Ok(text)) => (Some(self.parse(&text)), "no rule matches"),
            (RobotsStatus::Found, Err(why)) => {
                outcome += &format!(", but {why}");
                (None, UNREACHABLE)
            }
            (RobotsStatus::Unavailable, _) => (Some(RobotsRules::allow_all()), "there is none: all is allowed"),
            (RobotsStatus::Unreachable, _) => (None, UNREACHABLE),
        };
        let reachable = rules.is_some();
        let rules = rules.unwrap_or_else(RobotsRules::disallow_all);
        Ok(Known { outcome, rules, reachable, none })
    }

    fn parse(&self, text: &[u8]) -> RobotsRules {
        let tokens: Vec<&str> = self.rules.settings.agent.robots_tokens.iter().map(String::as_str).collect();
        RobotsRules::parse(text, &tokens)
    }

    /// The last status and the text, or why there is no text; redirects followed, and how they end where that is nowhere: as if
    /// there were none (section 2.3.1.2).
    async fn robots_text(&self, mut at: PageUrl) -> Result<RobotsReply, NoAnswer> {
        let mut last = 0;
        for _ in 0..=ROBOTS_REDIRECTS {
            let fetched = self.get_within(&at, robots_limits(&self.rules.limits)).await?.fetched;
            last = fetched.status;
            let target =
                fetched.reference("location").map(|l| self.rules.canon.join_as_written(&at.to_url(), &l, None));
            match target.filter(|_| (300..400).contains(&last)) {
                Some(Ok(next)) => at = next,
                Some(Err(_)) => return Ok((last, Ok(Vec::new()), ", and its redirect leads to no URL")),
                None => return Ok((last, robots_text(&fetched), "")),
            }
        }
        Ok((last, Ok(Vec::new()), ", and its redirects do not end (five are followed)"))
    }
}

fn place(url: &PageUrl) -> String {
    format!("{}://{}", url.scheme().as_str(), url.authority())
}
