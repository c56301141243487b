//! Endless spaces seen from many URLs and pages of a host.
//!
//! A *shape* is a URL with its numbers, its identifiers and the values of its parameters left out; a *space* is all below one
//! folder of the top, or all queries of one path. Both have signs of endlessness ([`Yield`]), which are taken from the pages
//! fetched and held against links that such a page has to its own shape or space: what leads there from outside is still taken.
//! So a list of any length costs nothing, and a space that only feeds itself ends.
//!
//! What is counted is forgotten with the process. All of it is bounded: 128 shapes and 32 spaces a host, those that count most;
//! what was dropped counts anew.

use std::collections::{HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use super::counted::{Counted, Weighed};
use super::ids::Places;
use super::known::KnownRuns;
use super::news::Run;
use super::permuted::Orders;
use super::shape::Shape;
use super::yields::{Brought, MET, Yield};
use crate::domain::fingerprint::{HostKey, KeyMap};
use crate::domain::host::registrable_domain;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;

/// Hosts whose shapes are known at a time; of more, those that came first are forgotten.
const HOSTS: usize = 4_096;
/// Shapes and spaces counted of one host.
const SHAPES: usize = 128;
const SPACES: usize = 32;
/// Domains whose hosts are counted.
const DOMAINS: usize = 20_000;
/// Domains of which it is known what their hosts show.
const SHOWN: usize = 512;
/// The top of a host is a space of which so many times as many pages must be barren: a whole site may lie there.
const TOP: u32 = 5;
/// Barren pages in a row after which a suspicious shape has its budget and no more.
const SUSPECT_BARREN: u32 = 8;

/// Limits of the shapes; 0 switches one off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeRules {
    /// New URLs of one suspicious shape whose pages bring nothing new: a calendar, or a path that goes round.
    pub suspect_pages: u32,
    /// New URLs of any one shape.
    pub pages_per_pattern: u32,
    /// Whether session numbers are looked for.
    pub sessions: bool,
    /// Whether a query is turned away that has been found with its parameters in another order.
    pub permutations: bool,
    /// Duplicates in a row after which no more of a shape is taken.
    pub max_duplicates: u32,
    /// Pages in a row without anything new after which a shape, a space, or a domain's hosts may not feed themselves any more.
    pub barren_pages: u32,
    /// Pages in a row that lead to ever new pages of the same shape or space, and nowhere else, after which they may not.
    pub self_fed_pages: u32,
    /// Hosts of one registrable domain.
    pub hosts_per_domain: u32,
}

impl Default for ShapeRules {
    fn default() -> Self {
        Self {
            suspect_pages: 20,
            pages_per_pattern: 0,
            sessions: true,
            permutations: true,
            max_duplicates: 200,
            barren_pages: 20,
            self_fed_pages: 5_000,
            hosts_per_domain: 0,
        }
    }
}

/// What has been found, by host.
#[derive(Debug, Default)]
pub struct Shapes {
    hosts: KeyMap<HostKey, OfHost>,
    order: VecDeque<HostKey>,
    domains: HashMap<u64, Vec<HostKey>>,
    shown: HashMap<u64, OfDomain>,
}

#[derive(Debug, Default)]
struct OfHost {
    shapes: Counted<Count, SHAPES>,
    spaces: Counted<Yield, SPACES>,
    orders: Orders,
    places: Places,
    known: KnownRuns,
    /// Whether a page of it has been taken in.
    has_pages: bool,
    /// Another host of its domain led to it, and its first page showed nothing new.
    made_up: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pages: u32,
    duplicates: u32,
    yields: Yield,
}

impl Weighed for Count {
    fn weight(&self) -> u32 {
        self.pages.max(self.yields.pages)
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
    known: KnownRuns,
    barren: u32,
}

/// A page whose links are being tested.
#[derive(Debug)]
pub struct Finder {
    host: HostKey,
    shape: Shape,
    domain: u64,
    own: u64,
    /// The page it was found on itself, and whether that was another host of its domain.
    via: Option<u64>,
    from_sibling: bool,
    in_shape: Brought,
    in_space: Brought,
}

impl Finder {
    /// The page at this URL, found on the page `via`.
    #[must_use]
    pub fn new(host: HostKey, url: &PageUrl, via: Option<&str>) -> Self {
        let domain = domain(url);
        let via = via.and_then(|via| PageUrl::from_canonical(via).ok());
        let sibling = |via: &PageUrl| via.host() != url.host() && self::domain(via) == domain;
        Self {
            host,
            shape: Shape::of(url),
            domain,
            own: hash(url),
            from_sibling: via.as_ref().is_some_and(sibling),
            via: via.as_ref().map(hash),
            in_shape: Brought::default(),
            in_space: Brought::default(),
        }
    }

    /// Takes in a link to a known URL.
    pub fn met(&mut self, host: HostKey, url: &PageUrl) {
        let full = self.in_shape.met.len() >= MET && self.in_space.met.len() >= MET;
        if full || host != self.host {
            return;
        }
        let (to, shape) = (hash(url), Shape::of(url));
        if to == self.own || Some(to) == self.via {
            return;
        }
        let add = |brought: &mut Brought| {
            if brought.met.len() < MET {
                brought.met.push(to as u32);
            }
        };
        if shape.key == self.shape.key {
            add(&mut self.in_shape);
        }
        if shape.space == self.shape.space {
            add(&mut self.in_space);
        }
    }

    /// Takes in a link to a new URL: whether it is of the same shape, and of the same space.
    fn leads_to(&mut self, host: HostKey, shape: &Shape, admitted: bool) {
        let same_host = host == self.host;
        let same_shape = same_host && shape.key == self.shape.key;
        let same_space = same_host && shape.space == self.shape.space;
        for (same, brought) in [(same_shape, &mut self.in_shape), (same_space, &mut self.in_space)] {
            brought.inside += u32::from(same);
            brought.outside += u32::from(!same && admitted);
        }
    }
}

fn hash(url: &PageUrl) -> u64 {
    xxh3_64(url.as_str().as_bytes())
}

fn domain(url: &PageUrl) -> u64 {
    xxh3_64(registrable_domain(url.host()).as_bytes())
}

impl Shapes {
    /// Counts a URL that is found for the first time, on a page unless it came otherwise.
    ///
    /// # Errors
    /// Why it is not wanted; it is not counted then.
    pub fn admit(
        &mut self,
        finder: Option<&mut Finder>,
        host: HostKey,
        url: &PageUrl,
        rules: &ShapeRules,
    ) -> Result<(), Rejection> {
        let shape = Shape::of(url);
        let admitted = self.judge(finder.as_deref(), host, url, &shape, rules);
        if let Some(finder) = finder {
            finder.leads_to(host, &shape, admitted.is_ok());
        }
        admitted
    }

    fn judge(
        &mut self,
        finder: Option<&Finder>,
        host: HostKey,
        url: &PageUrl,
        shape: &Shape,
        rules: &ShapeRules,
    ) -> Result<(), Rejection> {
        self.admit_host(finder, host, url, rules)?;
        let of_host = self.of_host(host);
        let feeds = finder.filter(|finder| finder.host == host);
        of_host.judge(feeds, shape, rules)?;
        if rules.permutations && of_host.orders.know_another(url) {
            return Err(Rejection::Permuted);
        }
        of_host.shapes.of(shape.key).pages += 1;
        shape.place.into_iter().for_each(|place| of_host.places.find(place));
        Ok(())
    }

    /// Takes in a page: whether it was a duplicate, and what it shows, when that was read.
    pub fn fetched(&mut self, page: &Finder, duplicate: bool, shown: Option<&[Run]>) {
        let Some(of_host) = self.hosts.get_mut(&page.host) else { return };
        let same = shown.is_some_and(|shown| of_host.notes(page, shown));
        let count = of_host.shapes.of(page.shape.key);
        count.duplicates = if duplicate || same { count.duplicates.saturating_add(1) } else { 0 };
        let first = !std::mem::replace(&mut of_host.has_pages, true);
        if let Some(shown) = shown.filter(|_| first && page.from_sibling) {
            let made_up = self.shows(page.domain, shown);
            self.of_host(page.host).made_up = made_up;
        }
    }

    /// The first page of a host that another host of its domain led to: whether it shows nothing new.
    fn shows(&mut self, domain: u64, shown: &[Run]) -> bool {
        if self.shown.len() >= SHOWN && !self.shown.contains_key(&domain) {
            self.shown.clear();
        }
        let of_domain = self.shown.entry(domain).or_default();
        of_domain.barren = if of_domain.known.learn(0, shown).words { 0 } else { of_domain.barren.saturating_add(1) };
        of_domain.barren > 0
    }

    /// Hosts known at the moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing has been found yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn admit_host(
        &mut self,
        finder: Option<&Finder>,
        host: HostKey,
        url: &PageUrl,
        rules: &ShapeRules,
    ) -> Result<(), Rejection> {
        let domain = domain(url);
        // What a list of other hosts leads to is taken; what hosts made up on the fly lead to is not.
        let led =
            |finder: &Finder| finder.from_sibling || self.hosts.get(&finder.host).is_some_and(|host| host.made_up);
        let sibling = finder.is_some_and(|finder| finder.host != host && finder.domain == domain && led(finder));
        if sibling && rules.barren_pages > 0 && !self.hosts.contains_key(&host) {
            let barren = self.shown.get(&domain).map_or(0, |shown| shown.barren);
            if barren >= rules.barren_pages {
                return Err(Rejection::Barren);
            }
        }
        let most = rules.hosts_per_domain as usize;
        if most == 0 {
            return Ok(());
        }
        if self.domains.len() >= DOMAINS && !self.domains.contains_key(&domain) {
            self.domains.clear();
        }
        let hosts = self.domains.entry(domain).or_default();
        match hosts.binary_search(&host) {
            Ok(_) => Ok(()),
            Err(_) if hosts.len() >= most => Err(Rejection::DomainBudget),
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
    /// Takes in what a page shows; whether it is a duplicate to the eye that leads nowhere.
    fn notes(&mut self, page: &Finder, shown: &[Run]) -> bool {
        let news = self.known.learn(page.shape.key, shown);
        if let Some(place) = page.shape.place {
            self.places.note(place, shown);
        }
        self.shapes.of(page.shape.key).yields.note(news.words, &page.in_shape);
        self.spaces.of(page.shape.space).note(news.told, &page.in_space);
        !news.whole && !shown.is_empty() && page.in_shape.outside == 0
    }

    fn judge(&self, finder: Option<&Finder>, shape: &Shape, rules: &ShapeRules) -> Result<(), Rejection> {
        let count = self.shapes.known(shape.key).copied().unwrap_or_default();
        let over = |limit: u32| limit > 0 && count.pages >= limit;
        let barren = count.yields.barren >= SUSPECT_BARREN;
        if over(rules.pages_per_pattern) || (shape.suspicious && barren && over(rules.suspect_pages)) {
            return Err(Rejection::PatternBudget);
        }
        if rules.max_duplicates > 0 && count.duplicates >= rules.max_duplicates {
            return Err(Rejection::Duplicates);
        }
        let ticket = shape.place.filter(|_| rules.sessions && shape.ticket);
        if ticket.is_some_and(|at| {
            self.places.know(at, rules.barren_pages.max(SUSPECT_BARREN)) || (barren && self.places.has(at))
        }) {
            return Err(Rejection::Session);
        }
        self.judge_fed(finder, shape, rules)
    }

    /// What a space finds of itself.
    fn judge_fed(&self, finder: Option<&Finder>, shape: &Shape, rules: &ShapeRules) -> Result<(), Rejection> {
        let Some(finder) = finder else { return Ok(()) };
        let within = finder.shape.place.is_some() && finder.shape.space == shape.space;
        if shape
            .place
            .filter(|_| !shape.ticket)
            .is_some_and(|place| within && self.places.know(place, rules.barren_pages))
        {
            return Err(Rejection::Barren);
        }
        let own_shape = (finder.shape.key == shape.key).then(|| self.shapes.known(shape.key)).flatten();
        let own_shape = own_shape.map(|count| &count.yields);
        let own_space = Some(shape.space).filter(|space| finder.shape.space == *space);
        let own_space = own_space.and_then(|space| self.spaces.known(space));
        let is_barren = |fed: &Yield, most: u32| most > 0 && fed.barren >= most;
        let most = if shape.top { rules.barren_pages.saturating_mul(TOP) } else { rules.barren_pages };
        let barren = own_shape.is_some_and(|fed| is_barren(fed, rules.barren_pages));
        if barren || own_space.is_some_and(|fed| is_barren(fed, most)) {
            return Err(Rejection::Barren);
        }
        // Whole sites lie at the top of their host and lead to themselves alone.
        let spaces = own_space.filter(|_| !shape.top);
        if own_shape.into_iter().chain(spaces).any(|fed| fed.is_endless(rules.self_fed_pages)) {
            return Err(Rejection::SelfFed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
