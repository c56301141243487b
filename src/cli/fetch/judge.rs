//! What a crawl from this URL would do with the URLs it finds: the same rules, in the same order.

use std::collections::HashSet;

use super::session::Session;
use crate::base::units::counted;
use crate::cli::exit::CliError;
use crate::content::html::LinkKind;
use crate::crawl::admit::{LINK, explain};
use crate::domain::found_as::FoundAs;
use crate::domain::reason::Rejection;
use crate::domain::scope::Scope;
use crate::domain::url::{PageUrl, UrlError};

/// The verdict on a URL that a crawl takes.
pub(super) const TAKE: &str = "take";

/// As what, and where, a URL was found.
pub(super) type FoundWay<'v> = (FoundAs, Option<&'v str>);

/// What the rules say of a URL.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// Why it is turned away, if it is.
    pub reason: Option<Rejection>,
    pub rule: String,
}

impl Judged {
    /// `take`, or the reason with the rule.
    pub(super) fn verdict(&self) -> String {
        self.reason.map_or_else(|| TAKE.into(), |reason| format!("{reason}: {}", self.rule))
    }
}

/// Judges by the settings, with the scope of a crawl that begins here.
pub(super) struct Judge<'s> {
    pub session: &'s Session,
    pub scope: Scope,
    /// The URL asked for is a seed of that crawl.
    pub is_seed: bool,
    /// How deep links are followed from it.
    max_depth: Option<u16>,
}

impl<'s> Judge<'s> {
    /// For a fetch of `start`: a seed where the settings name none, or name it.
    pub(super) fn new(session: &'s Session, start: &PageUrl) -> Result<Self, CliError> {
        let rules = &session.rules;
        let named = rules.seeds();
        let is_seed = named.is_empty() || named.contains(start);
        let seeds = if named.is_empty() { vec![start.clone()] } else { named };
        let scope = rules.scope(&rules.settings, &seeds, []).map_err(CliError::usage)?;
        let said =
            rules.settings.crawl.seeds.iter().find(|seed| rules.canon.parse(&seed.url).is_ok_and(|u| u == *start));
        Ok(Self { session, scope, is_seed, max_depth: said.and_then(|seed| seed.max_depth) })
    }

    /// What traps, scope and filters say of a URL at a depth.
    pub(super) fn rules(&self, url: &PageUrl, depth: u16, way: FoundWay<'_>) -> Judged {
        let (verdict, rule) = explain(&self.session.live, &self.scope, url, depth, way);
        Judged { reason: verdict.err(), rule }
    }

    /// What becomes of a URL found one link further: the rules, then what was said of the seed, then a robots.txt already read.
    pub(super) fn found(&self, url: &PageUrl, way: FoundWay<'_>) -> String {
        let judged = self.rules(url, u16::from(!matches!(way.0, FoundAs::SitemapFile { .. })), way);
        if judged.reason.is_some() {
            return judged.verdict();
        }
        if self.max_depth == Some(0) {
            return format!("{}: the seed's max_depth", Rejection::TooDeep);
        }
        self.session.forbidden(url).map_or_else(|| TAKE.into(), |line| format!("robots: {line}"))
    }

    /// What the rules say of where `hops` redirects lead, the target of a seed's joining the scope. True when that widened it.
    pub(super) fn hop(&mut self, to: &PageUrl, hops: usize) -> (Judged, bool) {
        let widened = self.is_seed && self.scope.join_host(to.host());
        let max = self.session.rules.settings.fetch.max_redirects;
        let judged = match self.rules(to, 0, LINK) {
            Judged { reason: None, .. } if hops > usize::from(max) => {
                let rule = format!("{} in a row: fetch.max_redirects allows {max}", counted(hops as u64, "redirect"));
                Judged { reason: Some(Rejection::Redirects), rule }
            }
            judged => judged,
        };
        (judged, widened)
    }
}

/// Judges the links of one page, each URL once.
pub(super) struct Links<'j> {
    judge: &'j Judge<'j>,
    known: HashSet<PageUrl>,
    own: PageUrl,
}

impl<'j> Links<'j> {
    /// Of the page at `own`, which leads on to `next`.
    pub(super) fn new(judge: &'j Judge<'j>, own: &PageUrl, next: Option<&PageUrl>) -> Self {
        Self { judge, known: next.into_iter().cloned().collect(), own: own.clone() }
    }

    /// What becomes of a link.
    pub(super) fn link(&mut self, url: &Result<PageUrl, UrlError>, kind: LinkKind, nofollow: bool) -> String {
        match url {
            Err(e) => e.rejection().to_string(),
            Ok(url) if *url == self.own => "itself".into(),
            Ok(_) if nofollow => "nofollow".into(),
            Ok(url) if !self.known.insert(url.clone()) => "known: listed above".into(),
            Ok(_) if kind == LinkKind::SitemapFile && !self.judge.session.rules.settings.sitemaps.in_use => {
                "left out: sitemaps.use".into()
            }
            Ok(url) if kind == LinkKind::SitemapFile => {
                self.judge.found(url, (FoundAs::SitemapFile { nesting: 0 }, Some(self.own.as_str())))
            }
            Ok(url) => self.judge.found(url, LINK),
        }
    }

    /// The folders above a URL that nobody has listed yet.
    pub(super) fn folders(&mut self, url: &PageUrl) -> Vec<(PageUrl, String)> {
        let new: Vec<PageUrl> = url.folders().filter(|folder| self.known.insert(folder.clone())).collect();
        new.into_iter().map(|folder| (folder.clone(), self.judge.found(&folder, LINK))).collect()
    }
}
