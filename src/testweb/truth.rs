//! The exact set of URLs a crawl from the start page must fetch, computed without crawling.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::str::FromStr;

use super::place::{Node, Place};
use super::shape::{Answer, Shape};
use crate::base::kinds::kinds;

kinds! {
    /// Which hosts belong to the crawl.
    #[derive(Default)]
    TruthScope {
        /// The start page's host (and the one it redirects to, with `start_redirect`).
        #[default]
        Hosts = "hosts",
        /// The start page's registrable domain; `.test` is not in the public suffix list, so each `hN.test` is its own.
        Domains = "domains",
        /// Every host.
        Any = "any",
    }
}

impl FromStr for TruthScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| format!("no scope is called {text:?}; known: hosts, domains, any"))
    }
}

/// What the crawl is allowed, as in the crawler's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruthQuery {
    /// Greatest depth; the start page has 0, a redirect's target that of its source. `None`: no limit.
    pub depth: Option<u16>,
    /// Which hosts.
    pub scope: TruthScope,
    /// Redirects followed in a row.
    pub max_redirects: u16,
    /// Whether robots.txt is honoured.
    pub robots: bool,
    /// Whether nofollow (links, meta, header) is honoured.
    pub nofollow: bool,
    /// Whether files are skipped by their extension.
    pub skip_files: bool,
}

impl TruthQuery {
    /// As the crawler's settings are at first.
    pub const HOSTS: Self = Self {
        depth: None,
        scope: TruthScope::Hosts,
        max_redirects: 20,
        robots: true,
        nofollow: true,
        skip_files: true,
    };
}

impl Default for TruthQuery {
    fn default() -> Self {
        Self::HOSTS
    }
}

/// The URLs to be fetched from [`Node::START`], canonical, without robots.txt and without traps.
///
/// A breadth-first walk over [`Shape`]: a link costs one level, a redirect none. Memory grows with the answer. With sitemaps on
/// several hosts it knows no limit of depth: how deep a host's sitemaps are hangs on the page that is asked for first.
pub fn truth(shape: &Shape, query: &TruthQuery) -> BTreeSet<String> {
    nodes(shape, query).into_iter().map(Node::url).collect()
}

/// [`truth`] as addresses.
pub fn nodes(shape: &Shape, query: &TruthQuery) -> Vec<Node> {
    let mut walk = Walk { shape, query, depths: HashMap::new(), queue: VecDeque::new() };
    walk.reach(Node::START, 0, 0, false);
    while let Some((node, depth, hops)) = walk.queue.pop_front() {
        if walk.depths.get(&node).is_some_and(|known| *known < depth) {
            continue;
        }
        let redirect = matches!(shape.answer(node), Answer::Redirect { .. });
        for to in walk.targets(node) {
            let (cost, hops) = if redirect { (0, hops.saturating_add(1)) } else { (1, 0) };
            // A sitemap is as deep as the index that names it.
            let near = redirect || matches!(to.place, Place::Map(_));
            walk.reach(to, depth.saturating_add(if near { 0 } else { cost }), hops, near);
        }
        // robots.txt is read before the first page of a host.
        let map = shape.announced(node.host).filter(|_| query.robots);
        map.into_iter().for_each(|map| walk.reach(map, depth, 0, true));
    }
    walk.depths.into_keys().collect()
}

struct Walk<'a> {
    shape: &'a Shape,
    query: &'a TruthQuery,
    depths: HashMap<Node, u16>,
    /// Ordered by depth: a redirect's target goes to the front.
    queue: VecDeque<(Node, u16, u16)>,
}

impl Walk<'_> {
    fn targets(&self, node: Node) -> Vec<Node> {
        if self.query.nofollow || matches!(self.shape.answer(node), Answer::Redirect { .. }) {
            self.shape.followed(node)
        } else {
            self.shape.links(node).into_iter().map(|link| link.to).collect()
        }
    }

    fn reach(&mut self, node: Node, depth: u16, hops: u16, redirect: bool) {
        let better = self.depths.get(&node).is_none_or(|known| depth < *known);
        if better && hops <= self.query.max_redirects && self.wanted(node, depth) {
            self.depths.insert(node, depth);
            let step = (node, depth, hops);
            if redirect { self.queue.push_front(step) } else { self.queue.push_back(step) }
        }
    }

    fn wanted(&self, node: Node, depth: u16) -> bool {
        let query = self.query;
        query.depth.is_none_or(|most| depth <= most)
            && (query.scope == TruthScope::Any || self.shape.in_start_scope(node.host))
            && !node.place.is_trap()
            && !(query.skip_files && matches!(node.place, Place::File(_)))
            && (!query.robots || self.shape.allowed(node))
    }
}
