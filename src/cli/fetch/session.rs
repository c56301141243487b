//! Resolving, checking and asking, as a crawl does it, for one URL.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::announce;
use crate::cli::exit::CliError;
use crate::config::Settings;
use crate::document::{SpillBudget, SpillConfig, decoded};
use crate::domain::robots::{RobotsRules, RobotsStatus, classify};
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::net::guard::AddressPolicy;
use crate::net::{FetchRequest, Fetched, Http, HttpConfig, Protocol, Resolver};

/// Redirects of a robots.txt followed (RFC 9309, section 2.3.1.2).
const ROBOTS_REDIRECTS: usize = 5;
/// Bytes of a robots.txt read (RFC 9309, section 2.5).
const ROBOTS_BYTES: u64 = 500 << 10;

/// Everything one fetch needs.
pub(super) struct Session {
    pub settings: Settings,
    pub canonicaliser: Canonicaliser,
    policy: Arc<AddressPolicy>,
    resolver: Resolver,
    http: Http,
}

/// An answer and how its address was found.
pub(super) struct Reply {
    pub fetched: Fetched,
    pub addresses: Vec<SocketAddr>,
    pub dns: Duration,
}

/// What robots.txt says about the URL.
pub(super) struct Robots {
    pub url: String,
    /// Status code, or the fault.
    pub outcome: String,
    pub allowed: bool,
    /// The deciding line, or why there is none.
    pub line: String,
    pub crawl_delay: Option<Duration>,
}

impl Session {
    pub(super) fn new(settings: Settings) -> Result<Self, CliError> {
        let policy = Arc::new(settings.address_policy(Vec::new()).map_err(CliError::usage)?);
        let resolver = Resolver::new(settings.dns_config()).map_err(CliError::usage)?;
        let budget = SpillBudget::new(settings.fetch.max_spill);
        let memory_body = settings.fetch_limits().memory_body;
        let spill = SpillConfig { dir: std::env::temp_dir(), memory_body, budget };
        let verify = settings.tls_verify();
        let http =
            Http::new(HttpConfig { verify, ..HttpConfig::new(Arc::clone(&policy), spill) }).map_err(CliError::new)?;
        let canonicaliser = Canonicaliser::new(settings.clean_rules());
        Ok(Self { settings, canonicaliser, policy, resolver, http })
    }

    pub(super) fn canonical(&self, url: &str) -> Result<PageUrl, CliError> {
        self.canonicaliser.parse(url).map_err(|e| CliError::usage(format!("{url}: {e}")))
    }

    /// One request; redirects are answers.
    pub(super) async fn get(&self, url: &PageUrl) -> Result<Reply, String> {
        let started = Instant::now();
        let addresses = self.resolver.resolve(url.host(), url.port()).await.map_err(|e| e.to_string())?;
        let dns = started.elapsed();
        let mut refused = None;
        let allowed = addresses.iter().copied().find(|address| match self.policy.check(url.host(), *address) {
            Ok(()) => true,
            Err(why) => {
                refused.get_or_insert(why);
                false
            }
        });
        let Some(address) = allowed else {
            return Err(refused.map_or_else(|| "the name has no address".into(), |why| why.to_string()));
        };
        let headers = self.settings.request_headers();
        let limits = self.settings.fetch_limits();
        let request = FetchRequest { url: url.clone(), address, headers, conditional: None, limits };
        let fetched = self.http.fetch(request).await.map_err(|fault| fault.to_string())?;
        Ok(Reply { fetched, addresses, dns })
    }

    /// Fetches the robots.txt that holds for a URL and asks it.
    pub(super) async fn robots(&self, url: &PageUrl) -> Robots {
        let start = format!("{}://{}/robots.txt", url.scheme().as_str(), url.authority());
        let answer = match self.canonicaliser.parse(&start) {
            Ok(at) => self.robots_text(at).await,
            Err(e) => Err(e.to_string()),
        };
        let (outcome, rules, none) = match answer {
            Ok((status, text)) => match classify(status) {
                RobotsStatus::Found => (status.to_string(), self.parse(&text), "no rule matches"),
                RobotsStatus::Unavailable => {
                    (status.to_string(), RobotsRules::allow_all(), "there is none: all is allowed")
                }
                RobotsStatus::Unreachable => {
                    (status.to_string(), RobotsRules::disallow_all(), "unreachable: nothing is allowed for now")
                }
            },
            Err(fault) => (fault, RobotsRules::disallow_all(), "unreachable: nothing is allowed for now"),
        };
        let verdict = rules.verdict(url.tail());
        Robots {
            url: start,
            outcome,
            allowed: verdict.allowed || !self.settings.politeness.respect_robots,
            line: verdict.line.unwrap_or_else(|| none.into()),
            crawl_delay: rules.crawl_delay(),
        }
    }

    fn parse(&self, text: &[u8]) -> RobotsRules {
        let tokens: Vec<&str> = self.settings.agent.robots_tokens.iter().map(String::as_str).collect();
        RobotsRules::parse(text, &tokens)
    }

    /// The final status and text, redirects followed.
    async fn robots_text(&self, mut at: PageUrl) -> Result<(u16, Vec<u8>), String> {
        for _ in 0..=ROBOTS_REDIRECTS {
            let fetched = self.get(&at).await?.fetched;
            let target = fetched.header("location").and_then(|l| self.canonicaliser.join(&at.to_url(), &l, None).ok());
            match target {
                Some(next) if (300..400).contains(&fetched.status) => at = next,
                _ => return Ok((fetched.status, body(&fetched, ROBOTS_BYTES).map_err(|e| e.to_string())?)),
            }
        }
        // One redirect too many: as if there were none (section 2.3.1.2).
        Ok((404, Vec::new()))
    }

    /// Keeps the gap that a crawl keeps between two requests to a host.
    pub(super) async fn wait(&self, robots: &Robots) {
        let gap = self.settings.politeness.min_delay.max(robots.crawl_delay.unwrap_or_default());
        announce(gap, robots);
        tokio::time::sleep(gap).await;
    }
}

/// A body with its content coding taken off, at most `max` bytes.
pub(super) fn body(fetched: &Fetched, max: u64) -> std::io::Result<Vec<u8>> {
    let coding = fetched.header_list("content-encoding").unwrap_or_default();
    let mut bytes = Vec::new();
    decoded(fetched.body.reader(), &coding, max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
