//! What is known of robots.txt, and its verdict.

use std::time::Duration;

use crate::admin::views::{RobotsStanding, RobotsView, VerdictView};
use crate::base::time::UnixMillis;
use crate::base::units::roughly;
use crate::crawl::node::Node;
use crate::crawl::politeness::rules_of;
use crate::domain::robots::{RobotsAccess, RobotsGroup, RobotsRules};
use crate::storage::keys::RobotsKey;
use crate::storage::values::RobotsValue;

/// Values of `Sitemap` shown.
const SITEMAPS: usize = 100;

/// One robots.txt, looked at by the rules in force.
pub(in crate::admin) struct Look {
    pub view: RobotsView,
    rules: RobotsRules,
    /// How long its answer has been waited for.
    asking: Option<Duration>,
}

impl Look {
    /// `kept`: what is on disk for this scheme and port.
    pub fn new(node: &Node, key: RobotsKey, kept: Option<&RobotsValue>, now: UnixMillis) -> Self {
        let rules = kept.map_or_else(RobotsRules::allow_all, |kept| rules_of(&node.crawl.rules, kept));
        let policy = &node.crawl.rules.robots;
        let copy = kept.map(|kept| kept.copy);
        let standing = match copy {
            _ if !node.crawl.live().settings.politeness.respect_robots => RobotsStanding::Ignored,
            None => RobotsStanding::NotAsked,
            Some(copy) => match policy.standing(&copy, now) {
                RobotsAccess::Fetched => RobotsStanding::Rules,
                RobotsAccess::Stale => RobotsStanding::StaleRules,
                RobotsAccess::AllowAll => RobotsStanding::AllowAll,
                RobotsAccess::DisallowAll => RobotsStanding::DisallowAll,
            },
        };
        let fetched = copy.map(|copy| copy.fetched).filter(|at| at.0 > 0);
        let asking = node.net.asking.since(key);
        let date = |at: UnixMillis| node.clock.date_of(at).0;
        let view = RobotsView {
            scheme: key.scheme.as_str().to_owned(),
            port: key.port,
            standing,
            status: copy.map(|copy| copy.status).filter(|status| *status > 0),
            fetched_ms: fetched.map(date),
            age_seconds: fetched.map(|at| now.since(at).as_secs_f64()),
            due: copy.is_none_or(|copy| policy.is_due(&copy, now)),
            failures: copy.map_or(0, |copy| copy.failures),
            asking_since_ms: asking.map(date),
            retry_ms: copy.and_then(|copy| copy.retry_at).map(date),
            bytes: kept.map_or(0, |kept| kept.text.len() as u64),
            group: group(&rules).to_owned(),
            rules: rules.len() as u64,
            crawl_delay_seconds: rules.crawl_delay().map(|delay| delay.as_secs_f64()),
            sitemaps: rules.sitemaps().iter().take(SITEMAPS).cloned().collect(),
        };
        Self { view, rules, asking: asking.map(|since| now.since(since)) }
    }

    /// That an answer is still to come.
    fn asking(&self) -> Option<String> {
        let asking = self.asking?;
        Some(format!("is being asked for since {} ago: its answer is not over", roughly(asking)))
    }

    /// What it says of path and query.
    pub fn verdict(&self, tail: &str) -> VerdictView {
        let said = |allowed, because: &str| VerdictView { allowed, because: because.to_owned() };
        match self.view.standing {
            RobotsStanding::Ignored => said(Some(true), "robots.txt is ignored (politeness.respect_robots)"),
            RobotsStanding::NotAsked => match self.asking() {
                Some(asking) => said(None, &format!("robots.txt of this scheme, host and port {asking}")),
                None => said(None, "robots.txt of this scheme, host and port was not asked for yet"),
            },
            RobotsStanding::AllowAll => match self.view.status {
                Some(status @ 300..400) => said(
                    Some(true),
                    &format!("the redirects of robots.txt lead nowhere (status {status}): as if there were none"),
                ),
                _ => said(Some(true), "there is no robots.txt"),
            },
            RobotsStanding::DisallowAll => {
                let asking = self.asking().map(|asking| format!("; it {asking}")).unwrap_or_default();
                said(None, &format!("robots.txt cannot be reached: nothing is fetched until it can{asking}"))
            }
            RobotsStanding::Rules | RobotsStanding::StaleRules => {
                let (allowed, because) = self.rules.explain(tail);
                VerdictView { allowed: Some(allowed), because }
            }
        }
    }
}

fn group(rules: &RobotsRules) -> &'static str {
    match rules.group() {
        RobotsGroup::Named => "named",
        RobotsGroup::Star => "star",
        RobotsGroup::None | RobotsGroup::Whole => "none",
    }
}
