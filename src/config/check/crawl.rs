//! Who crawls what, in which order, how far: `[agent] [crawl] [scope] [frontier]`.

use regex::Regex;
use url::Url;

use super::{Checked, Wrong, ensure, is_name, is_web_url, positive, within};
use crate::config::sections::{AgentSection, CrawlSection, FrontierSection, ScopeMode, ScopeSection, SeedSection};
use crate::config::settings::Agent;
use crate::domain::seed::check_said;

/// A token of RFC 9110, section 5.6.2, short enough for a header.
fn is_token(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good)
}

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

/// Enough to keep nonsense and header injection out; whether the box exists only a mail would show.
fn is_mail(text: &str) -> bool {
    let graphic = text.len() <= 254 && text.bytes().all(|b| b.is_ascii_graphic() && !b"<>(),;:\"".contains(&b));
    graphic
        && text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}

pub(super) fn check_crawl(crawl: &CrawlSection) -> Checked {
    ensure(is_name(&crawl.name), "crawl.name", || "must be 1 to 64 letters, digits, '-', '_' or '.'".into())?;
    for SeedSection { url, rank, tags, .. } in &crawl.seeds {
        ensure(is_web_url(url), "crawl.seeds", || match Url::parse(url) {
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
            let problem = Regex::new(pattern).err().map(|e| e.to_string().replace('\n', " "));
            ensure(problem.is_none(), key, || {
                format!("{pattern:?} is no regular expression: {}", problem.unwrap_or_default())
            })?;
        }
    }
    let prefixes = scope.mode != ScopeMode::Prefixes || !scope.prefixes.is_empty();
    ensure(prefixes, "scope.prefixes", || "must name at least one prefix when scope.mode is \"prefixes\"".into())
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
