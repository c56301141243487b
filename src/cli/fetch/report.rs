//! What is shown of a fetch, as text or JSON: the checks that each URL on the way passes (canonical form, rules, robots.txt,
//! address policy), and how it ended.

use std::fmt::Write as _;
use std::io::Read as _;

use serde::Serialize;

use super::answer::Answer;
use super::judge::Judged;
use super::session::{NoAnswer, Reply, Robots};
use super::visit::Stopped;
use crate::cli::exit::CliError;
use crate::crawl::parser::inspect::RedirectKind;
use crate::domain::url::PageUrl;
use crate::telemetry::advice::advice;
use crate::telemetry::log::escaped;
use crate::telemetry::trouble::ROBOTS_UNREACHABLE;

/// Everything worth knowing about one fetch.
#[derive(Serialize)]
pub(super) struct Report {
    /// Redirects that were followed to get to the URL.
    hops: Vec<Hop>,
    #[serde(flatten)]
    checks: Checks,
    answer: Option<Answer>,
    /// Why redirects were not followed to their end, though they were to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    /// Why there is no answer, though one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedReport>,
    #[serde(skip)]
    reply: Option<Reply>,
}

/// A request without an answer.
#[derive(Debug, Serialize)]
struct FailedReport {
    /// The reason, by its name in `domain::reason`.
    reason: &'static str,
    detail: String,
}

/// A redirect that was followed.
#[derive(Debug, Serialize)]
pub(super) struct Hop {
    #[serde(flatten)]
    checks: Checks,
    status: u16,
    /// `location`, `refresh_header` or `meta_refresh`.
    by: &'static str,
    to: String,
    #[serde(skip)]
    way: RedirectKind,
}

impl Hop {
    pub(super) fn new(checks: Checks, status: u16, way: RedirectKind, to: &PageUrl) -> Self {
        Self { checks, status, by: way.as_str(), to: to.to_string(), way }
    }

    fn rows(&self, rows: &mut Rows) {
        let by = if self.way == RedirectKind::Location { String::new() } else { format!(" by {}", self.way.said()) };
        rows.add("redirect", &format!("{} {} to {}{by}", self.status, self.checks.url, self.to));
        self.checks.rows(true, rows);
    }
}

impl Report {
    /// A URL that robots.txt disallows, or of a host whose robots.txt is out of reach.
    pub(super) fn refused(hops: Vec<Hop>, checks: Checks) -> Self {
        Self { hops, checks, answer: None, stopped: None, failed: None, reply: None }
    }

    /// A URL, or its robots.txt, that gave no answer.
    pub(super) fn failed(hops: Vec<Hop>, checks: Checks, fault: &NoAnswer) -> Self {
        let failed = Some(FailedReport { reason: fault.reason.as_str(), detail: fault.to_string() });
        Self { failed, ..Self::refused(hops, checks) }
    }

    pub(super) fn answered(
        hops: Vec<Hop>,
        checks: Checks,
        answer: Answer,
        reply: Reply,
        stopped: Option<Stopped>,
    ) -> Self {
        Self { answer: Some(answer), stopped, reply: Some(reply), ..Self::refused(hops, checks) }
    }

    /// Whether there was an answer, and redirects were followed to their end where they were to be.
    pub(super) fn is_whole(&self) -> bool {
        self.answer.is_some() && self.stopped.is_none()
    }

    pub(super) fn has_hops(&self) -> bool {
        !self.hops.is_empty()
    }

    /// Why there is none, when one was asked for.
    pub(super) fn fault(&self) -> Option<String> {
        self.failed.as_ref().map(|failed| format!("{}: {}", self.checks.url, failed.detail))
    }

    /// The body, content coding taken off; at most `max` bytes of it.
    pub(super) fn body(&self, max: u64) -> Result<Vec<u8>, CliError> {
        let mut bytes = Vec::new();
        if let Some(reply) = &self.reply {
            let unread = |e| CliError::new(format!("the body of {} cannot be read: {e}", self.checks.url));
            reply.fetched.decoded_body(max).read_to_end(&mut bytes).map_err(unread)?;
        }
        Ok(bytes)
    }

    pub(super) fn json(&self) -> String {
        // Only maps with keys that are no text can fail, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Lines of `name  value`; nothing in them moves a cursor.
    pub(super) fn text(&self) -> String {
        let mut rows = Rows::default();
        self.hops.iter().for_each(|hop| hop.rows(&mut rows));
        rows.add("url", &self.checks.url);
        self.checks.rows(false, &mut rows);
        match (&self.answer, &self.checks.robots) {
            (Some(answer), _) => answer.rows(&mut rows),
            (None, Some(robots)) if self.failed.is_none() => {
                let why = if robots.reachable { "robots" } else { ROBOTS_UNREACHABLE };
                rows.add("not fetched", advice(why));
            }
            (None, _) => rows.add("failed", self.failed.as_ref().map_or("", |failed| &failed.detail)),
        }
        rows.add_some("stopped", self.stopped.as_ref().map(|stopped| &stopped.detail));
        rows.0
    }
}

/// The checks of one URL.
#[derive(Debug, Serialize)]
pub(super) struct Checks {
    pub url: String,
    /// As it was written, where that is not its canonical form.
    written: Option<String>,
    rules: RulesReport,
    pub robots: Option<Robots>,
    /// Those that its name has; none where a proxy looks it up.
    addresses: Vec<String>,
    /// Those that may not be connected to, each with the reason.
    refused_addresses: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RulesReport {
    /// `take`, or why a crawl turns it away.
    verdict: String,
    rule: String,
}

impl Checks {
    /// Begins with what needs no network.
    pub(super) fn of(url: &PageUrl, written: Option<String>, judged: &Judged) -> Self {
        Self {
            url: url.to_string(),
            written: written.filter(|written| *written != url.as_str()),
            rules: RulesReport { verdict: judged.verdict(), rule: judged.rule.clone() },
            robots: None,
            addresses: Vec::new(),
            refused_addresses: Vec::new(),
        }
    }

    /// And what was found at the name.
    pub(super) fn addresses(&mut self, reply: &Reply) {
        self.addresses = reply.addresses.iter().map(ToString::to_string).collect();
        self.refused_addresses.clone_from(&reply.refused);
    }

    /// Lines about the URL: of a hop under its own name, else under the names of the checks.
    pub(super) fn rows(&self, is_hop: bool, rows: &mut Rows) {
        let name = |name: &'static str| if is_hop { "" } else { name };
        let before = if is_hop { "written as " } else { "" };
        rows.add_some(name("written"), self.written.as_ref().map(|written| format!("{before}{written}")));
        let rules = &self.rules;
        let said = if rules.verdict == "take" { format!("take: {}", rules.rule) } else { rules.verdict.clone() };
        rows.add(name("rules"), &format!("{}{said}", if is_hop { "rules: " } else { "" }));
        if let Some(robots) = &self.robots {
            robots.rows(name("robots.txt"), rows);
        }
        if is_hop && !self.addresses.is_empty() {
            rows.add("", &format!("addresses: {}", self.addresses.join(", ")));
        }
        self.refused_addresses.iter().for_each(|why| rows.add(name("refused"), why));
    }
}

impl Robots {
    fn rows(&self, name: &str, rows: &mut Rows) {
        rows.add(name, &format!("{} {}", self.url, self.outcome));
        rows.add("", &format!("{}: {}", if self.allowed { "allow" } else { "disallow" }, self.line));
        rows.add_some("", self.crawl_delay_seconds.map(|delay| format!("Crawl-delay: {delay} s")));
        self.sitemaps.iter().for_each(|map| rows.add("", &format!("Sitemap: {map}")));
    }
}

#[derive(Default)]
pub(super) struct Rows(String);

impl Rows {
    pub(super) fn add(&mut self, name: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{name:<12} {}", escaped(value));
    }

    /// A line of what is there.
    pub(super) fn add_some(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        value.into_iter().for_each(|value| self.add(name, value.as_ref()));
    }
}
