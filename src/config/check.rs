//! The ranges and forms of values that serde cannot see.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use url::Url;

use super::check_access::{check_connections, check_cookies, check_credentials, check_host, check_proxy};
use super::contact::override_ip;
use super::file::FileForm;
use super::rules;
use super::sections::*;
use super::settings::{Agent, Settings};
use super::units::format_duration;
use crate::checkpoint::Target;
use crate::domain::extract::RuleError;
use crate::domain::found_as::DEEPEST_NESTING;
use crate::domain::host::is_canonical_host;
use crate::domain::memory::MemoryPlan;
use crate::domain::mime::is_type_glob;
use crate::domain::seed::check_said;
use crate::net::guard::{HostPattern, parse_allow};
use crate::telemetry::notice::NoticeKind;

/// A value out of its range.
#[derive(Debug)]
pub(super) struct Wrong {
    pub key: String,
    pub problem: String,
}

pub(super) type Checked = Result<(), Wrong>;

pub(super) fn ensure(good: bool, key: &str, allowed: impl FnOnce() -> String) -> Checked {
    if good { Ok(()) } else { Err(Wrong { key: key.to_owned(), problem: allowed() }) }
}

pub(super) fn within<T: PartialOrd + std::fmt::Display>(key: &str, value: T, low: T, high: T) -> Checked {
    ensure(value >= low && value <= high, key, || format!("{value} is out of range; allowed are {low} to {high}"))
}

fn positive(key: &str, value: Duration) -> Checked {
    ensure(!value.is_zero(), key, || "must be longer than zero".into())
}

/// A token of RFC 9110, section 5.6.2, short enough for a header.
fn is_token(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good)
}

/// A name that may be part of a file name.
fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good) && !text.starts_with('.')
}

impl Settings {
    /// Checks every value.
    pub(super) fn from_form(form: FileForm) -> Result<Self, Wrong> {
        check_crawl(&form.crawl)?;
        check_scope(&form.scope)?;
        check_frontier(&form.frontier)?;
        check_politeness(&form.politeness, &form.robots)?;
        check_fetch(&form.fetch)?;
        check_timeouts(&form.fetch.timeouts)?;
        check_pages(&form.parse, &form.traps)?;
        check_sitemaps(&form.sitemaps)?;
        check_net(&form.net)?;
        check_dns(&form.dns)?;
        check_dedup(&form.dedup)?;
        check_store(&form.store)?;
        check_supervision(&form.supervision, form.fetch.slowest())?;
        check_connections(&form.fetch)?;
        check_proxy(&form.proxy)?;
        check_cookies(&form.cookies)?;
        check_credentials(&form.credentials)?;
        check_memory(&form)?;
        check_checkpoint(&form.checkpoint)?;
        check_disk(&form.disk)?;
        check_hosts(&form.host)?;
        check_extract(&form.extract)?;
        check_patterns(&form.scope)?;
        check_webhooks(&form.webhook)?;
        check_log(&form.log)?;
        Ok(Self {
            agent: agent(&form.agent)?,
            admin_listen: listen(&form.admin)?,
            admin_token_file: form.admin.token_file,
            admin_read_token_file: form.admin.read_token_file,
            crawl: form.crawl,
            scope: form.scope,
            frontier: form.frontier,
            politeness: form.politeness,
            robots: form.robots,
            fetch: form.fetch,
            proxy: form.proxy,
            cookies: form.cookies,
            credentials: form.credentials,
            parse: form.parse,
            sitemaps: form.sitemaps,
            traps: form.traps,
            net: form.net,
            dns: form.dns,
            tls: form.tls,
            dedup: form.dedup,
            store: form.store,
            durability: form.durability,
            checkpoint: form.checkpoint,
            disk: form.disk,
            supervision: form.supervision,
            memory: form.memory,
            webhooks: form.webhook,
            log: form.log,
            hosts: form.host,
            extract: form.extract,
            source: Arc::default(),
        })
    }
}

fn agent(section: &AgentSection) -> Result<Agent, Wrong> {
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

/// Whether a text is an absolute http or https URL.
#[must_use]
pub fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host())
}

/// Whether a URL holds a user name or a password.
fn has_credentials(text: &str) -> bool {
    Url::parse(text).is_ok_and(|u| !u.username().is_empty() || u.password().is_some())
}

/// Enough to keep nonsense and header injection out; whether the box exists only a mail would show.
fn is_mail(text: &str) -> bool {
    let graphic = text.len() <= 254 && text.bytes().all(|b| b.is_ascii_graphic() && !b"<>(),;:\"".contains(&b));
    graphic
        && text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}

fn check_crawl(crawl: &CrawlSection) -> Checked {
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

fn check_scope(scope: &ScopeSection) -> Checked {
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

fn check_frontier(frontier: &FrontierSection) -> Checked {
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

fn check_politeness(politeness: &PolitenessSection, robots: &RobotsSection) -> Checked {
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

fn check_fetch(fetch: &FetchSection) -> Checked {
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

fn check_timeouts(timeouts: &TimeoutsSection) -> Checked {
    positive("fetch.timeouts.connect", timeouts.connect)?;
    positive("fetch.timeouts.tls", timeouts.tls)?;
    positive("fetch.timeouts.first_byte", timeouts.first_byte)?;
    positive("fetch.timeouts.body", timeouts.body)?;
    positive("fetch.timeouts.min_rate_window", timeouts.min_rate_window)
}

fn check_pages(parse: &ParseSection, traps: &TrapsSection) -> Checked {
    parse.threads.map_or(Ok(()), |n| within("parse.threads", n, 1, 256))?;
    within("parse.max_parse", parse.max_parse, 1_024, 1 << 30)?;
    within("parse.max_extract", parse.max_extract, 1_024, 64 << 20)?;
    within("parse.max_links_per_page", parse.max_links_per_page, 1, 1_000_000)?;
    within("traps.max_url_length", traps.max_url_length, 64, 65_535)?;
    within("traps.max_segments", traps.max_segments, 1, 1_000)?;
    within("traps.max_repeats", traps.max_repeats, 1, 1_000)?;
    within("traps.max_params", traps.max_params, 0, 1_000)?;
    ensure(traps.pages_per_host != Some(0), "traps.pages_per_host", || {
        "must be at least 1; leave it out for no limit".into()
    })
}

fn check_sitemaps(sitemaps: &SitemapsSection) -> Checked {
    within("sitemaps.max_urls", sitemaps.max_urls, 1, 1_000_000)?;
    within("sitemaps.max_bytes", sitemaps.max_bytes, 1_024, 1 << 30)?;
    within("sitemaps.max_nesting", sitemaps.max_nesting, 0, DEEPEST_NESTING)?;
    within("sitemaps.max_files", sitemaps.max_files, 1, 50_000)?;
    let least = Duration::from_secs(1);
    ensure(sitemaps.revisit.is_none_or(|after| after >= least), "sitemaps.revisit", || {
        "must be at least 1s; leave it out to read each sitemap once".into()
    })
}

fn check_dns(dns: &DnsSection) -> Checked {
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

fn check_net(net: &NetSection) -> Checked {
    net.allow.iter().try_for_each(|rule| {
        let problem = parse_allow(rule).err();
        ensure(problem.is_none(), "net.allow", || problem.map(|e| e.to_string()).unwrap_or_default())
    })
}

fn check_dedup(dedup: &DedupSection) -> Checked {
    within("dedup.bloom_urls", dedup.bloom_urls, 1_000, 100_000_000_000)?;
    let rate = dedup.bloom_fp;
    ensure(rate > 0.0 && rate <= 0.5, "dedup.bloom_fp", || format!("{rate} is out of range; above 0, at most 0.5"))?;
    dedup.bloom_bits.map_or(Ok(()), |n| within("dedup.bloom_bits", n, 1, 64))?;
    let gib = dedup.filter_bytes(dedup.bloom_urls) as f64 / f64::from(1 << 30);
    ensure(gib <= 32.0, "dedup.bloom_urls", || format!("would make a filter of {gib:.0} GiB; at most 32 GiB"))?;
    dedup.bloom_hashes.map_or(Ok(()), |n| within("dedup.bloom_hashes", n, 1, 32))
}

fn check_store(store: &StoreSection) -> Checked {
    let named = !store.data_dir.as_os_str().is_empty();
    ensure(named, "store.data_dir", || "must name a folder".into())?;
    ensure(is_name(&store.warc_prefix), "store.warc_prefix", || {
        "must be 1 to 64 letters, digits, '-', '_' or '.'".into()
    })?;
    within("store.warc_max_size", store.warc_max_size, 1_000_000, 1 << 40)?;
    positive("store.warc_max_age", store.warc_max_age)?;
    within("store.compression", store.compression, 1, 9)?;
    within("store.memory", store.memory, 16 << 20, 1 << 42)?;
    for glob in &store.skip_types {
        ensure(is_type_glob(glob), "store.skip_types", || {
            format!("{glob:?} is no media type: write type/subtype or type/*, such as \"image/*\"")
        })?;
    }
    check_place("store.upload", store.upload.as_deref())?;
    ensure(store.upload.is_some() || !store.delete_uploaded, "store.delete_uploaded", || {
        "nothing is uploaded: set store.upload too".into()
    })
}

fn check_checkpoint(checkpoint: &CheckpointSection) -> Checked {
    within("checkpoint.keep", checkpoint.keep, 1, 1_000)?;
    ensure(!checkpoint.dir.as_os_str().is_empty(), "checkpoint.dir", || "must name a folder".into())?;
    check_place("checkpoint.upload", checkpoint.upload.as_deref())?;
    let endpoint = checkpoint.s3_endpoint.as_deref();
    ensure(endpoint.is_none_or(is_web_url), "checkpoint.s3_endpoint", || {
        "must be an http or https URL such as https://s3.example.org".into()
    })
}

/// Where copies go.
fn check_place(key: &str, place: Option<&str>) -> Checked {
    let problem = place.and_then(|text| Target::parse(text).err());
    ensure(problem.is_none(), key, || problem.map(|e| e.to_string()).unwrap_or_default())
}

fn check_supervision(supervision: &SupervisionSection, slowest: Duration) -> Checked {
    positive("supervision.backoff", supervision.backoff)?;
    let longest = supervision.backoff <= supervision.backoff_max;
    ensure(longest, "supervision.backoff", || "must not be longer than supervision.backoff_max".into())?;
    within("supervision.budget", supervision.budget, 1, 10_000)?;
    positive("supervision.window", supervision.window)?;
    ensure(supervision.hung_after.is_none_or(|hung| hung > slowest), "supervision.hung_after", || {
        format!("must be longer than the slowest request, {} by fetch.timeouts", format_duration(slowest))
    })?;
    let least = Duration::from_secs(3);
    ensure(supervision.blocked_after >= least, "supervision.blocked_after", || "must be 3s or longer".into())
}

fn check_disk(disk: &DiskSection) -> Checked {
    within("disk.reserve", disk.reserve, 0, 1 << 40)
}

/// Patterns of a list. More of them, compiled together, would cost seconds and hundreds of megabytes.
const MOST_PATTERNS: usize = 10_000;

fn check_patterns(scope: &ScopeSection) -> Checked {
    for (key, patterns) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        ensure(patterns.len() <= MOST_PATTERNS, key, || {
            format!("{} patterns are more than {MOST_PATTERNS}; join some with `|`", patterns.len())
        })?;
    }
    Ok(())
}

/// Rules of `[[extract]]` at most; each is tried on every element.
const MAX_RULES: usize = 64;

fn check_extract(rules: &[ExtractSection]) -> Checked {
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
            ensure(false, &format!("extract[{i}].{key}"), || e.to_string())?;
        }
    }
    Ok(())
}

fn check_hosts(hosts: &[HostSection]) -> Checked {
    for (i, host) in hosts.iter().enumerate() {
        let name = host.pattern.strip_prefix("*.").unwrap_or(&host.pattern);
        // An address of IPv6 has colons and stands in brackets; a name beyond ASCII is written as in DNS (xn--).
        let letter = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        let good = (1..=253).contains(&name.len()) && name.chars().all(letter);
        ensure(good, &format!("host[{i}].match"), || format!("{:?} is no host name or *.domain", host.pattern))?;
        host.max_connections.map_or(Ok(()), |n| within(&format!("host[{i}].max_connections"), n, 1, 64))?;
        check_host(i, host)?;
    }
    Ok(())
}

fn check_webhooks(webhooks: &[WebhookSection]) -> Checked {
    ensure(webhooks.len() <= 16, "webhook", || "at most 16 of them".into())?;
    for (i, webhook) in webhooks.iter().enumerate() {
        ensure(is_web_url(&webhook.url), &format!("webhook[{i}].url"), || "must be an http or https URL".into())?;
        ensure(!has_credentials(&webhook.url), &format!("webhook[{i}].url"), || {
            "a user name or password in it is not sent; a secret that signs the calls goes into secret_file".into()
        })?;
        let kinds: Vec<&str> = NoticeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        ensure(!webhook.on.is_empty(), &format!("webhook[{i}].on"), || {
            format!("must name some of {}", kinds.join(", "))
        })?;
    }
    Ok(())
}

/// What a run would say of `memory.max`; without it the machine decides.
fn check_memory(form: &FileForm) -> Checked {
    let Some(max) = form.memory.max else { return Ok(()) };
    within("memory.max", max, 64 << 20, 1 << 50)?;
    let plan = MemoryPlan::of(max, form.store.memory, form.dedup.filter_bytes(form.dedup.bloom_urls));
    let short = plan.err().map(|short| short.to_string());
    ensure(short.is_none(), "memory.max", || short.unwrap_or_default())
}

fn check_log(log: &LogSection) -> Checked {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let part = |p: &str| LEVELS.contains(&p.rsplit('=').next().unwrap_or_default().trim());
    ensure(log.level.split(',').all(part), "log.level", || {
        format!(
            "{:?} is no level; allowed are {}, or directives such as info,lycosa::net=debug",
            log.level,
            LEVELS.join(", ")
        )
    })
}

/// The admin endpoint's address; off loopback it needs a token.
fn listen(admin: &AdminSection) -> Result<Option<SocketAddr>, Wrong> {
    if admin.listen == "off" {
        return Ok(None);
    }
    let wrong = |problem: String| Wrong { key: "admin.listen".into(), problem };
    let address: SocketAddr = admin
        .listen
        .parse()
        .map_err(|_| wrong(format!("{:?} is no ADDRESS:PORT such as 127.0.0.1:7700, nor \"off\"", admin.listen)))?;
    let loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !loopback && admin.token_file.is_none() && admin.read_token_file.is_none() && !admin_token_in_environment() {
        return Err(wrong(format!(
            "{address} can be reached from other machines: set admin.token_file too (a file that is not there is made)"
        )));
    }
    Ok(Some(address))
}
