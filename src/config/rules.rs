//! Settings as the other rooms take them: each conversion in one place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::access::lay_over;
use super::sections::{self, HostSection, RefreshSection};
use super::settings::Settings;
use crate::content::extract::{ExtractRule, ExtractRules, RuleError};
use crate::content::html::ExtractOptions;
use crate::content::sitemap::SitemapLimits;
use crate::domain::host::{host_matches, parse_host};
use crate::domain::outcome::RetryRules;
use crate::domain::politeness::PaceRules;
use crate::domain::priority::{HostWeights, Priorities};
use crate::domain::rank::Ranker;
use crate::domain::refresh::{Chosen, OfSeeds, Pace, Refresh, Rule};
use crate::domain::scope::ScopeMode;
use crate::domain::traps::{ShapeRules, TrapRules};
use crate::domain::url::{Canonicaliser, CleanRules, UrlPatterns};
use crate::domain::w3c_date::w3c_date;
use rustls::pki_types::CertificateDer;

use crate::content::modules::{MimeModules, ParseRules};
use crate::net::FetchLimits;
use crate::net::dns::target_address;
use crate::net::guard::{AddressPolicy, AllowError, parse_allow};
use crate::net::tls::{TlsSetupError, read_roots};
use crate::warc::again::Again;

/// Most bytes of a stored body with its content codings taken off, and of its visible text, that are read again.
const MOST_DECODED: u64 = 64 << 20;
const MOST_TEXT: usize = 1 << 20;

impl Settings {
    /// What is removed from URLs.
    pub fn clean_rules(&self) -> CleanRules {
        let mut rules = CleanRules { max_url_length: self.traps.max_url_length, ..CleanRules::default() };
        if let Some(names) = &self.scope.remove_params {
            rules.tracking.clone_from(names);
        }
        if let Some(names) = &self.scope.remove_sessions {
            rules.sessions.clone_from(names);
            rules.session_tokens.clear();
        }
        rules
    }

    /// Endless URL spaces.
    pub fn trap_rules(&self) -> TrapRules {
        TrapRules {
            max_url_length: self.traps.max_url_length,
            max_segments: self.traps.max_segments,
            max_repeats: self.traps.max_repeats,
            max_params: self.traps.max_params,
        }
    }

    /// Endless spaces seen from many URLs.
    pub fn shape_rules(&self) -> ShapeRules {
        let broad = |limit| if self.scope.mode == ScopeMode::Any { limit } else { 0 };
        ShapeRules {
            pages_per_pattern: self.traps.pages_per_pattern.unwrap_or(0),
            sessions: self.traps.sessions,
            permutations: self.traps.permutations,
            pages_without_novelty: self.traps.barren_pages,
            hosts_per_domain: self.traps.hosts_per_domain.unwrap_or_else(|| broad(1_000)),
        }
    }

    /// Order and importance.
    pub fn ranker(&self) -> Ranker {
        Ranker::new(self.crawl.order, self.frontier.depth_weights.clone(), self.frontier.ranks)
    }

    /// What is said of the importance of pages.
    pub fn priorities(&self) -> Priorities {
        let hosts = HostWeights::new(self.host.iter().map(|host| (host.pattern.as_str(), host.weight)));
        // The check has compiled them before.
        Priorities::new(hosts, self.priority.iter().filter_map(|rule| rule.compiled().ok()).collect())
    }

    /// Politeness that holds where no `[[host]]` says otherwise.
    pub fn pace_rules(&self) -> PaceRules {
        PaceRules {
            min_delay: self.politeness.min_delay,
            delay_factor: self.politeness.delay_factor,
            max_delay: self.politeness.max_delay,
            waf_brake: self.fetch.waf_brake,
            ..PaceRules::default()
        }
    }

    /// The first `[[host]]` that covers a host.
    pub fn host_rules(&self, host: &str) -> Option<&HostSection> {
        self.host.iter().find(|section| host_matches(&section.pattern, host))
    }

    /// Politeness for one host. A `min_delay` of its own also caps the multiple of the answer's time.
    pub fn pace_rules_for(&self, host: &str) -> PaceRules {
        let rules = self.pace_rules();
        let own = self.host_rules(host).and_then(|section| section.min_delay);
        own.map_or_else(|| rules.clone(), |own| rules.with_min_delay(own))
    }

    /// Requests in flight that a host may have at a time: one, unless a `[[host]]` says otherwise.
    pub fn max_connections(&self, host: &str) -> u32 {
        self.host_rules(host).and_then(|section| section.max_connections).unwrap_or(1)
    }

    /// Whether a host is a site of the user's own: its `[[host]]` asks for more than strangers are asked for, by several
    /// requests at a time or a shorter gap. One that only slows a host down says nothing of the kind.
    pub fn is_own_site(&self, host: &str) -> bool {
        self.host_rules(host).is_some_and(|own| {
            let faster = own.min_delay.is_some_and(|gap| gap < self.politeness.min_delay);
            faster || own.max_connections.is_some_and(|n| n > 1)
        })
    }

    /// Retries: as many waits as tries, the last wait repeated.
    pub fn retry_rules(&self) -> RetryRules {
        let last = self.fetch.retry_delays.last().copied().unwrap_or(Duration::from_secs(60));
        let delays = self.fetch.retry_delays.iter().copied().chain(std::iter::repeat(last));
        RetryRules { delays: delays.take(usize::from(self.fetch.retries)).collect() }
    }

    /// When pages are visited again.
    pub fn refresh_rules(&self) -> Refresh {
        let RefreshSection { cycle, pace, min_interval, max_interval, share, max_rate, heed } = self.refresh.clone();
        // The check has compiled them before.
        let rules = self.schedule.iter().filter_map(|rule| rule.compiled().ok()).collect();
        Refresh {
            cycle,
            pace: Pace { pace, min: min_interval, max: max_interval },
            heed,
            share,
            max_rate,
            rules,
            of_seeds: OfSeeds::None,
        }
    }

    /// Time-outs and caps of a fetch.
    pub fn fetch_limits(&self) -> FetchLimits {
        let timeouts = self.fetch.timeouts.clone();
        FetchLimits { timeouts, max_body: self.fetch.max_body, ..FetchLimits::default() }
    }

    /// The headers of every request, in order: who asks, and what is welcome.
    pub fn request_headers(&self) -> Vec<(String, String)> {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![text("User-Agent", &self.agent.user_agent)];
        headers.extend(self.agent.from.as_deref().map(|mail| text("From", mail)));
        headers.push(text("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        headers.push(text("Accept-Encoding", &self.fetch.accept_encoding));
        headers.extend(self.fetch.accept_language.as_deref().map(|languages| text("Accept-Language", languages)));
        for (name, value) in &self.fetch.headers {
            lay_over(&mut headers, name, value);
        }
        headers
    }

    /// What is taken from a page. Not its text: nothing in the crawl reads it yet, and it is a third of the work.
    pub fn parse_rules(&self) -> ParseRules {
        let extract = ExtractOptions {
            assets: self.parse.assets,
            max_links: self.parse.max_links_per_page,
            max_text: 0,
            agent_tokens: self.agent.robots_tokens.clone(),
            card: false,
        };
        // The check has compiled them before.
        let fields = self.extract.iter().filter_map(|rule| rule.compiled().ok()).collect();
        ParseRules {
            extract,
            max_parse: self.parse.max_parse,
            sitemaps: SitemapLimits { max_urls: self.sitemaps.max_urls, max_bytes: self.sitemaps.max_bytes },
            fields: Arc::new(ExtractRules::new(fields)),
            max_extract: self.parse.max_extract,
        }
    }

    /// How stored answers are read again: as the crawl reads them, with what cards are made of, and nothing extracted.
    pub fn again(&self) -> Again {
        let mut rules = self.parse_rules();
        (rules.extract.card, rules.extract.max_text, rules.fields) = (true, MOST_TEXT, Arc::default());
        let max_decoded = self.fetch.max_decoded.min(MOST_DECODED);
        Again { modules: MimeModules::default(), rules, max_decoded, canon: Canonicaliser::new(self.clean_rules()) }
    }

    /// Which addresses may be connected to (I7). `own`: the daemon's listeners, always refused.
    ///
    /// # Errors
    /// A rule of `net.allow` that cannot be read; the checks have found it before.
    pub fn address_policy(&self, own: Vec<SocketAddr>) -> Result<AddressPolicy, AllowError> {
        let mut allow = self.net.allow.iter().map(|rule| parse_allow(rule)).collect::<Result<Vec<_>, _>>()?;
        // An override names an address as plainly as an allow rule does; a target that is a name stays subject to the rules.
        let addresses = self.dns.overrides.values().filter(|target| target_address(target).is_some());
        allow.extend(addresses.filter_map(|target| parse_allow(target).ok()));
        Ok(AddressPolicy::new(allow, own))
    }

    /// The certificates of `tls.roots`.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn tls_roots(&self) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
        read_roots(&self.tls.roots)
    }
}

impl sections::ScheduleSection {
    /// The rule ready for use.
    ///
    /// # Errors
    /// The key of what cannot be used, and why.
    pub fn compiled(&self) -> Result<Rule, (&'static str, String)> {
        let urls = UrlPatterns::new(&self.urls).map_err(|e| ("urls", e.to_string()))?;
        let date = |key, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => match w3c_date(text) {
                Some(date) => Ok(Some(date)),
                None => Err((key, format!("\"{text}\" is no date; write 2027-09-01, or 2027-09-01T06:30:00+08:00"))),
            },
        };
        let (from, until) = (date("from", &self.from)?, date("until", &self.until)?);
        if from.zip(until).is_some_and(|(from, until)| from >= until) {
            return Err(("until", "lies before `from`, so the rule never holds".to_owned()));
        }
        let hosts = self.hosts.iter().map(|host| host_pattern(host).map_err(|e| ("hosts", e)));
        let types = self.types.iter().map(|kind| media_types(kind).map_err(|e| ("types", e)));
        let (hosts, types, tags) =
            (hosts.collect::<Result<_, _>>()?, types.collect::<Result<_, _>>()?, self.tags.clone());
        let chosen = Chosen { urls, hosts, types, tags, from, until };
        let Self { cycle, min, max, weight, heed, .. } = self.clone();
        Ok(Rule { chosen, cycle, min, max, weight, heed })
    }
}

/// `host` or `*.domain` as canonical hosts are written.
fn host_pattern(text: &str) -> Result<String, String> {
    let (wild, name) = text.trim().strip_prefix("*.").map_or(("", text.trim()), |name| ("*.", name));
    let host = parse_host(name).ok_or_else(|| format!("`{text}` is no host; write example.org or *.example.org"))?;
    Ok(format!("{wild}{}", host.trim_end_matches('.')))
}

/// A media type, or how some begin, as they are kept of pages.
fn media_types(text: &str) -> Result<String, String> {
    let none = text.is_empty() || text.contains(|c: char| c.is_whitespace() || "*;,".contains(c));
    let told = || format!("`{text}` fits no media type; write application/pdf, or image/ for all that begin so");
    if none { Err(told()) } else { Ok(text.to_ascii_lowercase()) }
}

impl sections::ExtractSection {
    /// The rule ready for use.
    pub fn compiled(&self) -> Result<ExtractRule, RuleError> {
        ExtractRule::new(&self.name, &self.selector, &self.take, self.many, &self.urls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::settings;
    use crate::config::{Preset, TimeoutsSection};

    #[test]
    fn the_defaults_of_the_settings_are_those_of_the_rooms() {
        let s = settings(&[]);
        assert_eq!(s.clean_rules(), CleanRules::default());
        assert_eq!(s.trap_rules().max_segments, TrapRules::default().max_segments);
        assert_eq!(s.pace_rules(), PaceRules::default());
        assert_eq!(s.retry_rules(), RetryRules::default());
        assert_eq!(s.fetch_limits(), FetchLimits::default());
        assert_eq!(s.ranker().order(), crate::domain::rank::Order::Mixed);
        assert!(s.address_policy(Vec::new()).unwrap().allow.is_empty());
    }

    #[test]
    fn a_preset_of_time_outs_holds_where_none_is_named() {
        let strict = settings(&["fetch.timeouts.preset=strict"]);
        assert_eq!(strict.fetch.timeouts, TimeoutsSection::of(Preset::Strict));
        let s = settings(&["fetch.timeouts.tls=7s", "fetch.timeouts.preset=strict"]);
        let tls = Duration::from_secs(7);
        assert_eq!(s.fetch_limits().timeouts, TimeoutsSection { tls, ..TimeoutsSection::of(Preset::Strict) });
    }

    #[test]
    fn retries_repeat_the_last_wait() {
        let s = settings(&["fetch.retries=4", "fetch.retry_delays=1s,2s"]);
        assert_eq!(s.retry_rules().delays, [1, 2, 2, 2].map(Duration::from_secs));
        assert!(settings(&["fetch.retries=0"]).retry_rules().delays.is_empty());
    }

    #[test]
    fn a_host_section_holds_for_its_hosts_only() {
        let s = settings(&[r#"host=[{match="*.my.test", max_connections=4, min_delay="100ms"}]"#]);
        assert_eq!(s.pace_rules_for("a.my.test").min_delay, Duration::from_millis(100));
        assert_eq!(s.max_connections("a.my.test"), 4);
        assert_eq!(s.pace_rules_for("my.test"), s.pace_rules());
        assert_eq!(s.max_connections("my.test"), 1);
    }

    #[test]
    fn only_a_section_that_asks_for_more_makes_a_host_a_site_of_ones_own() {
        let own = |rules: &str| settings(&[&format!(r#"host=[{{match="a.test"{rules}}}]"#)]).is_own_site("a.test");
        for more in [", max_connections=2", ", min_delay=\"999ms\"", ", min_delay=\"5s\", max_connections=4"] {
            assert!(own(more), "{more}");
        }
        for less in ["", ", max_connections=1", ", min_delay=\"1s\"", ", min_delay=\"5s\", max_connections=1"] {
            assert!(!own(less), "{less}");
        }
        assert!(!settings(&[r#"host=[{match="a.test", max_connections=9}]"#]).is_own_site("b.test"));
    }

    #[test]
    fn budgets_by_number_hold_by_default_in_the_broad_scope_alone() {
        let (chosen, any) = (settings(&[]), settings(&["scope.mode=any"]));
        assert_eq!(chosen.shape_rules(), ShapeRules::default());
        let broad = ShapeRules { hosts_per_domain: 1_000, ..ShapeRules::default() };
        assert_eq!(any.shape_rules(), broad);
        assert_eq!((chosen.pages_per_host(), any.pages_per_host()), (None, Some(10_000)));
        assert_eq!(chosen.trap_rules(), TrapRules::default());
    }

    #[test]
    fn parameters_to_remove_replace_the_built_in_lists() {
        let rules = settings(&["scope.remove_params=ref,utm_*", "scope.remove_sessions=[]"]).clean_rules();
        assert_eq!(rules.tracking, ["ref", "utm_*"]);
        assert!(rules.sessions.is_empty() && rules.session_tokens.is_empty());
    }

    #[test]
    fn the_headers_say_who_asks() {
        let headers = settings(&["agent.email=me@example.org"]).request_headers();
        assert!(headers.contains(&("From".into(), "me@example.org".into())));
        assert!(headers[0].0 == "User-Agent" && headers[0].1.starts_with("Mozilla/5.0 (compatible; Lycosa/"));
    }
}
