//! The links of a page: a tree through all pages and hosts, so that each can be reached, and random ones besides.

use super::dice::{Salt, below, pick, unit};
use super::place::{Node, Place, SESSION_PAGES};
use super::shape::{Link, Shape, Tag};
use super::traps::Trap;
use super::words::Charset;

/// Children of a page in the tree of its host's pages.
const CHILDREN: u32 = 3;

impl Shape {
    pub(super) fn content_links(&self, host: u32, content: u32) -> Vec<Link> {
        let count = self.config.links;
        let mut targets = Vec::with_capacity(count as usize + 8);
        for child in (1..=CHILDREN.min(count)).map(|nth| content.saturating_mul(CHILDREN).saturating_add(nth)) {
            if child < self.config.pages {
                targets.push(self.page(host, child));
            }
        }
        if content == 0 && self.config.off_host > 0.0 {
            let children = [1, 2].map(|nth| host.saturating_mul(2).saturating_add(nth));
            let children = children.into_iter().filter(|child| *child < self.config.hosts);
            targets.extend(children.map(|child| self.page(child, 0)));
        }
        let random = count.saturating_sub(targets.len() as u32);
        targets.extend((0..random).map(|index| self.random_target(host, content, index)));
        targets
            .extend((1..=self.grown(host, content)).map(|nth| Node { host, place: Place::New { page: content, nth } }));
        self.dress(host, content, &targets)
    }

    /// Whether other pages of its host hang on a page.
    pub(super) fn has_children(&self, number: u32) -> bool {
        self.config.links > 0 && number.saturating_mul(CHILDREN).saturating_add(1) < self.config.pages
    }

    /// Gives the targets of a page their elements, and adds those the page has besides.
    fn dress(&self, host: u32, content: u32, targets: &[Node]) -> Vec<Link> {
        let stern = self.page_nofollow(host, content).is_some();
        let mut links: Vec<Link> = Vec::with_capacity(targets.len() + 4);
        for (index, to) in targets.iter().enumerate() {
            let index = index as u32;
            let tag = if stern { Tag::A } else { self.tag(host, content, index) };
            let nofollow = matches!(tag, Tag::A | Tag::Area)
                && unit(self.dice.draw(Salt::LinkNofollow, host, content, index)) < self.config.nofollow;
            links.push(Link { to: *to, nofollow, tag });
        }
        if !stern && self.hit(self.config.canonical, Salt::Canonical, host, content) {
            links.push(Link { to: self.page(host, content), nofollow: false, tag: Tag::Canonical });
        }
        links.extend(self.trap_links(host, content).map(|to| Link { to, nofollow: false, tag: Tag::A }));
        links
    }

    fn tag(&self, host: u32, content: u32, index: u32) -> Tag {
        if unit(self.dice.draw(Salt::LinkKind, host, content, index)) >= self.config.kinds {
            return Tag::A;
        }
        match self.dice.draw(Salt::LinkKind, host, content, index | 1 << 31) % 4 {
            0 => Tag::Area,
            1 => Tag::Iframe,
            2 => Tag::LinkNext,
            // A page has at most one refresh.
            _ if index == 0 => Tag::Refresh,
            _ => Tag::Area,
        }
    }

    fn random_target(&self, host: u32, content: u32, index: u32) -> Node {
        let config = &self.config;
        let mut rest = unit(self.dice.draw(Salt::LinkClass, host, content, index));
        let number = below(self.dice.draw(Salt::File, host, content, index), config.pages);
        let which = self.dice.draw(Salt::File, host, content, index | 1 << 31);
        if self.robots(host).forbids_some() {
            if rest < config.private {
                return Node {
                    host,
                    place: pick(which, &[Place::Private, Place::Open, Place::Secret], Place::Open)(number),
                };
            }
            rest -= config.private;
        }
        if rest < config.files {
            return Node { host, place: pick(which, &[Place::File, Place::Text], Place::File)(number) };
        }
        rest -= config.files;
        if rest < config.unicode {
            let gbk = self.charset(host, content) == Charset::Gbk;
            let all = [Place::Word(number), Place::Find { number, gbk }];
            return Node { host, place: pick(which, &all, Place::Word(number)) };
        }
        self.random_page(host, content, index, Salt::LinkPage)
    }

    /// Any page, on another host in `off_host` of the cases.
    pub(super) fn random_page(&self, host: u32, page: u32, index: u32, salt: Salt) -> Node {
        let config = &self.config;
        let away = unit(self.dice.draw(Salt::OffHost, host, page, index ^ ((salt as u32) << 16))) < config.off_host;
        let to_host = if away && config.hosts > 1 {
            let other =
                below(self.dice.draw(Salt::LinkHost, host, page, index ^ ((salt as u32) << 16)), config.hosts - 1);
            if other >= host { other + 1 } else { other }
        } else {
            host
        };
        self.page(to_host, below(self.dice.draw(salt, host, page, index), config.pages))
    }

    fn trap_links(&self, host: u32, content: u32) -> impl Iterator<Item = Node> + use<> {
        let traps = self.config.traps;
        let draw = self.dice.draw(Salt::Trap, host, content, 0);
        let here = content == 0 || unit(draw) < 0.1;
        let calendar = Place::Calendar { year: 2000 + (draw % 50) as u32, month: 1 + (draw % 12) as u32 };
        let session = Place::Session((draw % u64::from(SESSION_PAGES)) as u32);
        let laid = Trap::ALL.iter().copied().filter(move |trap| here && traps.has(*trap));
        laid.map(move |trap| match trap {
            Trap::Calendar => calendar,
            Trap::Sessions => session,
            Trap::Relative => Place::Relative,
            trap => Place::Maze(trap),
        })
        .map(move |place| Node { host, place })
    }
}
