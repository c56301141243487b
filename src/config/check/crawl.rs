//! Who crawls what, and in which order: `[agent] [crawl] [scope] [frontier] [politeness] [robots] [[host]]`.

use std::time::Duration;

use url::Url;

use super::access::check_host;
use super::{Checked, Wrong, accepted, ensure, is_name, is_seed, is_web_url, not_none, positive, within, within_if};
use crate::config::sections::*;
use crate::config::settings::Agent;
use crate::domain::host::is_canonical_host;
use crate::domain::login::login_refused;
use crate::domain::robots::RobotsCachePolicy;
use crate::domain::scope::{HostPatterns, ScopeMode, ScopeRules};
use crate::domain::seed::check_said;
use crate::domain::url::UrlPatterns;

pub(super) fn agent(section: &AgentSection) -> Result<Agent, Wrong> {
    let token = || "must be 1 to 64 letters, digits or any of !#$%&'*+-.^_`|~, as in a User-Agent".to_owned();
    ensure(is_token(&section.name), "agent.name", token)?;
    ensure(is_token(&section.version), "agent.version", token)?;
    if let Some(url) = &section.url {
        let good = is_web_url(url) && url.bytes().all(|b| b.is_ascii_graphic() && !b"();".contains(&b));
        ensure(good, "agent.url", || "must be an http or https URL without spaces, brackets or semicolons".into())?;
    }
    if let Some(mail) = &section.email {
        ensure(is_mail(mail), "agent.email", || "must be a mail address such as you@example.org".into())?;
    }
    for token in &section.robots_tokens {
        let good = !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        ensure(good, "agent.robots_tokens", || {
            format!("{token:?} is no product token: letters, digits, - and _ only")
        })?;
    }
    let about = section.url.as_ref().map(|url| format!("; +{url}")).unwrap_or_default();
    let tokens =
        if section.robots_tokens.is_empty() { vec![section.name.clone()] } else { section.robots_tokens.clone() };
    Ok(Agent {
        user_agent: format!("Mozilla/5.0 (compatible; {}/{}{about})", section.name, section.version),
        from: section.email.clone(),
        robots_tokens: tokens,
        contact: section.email.clone().or_else(|| section.url.clone()),
    })
}

/// A token of RFC 9110, section 5.6.2, short enough for a header.
fn is_token(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good)
}

/// Enough to keep nonsense and header injection out; whether the box exists only a mail would show.
fn is_mail(text: &str) -> bool {
    let graphic = text.len() <= 254 && text.bytes().all(|b| b.is_ascii_graphic() && !b"<>(),;:\"".contains(&b));
    graphic
        && text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}

pub(super) fn check_crawl(crawl: &CrawlSection) -> Checked {
    ensure(is_name(&crawl.name), "crawl.name", || "must be 1 to 64 letters, digits, '-', '_' or '.'".into())?;
    for SeedSection { url, rank, tags, .. } in &crawl.seeds {
        accepted("crawl.seeds", login_refused(url).map_or(Ok(()), Err))?;
        ensure(is_seed(url), "crawl.seeds", || match Url::parse(url) {
            Err(url::ParseError::InvalidPort) => format!("the port of {url:?} must be from 1 to 65535"),
            _ => format!("{url:?} is no http or https URL; write it in full, such as https://example.org/"),
        })?;
        accepted("crawl.seeds", check_said(*rank, tags).map_err(|said| format!("{url}: {said}")))?;
    }
    not_none("crawl.max_pages", crawl.max_pages)?;
    not_none("crawl.max_bytes", crawl.max_bytes)?;
    not_none("crawl.max_failures", crawl.max_failures)?;
    crawl.max_time.map_or(Ok(()), |t| positive("crawl.max_time", t))
}

pub(super) fn check_scope(scope: &ScopeRules) -> Checked {
    for (key, list) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        for pattern in list {
            accepted(key, UrlPatterns::new(std::slice::from_ref(pattern)))?;
        }
    }
    for (key, list) in [("scope.allow_hosts", &scope.allow_hosts), ("scope.deny_hosts", &scope.deny_hosts)] {
        let named = HostPatterns::new(list);
        accepted(key, named.map_err(|text| format!("`{text}` is no host; write example.org or *.example.org")))?;
    }
    let prefixes = scope.mode != ScopeMode::Prefixes || !scope.prefixes.is_empty();
    ensure(prefixes, "scope.prefixes", || "must name at least one prefix when scope.mode is \"prefixes\"".into())
}

/// Patterns of a list. More of them, compiled together, would cost seconds and hundreds of megabytes.
const MOST_PATTERNS: usize = 10_000;

pub(super) fn check_patterns(scope: &ScopeRules) -> Checked {
    for (key, patterns) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        ensure(patterns.len() <= MOST_PATTERNS, key, || {
            format!("{} patterns are more than {MOST_PATTERNS}; join some with `|`", patterns.len())
        })?;
    }
    Ok(())
}

pub(super) fn check_frontier(frontier: &FrontierSection, order: Order) -> Checked {
    within("frontier.ranks", frontier.ranks, 1, 8)?;
    let weights = &frontier.depth_weights;
    let finite = (1..=64).contains(&weights.len()) && weights.iter().all(|w| w.is_finite() && *w >= 0.0);
    let falling = weights.windows(2).all(|pair| pair[0] >= pair[1]);
    ensure(finite && falling, "frontier.depth_weights", || {
        "must be 1 to 64 numbers from 0 up, none larger than the one before".into()
    })?;
    within_if("frontier.max_active_hosts", frontier.max_active_hosts, 1, 1_000_000)?;
    within("frontier.host_quantum.pages", frontier.host_quantum.pages, 1, 1_000_000)?;
    positive("frontier.host_quantum.time", frontier.host_quantum.time)?;
    ensure((0.0..=1.0).contains(&frontier.credit_tax), "frontier.credit_tax", || "must be between 0 and 1".into())?;
    ensure(!frontier.credit || order == Order::Best, "frontier.credit", || {
        "ranks by link credit are for crawl.order = \"best\" only".into()
    })
}

pub(super) fn check_politeness(politeness: &PolitenessSection, robots: &RobotsCachePolicy) -> Checked {
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

/// Rules of importance.
const MOST_RULES: usize = 200;

pub(super) fn check_priorities(rules: &[PrioritySection]) -> Checked {
    ensure(rules.len() <= MOST_RULES, "priority", || format!("{} rules; at most {MOST_RULES}", rules.len()))?;
    for (i, rule) in rules.iter().enumerate() {
        let key = |name: &str| format!("priority[{i}].{name}");
        let one = rule.weight.is_some() != rule.rank.is_some();
        ensure(one, &key("weight"), || "expected either a weight (0.01 to 100) or a rank (0 to 7)".into())?;
        within_if(&key("rank"), rule.rank, 0, 7)?;
        accepted(&key("tags"), check_said(None, &rule.tags))?;
        let patterns = rule.urls.len() + rule.hosts.len();
        ensure(patterns <= MOST_PATTERNS, &key("urls"), || {
            format!("{patterns} patterns are more than {MOST_PATTERNS}; join some with `|`")
        })?;
        accepted(&key(if rule.urls.is_empty() { "hosts" } else { "urls" }), rule.compiled())?;
    }
    Ok(())
}

pub(super) fn check_hosts(hosts: &[HostSection]) -> Checked {
    for (i, host) in hosts.iter().enumerate() {
        let name = host.pattern.strip_prefix("*.").unwrap_or(&host.pattern);
        // A name beyond ASCII has become that of DNS (xn--) where it is one.
        let good = is_canonical_host(&name.to_ascii_lowercase());
        ensure(good, &format!("host[{i}].match"), || {
            format!(
                "{:?} is no host; write example.org or *.example.org, without scheme, port and final dot",
                host.pattern
            )
        })?;
        within_if(&format!("host[{i}].max_connections"), host.max_connections, 1, 64)?;
        check_host(i, host)?;
    }
    Ok(())
}
