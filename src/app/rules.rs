//! Settings to the rules that the rooms work by.

use std::path::PathBuf;
use std::time::Duration;

use crate::actors::node::Node;
use crate::config::{ScopeMode as ConfigMode, Settings, host_matches};
use crate::domain::outcome::RetryRules;
use crate::domain::politeness::PaceRules;
use crate::domain::rank::Ranker;
use crate::domain::robots::RobotsCachePolicy;
use crate::domain::scope::{Scope, ScopeError, ScopeMode, ScopeRules};
use crate::domain::traps::TrapRules;
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};
use crate::net::dns::DnsConfig;
use crate::net::guard::{AllowError, AllowRule, parse_allow};
use crate::net::protocol::FetchLimits;
use crate::net::tls::TlsVerify;
use crate::storage::ledger::LedgerRules;
use crate::warc::id::IdSource;

/// The rules of a run, ready for use.
pub struct Rules {
    /// What the user set.
    pub settings: Settings,
    /// Canonical form.
    pub canon: Canonicaliser,
    /// Trap limits.
    pub traps: TrapRules,
    /// Ranks and orders.
    pub ranker: Ranker,
    /// Politeness of hosts without a section of their own.
    pub pace: PaceRules,
    /// Retries.
    pub retry: RetryRules,
    /// Freshness of robots.txt.
    pub robots: RobotsCachePolicy,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Time-outs and caps of every request.
    pub limits: FetchLimits,
    /// Where large bodies and records go until they are committed.
    pub spill_dir: PathBuf,
    /// This machine's name, for the WARC files.
    pub host_name: String,
    /// Key of the names of WARC records.
    pub record_key: [u8; 32],
}

/// The rules of one host.
pub struct HostRules {
    /// Politeness.
    pub pace: PaceRules,
    /// Requests at a time.
    pub connections: usize,
}

impl Rules {
    /// From checked settings; `record_key` is random.
    #[must_use]
    pub fn new(settings: Settings, host_name: String, record_key: [u8; 32]) -> Self {
        let s = &settings;
        let mut headers = vec![("User-Agent".to_owned(), s.agent.user_agent.clone())];
        headers.extend(s.agent.from.iter().map(|mail| ("From".to_owned(), mail.clone())));
        headers.push(("Accept".to_owned(), "text/html,application/xhtml+xml,*/*;q=0.8".to_owned()));
        if !s.fetch.accept_encoding.is_empty() {
            headers.push(("Accept-Encoding".to_owned(), s.fetch.accept_encoding.clone()));
        }
        Self {
            canon: Canonicaliser::new(clean_rules(s)),
            traps: TrapRules {
                max_url_length: s.traps.max_url_length,
                max_segments: s.traps.max_segments,
                max_repeats: s.traps.max_repeats,
                max_params: s.traps.max_params,
            },
            ranker: Ranker::new(order(s), s.frontier.depth_weights.clone(), s.frontier.ranks),
            pace: PaceRules {
                min_delay: s.politeness.min_delay,
                delay_factor: s.politeness.delay_factor,
                max_delay: s.politeness.max_delay,
                waf_brake: s.fetch.waf_brake,
                ..PaceRules::default()
            },
            retry: RetryRules {
                delays: s.fetch.retry_delays.iter().copied().take(usize::from(s.fetch.retries)).collect(),
            },
            robots: RobotsCachePolicy {
                max_age: s.robots.max_age,
                error_retry: s.robots.error_retry.clone(),
                keep_stale: s.robots.keep_stale,
            },
            headers,
            limits: limits(s),
            spill_dir: s.store.data_dir.join("spill"),
            host_name,
            record_key,
            settings,
        }
    }

    /// The rules of the host with this name: those of the first `[[host]]` section that matches, else the general ones.
    #[must_use]
    pub fn host_rules(&self, name: &str) -> HostRules {
        let mut pace = self.pace.clone();
        let mut connections = 1;
        if let Some(own) = self.settings.hosts.iter().find(|h| host_matches(&h.pattern, name)) {
            pace.min_delay = own.min_delay.unwrap_or(pace.min_delay);
            connections = own.max_connections.and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        }
        HostRules { pace, connections }
    }

    /// Names for WARC records that no other source gives.
    #[must_use]
    pub fn record_ids(&self) -> IdSource {
        // Each source needs a key of its own; where the system gives no randomness, the run's key and the clock stand in.
        IdSource::from_system().unwrap_or_else(|_| IdSource::from_key(self.record_key))
    }

    /// What the ledger needs.
    #[must_use]
    pub fn ledger(&self, node: &Node) -> LedgerRules {
        LedgerRules {
            crawl: node.crawl,
            prints: node.prints.clone(),
            ranker: self.ranker.clone(),
            keep_rejected: self.settings.scope.record_rejected,
            generation: 1,
        }
    }

    /// The scope: the seeds' hosts, and what joined it in former runs.
    ///
    /// # Errors
    /// A pattern that is no regular expression.
    pub fn scope(&self, seeds: &[PageUrl], joined: &[String]) -> Result<Scope, ScopeError> {
        let s = &self.settings.scope;
        let default = ScopeRules::default();
        let rules = ScopeRules {
            mode: match s.mode {
                ConfigMode::Hosts => ScopeMode::Hosts,
                ConfigMode::Domains => ScopeMode::Domains,
                ConfigMode::Any => ScopeMode::Any,
                ConfigMode::Prefixes => ScopeMode::Prefixes(s.prefixes.clone()),
            },
            include: s.include.clone(),
            exclude: s.exclude.clone(),
            allow_hosts: s.allow_hosts.clone(),
            deny_hosts: s.deny_hosts.clone(),
            skip_extensions: s.skip_extensions.clone().unwrap_or(default.skip_extensions),
            max_depth: Some(self.settings.crawl.max_depth),
        };
        let mut scope = Scope::new(rules, seeds)?;
        for host in joined {
            scope.join_host(host);
        }
        Ok(scope)
    }
}

fn order(s: &Settings) -> crate::domain::rank::Order {
    s.crawl.order
}

/// How URLs are cleaned, by the settings.
#[must_use]
pub fn clean_rules(s: &Settings) -> CleanRules {
    let rules = CleanRules { max_url_length: s.traps.max_url_length, ..CleanRules::default() };
    match &s.scope.remove_params {
        Some(params) => CleanRules { tracking: params.clone(), sessions: Vec::new(), session_tokens: Vec::new(), ..rules },
        None => rules,
    }
}

/// Time-outs and caps, by the settings.
#[must_use]
pub fn limits(s: &Settings) -> FetchLimits {
    let t = &s.fetch.timeouts;
    FetchLimits {
        connect: t.connect,
        tls: t.tls,
        first_byte: t.first_byte,
        body: t.body,
        min_rate: (t.min_rate, t.min_rate_window),
        max_body: s.fetch.max_body,
        ..FetchLimits::default()
    }
}

/// How names are resolved, by the settings; bad server addresses were refused when the settings were checked.
#[must_use]
pub fn dns(s: &Settings) -> DnsConfig {
    DnsConfig {
        servers: s.dns.servers.iter().filter_map(|a| server(a)).collect(),
        overrides: s.dns.overrides.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        min_ttl: s.dns.min_ttl,
        max_ttl: s.dns.max_ttl,
        nxdomain_ttl: s.dns.nxdomain,
        servfail_ttl: s.dns.servfail,
        timeout: Duration::from_secs(5),
    }
}

fn server(text: &str) -> Option<std::net::SocketAddr> {
    text.parse().ok().or_else(|| Some(std::net::SocketAddr::new(text.parse().ok()?, 53)))
}

/// The addresses that may be connected to besides public ones: those the user allowed, and the targets of overrides, which
/// the user wrote too.
///
/// # Errors
/// A rule that is none.
pub fn allowed(s: &Settings) -> Result<Vec<AllowRule>, AllowError> {
    let mut rules: Vec<AllowRule> = s.net.allow.iter().map(|text| parse_allow(text)).collect::<Result<_, _>>()?;
    for target in s.dns.overrides.values() {
        if let Ok(rule) = parse_allow(target) {
            rules.push(rule);
        }
    }
    Ok(rules)
}

/// How certificates are checked, by the settings.
#[must_use]
pub fn tls(s: &Settings) -> TlsVerify {
    match s.tls.verify {
        crate::config::TlsVerify::Record => TlsVerify::Record,
        crate::config::TlsVerify::Strict => TlsVerify::Strict,
        crate::config::TlsVerify::Off => TlsVerify::Off,
    }
}
