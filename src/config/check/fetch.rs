//! How it is fetched: `[fetch] [net] [dns]`.

use super::{Checked, ensure, positive, within};
use crate::config::contact::override_ip;
use crate::config::rules;
use crate::config::sections::{DnsSection, FetchSection, NetSection, TimeoutsSection};
use crate::domain::host::is_canonical_host;
use crate::net::guard::{HostPattern, parse_allow};

pub(super) fn check_fetch(fetch: &FetchSection) -> Checked {
    within("fetch.concurrency", fetch.concurrency, 1, 100_000)?;
    within("fetch.threads", fetch.threads, 1, 256)?;
    within("fetch.max_body", fetch.max_body, 1_024, 1 << 40)?;
    within("fetch.max_decoded", fetch.max_decoded, 1_024, 1 << 40)?;
    within("fetch.max_spill", fetch.max_spill, 1 << 20, 1 << 50)?;
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
        ensure(rules::server(server).is_some(), "dns.servers", || format!("{server:?} is no ADDRESS or ADDRESS:PORT"))?;
    }
    for (pattern, target) in &dns.overrides {
        ensure(HostPattern::parse(pattern).is_ok(), "dns.overrides", || {
            format!("{pattern:?} is no host name or *.domain")
        })?;
        ensure(is_destination(target), "dns.overrides", || {
            format!("{target:?} for {pattern:?} is no ADDRESS[:PORT] or HOST[:PORT], such as 127.0.0.1:8500")
        })?;
    }
    ensure(dns.min_ttl <= dns.max_ttl, "dns.min_ttl", || "must not be longer than dns.max_ttl".into())
}

/// An address or a host name, with or without a port.
fn is_destination(target: &str) -> bool {
    if override_ip(target).is_some() {
        return true;
    }
    let (name, port) = target.rsplit_once(':').unwrap_or((target, "1"));
    is_canonical_host(&name.to_ascii_lowercase()) && !name.starts_with('[') && port.parse::<u16>().is_ok_and(|p| p > 0)
}

pub(super) fn check_net(net: &NetSection) -> Checked {
    net.allow.iter().try_for_each(|rule| {
        let problem = parse_allow(rule).err();
        ensure(problem.is_none(), "net.allow", || problem.map(|e| e.to_string()).unwrap_or_default())
    })
}
