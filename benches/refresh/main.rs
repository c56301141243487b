//! How fresh a crawl stays, by rule: the table of `benches/RESULTS.md`, with a clock of its own and no network.
//!
//! `cargo bench --profile release --bench refresh -- [--pages N] [--seeds N]`
//!
//! A web of N pages (10,000) changes for two years; 0.1 visits a page and day can be had. Rows are means over the seeds, of the second year
//! where nothing else is said.

mod rules;
mod web;

use std::error::Error;

use rules::Rule;
use web::{Measured, Plan, measure};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Visits a page and day.
const ROOM: f64 = 0.1;
const SECOND_YEAR: (f64, f64) = (365.0, 730.0);
const FIRST_DAYS: (f64, f64) = (0.0, 90.0);

const fn ours(wanted: f64, stretched: bool) -> Rule {
    Rule::Ours { wanted, stretched }
}

/// The rows, in their order.
const ROWS: [(&str, Rule, (f64, f64)); 11] = [
    ("uniform", Rule::Uniform, SECOND_YEAR),
    ("proportional to the rates, known", Rule::Proportional, SECOND_YEAR),
    ("Nutch's rule (-0.2, +0.4), scaled to the same visits", Rule::Steps(0.2, 0.4), SECOND_YEAR),
    ("StormCrawler's rule (-0.5, +0.5), scaled to the same visits", Rule::Steps(0.5, 0.5), SECOND_YEAR),
    ("optimum for freshness, rates known", Rule::Optimum, SECOND_YEAR),
    ("ours, rates known", Rule::Known, SECOND_YEAR),
    ("ours", ours(1.0, true), SECOND_YEAR),
    ("the first 90 days: ours, rates known", Rule::Known, FIRST_DAYS),
    ("the first 90 days: ours", ours(1.0, true), FIRST_DAYS),
    ("three times more wanted than can be had: ours, served late", ours(3.0, false), SECOND_YEAR),
    ("three times more wanted than can be had: ours, stretched", ours(3.0, true), SECOND_YEAR),
];

fn main() -> Result<()> {
    let (mut pages, mut seeds) = (10_000, 5);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--pages" => pages = value()?.parse()?,
            "--seeds" => seeds = value()?.parse()?,
            _ => {} // what cargo itself hands on
        }
    }
    println!(
        "| {pages} pages, {ROOM} visits a page and day | weighted freshness % | of single seeds | mean age, d | visits a page and day |"
    );
    println!("|---|--:|--:|--:|--:|");
    for (name, rule, watched) in ROWS {
        let all: Vec<Measured> =
            (1..=seeds).map(|seed| measure(&Plan { pages, seed, room: ROOM, watched }, rule)).collect();
        let mean = |of: fn(&Measured) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let single: Vec<String> = all.iter().map(|one| format!("{:.1}", one.fresh)).collect();
        let (fresh, age, visits) = (mean(|one| one.fresh), mean(|one| one.age), mean(|one| one.visits));
        println!("| {name} | {fresh:.1} | {} | {age:.2} | {visits:.4} |", single.join(" "));
    }
    Ok(())
}
