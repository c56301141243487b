//! Endless spaces: which of them are laid, and those whose pages are made from what is asked for (mazes).
//!
//! All of it lies under `/trap/`, or on hosts made up under a host, links to itself alone, and is never part of the truth.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::place::{Node, Place, host_number};
use super::words::english;
use crate::base::kinds::kinds;

kinds! {
    /// An endless space, and its name in settings.
    Trap {
        /// `/trap/calendar?y=2026&m=11`: each month links to its neighbours, for ever.
        Calendar = "calendar",
        /// `/trap/session/3?sid=…` and `/trap/session/3;jsessionid=…`: a few pages under ever new session ids.
        Sessions = "sessions",
        /// `/trap/relative/…`: each page links to folders below itself.
        Relative = "relative",
        /// `/trap/ids/9f3ab27c00c1d2e3/3`: a few pages under ever new numbers in the path.
        Ids = "ids",
        /// `/trap/days/2026/11/05/`: each day links to days before and after.
        Days = "days",
        /// `/trap/facets?color=red&size=m`: one list in all combinations and orders of its filters.
        Facets = "facets",
        /// `/trap/tickets/3;ticket=…`: a few pages under ever new session ids of a name that nobody knows.
        Tickets = "tickets",
        /// `/trap/anything/…`: 200 to whatever is asked for, with what was asked for in its text.
        Anything = "anything",
        /// `x9f3ab27c.h0.test`: each host made up links to others.
        Hosts = "hosts",
    }
}

/// Which traps are laid: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrapSet(u16);

impl TrapSet {
    /// All of them.
    pub const ALL: Self = Self((1 << Trap::ALL.len()) - 1);

    /// Whether this one is laid.
    pub fn has(self, trap: Trap) -> bool {
        self.0 & (1 << trap as u16) != 0
    }

    fn names(self) -> Vec<&'static str> {
        Trap::ALL.iter().filter(|trap| self.has(**trap)).map(|trap| trap.as_str()).collect()
    }
}

impl From<Trap> for TrapSet {
    fn from(trap: Trap) -> Self {
        Self(1 << trap as u16)
    }
}

impl fmt::Display for TrapSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names().as_slice() {
            [] => f.write_str("none"),
            names => f.write_str(&names.join(",")),
        }
    }
}

impl FromStr for TrapSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim) {
            set.0 |= match name {
                "none" | "" => 0,
                "all" => Self::ALL.0,
                name => {
                    let unknown =
                        || format!("no trap is called {name:?}; known: none, all, {}", Self::ALL.names().join(", "));
                    Self::from(Trap::named(name).ok_or_else(unknown)?).0
                }
            };
        }
        Ok(set)
    }
}

/// Pages that come again under other numbers.
const PAGES: u64 = 5;
/// Products of the list, and those that one combination of filters shows.
const PRODUCTS: u64 = 24;
const SHOWN: u64 = 12;
/// Filters of the list and their values.
const FACETS: [(&str, [&str; 4]); 4] = [
    ("color", ["red", "green", "blue", "white"]),
    ("size", ["s", "m", "l", "xl"]),
    ("brand", ["north", "south", "east", "west"]),
    ("sort", ["price", "name", "newest", "rating"]),
];

/// Where a maze is entered; those of before have places of their own.
pub(super) fn top(trap: Trap) -> &'static str {
    match trap {
        Trap::Ids => "/trap/ids/0123456789abcdef/0",
        Trap::Days => "/trap/days/2026/11/05/",
        Trap::Facets => "/trap/facets",
        Trap::Tickets => "/trap/tickets/0",
        Trap::Anything => "/trap/anything/",
        Trap::Hosts => "/trap/hosts",
        Trap::Calendar | Trap::Sessions | Trap::Relative => "/trap/",
    }
}

/// The maze that a path behind `/trap/` lies in.
pub(super) fn find(rest: &str) -> Option<Trap> {
    let name = rest.split(['/', '?', ';']).next()?;
    let mazes = [Trap::Ids, Trap::Days, Trap::Facets, Trap::Tickets, Trap::Anything, Trap::Hosts];
    mazes.into_iter().find(|trap| trap.as_str() == name).filter(|trap| *trap != Trap::Days || day(rest).is_some())
}

/// The host under which a host is made up: `x9f.h7.test` is under 7.
pub(super) fn made_up(host: &str) -> Option<Node> {
    let (label, under) = host.split_once('.')?;
    let host = label.strip_prefix('x').and_then(|_| host_number(under))?;
    Some(Node { host, place: Place::Maze(Trap::Hosts) })
}

/// The text of a page and its links, as HTML: of the host under which it lies, and what was asked for.
pub(super) fn page(trap: Trap, host: u32, asked: &str, seed: u64) -> String {
    let lot = |nth: u64| xxh3_64_with_seed(asked.as_bytes(), seed.wrapping_add(nth));
    let page = lot(0) % PAGES;
    let (text, links): (String, Vec<String>) = match trap {
        Trap::Ids => {
            (terms(page_of(asked)), two(|nth| format!("/trap/ids/{:016x}/{}", lot(nth), (page + nth) % PAGES)))
        }
        Trap::Tickets => {
            let link = |nth| format!("/trap/tickets/{};v=1;ticket={:016x}", (page + nth) % PAGES, lot(nth));
            (terms(page_of(asked)), two(link))
        }
        Trap::Days => of_day(asked),
        Trap::Facets => (products(asked), facets(asked, lot(0))),
        Trap::Anything => {
            let word = |nth| english(lot(nth));
            let links = vec![format!("{}/", word(1)), format!("{}-{}", word(2), word(3)), format!("../{}", word(4))];
            (format!("<h1>{} was not found</h1><p>Try one of these.", asked.replace(['/', '-'], " ")), links)
        }
        Trap::Hosts => (
            terms(1),
            two(|nth| format!("http://x{:08x}.h{host}.test/", xxh3_64_with_seed(asked.as_bytes(), nth) >> 32)),
        ),
        Trap::Calendar | Trap::Sessions | Trap::Relative => Default::default(),
    };
    links.iter().fold(text, |mut text, link| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n<a href=\"{}\">further</a>", link.replace('&', "&amp;"));
        text
    })
}

fn two(link: impl Fn(u64) -> String) -> Vec<String> {
    [1, 2].map(link).into()
}

/// The number in `/trap/…/NUMBER`, whatever follows.
fn page_of(asked: &str) -> u64 {
    let name = asked.rsplit('/').next().unwrap_or_default();
    name.split(';').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn terms(page: u64) -> String {
    let words: Vec<&str> = (0..20).map(|nth| english(page * 100 + nth)).collect();
    format!("<h1>Terms of use, part {page}</h1>\n<p>{}", words.join(" "))
}

/// Days since the beginning of the year 0, in a calendar of months of 28 days.
fn day(rest: &str) -> Option<u64> {
    let mut parts = rest.strip_prefix("days/")?.strip_suffix('/')?.split('/').map(str::parse::<u64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let fits = year < 10_000 && (1..=12).contains(&month) && (1..=28).contains(&day) && parts.next().is_none();
    fits.then_some((year * 12 + month - 1) * 28 + day - 1)
}

fn of_day(asked: &str) -> (String, Vec<String>) {
    let Some(day) = asked.strip_prefix("/trap/").and_then(day) else { return Default::default() };
    let link = |day: u64| format!("/trap/days/{:04}/{:02}/{:02}/", day / 336, day / 28 % 12 + 1, day % 28 + 1);
    let days = [day.saturating_sub(1), day + 1, day.saturating_sub(28), day + 28];
    (format!("<h1>Events of day {}</h1>\n<p>There are none.", day % 28 + 1), days.map(link).into())
}

fn products(asked: &str) -> String {
    let filters: BTreeSet<&str> = asked.split_once('?').map_or("", |(_, query)| query).split('&').collect();
    let wanted: Vec<&str> = filters.into_iter().collect();
    let of = xxh3_64_with_seed(wanted.join("&").as_bytes(), 0);
    let shown = (0..SHOWN).map(|nth| of.wrapping_add(nth * (1 + of % 7)) % PRODUCTS);
    shown.map(|n| format!("<li>{} {} chair, {n} EUR</li>\n", english(n), english(n + 100))).collect()
}

/// One filter more, changed, or twice, and all that there are in another order.
fn facets(asked: &str, lot: u64) -> Vec<String> {
    let query = asked.split_once('?').map_or("", |(_, query)| query);
    let now: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    let added = (0..5).map(|nth| {
        let draw = lot.rotate_left(nth * 7);
        let (name, values) = FACETS[draw as usize % FACETS.len()];
        let new = format!("{name}={}", values[(draw >> 8) as usize % values.len()]);
        let mut parts: Vec<&str> = now.iter().copied().filter(|part| nth == 4 || !part.starts_with(name)).collect();
        parts.insert((draw >> 16) as usize % (parts.len() + 1), &new);
        format!("/trap/facets?{}", parts.join("&"))
    });
    let turned = now.iter().rev().copied().collect::<Vec<_>>().join("&");
    added.chain((now.len() > 1).then(|| format!("/trap/facets?{turned}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_maze_is_found_by_its_top_and_leads_on_within_itself() {
        for trap in Trap::ALL.iter().copied().filter(|trap| top(*trap) != "/trap/") {
            let rest = top(trap).strip_prefix("/trap/").unwrap();
            assert_eq!(find(rest), Some(trap), "{rest}");
            let (mut at, mut known) = (top(trap).to_owned(), BTreeSet::new());
            for _ in 0..50 {
                let html = page(trap, 3, &at, 1);
                let links: Vec<String> =
                    html.split("href=\"").skip(1).map(|l| l.split('"').next().unwrap().replace("&amp;", "&")).collect();
                assert!(!links.is_empty());
                let base = url::Url::parse(&format!("http://h3.test{at}")).unwrap();
                let next = base.join(links.iter().find(|link| !known.contains(*link)).unwrap_or(&links[0])).unwrap();
                known.extend(links);
                if trap == Trap::Hosts {
                    assert_eq!(made_up(next.host_str().unwrap()).map(|node| node.host), Some(3));
                    at = next.to_string();
                } else {
                    at = next[url::Position::BeforePath..].to_owned();
                    assert_eq!(find(at.strip_prefix("/trap/").unwrap()), Some(trap), "{at}");
                }
            }
            assert!(known.len() > 40, "{trap:?}: {}", known.len());
        }
        assert_eq!((find("days/2026/13/01/"), find("nothing"), made_up("h3.test")), (None, None, None));
    }
}
