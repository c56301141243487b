//! What changed when: the answer of `/_changes`, reckoned from the settings; nothing is kept.

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::change::MOST_GROWN;
use super::place::{Node, Place};
use super::shape::{Answer, Class, Shape};
use crate::base::kinds::kinds;

kinds! {
    /// What changed of a page.
    ChangeKind {
        /// Its text.
        Changed = "changed",
        /// It leads to a page that came with it.
        Grown = "grown",
        /// It is not there any more.
        Gone = "gone",
        /// It is there again.
        Back = "back",
    }
}

/// A change, as `/_changes` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// The page, canonical.
    pub url: String,
    /// What changed.
    pub kind: ChangeKind,
    /// The page that came with a hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

/// A part of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// In the order of time.
    pub changes: Vec<Told>,
    /// From where on to ask for the rest, and whether there is any by now.
    pub next_us: u64,
    /// Whether there was more than was asked for.
    pub more: bool,
}

/// Changes told at once at most, and when nothing is said.
pub const MOST: usize = 100_000;

/// Moment, page, kind, and the page that came.
type Row = (u64, Node, ChangeKind, Option<Place>);

/// What changed after `since_us` until the shape's moment, the first `limit` of it.
///
/// It looks at every page; memory is bounded by `limit`.
pub fn history(shape: &Shape, since_us: u64, limit: usize) -> History {
    let limit = limit.clamp(1, MOST);
    let mut first: BinaryHeap<Row> = BinaryHeap::new();
    let mut left_out: Option<u64> = None;
    for (host, number) in (0..shape.config.hosts).flat_map(|host| (0..shape.config.pages).map(move |n| (host, n))) {
        for row in of_page(shape, (host, number), since_us) {
            first.push(row);
            if first.len() > limit {
                left_out = first.pop().map(|(at, ..)| left_out.map_or(at, |before| before.min(at)));
            }
        }
    }
    // What came at the same moment is told together.
    let cut = left_out.filter(|cut| first.iter().any(|(at, ..)| at < cut));
    let kept = first.into_sorted_vec().into_iter().filter(|(at, ..)| cut.is_none_or(|cut| *at < cut));
    let changes: Vec<Told> = kept.map(told).collect();
    let last = changes.last().map_or(since_us, |change| change.at_us);
    History {
        next_us: if left_out.is_some() { last } else { shape.at_us.max(since_us) },
        more: left_out.is_some(),
        changes,
    }
}

fn told((at_us, node, kind, new): Row) -> Told {
    Told { at_us, url: node.url(), kind, new: new.map(|place| Node { place, ..node }.url()) }
}

fn of_page(shape: &Shape, (host, number): (u32, u32), since_us: u64) -> Vec<Row> {
    let node = shape.page(host, number);
    let content = match (shape.class(host, number), shape.answer(node)) {
        (Class::Plain | Class::Flaky, _) => number,
        (_, Answer::Page { content }) => content,
        _ => return Vec::new(),
    };
    let (gone, back) = shape.absence(host, number).unwrap_or((u64::MAX, u64::MAX));
    let hub = shape.is_hub(host, content);
    // Which change of a hub it is, is counted from the first.
    let from = if hub { 0 } else { since_us };
    let changes = shape.changes(host, content, from, shape.at_us).zip(1..);
    let seen = changes.filter(|(change, _)| change.at_us > since_us && !(gone..back).contains(&change.at_us));
    let mut rows: Vec<Row> = seen
        .map(|(change, nth)| match hub && nth <= MOST_GROWN {
            true => (change.at_us, node, ChangeKind::Grown, Some(Place::New { page: content, nth })),
            false => (change.at_us, node, ChangeKind::Changed, None),
        })
        .collect();
    let moments = [(gone, ChangeKind::Gone), (back, ChangeKind::Back)];
    let passed = moments.into_iter().filter(|(at, _)| *at > since_us && *at <= shape.at_us);
    rows.extend(passed.map(|(at, kind)| (at, node, kind, None)));
    rows
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testweb::TestWebConfig;

    fn shape() -> Shape {
        Shape::new(TestWebConfig {
            hosts: 3,
            pages: 60,
            changes: Some(Duration::from_secs(10)),
            changes_from: Some(1_000),
            changes_spread: 1.0,
            grow: 0.1,
            vanish: 0.3,
            duplicates: 0.2,
            near: 0.1,
            ..TestWebConfig::default()
        })
        .at(1_200_000_000)
    }

    #[test]
    fn what_is_told_in_parts_is_what_is_told_at_once_whatever_the_size_of_a_part() {
        let shape = shape();
        let whole = history(&shape, 0, MOST);
        assert!(whole.changes.len() > 2_000 && !whole.more, "{}", whole.changes.len());
        assert!(whole.changes.is_sorted_by_key(|change| change.at_us));
        for limit in [20, 700] {
            let (mut since, mut parts) = (0, Vec::new());
            loop {
                let part = history(&shape, since, limit);
                assert!(!part.changes.is_empty() || !part.more);
                parts.extend(part.changes);
                since = part.next_us;
                if !part.more {
                    break;
                }
            }
            assert_eq!(since, shape.at_us);
            assert_eq!(parts, whole.changes);
        }
        let later = history(&shape, 1_100_000_000, MOST).changes;
        assert_eq!(later, whole.changes.into_iter().filter(|change| change.at_us > 1_100_000_000).collect::<Vec<_>>());
    }

    #[test]
    fn each_change_told_is_one_of_what_is_served_and_there_is_no_other() {
        let shape = shape();
        let told = history(&shape, 0, MOST).changes;
        // What a page is at a moment: its answer, its text and its links.
        let stands = |node: Node, at: u64| {
            let shape = shape.at(at);
            let text = match shape.answer(node) {
                Answer::Page { content } => shape.text_version(node.host, content),
                _ => 0,
            };
            (shape.answer(node), text, shape.links(node).len())
        };
        for (host, number) in (0..3).flat_map(|host| (0..60).map(move |number| (host, number))) {
            let node = shape.page(host, number);
            let mut moments: Vec<u64> =
                told.iter().filter(|change| change.url == node.url()).map(|change| change.at_us).collect();
            for at in &moments {
                assert_ne!(stands(node, at - 1), stands(node, *at), "{} at {at}", node.url());
            }
            moments.extend([1_000_000_000, shape.at_us + 1]);
            moments.sort_unstable();
            for two in moments.windows(2) {
                assert_eq!(stands(node, two[0]), stands(node, two[1] - 1), "{} from {}", node.url(), two[0]);
            }
        }
        for kind in ChangeKind::ALL {
            assert!(told.iter().any(|change| change.kind == *kind), "{kind}");
        }
        for change in told.iter().filter(|change| change.kind == ChangeKind::Grown) {
            let (host, path) = change.new.as_deref().unwrap().strip_prefix("http://").unwrap().split_once('/').unwrap();
            let host = super::super::place::host_number(host).unwrap();
            let at = |at| shape.at(at).find(host, &format!("/{path}"));
            assert!(at(change.at_us - 1).is_none() && at(change.at_us).is_some(), "{change:?}");
        }
    }
}
