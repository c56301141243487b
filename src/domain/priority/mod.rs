//! What a page's importance is made of besides its depth: the weight of its seed, its host, the word of its site, the user's rules.
//!
//! importance = weight of its depth · weight of its seed · weight of its host · quality of its host · word of its site · weight of a rule.
//! With all factors 1 it is that of its depth. It counts where the best come first ([`Order::Best`](super::rank::Order::Best)); the weights count for visits too.

mod hosts;
mod weight;

use super::rank::Ranker;
use super::scope::HostPatterns;
use super::url::{PatternError, UrlPatterns};

pub use hosts::HostWeights;
pub use weight::{Weight, WeightError};

/// A host of which little is known is taken for one that answers so many more pages well: few failures do not decide.
const TRUST: u64 = 8;
/// However bad a host is, its pages are worth a quarter of others'.
const WORST: f64 = 0.25;

/// What a host has given: of the pages that are done or given up, the part that was worth its fetch.
///
/// (done - repeats + 8) / (done + errors + 8), at least 1/4: 1 for a host of which nothing is known.
pub fn quality(done: u64, repeats: u64, errors: u64) -> f64 {
    let (good, all) = (done.saturating_sub(repeats).saturating_add(TRUST), done.saturating_add(errors));
    #[expect(clippy::cast_precision_loss, reason = "pages of a host are far below 2^52")]
    let part = good as f64 / all.saturating_add(TRUST) as f64;
    part.max(WORST)
}

/// What a rule says of the pages it covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// Their importance times this.
    Weight(Weight),
    /// Their rank, whatever their importance.
    Rank(u8),
}

/// A rule of the user: of what is given each must hold, of a list one.
#[derive(Clone, Debug)]
pub struct Rule {
    urls: UrlPatterns,
    hosts: Option<HostPatterns>,
    tags: Vec<String>,
    says: Says,
}

impl Rule {
    /// `urls` are regular expressions ([`UrlPatterns`]), `hosts` such as `example.org` and `*.example.org`, `tags` those of a page's
    /// seed. An empty list covers everything.
    ///
    /// # Errors
    /// A pattern that can match nothing.
    pub fn new(urls: &[String], hosts: &[String], tags: &[String], says: Says) -> Result<Self, RuleError> {
        let patterns = (!hosts.is_empty()).then(|| HostPatterns::new(hosts)).transpose().map_err(RuleError::Host)?;
        Ok(Self { urls: UrlPatterns::new(urls).map_err(RuleError::Url)?, hosts: patterns, tags: tags.to_vec(), says })
    }

    fn covers(&self, page: &Page<'_>) -> bool {
        let tagged = self.tags.is_empty() || page.tags.iter().any(|tag| self.tags.contains(tag));
        tagged
            && self.hosts.as_ref().is_none_or(|hosts| hosts.find(page.host).is_some())
            && (self.urls.is_empty() || (page.url)().is_some_and(|url| self.urls.is_match(&url)))
    }
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A pattern of URLs.
    #[error("{0}")]
    Url(PatternError),
    /// A host pattern that can match no host.
    #[error("`{0}` is no host; write example.org or *.example.org")]
    Host(String),
}

/// What the user says of pages, ready for use.
#[derive(Clone, Debug, Default)]
pub struct Priorities {
    hosts: HostWeights,
    rules: Vec<Rule>,
}

/// What there is to know of a page for its importance.
pub struct Page<'p> {
    /// Links from its seed.
    pub depth: u16,
    /// The name of its host; empty will do where [`Priorities::asks_for_names`] says no.
    pub host: &'p str,
    /// Its canonical URL, made when it is asked for.
    pub url: &'p dyn Fn() -> Option<String>,
    /// The quality of its host.
    pub quality: f64,
    /// What was said of its seed.
    pub seed: Option<Weight>,
    /// What its seed is called.
    pub tags: &'p [String],
    /// How important it is among the pages of its site, in hundredths, as a sitemap says (sitemaps.org: 0 to 1, by default 0.5).
    pub priority: Option<u8>,
}

/// What a page's importance is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The weight of its depth.
    pub depth: f64,
    /// The weight of its seed.
    pub seed: f64,
    /// The weight of its host.
    pub host: f64,
    /// The quality of its host.
    pub quality: f64,
    /// The word of its site: half as important as others at 0, half as much again at 100.
    pub site: f64,
    /// The weight of the first rule that covers it.
    pub rule: f64,
    /// Which rule that is, from 0.
    pub nth: Option<usize>,
    /// The rank that this rule gives it outright.
    pub rank: Option<u8>,
}

impl Factors {
    /// A page of which nothing is known but its depth.
    pub fn of_depth(depth: f64) -> Self {
        Self { depth, seed: 1.0, host: 1.0, quality: 1.0, site: 1.0, rule: 1.0, nth: None, rank: None }
    }

    /// All of them together.
    pub fn importance(&self) -> f64 {
        self.depth * self.seed * self.host * self.quality * self.site * self.rule
    }
}

impl Priorities {
    /// Of these rules the first that covers a page holds.
    pub fn new(hosts: HostWeights, rules: Vec<Rule>) -> Self {
        Self { hosts, rules }
    }

    /// Whether names of hosts, URLs and tags can make a difference.
    pub fn asks_for_names(&self) -> bool {
        !self.rules.is_empty() || !self.hosts.is_empty()
    }

    /// What a page's importance is made of.
    pub fn factors(&self, ranker: &Ranker, page: &Page<'_>) -> Factors {
        let depth = ranker.importance(page.depth);
        let covering = self.rules.iter().enumerate().find(|(_, rule)| rule.covers(page));
        let says = covering.map(|(_, rule)| rule.says);
        Factors {
            seed: page.seed.unwrap_or_default().get(),
            host: self.hosts.of(page.host).unwrap_or_default().get(),
            quality: page.quality,
            site: page.priority.map_or(1.0, |hundredths| 0.5 + f64::from(hundredths.min(100)) / 100.0),
            rule: if let Some(Says::Weight(weight)) = says { weight.get() } else { 1.0 },
            nth: covering.map(|(nth, _)| nth),
            rank: if let Some(Says::Rank(rank)) = says { Some(rank) } else { None },
            ..Factors::of_depth(depth)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    fn rule(urls: &[&str], hosts: &[&str], tags: &[&str], says: Says) -> Rule {
        Rule::new(&texts(urls), &texts(hosts), &texts(tags), says).unwrap()
    }

    fn weight(of: f64) -> Weight {
        Weight::try_from(of).unwrap()
    }

    fn factors(rules: Vec<Rule>, url: &str, tags: &[&str]) -> Factors {
        let (tags, host) = (texts(tags), url.split('/').nth(2).unwrap_or_default());
        let page = Page {
            depth: 1,
            host,
            url: &|| Some(url.to_owned()),
            quality: 1.0,
            seed: None,
            tags: &tags,
            priority: None,
        };
        Priorities::new(HostWeights::default(), rules).factors(&Ranker::default(), &page)
    }

    #[test]
    fn with_nothing_said_a_page_is_as_important_as_its_depth() {
        let plain = factors(Vec::new(), "http://a.test/", &[]);
        assert_eq!(plain, Factors::of_depth(8.0));
        assert_eq!(plain.importance().to_bits(), 8.0_f64.to_bits());
        assert_eq!(quality(0, 0, 0).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn the_first_rule_of_which_all_that_is_given_holds_decides() {
        let rules = || {
            vec![
                rule(&["/news/", "/blog/"], &["*.a.test"], &["press"], Says::Rank(0)),
                rule(&["/news/"], &[], &[], Says::Weight(weight(2.0))),
                rule(&[], &["b.test", "*.a.test"], &[], Says::Weight(weight(0.5))),
                rule(&[], &[], &[], Says::Weight(weight(0.01))),
            ]
        };
        for (url, tags, nth, rank, importance) in [
            ("http://x.a.test/news/1", &["press", "de"][..], 0, Some(0), 8.0),
            ("http://x.a.test/blog/1", &["press"], 0, Some(0), 8.0),
            ("http://x.a.test/news/1", &["de"], 1, None, 16.0),
            ("http://a.test/news/1", &["press"], 1, None, 16.0),
            ("http://x.a.test/1", &["press"], 2, None, 4.0),
            ("http://b.test/1", &[], 2, None, 4.0),
            ("http://a.test/1", &[], 3, None, 0.08),
        ] {
            let found = factors(rules(), url, tags);
            assert_eq!((found.nth, found.rank), (Some(nth), rank), "{url} {tags:?}");
            assert!((found.importance() - importance).abs() < 1e-9, "{url} {tags:?}: {found:?}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_no_rule() {
        let says = Says::Rank(0);
        assert!(matches!(Rule::new(&texts(&["("]), &[], &[], says), Err(RuleError::Url(_))));
        assert!(matches!(Rule::new(&[], &texts(&["http://a.test/"]), &[], says), Err(RuleError::Host(_))));
    }

    #[test]
    fn a_host_that_fails_or_repeats_itself_is_worth_less_and_a_quarter_at_least() {
        for ((done, repeats, errors), expected) in [
            ((0, 0, 8), 0.5),
            ((8, 8, 0), 0.5),
            ((100, 0, 0), 1.0),
            ((1_000, 1_000, 1_000), 0.25),
            ((0, 9, u64::MAX), 0.25),
            ((92, 50, 0), 0.5),
        ] {
            assert!((quality(done, repeats, errors) - expected).abs() < 1e-9, "{done} {repeats} {errors}");
        }
    }

    proptest! {
        #[test]
        fn more_failures_and_repeats_never_make_a_host_better(
            done in 0_u64..1_000, repeats in 0_u64..1_000, errors in 0_u64..1_000, more in 0_u64..1_000,
        ) {
            let now = quality(done, repeats, errors);
            prop_assert!((WORST..=1.0).contains(&now));
            prop_assert!(quality(done, repeats + more, errors) <= now);
            prop_assert!(quality(done, repeats, errors + more) <= now);
        }
    }
}
