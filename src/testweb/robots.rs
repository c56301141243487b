//! The robots.txt variants, and what each allows.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What `GET /robots.txt` answers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RobotsMode {
    /// 404: no robots.txt, everything allowed (`none` and `404`).
    #[default]
    Missing,
    /// 200 with an empty body: everything allowed.
    Empty,
    /// 200, everything allowed in so many words.
    Allow,
    /// 200; `/private/` (but not `/private/open/`) and paths that end in `/secret` are forbidden.
    DisallowSome,
    /// 200; everything is forbidden, the start page too.
    DisallowAll,
    /// 200; everything allowed, with a Crawl-delay in seconds.
    CrawlDelay(f64),
    /// 500: unreachable, nothing may be fetched for now (RFC 9309 2.3.1.4).
    Failing,
    /// 302 to `/rules/robots-real.txt`, which says what `DisallowSome` says.
    Redirect,
    /// Each host takes one of missing, empty, allow, disallow-some and redirect, by hash.
    Mixed,
}

/// Where the robots.txt of [`RobotsMode::Redirect`] really is.
pub const REAL_ROBOTS: &str = "/rules/robots-real.txt";

const SOME: &str = "# practice rules\n\
    User-agent: OtherBot\n\
    Disallow: /\n\
    \n\
    User-agent: *\n\
    Disallow: /private/\n\
    Allow: /private/open/\n\
    Disallow: /*/secret$\n";

impl RobotsMode {
    /// The variant of one host: `draw` decides for [`RobotsMode::Mixed`].
    pub fn of_host(self, draw: u64) -> Self {
        const MIXED: [RobotsMode; 5] =
            [RobotsMode::Missing, RobotsMode::Empty, RobotsMode::Allow, RobotsMode::DisallowSome, RobotsMode::Redirect];
        match self {
            Self::Mixed => MIXED.get((draw % 5) as usize).copied().unwrap_or_default(),
            own => own,
        }
    }

    /// Whether `/private/` and `/secret` are forbidden while the rest is allowed.
    pub fn forbids_some(self) -> bool {
        matches!(self, Self::DisallowSome | Self::Redirect)
    }

    /// Whether nothing at all may be fetched.
    pub fn forbids_all(self) -> bool {
        matches!(self, Self::DisallowAll | Self::Failing)
    }

    /// The Crawl-delay it asks for.
    pub fn crawl_delay(self) -> Option<Duration> {
        match self {
            Self::CrawlDelay(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            _ => None,
        }
    }

    /// Status and body of `/robots.txt`; with 302 the body is the Location.
    pub fn answer(self) -> (u16, String) {
        match self {
            Self::Missing | Self::Mixed => (404, "no robots.txt here\n".to_owned()),
            Self::Empty => (200, String::new()),
            Self::Allow => (200, "User-agent: *\nAllow: /\n".to_owned()),
            Self::DisallowSome => (200, SOME.to_owned()),
            Self::DisallowAll => (200, "User-agent: *\nDisallow: /\n".to_owned()),
            Self::CrawlDelay(seconds) => (200, format!("User-agent: *\nCrawl-delay: {seconds}\nDisallow:\n")),
            Self::Failing => (500, "robots.txt is broken\n".to_owned()),
            Self::Redirect => (302, REAL_ROBOTS.to_owned()),
        }
    }

    /// Status and body of [`REAL_ROBOTS`].
    pub fn real_answer(self) -> (u16, String) {
        match self {
            Self::Redirect => (200, SOME.to_owned()),
            _ => (404, "nothing here\n".to_owned()),
        }
    }
}

/// Names in settings; a Crawl-delay is `crawl-delay=SECS`, and 404 may be called `none`.
const NAMES: [(RobotsMode, &str); 8] = [
    (RobotsMode::Missing, "404"),
    (RobotsMode::Empty, "empty"),
    (RobotsMode::Allow, "allow"),
    (RobotsMode::DisallowSome, "disallow-some"),
    (RobotsMode::DisallowAll, "disallow-all"),
    (RobotsMode::Failing, "500"),
    (RobotsMode::Redirect, "redirect"),
    (RobotsMode::Mixed, "mixed"),
];

impl fmt::Display for RobotsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrawlDelay(seconds) => write!(f, "crawl-delay={seconds}"),
            named => f.write_str(NAMES.iter().find(|(mode, _)| mode == named).map_or("", |(_, name)| name)),
        }
    }
}

impl FromStr for RobotsMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(seconds) = text.strip_prefix("crawl-delay=") {
            let usable = seconds.parse::<f64>().ok().filter(|value| (0.0..=86_400.0).contains(value));
            let wrong = || format!("{seconds:?} is no delay of 0 to 86400 seconds");
            return usable.map(Self::CrawlDelay).ok_or_else(wrong);
        }
        let text = if text == "none" { "404" } else { text };
        NAMES.iter().find(|(_, name)| *name == text).map(|(mode, _)| *mode).ok_or_else(|| {
            format!(
                "no robots.txt variant is called {text:?}; known: none, 404, empty, allow, disallow-some, \
                 disallow-all, crawl-delay=SECS, 500, redirect, mixed"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::robots::RobotsRules;

    fn all() -> impl Iterator<Item = RobotsMode> {
        NAMES.into_iter().map(|(mode, _)| mode).chain([RobotsMode::CrawlDelay(2.5)])
    }

    #[test]
    fn each_variant_is_read_back_from_its_name() {
        for mode in all() {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("none".parse(), Ok(RobotsMode::Missing));
        assert!("crawl-delay=NaN".parse::<RobotsMode>().is_err());
    }

    #[test]
    fn each_text_says_what_the_variant_means() {
        for mode in all() {
            let (status, text) = match mode.answer() {
                (302, _) => mode.real_answer(),
                other => other,
            };
            let rules = match status {
                200 => RobotsRules::parse(text.as_bytes(), &["Lycosa"]),
                404 => RobotsRules::allow_all(),
                _ => RobotsRules::disallow_all(),
            };
            for tail in ["/", "/p/7", "/private/open/7", "/x/7/secrets"] {
                assert_eq!(rules.allows(tail), !mode.forbids_all(), "{mode} {tail}");
            }
            for tail in ["/private/7", "/x/7/secret"] {
                assert_eq!(rules.allows(tail), !mode.forbids_all() && !mode.forbids_some(), "{mode} {tail}");
            }
            assert_eq!(rules.crawl_delay(), mode.crawl_delay(), "{mode}");
        }
    }

    #[test]
    fn a_mixed_web_has_hosts_of_every_kind() {
        let kinds: std::collections::BTreeSet<String> =
            (0..50).map(|draw| RobotsMode::Mixed.of_host(draw).to_string()).collect();
        assert_eq!(kinds.len(), 5);
    }
}
