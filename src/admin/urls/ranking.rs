//! What a URL's rank is made of: every factor, with its value and where it comes from.

use std::sync::Arc;

use super::views::{FactorView, RankingView};
use crate::admin::find::{Record, Target};
use crate::config::PrioritySection;
use crate::crawl::live::Live;
use crate::crawl::node::Node;
use crate::crawl::ranks::{Asked, factors};
use crate::domain::credit::SEED;
use crate::domain::priority::{Factors, Weight};
use crate::domain::rank::{Order, Ranker};
use crate::storage::tables::Credit;
use crate::storage::values::{CreditValue, HostCounts, QueueEntry, SeedValue, UrlState};
use crate::storage::{StorageError, read};

/// The rank that the rules in force give a URL that waits, or would give one that nobody has found; none where ranks say nothing.
pub(super) fn ranking(
    node: &Node,
    target: &Target,
    record: &Record,
    host: Option<&HostCounts>,
) -> Result<Option<RankingView>, StorageError> {
    let (live, ranker) = (node.crawl.live(), &node.crawl.rules.ranker);
    let entry = record.entry.as_ref();
    let visit = entry.is_some_and(QueueEntry::is_visit);
    let asked = match (record.state, entry) {
        (Some(UrlState::Waiting { .. }), Some(entry)) => Asked::of(&target.url, entry),
        (None, _) => Asked { url: &target.url, depth: 1, origin: None, priority: None },
        _ => return Ok(None),
    };
    let (found, seed) = factors(node, &live, &asked, host.unwrap_or(&HostCounts::default()))?;
    let own = seed.as_ref().filter(|_| entry.is_some_and(|entry| entry.seed && entry.origin.is_none()));
    let comes_last = matches!(record.state, Some(UrlState::Waiting { order, .. }) if Ranker::is_last(order));
    let factors = all(&live, &asked, host, &found, seed.as_ref());
    let credit = by_credit(node, target, record)?;
    let because = match (comes_last, own.and_then(|seed| seed.rank), found.rank) {
        (true, ..) => "it comes after all others of its host, for the shape of its URL".to_owned(),
        (false, Some(rank), _) => format!("rank {rank}, as is said of this seed"),
        _ if ranker.order() != Order::Best => return Ok(None),
        (false, None, Some(rank)) => format!("rank {rank} outright, by {}", rule(&live, &found)),
        (false, None, None) => match credit {
            Some((rank, held)) => {
                let all = in_words(rank, &found, &factors).replace(&format!(": rank {rank}"), "");
                format!("rank {rank} by link credit: it holds {held:.4} of what a seed brings, weighed by its {all}")
            }
            None => in_words(ranker.rank_by(&found, visit), &found, &factors),
        },
    };
    let said = own.and_then(|seed| seed.rank);
    let outright = found.rank.is_some();
    let by_importance = match credit {
        Some((rank, _)) if !outright => rank,
        _ => ranker.rank_by(&found, visit),
    };
    let rank = if comes_last { Ranker::last_place(0).rank } else { said.unwrap_or(by_importance) };
    Ok(Some(RankingView { rank, because, importance: found.importance(), factors }))
}

/// The rank of a URL that waits and what it holds, where link credit ranks.
fn by_credit(node: &Node, target: &Target, record: &Record) -> Result<Option<(u8, f64)>, StorageError> {
    let (Some(_), Some(UrlState::Waiting { rank, .. })) = (node.crawl.rules.credit(), record.state) else {
        return Ok(None);
    };
    Ok(match read::get::<Credit>(&*node.storage, &target.key)? {
        Some(CreditValue::Account { balance, .. }) => Some((rank, balance as f64 / SEED as f64)),
        _ => None,
    })
}

/// The factors that are not 1, multiplied.
fn in_words(rank: u8, found: &Factors, factors: &[FactorView]) -> String {
    let tells = |factor: &&FactorView| factor.name == "depth" || (factor.value - 1.0).abs() > f64::EPSILON;
    let parts: Vec<String> = factors.iter().filter(tells).map(|f| format!("{} {}", f.name, short(f.value))).collect();
    let importance = short(found.importance());
    format!("importance {importance} ({}): rank {rank}", parts.join(" × "))
}

fn all(
    live: &Live,
    asked: &Asked<'_>,
    host: Option<&HostCounts>,
    found: &Factors,
    seed: Option<&Arc<SeedValue>>,
) -> Vec<FactorView> {
    let factor = |name: &str, value: f64, from: String| FactorView { name: name.to_owned(), value, from };
    let of_seed = match (seed.and_then(|seed| seed.weight), asked.origin) {
        (Some(_), origin) => format!("weight of the seed {}", origin.unwrap_or(asked.url.as_str())),
        (None, Some(origin)) => format!("nothing is said of the seed {origin}"),
        (None, None) => "nothing is said of it as a seed".to_owned(),
    };
    let section = live.settings.host_rules(asked.url.host()).filter(|section| section.weight.is_some());
    let of_host = section.map_or_else(
        || "no [[host]] gives its host a weight".to_owned(),
        |section| format!("[[host]] match = {:?}", section.pattern),
    );
    let of_rule = found.nth.map_or_else(|| "no [[priority]] covers it".to_owned(), |_| rule(live, found));
    let of_site = asked.priority.map_or_else(
        || "no sitemap says how important it is".to_owned(),
        |hundredths| format!("1/2 + {}, the priority in its sitemap", short(f64::from(hundredths) / 100.0)),
    );
    vec![
        factor("depth", found.depth, format!("frontier.depth_weights at depth {}", asked.depth)),
        factor("seed", found.seed, of_seed),
        factor("host", found.host, of_host),
        factor("quality", found.quality, of_counts(host)),
        factor("sitemap", found.site, of_site),
        factor("rule", found.rule, of_rule),
    ]
}

/// What its host gave so far.
fn of_counts(host: Option<&HostCounts>) -> String {
    let Some(HostCounts { done, repeats, errors, .. }) = host else { return "nothing is known of its host".into() };
    format!(
        "of its host: ({done} done - {repeats} that repeat others + 8) / ({done} done + {errors} given up + 8), at least 1/4"
    )
}

/// A rule as it is written, and which it is.
fn rule(live: &Live, found: &Factors) -> String {
    let Some((nth, section)) = found.nth.and_then(|nth| Some((nth, live.settings.priority.get(nth)?))) else {
        return "a [[priority]]".to_owned();
    };
    let PrioritySection { urls, hosts, tags, weight, rank } = section;
    let lists = [("urls", urls), ("hosts", hosts), ("tags", tags)];
    let given = lists.iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| format!("{name} = {list:?}"));
    let says = match (rank, weight) {
        (Some(rank), _) => format!("rank = {rank}"),
        (None, weight) => format!("weight = {}", short(weight.map_or(1.0, Weight::get))),
    };
    format!("[[priority]] number {} ({})", nth + 1, given.chain([says]).collect::<Vec<_>>().join(", "))
}

/// A number with at most two digits behind the point.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
