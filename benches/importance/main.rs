//! How much of the web's importance lies in the first pages that each order takes: `importance [starts=40] [spaces=200] [more]
//! [only=WORDS] GRAPH...`, with graphs that `benches/graph.py` made; `more`: variants of ours. Importance is PageRank (damping 0.85) over the whole graph. No network, no disk: `domain::credit` and
//! the ranks of the frontier, driven as the ledger drives them.
//!
//! Each row is the mean of five starts: `starts=` front pages of hosts, drawn anew for each. The marks are shares of the pages that a walk
//! from these comes to, and the figures per cent of all PageRank of those. With `spaces`, so many pages of the graph lead to an endless
//! space each, a domain of its own or a folder of that page's host, and the figure is the per cent of the first pages that lie in them.

mod graph;
mod order;
mod ours;

use std::path::PathBuf;
use std::rc::Rc;

use lycosa::domain::credit::Dividend;

use graph::{Graph, Spaces, Web};
use order::{Best, Breadth, Depth, ExactOpic, InDegree, Mixed, Oracle, Order};
use ours::{Options, Ours};

const STARTS: u64 = 5;
const MARKS: [usize; 5] = [10, 20, 30, 40, 50];
/// Pages fetched of a graph with endless spaces.
const FIRST: usize = 100_000;

/// A 64-bit mix (splitmix64).
fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `nth` draw of so many of these.
fn draw(of: &[u32], many: usize, nth: u64) -> Vec<u32> {
    let mut drawn = of.to_vec();
    drawn.sort_unstable_by_key(|page| mix(u64::from(*page) << 8 | nth));
    drawn.truncate(many);
    drawn
}

/// Fetches pages until `most` are fetched or none is left; gives them in their order.
fn walk(web: &mut Web<'_>, seeds: &[u32], order: &mut dyn Order, most: usize) -> Vec<u32> {
    let mut depths = std::collections::HashMap::new();
    let mut fetched = Vec::new();
    for seed in seeds {
        depths.insert(*seed, 0_u16);
        order.found(web, *seed, 0);
    }
    while fetched.len() < most {
        let Some(page) = order.next(web) else { break };
        let links = web.fetch(page);
        order.fetches(web, page, &links);
        let depth = depths.get(&page).copied().unwrap_or_default().saturating_add(1);
        for to in &links {
            if let std::collections::hash_map::Entry::Vacant(e) = depths.entry(*to) {
                e.insert(depth);
                order.found(web, *to, depth);
            }
        }
        order.fetched(web, page, &links);
        fetched.push(page);
    }
    fetched
}

type Made = Box<dyn Fn() -> Box<dyn Order>>;

/// The rows.
fn orders(more: bool, rank: &Rc<Vec<f64>>) -> Vec<(&'static str, Made)> {
    let ours = |options: Options| -> Made { Box::new(move || Box::new(Ours::new(options))) };
    let rank = Rc::clone(rank);
    let (page, group) = (Options::default(), Options { dividend: Dividend::Group, ..Options::default() });
    let mut rows: Vec<(&'static str, Made)> = vec![
        ("depth", Box::new(|| Box::new(Depth::default()))),
        ("mixed", Box::new(|| Box::new(Mixed::default()))),
        ("breadth", Box::new(|| Box::new(Breadth::default()))),
        ("best, without credit", Box::new(|| Box::new(Best::default()))),
        ("in-degree", Box::new(|| Box::new(InDegree::default()))),
        ("exact OPIC", Box::new(|| Box::new(ExactOpic::default()))),
        ("credit, by page", ours(page)),
        ("credit, by group", ours(group)),
        ("oracle", Box::new(move || Box::new(Oracle::new(Rc::clone(&rank))))),
    ];
    if more {
        rows.extend([
            ("by group, first share in a round too", ours(Options { at_once: false, ..group })),
            ("by group, fetched pages are paid too", ours(Options { done_too: true, ..group })),
            ("by group, shares of fetched pages to lambda", ours(Options { done_to_lambda: true, ..group })),
            ("by group, depth not weighed", ours(Options { depth: false, ..group })),
            ("by page, depth not weighed", ours(Options { depth: false, ..page })),
            ("by group, rounds of 100", ours(Options { round: 100, ..group })),
            ("by group, rounds of 10,000", ours(Options { round: 10_000, ..group })),
        ]);
    }
    rows
}

/// Per cent of the importance that is reached, at each mark; and of the first pages those in spaces of either kind.
fn row(graph: &Graph, rank: &[f64], (many, endless): (usize, usize), made: &Made) -> ([f64; 5], [f64; 2]) {
    let (mut sums, mut spaces) = ([0.0; 5], [0.0; 2]);
    for start in 0..STARTS {
        let seeds = draw(&graph.fronts, many, start);
        let reached = graph.reached(&seeds);
        let all: f64 = reached.iter().zip(rank).filter(|(reached, _)| **reached).map(|(_, rank)| rank).sum();
        let pages: Vec<u32> = (0_u32..).zip(&reached).filter(|(_, reached)| **reached).map(|(page, _)| page).collect();
        let fetched = walk(&mut Web::new(graph, Spaces::None, &[]), &seeds, &mut *made(), usize::MAX);
        assert_eq!(fetched.len(), pages.len(), "an order fetches each page once");
        for (sum, mark) in sums.iter_mut().zip(MARKS) {
            let first = fetched.iter().take(pages.len() * mark / 100);
            *sum += first.map(|page| rank[*page as usize]).sum::<f64>() / all * 100.0 / STARTS as f64;
        }
        for (sum, kind) in spaces.iter_mut().zip([Spaces::Domains, Spaces::Folders]).filter(|_| endless > 0) {
            let mut web = Web::new(graph, kind, &draw(&pages, endless, start));
            let first = walk(&mut web, &seeds, &mut *made(), FIRST.min(pages.len()));
            let inside = first.iter().filter(|page| web.in_space(**page)).count();
            *sum += inside as f64 * 100.0 / first.len() as f64 / STARTS as f64;
        }
    }
    (sums, spaces)
}

fn main() {
    let (mut many, mut more, mut endless, mut only, mut graphs) = (40, false, 200, String::new(), Vec::new());
    for word in std::env::args().skip(1).filter(|word| !word.starts_with("--")) {
        match word.strip_prefix("starts=") {
            Some(n) => many = n.parse().unwrap_or(many),
            None if word == "more" => more = true,
            None if word.starts_with("spaces=") => endless = word[7..].parse().unwrap_or(endless),
            None if word.starts_with("only=") => only = word[5..].to_owned(),
            None => graphs.push(PathBuf::from(word)),
        }
    }
    for path in graphs {
        let graph = match Graph::read(&path) {
            Ok(graph) => graph,
            Err(e) => {
                eprintln!("importance: {e}");
                std::process::exit(1);
            }
        };
        println!(
            "\n{}: {} pages, {} links, {} hosts; {many} seeds",
            path.display(),
            graph.len(),
            graph.arcs(),
            graph.fronts.len()
        );
        let rank = Rc::new(graph.page_rank());
        println!(
            "| order | 10 % | 20 % | 30 % | 40 % | 50 % | in spaces: domains | folders |\n|---|---|---|---|---|---|---|---|"
        );
        for (name, made) in orders(more, &rank).into_iter().filter(|(name, _)| only.is_empty() || name.contains(&only))
        {
            let ([a, b, c, d, e], [own, folders]) = row(&graph, &rank, (many, endless), &made);
            println!("| {name} | {a:.1} | {b:.1} | {c:.1} | {d:.1} | {e:.1} | {own:.1} | {folders:.1} |");
        }
        println!("omniscient: {}", omniscient(&rank).map(|share| format!("{share:.1}")).join(" "));
    }
}

/// Per cent of the importance in the most important pages.
fn omniscient(rank: &[f64]) -> [f64; 5] {
    let mut sorted = rank.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    MARKS.map(|mark| sorted.iter().take(sorted.len() * mark / 100).sum::<f64>() * 100.0)
}
