//! Rules of `[[schedule]]`: other cycles, bounds and weights for some pages. The first rule that a page fits holds for it.

use std::time::Duration;

use super::{Cycle, Heed, Pace};
use crate::base::time::UnixMillis;
use crate::domain::host::host_matches;
use crate::domain::url::UrlPatterns;

/// For which pages a rule is: all that it says must hold of a page; a list that is empty holds of all.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Patterns of URLs.
    pub urls: UrlPatterns,
    /// `host`, `*.domain`, `*`.
    pub hosts: Vec<String>,
    /// Media types, or the beginning of such: `application/pdf`, `image/`.
    pub types: Vec<String>,
    /// Tags of the seed that the page goes back to.
    pub tags: Vec<String>,
    /// From this date on.
    pub from: Option<UnixMillis>,
    /// Until before this date.
    pub until: Option<UnixMillis>,
}

/// What a rule is asked of.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The page, in canonical form.
    pub url: &'a str,
    /// Its host.
    pub host: &'a str,
    /// Its media type, where that is known.
    pub mime: Option<&'a str>,
    /// Tags of the seed that it goes back to.
    pub tags: &'a [String],
    /// The cycle of that seed's pages, where one was named with it.
    pub of_seed: Option<&'a Cycle>,
}

/// One rule.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// For which pages.
    pub chosen: Chosen,
    /// Their cycle.
    pub cycle: Option<Cycle>,
    /// Their least interval.
    pub min: Option<Duration>,
    /// Their greatest.
    pub max: Option<Duration>,
    /// A factor of their weight.
    pub weight: Option<f64>,
    /// What counts as a change of them.
    pub heed: Option<Heed>,
}

/// Who says what the cycle of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A rule of `[[schedule]]`, by its number from 1 on.
    Rule(usize),
    /// What was said of its seed.
    Seed,
    /// `refresh.cycle`.
    Refresh,
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(number) => write!(f, "rule {number} of [[schedule]]"),
            Self::Seed => f.write_str("its seed"),
            Self::Refresh => f.write_str("refresh.cycle"),
        }
    }
}

/// What holds for a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'r> {
    /// Its cycle.
    pub cycle: &'r Cycle,
    /// Price and bounds.
    pub pace: Pace,
    /// What counts as a change.
    pub heed: Heed,
    /// A factor of its weight.
    pub weight: f64,
    /// Who says so.
    pub by: By,
    /// When a rule that it fits begins to hold.
    pub opens: Option<UnixMillis>,
}

impl Chosen {
    fn fits(&self, about: &About<'_>) -> bool {
        let any = |list: &[String], fits: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(fits);
        (self.urls.is_empty() || self.urls.is_match(about.url))
            && any(&self.hosts, &|pattern| host_matches(pattern, about.host))
            && any(&self.types, &|kind| about.mime.is_some_and(|mime| mime.starts_with(kind.as_str())))
            && any(&self.tags, &|tag| about.tags.contains(tag))
    }
}

impl<'r> Plan<'r> {
    /// With the first of the rules that a page fits at this date.
    #[must_use]
    pub fn with(mut self, rules: &'r [Rule], about: &About<'_>, date: UnixMillis) -> Self {
        for (number, rule) in (1..).zip(rules) {
            if rule.chosen.until.is_some_and(|until| until <= date) || !rule.chosen.fits(about) {
                continue;
            }
            if let Some(from) = rule.chosen.from.filter(|from| *from > date) {
                self.opens = Some(self.opens.map_or(from, |opens| opens.min(from)));
                continue;
            }
            self.cycle = rule.cycle.as_ref().unwrap_or(self.cycle);
            self.pace.min = rule.min.unwrap_or(self.pace.min);
            self.pace.max = rule.max.unwrap_or(self.pace.max).max(self.pace.min);
            self.heed = rule.heed.unwrap_or(self.heed);
            (self.weight, self.by) = (rule.weight.unwrap_or(1.0), By::Rule(number));
            break;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn rule(chosen: Chosen, hours: u32) -> Rule {
        Rule { chosen, cycle: Some(Cycle::Every(HOUR * hours)), ..Rule::default() }
    }

    fn plan<'r>(rules: &'r [Rule], about: &About<'_>, date: u64) -> Plan<'r> {
        const OFF: &Cycle = &Cycle::Off;
        let all =
            Plan { cycle: OFF, pace: Pace::default(), heed: Heed::Text, weight: 1.0, by: By::Refresh, opens: None };
        all.with(rules, about, UnixMillis(date))
    }

    #[test]
    fn the_first_rule_holds_of_which_everything_fits() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let urls = UrlPatterns::new(&list(&["/news/"])).unwrap();
        let rules = [
            rule(Chosen { urls, hosts: list(&["*.h.test"]), ..Chosen::default() }, 1),
            rule(Chosen { types: list(&["image/", "application/pdf"]), ..Chosen::default() }, 2),
            rule(Chosen { tags: list(&["press"]), ..Chosen::default() }, 3),
        ];
        let tags = list(&["a", "press"]);
        for (url, host, mime, tags, wanted) in [
            ("http://a.h.test/news/1", "a.h.test", Some("application/pdf"), &tags[..], Some(1)),
            ("http://h.test/news/1", "h.test", Some("application/pdf"), &tags[..], Some(2)),
            ("http://a.h.test/old/1", "a.h.test", Some("text/html"), &tags[..], Some(3)),
            ("http://a.h.test/old/1", "a.h.test", None, &tags[..1], None),
        ] {
            let about = About { url, host, mime, tags, of_seed: None };
            let wanted = wanted.map_or(By::Refresh, By::Rule);
            assert_eq!(plan(&rules, &about, 0).by, wanted, "{about:?}");
        }
    }

    #[test]
    fn a_rule_holds_within_its_dates_and_a_page_is_looked_at_when_one_begins() {
        let (from, until) = (Some(UnixMillis(100)), Some(UnixMillis(200)));
        let rules = [rule(Chosen { from, until, ..Chosen::default() }, 1), rule(Chosen::default(), 9)];
        let of = |date| plan(&rules, &About::default(), date);
        assert_eq!([99, 100, 199, 200].map(|date| of(date).by), [2, 1, 1, 2].map(By::Rule));
        assert_eq!([99, 100, 200].map(|date| of(date).opens), [Some(UnixMillis(100)), None, None]);
    }
}
