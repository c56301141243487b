//! Endless subtrees seen from many URLs and pages of a host.
//!
//! A *shape* is a URL with its numbers, its identifiers and the values of its parameters left out; a *subtree* is all below one
//! folder of the top, or all queries of one path. Suspicion is no proof (ADR 16): what is found on a page that brought nothing new is
//! taken last. Only when many pages in a row of a shape, or a subtree, led on and brought nothing new is more of it held back, and only
//! what such pages find of it themselves; what a page with anything new leads to is always taken, and so is what leads nowhere. So a
//! list of any length costs nothing, and a subtree that only feeds itself ends, as do shapes that only feed each other, and a host that leads from
//! one unknown shape to the next. A page that brings something new renews the budget of its shape.
//!
//! What is counted is forgotten with the process. All of it is bounded: 128 shapes and 32 subtrees a host, those that count most;
//! what was dropped counts anew.

mod held;
mod pages;

use std::collections::{HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use super::aliases::{self, Aliases, Idle, Known, PROOF, Proof};
use super::counted::{Counted, Weighed};
use super::known::{Met, Recent};
use super::shape::Shape;
use super::yields::Yield;
use crate::domain::fingerprint::{HostKey, KeyMap};
use crate::domain::host::registrable_domain;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;

use held::HeldBack;
pub use held::{HeldShape, Refusal};
pub use pages::Finder;

/// Hosts whose shapes are known at a time; of more, those that came first are forgotten.
const HOSTS: usize = 4_096;
/// Shapes and subtrees counted of one host.
const SHAPES: usize = 128;
const SUBTREES: usize = 32;
/// Domains whose hosts are counted.
const DOMAINS: usize = 20_000;
/// Domains of which it is known what their hosts show.
const SHOWN: usize = 512;
/// Pages of a shape in a row, none of which leads on, that show that it has an end.
const LEAVES: u32 = 3;
/// A host made up on the fly costs a robots.txt and a look-up of its name too, and counts like so many pages.
const OF_A_HOST: u32 = 5;

/// Limits of the shapes; 0 switches one off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeRules {
    /// New URLs of any one shape.
    pub pages_per_pattern: u32,
    /// Whether session numbers are looked for.
    pub sessions: bool,
    /// Whether parameters in another order are looked for.
    pub permutations: bool,
    /// Pages in a row without anything new after which a shape, a subtree, or a domain's hosts may not feed themselves any more.
    pub pages_without_novelty: u32,
    /// Hosts of one registrable domain.
    pub hosts_per_domain: u32,
}

impl Default for ShapeRules {
    fn default() -> Self {
        Self {
            pages_per_pattern: 0,
            sessions: true,
            permutations: true,
            pages_without_novelty: 100,
            hosts_per_domain: 0,
        }
    }
}

/// When a URL is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// When its place comes.
    Ordinary,
    /// After all others of its host: it looks like part of an endless subtree.
    Last,
}

/// What the page lacks that a URL was found on.
#[derive(Clone, Copy, Debug)]
struct Without {
    news: bool,
    words: bool,
    /// Anything that its host had not shown.
    of_host: bool,
}

/// What has been found, by host.
#[derive(Debug, Default)]
pub struct Shapes {
    hosts: KeyMap<HostKey, OfHost>,
    order: VecDeque<HostKey>,
    domains: HashMap<u64, Vec<HostKey>>,
    shown: HashMap<u64, OfDomain>,
    held: HeldBack,
}

#[derive(Debug, Default)]
struct OfHost {
    shapes: Counted<Count, SHAPES>,
    subtrees: Counted<Yield, SUBTREES>,
    aliases: Aliases,
    /// Texts, each with its shape or its subtree.
    texts: Recent,
    media: Recent,
    words: Met,
    /// Pages in a row that showed what the host had shown before, and led to shapes and subtrees that nobody knew.
    astray: u32,
    /// Whether a page of it has been taken in.
    has_pages: bool,
    /// Another host of its domain led to it, and its first page showed nothing new.
    made_up: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// URLs taken.
    urls: u32,
    yields: Yield,
    /// Pages in a row that led to no new one of their subtree.
    leaves: u32,
    /// That pages were as that of their alias, by what is left out.
    same: [Proof; 2],
}

impl Weighed for Count {
    fn weight(&self) -> u32 {
        self.urls.max(self.yields.pages)
    }
}

impl Weighed for Yield {
    fn weight(&self) -> u32 {
        self.pages
    }
}

/// What the first pages of a domain's hosts show, where one such host led to the next.
#[derive(Debug, Default)]
struct OfDomain {
    texts: Recent,
    without_novelty: u32,
}

fn hash(url: &PageUrl) -> u64 {
    xxh3_64(url.as_str().as_bytes())
}

fn domain(url: &PageUrl) -> u64 {
    xxh3_64(registrable_domain(url.host()).as_bytes())
}

impl Shapes {
    /// Judges a URL that is found for the first time, on a page unless it came otherwise, and counts it.
    ///
    /// # Errors
    /// It is held back, or a budget is spent; it is not counted then.
    pub fn admit(
        &mut self,
        finder: Option<&mut Finder>,
        host: HostKey,
        url: &PageUrl,
        rules: &ShapeRules,
    ) -> Result<Turn, Refusal> {
        let shape = Shape::of(url);
        let of_host = self.hosts.get(&host);
        let known = of_host.and_then(|of_host| of_host.shapes.known(shape.key));
        let again = of_host.is_some_and(|of_host| of_host.knows_alias(url, &shape));
        let most = rules.pages_without_novelty;
        let leads_nowhere = |yields: &Yield| yields.is_dull(most) || yields.leads_on(most);
        let dull = again || known.is_some_and(|count| leads_nowhere(&count.yields));
        let unknown = known.is_none();
        let judged = self.judge(finder.as_deref(), host, url, &shape, rules);
        if let Some(finder) = finder {
            finder.leads_to(host, &shape, judged.is_ok() && !dull, unknown);
        }
        judged
    }

    /// Judges a URL that was to be taken last when its turn has come, by what has been learned meanwhile; `via`: the page it was found on.
    ///
    /// # Errors
    /// It is held back.
    pub fn judge_again(
        &self,
        host: HostKey,
        url: &PageUrl,
        via: Option<&str>,
        rules: &ShapeRules,
    ) -> Result<(), Refusal> {
        let Some(of_host) = self.hosts.get(&host) else { return Ok(()) };
        let via = via.and_then(|via| PageUrl::from_canonical(via).ok()).filter(|via| via.host() == url.host());
        let shape = Shape::of(url);
        of_host.by_aliases(url, &shape, rules)?;
        let without = Without { news: true, words: true, of_host: true };
        via.map_or(Ok(()), |via| of_host.fed(&Shape::of(&via), &shape, without, rules))
    }

    /// When a URL is taken that is known and waits to come last, now that it is found again.
    pub fn turn(&self, finder: Option<&Finder>, host: HostKey, url: &PageUrl, rules: &ShapeRules) -> Turn {
        let within = finder.filter(|finder| finder.host == host);
        match self.hosts.get(&host) {
            Some(of_host) => of_host.judge(within, url, &Shape::of(url), rules).unwrap_or(Turn::Last),
            None => Turn::Ordinary,
        }
    }

    /// Counts a URL that is held back.
    pub fn hold(&mut self, host: HostKey, url: &PageUrl, refusal: Refusal) {
        self.held.count(host, url, refusal);
    }

    /// Forgets what speaks against the shape and the subtree of a URL that is taken up again; what had been enough to hold them back is
    /// enough no more.
    pub fn pardon(&mut self, host: HostKey, url: &PageUrl, rules: &ShapeRules) {
        let shape = Shape::of(url);
        if let Some(of_host) = self.hosts.get_mut(&host) {
            let count = of_host.shapes.of(shape.key);
            count.yields.pardon(rules.pages_without_novelty);
            count.same = [Proof::default(); 2];
            of_host.subtrees.of(shape.subtree).pardon(rules.pages_without_novelty);
            of_host.astray = 0;
        }
        if let Some(of_domain) = self.shown.get_mut(&domain(url)) {
            of_domain.without_novelty = 0;
        }
        self.held.forget(host, &[shape.key, shape.subtree], domain(url));
    }

    /// Shapes of which URLs are held back, most URLs first, at most `most`; and the number of all URLs held back since the process began.
    pub fn held_back(&self, most: usize) -> (Vec<HeldShape>, u64) {
        self.held.list(most)
    }

    /// Shapes of which something is held back for the first time, since this was asked last.
    pub fn newly_held(&mut self) -> Vec<HeldShape> {
        std::mem::take(&mut self.held.new)
    }

    /// Hosts known at the moment.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing has been found yet.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn judge(
        &mut self,
        finder: Option<&Finder>,
        host: HostKey,
        url: &PageUrl,
        shape: &Shape,
        rules: &ShapeRules,
    ) -> Result<Turn, Refusal> {
        self.admit_host(finder, host, url, rules)?;
        let of_host = self.of_host(host);
        let within = finder.filter(|finder| finder.host == host);
        let turn = of_host.judge(within, url, shape, rules)?;
        of_host.shapes.of(shape.key).urls += 1;
        aliases::of(url, shape).for_each(|(_, alias)| of_host.aliases.find(alias));
        Ok(turn)
    }

    fn admit_host(
        &mut self,
        finder: Option<&Finder>,
        host: HostKey,
        url: &PageUrl,
        rules: &ShapeRules,
    ) -> Result<(), Refusal> {
        let most = rules.hosts_per_domain as usize;
        if most == 0 && finder.is_none_or(|finder| finder.host == host) {
            return Ok(()); // most URLs: nobody asks for their domain
        }
        let domain = domain(url);
        // What a list of other hosts leads to is taken; what hosts made up on the fly lead to is not.
        let led =
            |finder: &Finder| finder.from_sibling || self.hosts.get(&finder.host).is_some_and(|host| host.made_up);
        let sibling = finder.is_some_and(|finder| finder.host != host && finder.domain == domain && led(finder));
        if sibling && rules.pages_without_novelty > 0 && !self.hosts.contains_key(&host) {
            let without_novelty = self.shown.get(&domain).map_or(0, |shown| shown.without_novelty);
            if without_novelty.saturating_mul(OF_A_HOST) >= rules.pages_without_novelty {
                return Err(Refusal::of_hosts(Rejection::NoNovelty, domain));
            }
        }
        if most == 0 {
            return Ok(());
        }
        if self.domains.len() >= DOMAINS && !self.domains.contains_key(&domain) {
            self.domains.clear();
        }
        let hosts = self.domains.entry(domain).or_default();
        match hosts.binary_search(&host) {
            Ok(_) => Ok(()),
            Err(_) if hosts.len() >= most => Err(Refusal::of_hosts(Rejection::DomainBudget, domain)),
            Err(at) => {
                hosts.insert(at, host);
                Ok(())
            }
        }
    }

    fn of_host(&mut self, host: HostKey) -> &mut OfHost {
        if !self.hosts.contains_key(&host) {
            if self.order.len() >= HOSTS
                && let Some(first) = self.order.pop_front()
            {
                self.hosts.remove(&first);
            }
            self.order.push_back(host);
        }
        self.hosts.entry(host).or_default()
    }
}

impl OfHost {
    /// `finder`: the page of this host that it was found on.
    fn judge(
        &self,
        finder: Option<&Finder>,
        url: &PageUrl,
        shape: &Shape,
        rules: &ShapeRules,
    ) -> Result<Turn, Refusal> {
        let count = self.shapes.known(shape.key);
        if rules.pages_per_pattern > 0 && count.is_some_and(|count| count.urls >= rules.pages_per_pattern) {
            return Err(Refusal::of(Rejection::PatternBudget, shape.key));
        }
        let turn = self.by_aliases(url, shape, rules)?;
        let Some(finder) = finder else { return Ok(turn) };
        if finder.redirects {
            return self.fed_by_shape(&finder.shape, shape, rules).map(|()| turn);
        }
        let (news, words) = (!finder.has_news(), !finder.has_words());
        let without = Without { news, words, of_host: !finder.is_new_to_host() };
        self.fed(&finder.shape, shape, without, rules)?;
        let same_subtree = finder.shape.subtree == shape.subtree;
        let dull = without.news && same_subtree || without.of_host && self.is_untrodden(shape);
        let dull = dull && rules.pages_without_novelty > 0;
        Ok(if dull || without.words && self.leads_on(&finder.shape, shape, rules) { Turn::Last } else { turn })
    }

    /// Whether it was found under another identifier, or in another order.
    fn knows_alias(&self, url: &PageUrl, shape: &Shape) -> bool {
        aliases::of(url, shape).any(|(_, alias)| self.aliases.known(alias) != Known::Not)
    }

    /// The judgement of pages read under other URLs that may be the same.
    fn by_aliases(&self, url: &PageUrl, shape: &Shape, rules: &ShapeRules) -> Result<Turn, Refusal> {
        let mut turn = Turn::Ordinary;
        for (idle, alias) in aliases::of(url, shape) {
            let (wanted, reason) = match idle {
                Idle::Identifiers => (rules.sessions, Rejection::Session),
                Idle::Order => (rules.permutations, Rejection::Permuted),
            };
            let proof = self.shapes.known(shape.key).and_then(|count| count.same.get(idle as usize));
            let same = proof.map_or(0, |proof| proof.pages);
            match self.aliases.known(alias) {
                Known::Not => {}
                _ if !wanted => {}
                Known::Read if same >= PROOF => return Err(Refusal::of(reason, shape.key)),
                Known::Found | Known::Read => turn = Turn::Last,
            }
        }
        Ok(turn)
    }

    /// What a shape or a subtree finds of itself, once its pages bring nothing new, on a page without; what shapes find of each other that
    /// bring nothing; and what is unknown, once such pages have led a host astray.
    fn fed(&self, from: &Shape, shape: &Shape, without: Without, rules: &ShapeRules) -> Result<(), Refusal> {
        let most = rules.pages_without_novelty;
        let count = self.shapes.known(shape.key);
        if count.is_some_and(|count| count.leaves >= LEAVES) {
            return Ok(()); // where nothing leads on there is an end
        }
        if without.news {
            self.fed_by_shape(from, shape, rules)?;
        }
        if without.of_host && most > 0 && self.astray >= most && self.is_untrodden(shape) {
            return Err(Refusal::of(Rejection::NoNovelty, shape.key));
        }
        // A shape that brings something is not judged by what others of its subtree lack.
        let fruitful = count.is_some_and(|count| count.yields.is_fruitful(most));
        for (yields, key) in self.of_both(from, shape).filter(|(_, key)| *key == shape.key || !fruitful) {
            if without.news && yields.is_without_novelty(most) {
                return Err(Refusal::of(Rejection::NoNovelty, key));
            }
            if without.words && yields.is_endless(most) && !shape.is_site(key) {
                return Err(Refusal::of(Rejection::SelfLinking, key));
            }
        }
        Ok(())
    }

    /// What a shape finds of another, or of itself, when both bring nothing.
    fn fed_by_shape(&self, from: &Shape, shape: &Shape, rules: &ShapeRules) -> Result<(), Refusal> {
        let without_novelty = |shape: &Shape| {
            self.shapes
                .known(shape.key)
                .is_some_and(|count| count.yields.is_without_novelty(rules.pages_without_novelty))
        };
        if without_novelty(from) && without_novelty(shape) {
            Err(Refusal::of(Rejection::NoNovelty, shape.key))
        } else {
            Ok(())
        }
    }

    /// Whether no page of its shape, nor of its subtree, has been read.
    fn is_untrodden(&self, shape: &Shape) -> bool {
        self.shapes.known(shape.key).is_none_or(|count| count.yields.pages == 0)
            && self.subtrees.known(shape.subtree).is_none_or(|subtree| subtree.pages == 0)
    }

    /// Whether pages of the shape, or the subtree, of both have led on for a while without a new word.
    fn leads_on(&self, from: &Shape, shape: &Shape, rules: &ShapeRules) -> bool {
        self.of_both(from, shape)
            .any(|(yields, key)| yields.leads_on(rules.pages_without_novelty) && !shape.is_site(key))
    }

    /// What the shape and the subtree have yielded that both lie in, each with its key.
    fn of_both(&self, from: &Shape, shape: &Shape) -> impl Iterator<Item = (&Yield, u64)> {
        let of_shape = self.shapes.known(shape.key).filter(|_| from.key == shape.key);
        let of_subtree = self.subtrees.known(shape.subtree).filter(|_| from.subtree == shape.subtree);
        of_shape.map(|count| (&count.yields, shape.key)).into_iter().chain(of_subtree.map(|of| (of, shape.subtree)))
    }
}

#[cfg(test)]
mod tests;
