//! The rules ready for use, and their verdict with the rule that gave it.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use super::lists::{Extensions, HostPatterns};
use super::prefixes::Prefixes;
use super::{ScopeError, ScopeMode, ScopeRules};
use crate::domain::host::{registrable_domain, without_www};
use crate::domain::reason::Rejection;
use crate::domain::url::{PageUrl, PatternError, UrlPatterns};

/// The scope of one crawl.
#[derive(Clone, Debug)]
pub struct Scope {
    mode: Mode,
    /// Hosts of the seeds, without `www.`.
    seeds: HashSet<Box<str>>,
    /// Hosts that joined, without `www.`, whatever the mode: another mode may be set later.
    joined: BTreeSet<String>,
    /// Those of them that are not kept on disk yet.
    unkept: BTreeSet<String>,
    allow: HostPatterns,
    deny: HostPatterns,
    include: UrlPatterns,
    exclude: UrlPatterns,
    skipped: Extensions,
    max_depth: Option<u16>,
}

#[derive(Clone, Debug)]
enum Mode {
    Hosts,
    Domains(HashSet<Box<str>>),
    Any,
    Prefixes(Prefixes),
}

impl Scope {
    /// Compiles the rules; the modes `hosts` and `domains` take theirs from the seeds. `assets`: images, sound and the like are wanted
    /// too. `max_depth`: so many links a page may be away from a seed (the seed itself: 0); `None` for no limit.
    ///
    /// # Errors
    /// A pattern, prefix or host that cannot be used, named.
    pub fn new(
        rules: &ScopeRules,
        assets: bool,
        max_depth: Option<u16>,
        seeds: &[PageUrl],
    ) -> Result<Self, ScopeError> {
        let hosts = || seeds.iter().map(PageUrl::host);
        let mode = match rules.mode {
            ScopeMode::Hosts => Mode::Hosts,
            ScopeMode::Domains => Mode::Domains(hosts().map(|host| registrable_domain(host).into()).collect()),
            ScopeMode::Any => Mode::Any,
            ScopeMode::Prefixes if rules.prefixes.is_empty() => return Err(ScopeError::NoPrefix),
            ScopeMode::Prefixes => Mode::Prefixes(Prefixes::new(&rules.prefixes).map_err(ScopeError::Prefix)?),
        };
        Ok(Self {
            mode,
            seeds: hosts().map(|host| without_www(host).into()).collect(),
            joined: BTreeSet::new(),
            unkept: BTreeSet::new(),
            allow: listed("allow_hosts", &rules.allow_hosts)?,
            deny: listed("deny_hosts", &rules.deny_hosts)?,
            include: compile("include", &rules.include)?,
            exclude: compile("exclude", &rules.exclude)?,
            skipped: Extensions::new(rules.skip_extensions.as_deref(), assets),
            max_depth,
        })
    }

    /// Whether the crawl wants `url`, found `depth` links away from a seed.
    ///
    /// # Errors
    /// `Scope`, `Excluded`, `Extension` or `TooDeep`.
    pub fn judge(&self, url: &PageUrl, depth: u16) -> Result<(), Rejection> {
        self.decide(url, depth).0
    }

    /// Whether the crawl wants to read the sitemap at `url`, which says only where pages are: hosts and patterns that are never
    /// wanted hold for it, and nothing else.
    ///
    /// # Errors
    /// `Excluded`.
    pub fn judge_sitemap(&self, url: &PageUrl) -> Result<(), Rejection> {
        let excluded = self.deny.find(url.host()).is_some() || self.exclude.is_match(url.as_str());
        if excluded { Err(Rejection::Excluded) } else { Ok(()) }
    }

    /// The verdict of [`Scope::judge`] and the rule that gave it, in words.
    pub fn explain(&self, url: &PageUrl, depth: u16) -> (Result<(), Rejection>, String) {
        let (verdict, rule) = self.decide(url, depth);
        (verdict, rule.to_string())
    }

    /// Takes a host into the scope, as where a seed redirects to; in the mode `domains` its registrable domain.
    ///
    /// `true` when that widened the scope. The modes `any` and `prefixes` stay as they are: the one has every host, and
    /// who writes prefixes has said exactly what is wanted. The host is remembered all the same, for the mode may change.
    pub fn join_host(&mut self, host: &str) -> bool {
        let name = without_www(host);
        if self.seeds.contains(name) || !self.joined.insert(name.to_owned()) {
            return false;
        }
        self.unkept.insert(name.to_owned());
        match &mut self.mode {
            Mode::Hosts => true,
            Mode::Domains(domains) => domains.insert(registrable_domain(name).into()),
            Mode::Any | Mode::Prefixes(_) => false,
        }
    }

    /// Hosts that joined another scope join this one, and are kept as far as they were there.
    pub fn join_all(&mut self, other: &Self) {
        for host in &other.joined {
            self.join_host(host);
            if !other.unkept.contains(host) {
                self.unkept.remove(host);
            }
        }
    }

    /// Hosts that joined and are to be kept over a restart, sorted; [`Scope::kept`] says that some are.
    pub fn unkept(&self) -> &BTreeSet<String> {
        &self.unkept
    }

    /// These hosts are kept on disk.
    pub fn kept<'h>(&mut self, hosts: impl IntoIterator<Item = &'h str>) {
        for host in hosts {
            self.unkept.remove(host);
        }
    }

    /// Hosts given to [`Scope::join_host`] that are no seed's, without `www.`, sorted. They only become more.
    pub fn joined(&self) -> impl ExactSizeIterator<Item = &str> {
        self.joined.iter().map(String::as_str)
    }

    fn decide<'a>(&'a self, url: &'a PageUrl, depth: u16) -> (Result<(), Rejection>, Rule<'a>) {
        let (verdict, rule) = self.by_host(url);
        if verdict.is_err() {
            return (verdict, rule);
        }
        self.by_pattern(url)
            .or_else(|| self.skipped.find(url.path()).map(|ext| (Rejection::Extension, Rule::Extension(ext))))
            .or_else(|| {
                let max = self.max_depth.filter(|max| depth > *max)?;
                Some((Rejection::TooDeep, Rule::Depth(depth, max)))
            })
            .map_or((Ok(()), rule), |(rejection, rule)| (Err(rejection), rule))
    }

    fn by_host<'a>(&'a self, url: &'a PageUrl) -> (Result<(), Rejection>, Rule<'a>) {
        if let Some(pattern) = self.deny.find(url.host()) {
            return (Err(Rejection::Excluded), Rule::Denied(pattern));
        }
        let (wanted, rule) = self.by_mode(url);
        match self.allow.find(url.host()) {
            Some(pattern) if !wanted => (Ok(()), Rule::Allowed(pattern)),
            _ if wanted => (Ok(()), rule),
            _ => (Err(Rejection::Scope), rule),
        }
    }

    fn by_mode<'a>(&'a self, url: &'a PageUrl) -> (bool, Rule<'a>) {
        match &self.mode {
            Mode::Any => (true, Rule::Any),
            Mode::Hosts => match without_www(url.host()) {
                host if self.seeds.contains(host) || self.joined.contains(host) => (true, Rule::Host(host)),
                host => (false, Rule::OtherHost(host)),
            },
            Mode::Domains(domains) => match registrable_domain(url.host()) {
                domain if domains.contains(domain) => (true, Rule::Domain(domain)),
                domain => (false, Rule::OtherDomain(domain)),
            },
            Mode::Prefixes(prefixes) => match prefixes.find(url) {
                Some(prefix) => (true, Rule::Prefix(prefix)),
                None => (false, Rule::NoPrefix),
            },
        }
    }

    fn by_pattern(&self, url: &PageUrl) -> Option<(Rejection, Rule<'_>)> {
        if self.exclude.is_match(url.as_str()) {
            let first = self.exclude.first(url.as_str()).unwrap_or_default();
            return Some((Rejection::Excluded, Rule::Exclude(first)));
        }
        let wanted = self.include.is_empty() || self.include.is_match(url.as_str());
        (!wanted).then_some((Rejection::Scope, Rule::NoInclude))
    }
}

fn listed(key: &'static str, patterns: &[String]) -> Result<HostPatterns, ScopeError> {
    HostPatterns::new(patterns).map_err(|pattern| ScopeError::Host { key, pattern })
}

fn compile(key: &'static str, patterns: &[String]) -> Result<UrlPatterns, ScopeError> {
    UrlPatterns::new(patterns).map_err(|fault: PatternError| ScopeError::Pattern { key, fault })
}

/// The rule that decided, in words for people.
#[derive(Clone, Debug)]
enum Rule<'a> {
    Denied(&'a str),
    Allowed(&'a str),
    Host(&'a str),
    Domain(&'a str),
    Any,
    Prefix(&'a str),
    OtherHost(&'a str),
    OtherDomain(&'a str),
    NoPrefix,
    Exclude(&'a str),
    NoInclude,
    Extension(&'a str),
    Depth(u16, u16),
}

impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(pattern) => write!(f, "deny_hosts names {pattern}"),
            Self::Allowed(pattern) => write!(f, "allow_hosts names {pattern}"),
            Self::Host(host) => write!(f, "{host} is a host of the scope"),
            Self::Domain(domain) => write!(f, "{domain} is a domain of the scope"),
            Self::Any => f.write_str("the scope is any host"),
            Self::Prefix(prefix) => write!(f, "prefix {prefix} covers it"),
            Self::OtherHost(host) => write!(f, "{host} is no host of the scope"),
            Self::OtherDomain(domain) => write!(f, "{domain} is no domain of the scope"),
            Self::NoPrefix => f.write_str("no prefix of the scope covers it"),
            Self::Exclude(pattern) => write!(f, "exclude pattern {pattern} matches"),
            Self::NoInclude => f.write_str("no include pattern matches"),
            Self::Extension(ending) => write!(f, "skip_extensions names {ending}"),
            Self::Depth(depth, max) => write!(f, "depth {depth} is more than max_depth {max}"),
        }
    }
}
