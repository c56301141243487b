//! How pages are fetched and what is read of them: `[fetch] [net] [dns] [parse] [traps] [sitemaps] [[extract]]`.

use std::time::Duration;

use super::{Checked, accepted, ensure, not_none, positive, within, within_if};
use crate::base::units::format_duration;
use crate::config::sections::*;
use crate::content::extract::RuleError;
use crate::domain::found_as::DEEPEST_NESTING;
use crate::domain::seed::check_said;
use crate::net::dns;
use crate::net::guard::{HostPattern, parse_allow};

pub(super) fn check_fetch(fetch: &FetchSection) -> Checked {
    within("fetch.concurrency", fetch.concurrency, 1, 100_000)?;
    within("fetch.threads", fetch.threads, 1, 256)?;
    within("fetch.max_body", fetch.max_body, 1_024, 1 << 40)?;
    within("fetch.max_decoded", fetch.max_decoded, 1_024, 1 << 40)?;
    within("fetch.max_spill", fetch.max_spill, 1 << 20, 1 << 50)?;
    within("fetch.body_memory", fetch.body_memory, 0, 1 << 40)?;
    let fits = fetch.max_spill >= fetch.max_body;
    ensure(fits, "fetch.max_spill", || "must not be less than fetch.max_body: such a body could never be kept".into())?;
    within("fetch.max_redirects", fetch.max_redirects, 0, 50)?;
    within("fetch.retries", fetch.retries, 0, 20)?;
    within("fetch.waf_brake", fetch.waf_brake, 1, 1_000_000)?;
    let waits = fetch.retries == 0 || !fetch.retry_delays.is_empty();
    ensure(waits, "fetch.retry_delays", || "must name at least one wait when fetch.retries is above 0".into())?;
    let known = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity"];
    let codings = fetch.accept_encoding.split(',').all(|c| known.contains(&c.trim()));
    ensure(codings, "fetch.accept_encoding", || format!("must be a list of {}", known.join(", ")))
}

pub(super) fn check_timeouts(timeouts: &TimeoutsSection) -> Checked {
    positive("fetch.timeouts.connect", timeouts.connect)?;
    positive("fetch.timeouts.tls", timeouts.tls)?;
    positive("fetch.timeouts.first_byte", timeouts.first_byte)?;
    positive("fetch.timeouts.body", timeouts.body)?;
    positive("fetch.timeouts.min_rate_window", timeouts.min_rate_window)
}

pub(super) fn check_dns(dns: &DnsSection) -> Checked {
    for server in &dns.servers {
        ensure(dns::server(server).is_some(), "dns.servers", || format!("{server:?} is no ADDRESS or ADDRESS:PORT"))?;
    }
    for (pattern, target) in &dns.overrides {
        ensure(HostPattern::parse(pattern).is_ok(), "dns.overrides", || {
            format!("{pattern:?} is no host name or *.domain")
        })?;
        ensure(dns::is_target(target), "dns.overrides", || {
            format!("{target:?} for {pattern:?} is no ADDRESS[:PORT] or HOST[:PORT], such as 127.0.0.1:8500")
        })?;
    }
    ensure(dns.min_ttl <= dns.max_ttl, "dns.min_ttl", || "must not be longer than dns.max_ttl".into())
}

pub(super) fn check_net(net: &NetSection) -> Checked {
    net.allow.iter().try_for_each(|rule| accepted("net.allow", parse_allow(rule)))
}

pub(super) fn check_pages(parse: &ParseSection, traps: &TrapsSection) -> Checked {
    within_if("parse.threads", parse.threads, 1, 256)?;
    within("parse.max_parse", parse.max_parse, 1_024, 1 << 30)?;
    within("parse.max_extract", parse.max_extract, 1_024, 64 << 20)?;
    within("parse.max_links_per_page", parse.max_links_per_page, 1, 1_000_000)?;
    within("traps.max_url_length", traps.max_url_length, 64, 65_535)?;
    within_if("traps.max_segments", traps.max_segments, 1, 1_000)?;
    within_if("traps.max_repeats", traps.max_repeats, 1, 1_000)?;
    within_if("traps.max_params", traps.max_params, 0, 1_000)?;
    not_none("traps.pages_per_host", traps.pages_per_host)
}

pub(super) fn check_sitemaps(sitemaps: &SitemapsSection) -> Checked {
    within("sitemaps.max_urls", sitemaps.max_urls, 1, 1_000_000)?;
    within("sitemaps.max_bytes", sitemaps.max_bytes, 1_024, 1 << 30)?;
    within("sitemaps.max_nesting", sitemaps.max_nesting, 0, DEEPEST_NESTING)?;
    within("sitemaps.max_files", sitemaps.max_files, 1, 50_000)?;
    let least = Duration::from_secs(1);
    ensure(sitemaps.revisit.is_none_or(|after| after >= least), "sitemaps.revisit", || {
        "must be at least 1s; leave it out to read each sitemap once".into()
    })
}

pub(super) fn check_refresh(refresh: &RefreshSection) -> Checked {
    let least = Duration::from_secs(1);
    for (key, value) in [("refresh.pace", refresh.pace), ("refresh.min_interval", refresh.min_interval)] {
        ensure(value >= least, key, || "must be at least 1s".into())?;
    }
    ensure(refresh.max_interval >= refresh.min_interval, "refresh.max_interval", || {
        format!("is below refresh.min_interval, {}", format_duration(refresh.min_interval))
    })?;
    ensure((0.0..=1.0).contains(&refresh.share), "refresh.share", || "lies between 0 and 1".into())?;
    let rated = refresh.max_rate.is_none_or(|rate| rate.is_finite() && rate > 0.0);
    ensure(rated, "refresh.max_rate", || "must be above 0; leave it out for no bound".into())
}

pub(super) fn check_schedule(rules: &[ScheduleSection]) -> Checked {
    ensure(rules.len() <= MAX_RULES, "schedule", || format!("{} rules are more than {MAX_RULES}", rules.len()))?;
    for (i, rule) in rules.iter().enumerate() {
        let key = |key: &str| format!("schedule[{i}].{key}");
        rule.compiled().map(drop).or_else(|(what, why)| ensure(false, &key(what), || why))?;
        accepted(&key("tags"), check_said(None, &rule.tags))?;
        let weighed = rule.weight.is_none_or(|weight| (0.01..=100.0).contains(&weight));
        ensure(weighed, &key("weight"), || "lies between 0.01 and 100".into())?;
        let least = Duration::from_secs(1);
        ensure(rule.min.is_none_or(|min| min >= least), &key("min"), || "must be at least 1s".into())?;
        let ordered = rule.min.zip(rule.max).is_none_or(|(min, max)| min <= max);
        ensure(ordered, &key("max"), || "is below min".into())?;
    }
    Ok(())
}

/// Rules of `[[extract]]` at most; each is tried on every element.
const MAX_RULES: usize = 64;

pub(super) fn check_extract(rules: &[ExtractSection]) -> Checked {
    ensure(rules.len() <= MAX_RULES, "extract", || format!("{} rules are more than {MAX_RULES}", rules.len()))?;
    for (i, rule) in rules.iter().enumerate() {
        let named = !rule.name.is_empty()
            && rule.name.len() <= 64
            && rule.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        ensure(named, &format!("extract[{i}].name"), || {
            format!("{:?} is no name of letters, digits, _, - and .", rule.name)
        })?;
        if let Err(e) = rule.compiled() {
            let key = match e {
                RuleError::Take(_) => "take",
                RuleError::Selector(_) => "selector",
                RuleError::Urls(_) => "urls",
            };
            accepted::<()>(&format!("extract[{i}].{key}"), Err(e))?;
        }
    }
    Ok(())
}
