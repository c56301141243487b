//! What a replay sees against what the live run wrote.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::eyes::{Skipped, own_verdict, parsed};
use crate::cli::args::ReplayWhat;
use crate::crawl::lease::Lease;
use crate::crawl::node::Node;
use crate::crawl::parser::Reread;
use crate::crawl::stored::Capture;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::read;
use crate::storage::values::{DoneKind, UrlState};
use crate::warc::metadata::Metadata;
use crate::warc::pages::StoredPage;

/// What differs; none when nothing does.
pub(super) fn differences(
    node: &Node,
    what: ReplayWhat,
    (page, capture): (&StoredPage, Option<&Capture>),
    lease: &Lease,
    reread: Reread<'_>,
) -> Result<Option<Value>, Skipped> {
    match what {
        ReplayWhat::Links => {
            let then = page.metadata.as_deref().ok_or(Skipped::Alone)?;
            let now = Metadata { outlinks: &reread.outlinks, ..Metadata::default() }.to_fields();
            Ok(links(then, &String::from_utf8_lossy(&now)))
        }
        ReplayWhat::Scope => verdicts(node, lease, reread),
        ReplayWhat::Extract => {
            // One that has not changed keeps the values of the capture before.
            let (_, record) = capture.filter(|(_, page)| page.how != DoneKind::NotModified).ok_or(Skipped::Alone)?;
            let (then, now) =
                (record.remarks.extracted.as_deref().map(parsed), reread.remarks.extracted.as_deref().map(parsed));
            Ok((then != now).then(|| json!({ "then": then, "now": now })))
        }
        ReplayWhat::Card => Err(Skipped::Alone),
    }
}

/// Lines about links that stand in one metadata record and not in the other.
fn links(then: &str, now: &str) -> Option<Value> {
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    for (fields, by) in [(then, -1), (now, 1)] {
        fields
            .lines()
            .filter(|line| line.starts_with("outlink"))
            .for_each(|line| *lines.entry(line).or_default() += by);
    }
    let only =
        |here: fn(i64) -> bool| lines.iter().filter(|(_, n)| here(**n)).map(|(line, _)| *line).collect::<Vec<_>>();
    let (then, now) = (only(|n| n < 0), only(|n| n > 0));
    (!then.is_empty() || !now.is_empty()).then(|| json!({ "then": then, "now": now }))
}

/// Links, and the page itself, of which the rules say now another thing than they said then.
fn verdicts(node: &Node, lease: &Lease, reread: Reread<'_>) -> Result<Option<Value>, Skipped> {
    let mut found: Vec<(&PageUrl, Result<(), Rejection>)> = Vec::new();
    found.extend(own_verdict(node, lease).err().map(|reason| (&lease.url, Err(reason))));
    found.extend(reread.links.new.iter().map(|new| (&new.url, Ok(()))));
    found.extend(reread.links.turned.iter().map(|turned| (&turned.new.url, Err(turned.reason))));
    let keys: Vec<SeenKey> = found.iter().map(|(url, _)| SeenKey::of(&node.prints, node.crawl.id, url)).collect();
    let states = read::seen_states(&*node.storage, &keys)?;
    let differs = |((url, now), then): (&(&PageUrl, Result<(), Rejection>), Option<UrlState>)| {
        let (then, now) = differ(then.as_ref(), *now)?;
        Some(json!({ "url": url.as_str(), "then": then, "now": now }))
    };
    let found: Vec<Value> = found.iter().zip(states).filter_map(differs).collect();
    Ok((!found.is_empty()).then(|| json!({ "verdicts": found })))
}

/// What became of a URL, and what is said of it now, where these do not agree. That one page leads to it by a way on which it is turned
/// away says nothing against another page's.
fn differ(then: Option<&UrlState>, now: Result<(), Rejection>) -> Option<(&'static str, &'static str)> {
    let turned = match then {
        None => Some("unknown"),
        Some(UrlState::Rejected { reason, .. }) if is_of_rules(*reason) => Some(reason.as_str()),
        Some(_) => None,
    };
    match (turned, now) {
        (Some(then), Ok(())) => Some((then, "in")),
        (None, Err(reason)) if !is_of_way(reason) => Some(("in", reason.as_str())),
        _ => None,
    }
}

/// Reasons that are given when a link is found; all others are given later.
fn is_of_rules(reason: Rejection) -> bool {
    use Rejection::*;
    is_of_way(reason)
        || matches!(reason, Scope | Excluded | Extension | TooLong | Segments | Repeats | Params | Blocked)
}

/// Reasons that hold for a way to a URL.
fn is_of_way(reason: Rejection) -> bool {
    use Rejection::*;
    matches!(reason, TooDeep | Redirects | Nofollow | SitemapForeign | SitemapNesting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reach::Reach;

    #[test]
    fn links_differ_when_a_line_stands_in_one_record_more_often_than_in_the_other() {
        let a = "outlink: http://a.test/ L a/@href\r\n";
        let text = "outlinkText: http://a.test/ A\r\n";
        assert_eq!(links(&format!("via: x\r\n{a}{text}"), &format!("{text}{a}")), None, "their order says nothing");
        let found = links(&format!("{a}{text}"), &format!("{a}{a}")).unwrap();
        assert_eq!(found, json!({ "then": [text.trim_end()], "now": [a.trim_end()] }));
    }

    #[test]
    fn a_verdict_differs_when_the_rules_turn_away_what_was_taken_or_take_what_was_turned_away() {
        let rejected =
            |reason| Some(UrlState::Rejected { reason, generation: 1, reach: Reach { depth: 0, limit: None } });
        let waiting = Some(UrlState::Error { reason: crate::domain::reason::Failure::Reset });
        for (then, now, expected) in [
            (waiting, Ok(()), None),
            (waiting, Err(Rejection::Scope), Some(("in", "scope"))),
            (waiting, Err(Rejection::TooDeep), None),
            (rejected(Rejection::Scope), Ok(()), Some(("scope", "in"))),
            (rejected(Rejection::Scope), Err(Rejection::Excluded), None),
            (rejected(Rejection::Robots), Ok(()), None),
            (rejected(Rejection::Robots), Err(Rejection::Extension), Some(("in", "extension"))),
            (None, Ok(()), Some(("unknown", "in"))),
            (None, Err(Rejection::Scope), None),
        ] {
            assert_eq!(differ(then.as_ref(), now), expected, "{then:?} {now:?}");
        }
    }
}
