//! The shape of the web: what each address answers and links to, a pure function of the settings and of the moment.

use std::sync::Arc;

use super::config::TestWebConfig;
use super::dice::{Dice, Salt, below, mix, pick, unit};
use super::place::{Map, Node, Place};
use super::robots::RobotsMode;
use super::traps::Trap;
use super::words::Charset;

/// What an address answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Answer {
    /// 200 and the body of page `content` (another number than asked for: a duplicate).
    Page {
        /// The page whose body it is.
        content: u32,
    },
    /// `status` for the first `fails` requests, then as [`Answer::Page`] with its own content.
    Flaky {
        fails: u8,
        /// 500 or 503.
        status: u16,
    },
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        to: Node,
    },
    /// Always this error status.
    Error {
        /// 400 to 599.
        status: u16,
    },
    /// 200 and a document of its kind: see [`Place`].
    Leaf,
    /// 404: there is no such address.
    Missing,
}

/// The element a link is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "element names")]
pub enum Tag {
    A,
    Area,
    Iframe,
    LinkNext,
    Refresh,
    Canonical,
}

/// A link of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub to: Node,
    /// rel=nofollow.
    pub nofollow: bool,
    /// The element.
    pub tag: Tag,
}

/// How a page forbids to follow all its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NofollowHow {
    /// `<meta name="robots" content="nofollow">`.
    Meta,
    /// `<meta name="ROBOTS" content="NONE">`.
    MetaNone,
    /// `X-Robots-Tag: nofollow`.
    Header,
}

/// Where a GBK page says that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it")]
pub enum GbkHow {
    Header,
    Meta,
    Nowhere,
}

/// The settings with their dice, at one moment. The shape of settings that were checked.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The settings.
    pub config: Arc<TestWebConfig>,
    /// The dice.
    pub dice: Dice,
    /// The moment, microseconds since 1970. It matters only where something changes.
    pub at_us: u64,
}

/// Draws for a fitting page before falling back.
const TRIES: u32 = 8;

impl Shape {
    /// The shape of checked settings, as it is before anything changes.
    pub fn new(config: TestWebConfig) -> Self {
        let dice = Dice::new(config.seed);
        let shape = Self { config: Arc::new(config), dice, at_us: 0 };
        let first = shape.first_us();
        shape.at(first)
    }

    /// The same at another moment, microseconds since 1970.
    #[must_use]
    pub fn at(&self, at_us: u64) -> Self {
        Self { config: Arc::clone(&self.config), at_us, ..*self }
    }

    /// The robots.txt variant of a host.
    pub fn robots(&self, host: u32) -> RobotsMode {
        self.config.robots.of_host(self.dice.draw(Salt::Robots, host, 0, 0))
    }

    /// Whether robots.txt of its host allows to fetch the address.
    pub fn allowed(&self, node: Node) -> bool {
        let mode = self.robots(node.host);
        let private = matches!(node.place, Place::Private(_) | Place::Secret(_));
        let forbidden = mode.forbids_all() || (private && mode.forbids_some());
        !forbidden
    }

    /// Whether a crawl from the start page with the scope of hosts visits the host.
    pub fn in_start_scope(&self, host: u32) -> bool {
        host == Node::START.host || (self.config.start_redirect && host == 1)
    }

    /// A page by its number, with the URL form it has.
    pub fn page(&self, host: u32, number: u32) -> Node {
        let query = number > 0 && self.hit(self.config.queries, Salt::Query, host, number);
        Node { host, place: Place::Page { number, query } }
    }

    /// The address a path on a host has, if this web has it.
    pub fn find(&self, host: u32, path: &str) -> Option<Node> {
        let place = Place::find(path)?;
        let node = Node { host, place };
        (self.answer(node) != Answer::Missing).then_some(node)
    }

    /// What an address answers.
    pub fn answer(&self, node: Node) -> Answer {
        if node.host >= self.config.hosts {
            return Answer::Missing;
        }
        let known = |number: u32| if number < self.config.pages { Answer::Leaf } else { Answer::Missing };
        match node.place {
            Place::Page { number, .. } if number >= self.config.pages => Answer::Missing,
            Place::Page { number, .. } if self.page(node.host, number) != node => Answer::Missing,
            Place::Page { number, .. } => self.page_answer(node.host, number),
            Place::Hop { page, left } => self.hop_answer(node.host, page, left),
            Place::Loop { page, at } => self.loop_answer(node.host, page, at),
            Place::Private(number) | Place::Open(number) | Place::Secret(number) | Place::Text(number) => known(number),
            Place::Find { number, .. } | Place::Word(number) | Place::File(number) => known(number),
            Place::Unlinked(number) if self.config.sitemaps => known(number),
            Place::Map(_) if self.config.sitemaps => Answer::Leaf,
            Place::Unlinked(_) | Place::Map(_) => Answer::Missing,
            Place::New { page, nth } if (1..=self.grown(node.host, page)).contains(&nth) => {
                Answer::Page { content: new_content(page, nth) }
            }
            Place::New { .. } => Answer::Missing,
            Place::Never(_) => Answer::Leaf,
            Place::Calendar { .. } => self.trap(Trap::Calendar),
            Place::Session(_) => self.trap(Trap::Sessions),
            Place::Relative => self.trap(Trap::Relative),
            Place::Maze(trap) => self.trap(trap),
        }
    }

    fn trap(&self, trap: Trap) -> Answer {
        if self.config.traps.has(trap) { Answer::Leaf } else { Answer::Missing }
    }

    /// All links of an address, in the order they are written; traps apart from those of `/trap/` itself.
    pub fn links(&self, node: Node) -> Vec<Link> {
        let plain = |to: Node| vec![Link { to, nofollow: false, tag: Tag::A }];
        match (self.answer(node), node.place) {
            (Answer::Page { content }, _) => self.content_links(node.host, content),
            (Answer::Flaky { .. }, Place::Page { number, .. }) => self.content_links(node.host, number),
            (Answer::Leaf, Place::Open(number) | Place::Word(number)) => plain(self.page(node.host, number)),
            (Answer::Leaf, Place::Find { number, .. } | Place::Unlinked(number)) => plain(self.page(node.host, number)),
            (Answer::Leaf, Place::Map(map)) => self.named_by(node.host, map).into_iter().flat_map(plain).collect(),
            (Answer::Leaf, Place::Private(_) | Place::Secret(_)) => plain(Node { place: Place::HOME, ..node }),
            _ => Vec::new(),
        }
    }

    /// What a sitemap of a host names.
    fn named_by(&self, host: u32, map: Map) -> Vec<Node> {
        let pages = |first: u32| (first..self.config.pages).step_by(2).map(Place::Unlinked).collect();
        let places: Vec<Place> = match map {
            Map::Index => vec![Place::Map(Map::Zipped), Place::Map(Map::Lines)],
            Map::Zipped => pages(0),
            Map::Lines => pages(1),
        };
        places.into_iter().map(|place| Node { host, place }).collect()
    }

    /// The sitemap that robots.txt of a host names, when a crawler reads it.
    pub fn announced(&self, host: u32) -> Option<Node> {
        let named = self.config.sitemaps && !self.robots(host).forbids_all();
        named.then_some(Node { host, place: Place::Map(Map::Index) })
    }

    /// The addresses a crawler goes to from here: a redirect's target, or the links it may follow.
    pub fn followed(&self, node: Node) -> Vec<Node> {
        let content = match self.answer(node) {
            Answer::Redirect { to, .. } => return vec![to],
            Answer::Page { content } => Some(content),
            Answer::Flaky { .. } => match node.place {
                Place::Page { number, .. } => Some(number),
                _ => None,
            },
            _ => None,
        };
        if content.is_some_and(|content| self.page_nofollow(node.host, content).is_some()) {
            return Vec::new();
        }
        self.links(node).into_iter().filter(|link| !link.nofollow).map(|link| link.to).collect()
    }

    fn page_answer(&self, host: u32, number: u32) -> Answer {
        let config = &self.config;
        if number == 0 {
            return match self.redirects_start(host) {
                true => Answer::Redirect { status: 301, to: self.page(1, 0) },
                false => Answer::Page { content: 0 },
            };
        }
        let draw = |salt| self.dice.draw(salt, host, number, 0);
        if let Some(status) = self.gone(host, number) {
            return Answer::Error { status };
        }
        match self.class(host, number) {
            Class::Redirect => {
                let hops = 1 + below(draw(Salt::RedirectHops), u32::from(config.redirect_hops.max(1))) as u8;
                self.hop_answer_unchecked(host, number, hops)
            }
            Class::Loop => Answer::Redirect {
                status: self.redirect_status(host, number, 0),
                to: Node { host, place: Place::Loop { page: number, at: 0 } },
            },
            Class::Error => Answer::Error { status: pick(draw(Salt::ErrorStatus), &config.error_status, 404) },
            Class::Flaky => {
                let draw = draw(Salt::Fails);
                Answer::Flaky { fails: 1 + (draw & 1) as u8, status: if draw & 2 == 0 { 500 } else { 503 } }
            }
            Class::Duplicate => Answer::Page { content: self.duplicate_of(host, number) },
            Class::Near => Answer::Page { content: self.near_to(host, number).map_or(number, |(of, _)| of) },
            Class::Plain => Answer::Page { content: number },
        }
    }

    pub(super) fn class(&self, host: u32, number: u32) -> Class {
        let config = &self.config;
        if number == 0 {
            return if self.redirects_start(host) { Class::Redirect } else { Class::Plain };
        }
        let mut rest = unit(self.dice.draw(Salt::Answer, host, number, 0));
        let shares = [
            (Class::Redirect, config.redirects),
            (Class::Loop, config.redirect_loops),
            (Class::Error, config.errors),
            (Class::Flaky, config.flaky),
            (Class::Duplicate, config.duplicates),
            (Class::Near, config.near),
        ];
        for (class, share) in shares {
            if rest < share {
                return class;
            }
            rest -= share;
        }
        Class::Plain
    }

    pub(super) fn redirects_start(&self, host: u32) -> bool {
        self.config.start_redirect && host == Node::START.host
    }

    pub(super) fn duplicate_of(&self, host: u32, number: u32) -> u32 {
        let tries =
            (0..TRIES).map(|index| below(self.dice.draw(Salt::DuplicateOf, host, number, index), self.config.pages));
        // Page 0 lies in another folder, so that its relative links would lead elsewhere.
        tries.into_iter().find(|of| *of > 0 && self.class(host, *of) == Class::Plain).unwrap_or(number)
    }

    fn hop_answer(&self, host: u32, page: u32, left: u8) -> Answer {
        match (page < self.config.pages).then(|| self.page_answer(host, page)) {
            // Only the hops that the chain of this page has.
            Some(Answer::Redirect { to: Node { place: Place::Hop { left: first, .. }, .. }, .. })
                if (1..=first).contains(&left) =>
            {
                self.hop_answer_unchecked(host, page, left)
            }
            _ => Answer::Missing,
        }
    }

    fn hop_answer_unchecked(&self, host: u32, page: u32, left: u8) -> Answer {
        let to = match left {
            0 | 1 => self.redirect_target(host, page),
            more => Node { host, place: Place::Hop { page, left: more - 1 } },
        };
        Answer::Redirect { status: self.redirect_status(host, page, u32::from(left)), to }
    }

    fn loop_answer(&self, host: u32, page: u32, at: u8) -> Answer {
        let length = 1 + below(self.dice.draw(Salt::LoopLength, host, page, 0), 3) as u8;
        if page >= self.config.pages || at >= length || page == 0 || self.class(host, page) != Class::Loop {
            return Answer::Missing;
        }
        let next = (at + 1) % length;
        let status = self.redirect_status(host, page, 1 + u32::from(at));
        Answer::Redirect { status, to: Node { host, place: Place::Loop { page, at: next } } }
    }

    fn redirect_target(&self, host: u32, page: u32) -> Node {
        for index in 0..TRIES {
            let to = self.random_page(host, page, index, Salt::RedirectTo);
            if let Place::Page { number, .. } = to.place
                && !matches!(self.class(to.host, number), Class::Redirect | Class::Loop)
            {
                return to;
            }
        }
        self.page(if self.redirects_start(host) { 1 } else { host }, 0)
    }

    fn redirect_status(&self, host: u32, page: u32, index: u32) -> u16 {
        pick(self.dice.draw(Salt::RedirectStatus, host, page, index), &[301, 302, 303, 307, 308], 302)
    }

    /// Whether and how page `content` forbids to follow its links.
    pub fn page_nofollow(&self, host: u32, content: u32) -> Option<NofollowHow> {
        let hit = content > 0 && self.hit(self.config.nofollow / 2.0, Salt::Nofollow, host, content);
        let all = [NofollowHow::Meta, NofollowHow::MetaNone, NofollowHow::Header];
        hit.then(|| pick(self.dice.draw(Salt::NofollowHow, host, content, 0), &all, NofollowHow::Meta))
    }

    /// The charset of page `content`.
    pub fn charset(&self, host: u32, content: u32) -> Charset {
        match unit(self.dice.draw(Salt::Gbk, host, content, 0)) {
            draw if draw < self.config.gbk => Charset::Gbk,
            draw if draw < self.config.gbk + self.config.chinese => Charset::Chinese,
            _ => Charset::Utf8,
        }
    }

    /// Where a GBK page names its charset.
    pub fn gbk_how(&self, host: u32, content: u32) -> GbkHow {
        let all = [GbkHow::Header, GbkHow::Meta, GbkHow::Nowhere];
        pick(self.dice.draw(Salt::GbkHow, host, content, 0), &all, GbkHow::Header)
    }

    /// Whether a share falls on (host, page) for this decision.
    pub fn hit(&self, share: f64, salt: Salt, host: u32, page: u32) -> bool {
        share > 0.0 && unit(self.dice.draw(salt, host, page, 0)) < share
    }
}

/// The content of a page that came with a hub: a number no other page has.
fn new_content(page: u32, nth: u32) -> u32 {
    mix((u64::from(page) << 32) | u64::from(nth)) as u32 | 1 << 31
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Plain,
    Redirect,
    Loop,
    Error,
    Flaky,
    Duplicate,
    Near,
}
