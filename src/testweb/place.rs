//! The addresses of the synthetic web: what lies under which path, and back.

use std::fmt;

use super::traps::Trap;
use super::{traps, words};
use crate::base::kinds::names;

/// One address: a place on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Host number: 7 is `h7.test`.
    pub host: u32,
    /// What lies there.
    pub place: Place,
}

/// What can lie on a host. Numbers are page numbers, below the number of pages a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// `/` (page 0) and `/p/7`, or `/p/view?id=7` for pages with a query.
    Page {
        /// Number of the page.
        number: u32,
        /// Whether its URL has a query.
        query: bool,
    },
    /// `/r/7/2`: inside the redirect chain of page 7, with 2 more redirects to answer.
    Hop {
        /// The page that began the chain.
        page: u32,
        /// Redirects that are still to come, at least 1.
        left: u8,
    },
    /// `/loop/7/1`: a member of the loop page 7 leads into.
    Loop {
        /// The page that leads in.
        page: u32,
        /// Place in the loop, from 0.
        at: u8,
    },
    /// `/private/7`: forbidden by some robots.txt.
    Private(u32),
    /// `/private/open/7`: below a forbidden path, allowed again.
    Open(u32),
    /// `/x/7/secret`: forbidden by a pattern.
    Secret(u32),
    /// `/p/find?n=7&word=…`: a Chinese word in the query, encoded as the linking page is.
    Find {
        /// Number, which also chooses the word.
        number: u32,
        /// Encoded as GBK, else UTF-8.
        gbk: bool,
    },
    /// `/词/7` (percent-encoded UTF-8).
    Word(u32),
    /// `/files/7.jpg` and the like: skipped by its extension.
    File(u32),
    /// `/text/7.txt`: plain text that looks as if it had links.
    Text(u32),
    /// `/unlinked/7`: named in a sitemap only.
    Unlinked(u32),
    /// `/sitemap-index.xml`, and what it names.
    Map(Map),
    /// `/p/7-3`: the third page that came with page 7, a hub that grows.
    New {
        /// The hub.
        page: u32,
        /// From 1.
        nth: u32,
    },
    /// `/never/7`: named only where no link is (comments, scripts ...).
    Never(u32),
    /// `/trap/calendar?y=2026&m=11`.
    Calendar {
        /// Year.
        year: u32,
        /// Month, 1 to 12.
        month: u32,
    },
    /// `/trap/session/3?sid=…`.
    Session(u32),
    /// `/trap/relative/…`.
    Relative,
    /// Any page of a space that is made from what is asked for, such as `/trap/ids/…`.
    Maze(Trap),
}

names! {
    /// Sitemaps of a host, each with its path.
    Map {
        /// Which robots.txt names: it names the others.
        Index = "/sitemap-index.xml";
        /// A gzip file of XML with the unlinked pages of even numbers.
        Zipped = "/sitemap-even.xml.gz";
        /// Plain text with those of odd numbers.
        Lines = "/sitemap-odd.txt";
    }
}

/// Extensions of [`Place::File`].
pub const FILE_EXTENSIONS: [&str; 8] = ["jpg", "png", "gif", "zip", "mp3", "mp4", "exe", "woff2"];

/// Pages of a host's session trap.
pub const SESSION_PAGES: u32 = 5;

impl Place {
    /// The start page of a host.
    pub const HOME: Self = Self::Page { number: 0, query: false };

    /// Whether it lies in an endless space, which no truth asks for.
    pub fn is_trap(self) -> bool {
        matches!(self, Self::Calendar { .. } | Self::Session(_) | Self::Relative | Self::Maze(_))
    }

    /// The place of a path, whatever the shape says about it: the inverse of its text.
    pub fn find(path: &str) -> Option<Self> {
        if path == "/" {
            return Some(Self::HOME);
        }
        if let Some(map) = Map::ALL.iter().find(|map| map.as_str() == path) {
            return Some(Self::Map(*map));
        }
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        match first {
            "p" => find_page(rest),
            "r" => pair(rest).map(|(page, left)| Self::Hop { page, left }),
            "loop" => pair(rest).map(|(page, at)| Self::Loop { page, at }),
            "private" => match rest.strip_prefix("open/") {
                Some(open) => number(open).map(Self::Open),
                None => number(rest).map(Self::Private),
            },
            "x" => number(rest.strip_suffix("/secret")?).map(Self::Secret),
            "files" => {
                let (name, extension) = rest.split_once('.')?;
                number(name).filter(|name| file_extension(*name) == extension).map(Self::File)
            }
            "text" => number(rest.strip_suffix(".txt")?).map(Self::Text),
            "unlinked" => number(rest).map(Self::Unlinked),
            "never" => number(rest).map(Self::Never),
            "trap" => find_trap(rest),
            _ => number(path.strip_prefix(words::PATH)?).map(Self::Word),
        }
    }
}

impl fmt::Display for Place {
    /// Path and query in canonical form (of [`Place::Relative`] and [`Place::Maze`] the top of the trap).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Page { number: 0, .. } => f.write_str("/"),
            Self::Page { number, query: false } => write!(f, "/p/{number}"),
            Self::Page { number, query: true } => write!(f, "/p/view?id={number}"),
            Self::Hop { page, left } => write!(f, "/r/{page}/{left}"),
            Self::Loop { page, at } => write!(f, "/loop/{page}/{at}"),
            Self::Private(number) => write!(f, "/private/{number}"),
            Self::Open(number) => write!(f, "/private/open/{number}"),
            Self::Secret(number) => write!(f, "/x/{number}/secret"),
            Self::Find { number, gbk } => write!(f, "/p/find?n={number}&word={}", words::encoded(number, gbk)),
            Self::Word(number) => write!(f, "{}{number}", words::PATH),
            Self::File(number) => write!(f, "/files/{number}.{}", file_extension(number)),
            Self::Text(number) => write!(f, "/text/{number}.txt"),
            Self::Unlinked(number) => write!(f, "/unlinked/{number}"),
            Self::Map(map) => f.write_str(map.as_str()),
            Self::New { page, nth } => write!(f, "/p/{page}-{nth}"),
            Self::Never(number) => write!(f, "/never/{number}"),
            Self::Calendar { year, month } => write!(f, "/trap/calendar?y={year}&m={month}"),
            Self::Session(number) => write!(f, "/trap/session/{number}"),
            Self::Relative => f.write_str("/trap/relative/"),
            Self::Maze(trap) => f.write_str(traps::top(trap)),
        }
    }
}

fn find_page(rest: &str) -> Option<Place> {
    if let Some(id) = rest.strip_prefix("view?id=") {
        return number(id).filter(|id| *id > 0).map(|number| Place::Page { number, query: true });
    }
    if let Some(query) = rest.strip_prefix("find?n=") {
        let (digits, word) = query.split_once("&word=")?;
        let number = number(digits)?;
        let gbk = [false, true].into_iter().find(|gbk| words::encoded(number, *gbk) == word)?;
        return Some(Place::Find { number, gbk });
    }
    if let Some((page, nth)) = rest.split_once('-') {
        return Some(Place::New { page: number(page)?, nth: number(nth)? });
    }
    number(rest).filter(|number| *number > 0).map(|number| Place::Page { number, query: false })
}

fn find_trap(rest: &str) -> Option<Place> {
    if rest.starts_with("relative/") {
        return Some(Place::Relative);
    }
    if let Some(session) = rest.strip_prefix("session/") {
        let digits = session.split([';', '?']).next()?;
        return number(digits).filter(|number| *number < SESSION_PAGES).map(Place::Session);
    }
    if let Some(maze) = traps::find(rest) {
        return Some(Place::Maze(maze));
    }
    let (year, month) = rest.strip_prefix("calendar?y=")?.split_once("&m=")?;
    let (year, month) = (number(year)?, number(month)?);
    (1..=12).contains(&month).then_some(Place::Calendar { year, month })
}

/// A decimal number written the one way a path has it: no sign, no leading zero.
fn number(digits: &str) -> Option<u32> {
    let canonical = digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    if canonical { digits.parse().ok() } else { None }
}

fn pair(rest: &str) -> Option<(u32, u8)> {
    let (page, small) = rest.split_once('/')?;
    Some((number(page)?, u8::try_from(number(small)?).ok()?))
}

/// Extension of a file.
pub fn file_extension(number: u32) -> &'static str {
    FILE_EXTENSIONS.get(number as usize % FILE_EXTENSIONS.len()).copied().unwrap_or("jpg")
}

impl Node {
    /// The start page of the whole web, `http://h0.test/`.
    pub const START: Self = Self { host: 0, place: Place::HOME };

    /// The URL in canonical form, without a port.
    pub fn url(self) -> String {
        format!("http://h{}.test{}", self.host, self.place)
    }
}

/// The number of a host by its name; the name may have a port.
pub fn host_number(name: &str) -> Option<u32> {
    let name = name.split(':').next()?.to_ascii_lowercase();
    number(name.strip_prefix('h')?.strip_suffix(".test")?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places() -> impl Strategy<Value = Place> {
        let number = prop_oneof![0..100u32, any::<u32>()];
        (number, any::<u8>(), any::<bool>(), 0..16u8).prop_map(|(number, small, flag, kind)| match kind {
            0 => Place::Page { number, query: flag && number > 0 },
            1 => Place::Hop { page: number, left: small },
            2 => Place::Loop { page: number, at: small },
            3 => Place::Private(number),
            4 => Place::Open(number),
            5 => Place::Secret(number),
            6 => Place::Find { number, gbk: flag },
            7 => Place::Word(number),
            8 => Place::File(number),
            9 => Place::Text(number),
            10 => Place::Never(number),
            12 => Place::Unlinked(number),
            14 => Place::New { page: number, nth: u32::from(small) },
            13 => Place::Map(Map::ALL[usize::from(small % 3)]),
            11 => Place::Calendar { year: number, month: u32::from(small % 12) + 1 },
            _ => Place::Session(number % SESSION_PAGES),
        })
    }

    proptest! {
        #[test]
        fn a_path_leads_back_to_its_place_and_is_canonical(place in places(), host in 0..1_000_000u32) {
            prop_assert_eq!(Place::find(&place.to_string()), Some(place));
            let url = Node { host, place }.url();
            let parsed = url::Url::parse(&url).unwrap();
            prop_assert_eq!(parsed.as_str(), &url);
        }

        #[test]
        fn any_path_is_either_unknown_or_the_only_one_of_its_place(path in "/(p|r|x|loop|files|text|trap)?/?[0-9a-z./?=&]{0,12}") {
            if let Some(place) = Place::find(&path).filter(|place| !place.is_trap()) {
                prop_assert_eq!(place.to_string(), path);
            }
        }
    }

    #[test]
    fn host_names_are_read_with_port_and_capitals_but_only_as_written() {
        let cases =
            [("h0.test", Some(0)), ("H12.Test:8500", Some(12)), ("h007.test", None), ("www.h1.test", None), ("", None)];
        for (name, expected) in cases {
            assert_eq!(host_number(name), expected, "{name}");
        }
    }
}
