//! Sites of `tests/data/traps.txt`: pages that are made from their number.

use std::collections::{BTreeMap, HashSet, VecDeque};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Turn;
use crate::domain::cases::rows;

/// A site by the kinds of its pages; the first is its start page.
pub(super) struct Site<'t> {
    pub name: &'t str,
    pub kinds: Vec<Kind<'t>>,
}

pub(super) struct Kind<'t> {
    pub name: &'t str,
    /// None: without end.
    pub pages: Option<u64>,
    /// None: all of them must be asked for.
    pub most: Option<usize>,
    path: &'t str,
    body: &'t str,
    links: &'t str,
}

pub(super) fn sites(table: &str) -> Vec<Site<'_>> {
    let mut sites: Vec<Site<'_>> = Vec::new();
    for row in rows(table, 7) {
        let [site, name, pages, most, path, body, links] = row.cells[..] else { unreachable!() };
        let (pages, most) = (pages.parse().ok(), most.parse().ok());
        let kind = Kind { name, pages, most, path, body, links };
        match sites.last_mut().filter(|last| last.name == site) {
            Some(last) => last.kinds.push(kind),
            None => sites.push(Site { name: site, kinds: vec![kind] }),
        }
    }
    sites
}

impl Kind<'_> {
    pub(super) fn url(&self, n: u64) -> String {
        format!("http://a.test{}", filled(self.path, n))
    }

    pub(super) fn body(&self, n: u64) -> String {
        filled(self.body, n)
    }
}

impl Site<'_> {
    /// The links of a page, as places of kinds and numbers.
    pub(super) fn links(&self, kind: usize, n: u64) -> Vec<(usize, u64)> {
        let links = self.kinds[kind].links.split(' ').filter(|link| *link != "-");
        let to = links.flat_map(|link| {
            let (name, number) = link.split_once(':').unwrap();
            let at = self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| panic!("no kind {name}"));
            let (first, end) = match number.split_once("..") {
                Some((first, end)) => (eval(first, n), eval(end, n)),
                None => (eval(number, n), eval(number, n).saturating_add(1)),
            };
            (first..end).map(move |number| (at, number))
        });
        to.filter(|(at, number)| self.kinds[*at].pages.is_none_or(|pages| *number < pages)).collect()
    }
}

fn draw(n: u64, lot: u64) -> u64 {
    xxh3_64_with_seed(&n.to_le_bytes(), lot) >> 1
}

/// From left to right; below zero is a number that no page has.
fn eval(text: &str, n: u64) -> u64 {
    let mut value = 0_u64;
    let (mut rest, mut op) = (text, '+');
    while !rest.is_empty() {
        let end = rest.find(['+', '-', '*', '/', '%']).unwrap_or(rest.len());
        let term = match &rest[..end] {
            "n" => n,
            lot if lot.starts_with('r') => draw(n, lot[1..].parse().unwrap()),
            number => number.parse().unwrap_or_else(|_| panic!("no number in {text}")),
        };
        value = match op {
            '+' => value.wrapping_add(term),
            '-' => value.checked_sub(term).unwrap_or(u64::MAX - 1),
            '*' => value.wrapping_mul(term),
            '/' => value / term,
            _ => value % term,
        };
        op = rest[end..].chars().next().unwrap_or('+');
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    value
}

fn filled(text: &str, n: u64) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (hole, after) = behind.split_once('}').unwrap();
        out.push_str(before);
        let (what, expr) = hole.split_once(':').unwrap_or(("", hole));
        out.push_str(&made(what, expr, n));
        rest = after;
    }
    out + rest
}

fn made(what: &str, expr: &str, n: u64) -> String {
    if what == "rows" {
        let (first, end) = expr.split_once("..").unwrap();
        return lines(eval(first, n), eval(end, n), n);
    }
    if what == "of" {
        let (which, these) = expr.split_once(':').unwrap();
        let these: Vec<&str> = these.split(',').collect();
        return these[eval(which, n) as usize % these.len()].to_owned();
    }
    let value = eval(expr, n);
    let (years, months, days) = (value / 360, value % 360 / 30, value % 30);
    match what {
        "" => value.to_string(),
        "x" => format!("{:016x}{:016x}", draw(value, 1), draw(value, 2)),
        "c" => format!("{:07x}1", draw(value, 1) >> 40),
        "u" => format!("{:08x}-1a2b-4c3d-8e4f-{:012x}", draw(value, 1) >> 40, draw(value, 2) >> 20),
        "b" => base64(value),
        "w" => word(value),
        "ab" => folders(value),
        "depth" => depth(value),
        "t" => (0..6).map(|nth| word(draw(value, nth))).collect::<Vec<_>>().join(" "),
        "y" => format!("{:04}", 2000 + years),
        "m" => format!("{:02}", months + 1),
        "d" => format!("{:02}", days + 1),
        "ym" => {
            format!("{}/{:02}", 2000 + value / 12, value % 12 + 1).replace("/", if expr == "n" { "/" } else { "-" })
        }
        "name" => ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October"]
            .get(value as usize % 12)
            .map_or_else(|| "December".to_owned(), |name| format!("{name} {}", value / 12)),
        other => panic!("unknown {other}"),
    }
}

/// Products of a list, in another order for each third page.
fn lines(first: u64, end: u64, n: u64) -> String {
    let mut rows: Vec<String> = (first..end).map(|item| format!("<li>{} chair {item}</li>", word(item))).collect();
    let turn = n as usize % 3 % rows.len().max(1);
    rows.rotate_left(turn);
    rows.concat()
}

/// A word for each number, another for each.
fn word(n: u64) -> String {
    let mut out = String::new();
    let mut rest = n;
    loop {
        out.push_str(["ba", "de", "fi", "go", "ku", "la", "me", "no", "pi", "ru"][rest as usize % 10]);
        rest /= 10;
        if rest == 0 {
            return out;
        }
    }
}

/// A folder for each digit but the first of a number in base two, each below the last.
fn folders(n: u64) -> String {
    (0..n.max(1).ilog2()).rev().map(|nth| if n >> nth & 1 == 0 { "a/" } else { "b/" }).collect()
}

/// Nine of a hundred words, the same for all numbers of as many digits in base two.
fn depth(n: u64) -> String {
    (0..9).map(|nth| word(draw(u64::from(n.leading_zeros()), nth) % 100)).collect::<Vec<_>>().join(" ")
}

fn base64(n: u64) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text: String = (0..24).map(|nth| char::from(digits[draw(n, nth) as usize % 64])).collect();
    format!("{text}aB3")
}

/// Pages that a crawl of a site asks for, by kind.
pub(super) type Asked = BTreeMap<usize, usize>;

/// A crawl; `newest`: what was found last comes first. `page` is told each page with the page it was found on, its body, and its links,
/// each with whether it is new; it says when each is taken, if at all. One that is not may be found again. Of what comes last it is asked
/// once more, with [`AGAIN`] for a body: it is left out when nothing is said.
pub(super) fn crawl(
    site: &Site<'_>,
    (most, newest): (usize, bool),
    mut page: impl FnMut(&str, Option<&str>, &str, &[(String, Seen)]) -> Vec<Option<Turn>>,
) -> Asked {
    let mut known: HashSet<String> = HashSet::new();
    let (mut queue, mut last) = (VecDeque::from([(0_usize, 0_u64, None::<String>)]), VecDeque::new());
    let mut waits_last: HashSet<String> = HashSet::new();
    known.insert(site.kinds[0].url(0));
    let mut asked = Asked::new();
    loop {
        let next = if newest { queue.pop_back() } else { queue.pop_front() };
        let comes_last = next.is_none();
        let Some((kind, n, via)) = next.or_else(|| last.pop_front()) else { return asked };
        let url = site.kinds[kind].url(n);
        if comes_last && (!waits_last.remove(&url) || page(&url, via.as_deref(), AGAIN, &[]).is_empty()) {
            continue; // it had its turn before, or has none
        }
        let count = asked.entry(kind).or_default();
        *count += 1;
        if *count > most {
            return asked;
        }
        let links = site.links(kind, n);
        let mut told: Vec<(String, Seen)> = Vec::new();
        for (to, number) in &links {
            let link = site.kinds[*to].url(*number);
            let twice = told.iter().any(|(other, _)| *other == link);
            let seen = match twice {
                false if waits_last.contains(&link) => Seen::WaitsLast,
                false if !known.contains(&link) => Seen::New,
                _ => Seen::Known,
            };
            told.push((link, seen));
        }
        let turns = page(&url, via.as_deref(), &site.kinds[kind].body(n), &told);
        for (((to, number), (link, seen)), turn) in links.into_iter().zip(told).zip(turns) {
            let found = (to, number, Some(url.clone()));
            match turn {
                Some(Turn::Ordinary) => {
                    waits_last.remove(&link);
                    queue.push_back(found);
                }
                Some(Turn::Last) if seen == Seen::New => {
                    waits_last.insert(link.clone());
                    last.push_back(found);
                }
                _ => continue,
            }
            known.insert(link);
        }
    }
}

/// How a link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    New,
    WaitsLast,
    Known,
}

/// In place of a body: the URL is judged once more before its request.
pub(super) const AGAIN: &str = "\0";
