//! What every URL on the way passes: canonical form, rules, robots.txt, address policy.

use serde::Serialize;

use super::judge::Judged;
use super::report::Rows;
use super::session::{Reply, Robots};
use crate::domain::url::PageUrl;

/// The checks of one URL.
#[derive(Debug, Serialize)]
pub(super) struct Checks {
    pub url: String,
    /// As it was written, where that is not its canonical form.
    written: Option<String>,
    rules: RulesReport,
    pub robots: Option<RobotsReport>,
    /// Those that its name has; none where a proxy looks it up.
    addresses: Vec<String>,
    /// Those that may not be connected to, each with the reason.
    refused_addresses: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RulesReport {
    /// `take`, or why a crawl turns it away.
    verdict: String,
    /// The rule that decided.
    rule: String,
}

#[derive(Debug, Serialize)]
pub(super) struct RobotsReport {
    url: String,
    outcome: String,
    allowed: bool,
    pub reachable: bool,
    line: String,
    crawl_delay_seconds: Option<f64>,
    /// What it says of the use of the URL's content.
    usage: Option<String>,
    /// The sitemaps it names.
    sitemaps: Vec<String>,
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

    /// And what robots.txt says.
    pub(super) fn robots(&mut self, robots: &Robots) {
        self.robots = Some(RobotsReport {
            url: robots.url.clone(),
            outcome: robots.outcome.clone(),
            allowed: robots.allowed,
            reachable: robots.reachable,
            line: robots.line.clone(),
            crawl_delay_seconds: robots.crawl_delay.map(|d| d.as_secs_f64()),
            usage: robots.usage.clone(),
            sitemaps: robots.sitemaps.clone(),
        });
    }

    /// And what was found at the name.
    pub(super) fn addresses(&mut self, reply: &Reply) {
        self.addresses = reply.addresses.iter().map(ToString::to_string).collect();
        self.refused_addresses.clone_from(&reply.refused);
    }

    /// Lines about the URL: of a hop under its own name, else under the names of the checks.
    pub(super) fn rows(&self, is_hop: bool, rows: &mut Rows) {
        let name = |name: &'static str| if is_hop { "" } else { name };
        if let Some(written) = &self.written {
            rows.add(name("written"), &format!("{}{written}", if is_hop { "written as " } else { "" }));
        }
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

impl RobotsReport {
    fn rows(&self, name: &str, rows: &mut Rows) {
        rows.add(name, &format!("{} {}", self.url, self.outcome));
        rows.add("", &format!("{}: {}", if self.allowed { "allow" } else { "disallow" }, self.line));
        if let Some(delay) = self.crawl_delay_seconds {
            rows.add("", &format!("Crawl-delay: {delay} s"));
        }
        self.sitemaps.iter().for_each(|map| rows.add("", &format!("Sitemap: {map}")));
    }
}
