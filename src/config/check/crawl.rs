//! What is crawled and in which order: `[crawl] [scope] [frontier] [politeness] [[host]]`.

use std::time::Duration;

use url::Url;

use super::access::check_host;
use super::{Checked, ensure, is_name, is_seed, positive, within};
use crate::config::sections::{
    CrawlSection, FrontierSection, HostSection, PolitenessSection, RobotsSection, ScopeSection, SeedSection,
};
use crate::domain::login::login_refused;
use crate::domain::scope::ScopeMode;
use crate::domain::seed::check_said;
use crate::domain::url::UrlPatterns;

pub(super) fn check_crawl(crawl: &CrawlSection) -> Checked {
    ensure(is_name(&crawl.name), "crawl.name", || "must be 1 to 64 letters, digits, '-', '_' or '.'".into())?;
    for SeedSection { url, rank, tags, .. } in &crawl.seeds {
        let login = login_refused(url);
        ensure(login.is_none(), "crawl.seeds", || login.unwrap_or_default())?;
        ensure(is_seed(url), "crawl.seeds", || match Url::parse(url) {
            Err(url::ParseError::InvalidPort) => format!("the port of {url:?} must be from 1 to 65535"),
            _ => format!("{url:?} is no http or https URL; write it in full, such as https://example.org/"),
        })?;
        let said = check_said(*rank, tags).err();
        ensure(said.is_none(), "crawl.seeds", || format!("{url}: {}", said.unwrap_or_default()))?;
    }
    ensure(crawl.max_pages != Some(0), "crawl.max_pages", || "must be at least 1; leave it out for no limit".into())?;
    ensure(crawl.max_bytes != Some(0), "crawl.max_bytes", || "must be at least 1; leave it out for no limit".into())?;
    let failures = crawl.max_failures != Some(0);
    ensure(failures, "crawl.max_failures", || "must be at least 1; leave it out for no limit".into())?;
    crawl.max_time.map_or(Ok(()), |t| positive("crawl.max_time", t))
}

pub(super) fn check_scope(scope: &ScopeSection) -> Checked {
    for (key, list) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        for pattern in list {
            let problem = UrlPatterns::new(std::slice::from_ref(pattern)).err();
            ensure(problem.is_none(), key, || problem.map(|problem| problem.to_string()).unwrap_or_default())?;
        }
    }
    let prefixes = scope.mode != ScopeMode::Prefixes || !scope.prefixes.is_empty();
    ensure(prefixes, "scope.prefixes", || "must name at least one prefix when scope.mode is \"prefixes\"".into())
}

/// Patterns of a list. More of them, compiled together, would cost seconds and hundreds of megabytes.
const MOST_PATTERNS: usize = 10_000;

pub(super) fn check_patterns(scope: &ScopeSection) -> Checked {
    for (key, patterns) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        ensure(patterns.len() <= MOST_PATTERNS, key, || {
            format!("{} patterns are more than {MOST_PATTERNS}; join some with `|`", patterns.len())
        })?;
    }
    Ok(())
}

pub(super) fn check_frontier(frontier: &FrontierSection) -> Checked {
    within("frontier.ranks", frontier.ranks, 1, 8)?;
    let weights = &frontier.depth_weights;
    let finite = (1..=64).contains(&weights.len()) && weights.iter().all(|w| w.is_finite() && *w >= 0.0);
    let falling = weights.windows(2).all(|pair| pair[0] >= pair[1]);
    ensure(finite && falling, "frontier.depth_weights", || {
        "must be 1 to 64 numbers from 0 up, none larger than the one before".into()
    })?;
    frontier.max_active_hosts.map_or(Ok(()), |n| within("frontier.max_active_hosts", n, 1, 1_000_000))?;
    within("frontier.host_quantum.pages", frontier.host_quantum.pages, 1, 1_000_000)?;
    positive("frontier.host_quantum.time", frontier.host_quantum.time)
}

pub(super) fn check_politeness(politeness: &PolitenessSection, robots: &RobotsSection) -> Checked {
    let factor = politeness.delay_factor;
    ensure(factor.is_finite(), "politeness.delay_factor", || "must be a number from 0 to 1000".into())?;
    within("politeness.delay_factor", factor, 0.0, 1_000.0)?;
    within("politeness.per_ip_connections", politeness.per_ip_connections, 1, 1_000)?;
    positive("robots.max_age", robots.max_age)?;
    let day = Duration::from_secs(86_400);
    ensure(robots.max_age <= day, "robots.max_age", || "at most 24h (RFC 9309, section 2.4)".into())?;
    let waits = !robots.error_retry.is_empty() && robots.error_retry.iter().all(|w| *w >= Duration::from_secs(1));
    ensure(waits, "robots.error_retry", || "must be a list of at least one wait, none shorter than 1s".into())
}

pub(super) fn check_hosts(hosts: &[HostSection]) -> Checked {
    for (i, host) in hosts.iter().enumerate() {
        let name = host.pattern.strip_prefix("*.").unwrap_or(&host.pattern);
        // An address of IPv6 has colons and stands in brackets; a name beyond ASCII has become that of DNS (xn--) where it is one.
        let letter = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        let good = (1..=253).contains(&name.len()) && name.chars().all(letter);
        ensure(good, &format!("host[{i}].match"), || format!("{:?} is no host name or *.domain", host.pattern))?;
        host.max_connections.map_or(Ok(()), |n| within(&format!("host[{i}].max_connections"), n, 1, 64))?;
        check_host(i, host)?;
    }
    Ok(())
}
