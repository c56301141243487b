//! Near-duplicates among real pages: how many pairs the rule finds, and how many of those are.
//!
//! `cargo bench --profile release --bench near_duplicates -- --pages DIR`
//!
//! DIR and what lies below it is searched for `*.html`, such as the unpacked documentation packages of a Debian; pages that are the same byte
//! by byte are taken once. The truth is Jaccard's: runs of three tokens that two texts have in common, by those that either has, found for
//! all pairs by an exact join. `benches/RESULTS.md` has the figures.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lycosa::content::html::{ExtractOptions, PageReader};
use lycosa::domain::near::{BITS, LOOKED_AT, Sketch, TABLES, find, rotated, same_title};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Pairs that have so much in common are near by anybody's judgement, or all but the same.
const ALIKE: f64 = 0.9;
const SAME: f64 = 0.98;
/// Larger files are passed over.
const LARGEST: u64 = 4 << 20;
/// Pages whose look-ups are timed at most.
const TIMED: usize = 20_000;

struct Text {
    sketch: Sketch,
    title: Option<String>,
    /// Hashes of its runs of three tokens, sorted, each once.
    runs: Vec<u32>,
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        if about.is_dir() {
            files(&path, out)?;
        } else if about.is_file() && about.len() <= LARGEST && path.extension().is_some_and(|end| end == "html") {
            out.push(path);
        }
    }
    Ok(())
}

/// Words and numbers, lower case; of Chinese and kana each character.
fn tokens(text: &str) -> Vec<String> {
    let (mut all, mut token) = (Vec::new(), String::new());
    for c in text.chars() {
        let alone = matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        if (alone || !c.is_alphanumeric()) && !token.is_empty() {
            all.push(std::mem::take(&mut token));
        }
        if alone {
            all.push(c.to_string());
        } else if c.is_alphanumeric() {
            token.extend(c.to_lowercase());
        }
    }
    all.extend(Some(token).filter(|token| !token.is_empty()));
    all
}

fn read(bytes: &[u8]) -> Result<Option<Text>> {
    let url = Url::parse("http://h.test/")?;
    let mut reader = PageReader::new(Some("text/html"), &url, ExtractOptions::default(), LARGEST);
    reader.push(bytes);
    let facts = reader.finish().facts;
    let Some(sketch) = facts.shown.print.as_ref().and_then(Sketch::of) else { return Ok(None) };
    let tokens = tokens(&format!("{}\n{}", facts.title.as_deref().unwrap_or_default(), facts.text));
    let hashes: Vec<u64> = tokens.iter().map(|token| xxh3_64(token.as_bytes())).collect();
    let run = |run: &[u64]| {
        run.iter().fold(7_u64, |sum, hash| (sum ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31))
    };
    let mut runs: Vec<u32> = hashes.windows(3).map(|three| (run(three) >> 32) as u32).collect();
    runs.sort_unstable();
    runs.dedup();
    Ok(Some(Text { sketch, title: facts.title, runs }))
}

fn jaccard(one: &[u32], other: &[u32]) -> f64 {
    let (mut common, mut a, mut b) = (0_usize, one.iter().peekable(), other.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => _ = a.next(),
            std::cmp::Ordering::Greater => _ = b.next(),
            std::cmp::Ordering::Equal => {
                common += 1;
                a.next();
                b.next();
            }
        }
    }
    common as f64 / (one.len() + other.len() - common).max(1) as f64
}

/// All pairs that are alike: two such share one of their rarest runs (Chaudhuri, Ganti and Kaushik, 2006).
fn alike(texts: &[Text]) -> HashMap<(u32, u32), f64> {
    let mut often: HashMap<u32, u32> = HashMap::new();
    texts.iter().flat_map(|text| &text.runs).for_each(|run| *often.entry(*run).or_default() += 1);
    let mut by_run: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut pairs = HashMap::new();
    for (nth, text) in (0_u32..).zip(texts) {
        let mut rare = text.runs.clone();
        rare.sort_unstable_by_key(|run| (often.get(run).copied(), *run));
        rare.truncate(text.runs.len() - (ALIKE * text.runs.len() as f64).ceil() as usize + 1);
        let mut met = HashSet::new();
        for run in rare {
            let others = by_run.entry(run).or_default();
            for other in others.iter().filter(|other| met.insert(**other)) {
                let Some(before) = texts.get(*other as usize) else { continue };
                let (few, many) = (before.runs.len().min(text.runs.len()), before.runs.len().max(text.runs.len()));
                if few as f64 >= ALIKE * many as f64 {
                    let much = jaccard(&before.runs, &text.runs);
                    pairs.extend((much >= ALIKE).then_some(((*other, nth), much)));
                }
            }
            others.push(nth);
        }
    }
    pairs
}

/// All pairs that the rule calls near, by a look at each.
fn near(texts: &[Text]) -> HashSet<(u32, u32)> {
    let mut pairs = HashSet::new();
    for (nth, text) in (0_u32..).zip(texts) {
        let before = (0_u32..).zip(texts).take(nth as usize);
        pairs.extend(
            before.filter(|(_, other)| other.sketch.distance(text.sketch).is_some()).map(|(other, _)| (other, nth)),
        );
    }
    pairs
}

/// What tighter rules would find: precision, and recall of what is all but the same.
fn variants(texts: &[Text], near: &HashSet<(u32, u32)>, alike: &HashMap<(u32, u32), f64>) {
    let same = alike.values().filter(|much| **much >= SAME).count();
    println!(
        "| bits | hundredths more runs | hundredths more characters | pairs | precision | recall |\n|--:|--:|--:|--:|--:|--:|"
    );
    let within = |one: u32, other: u32, more: u32| {
        u64::from(one.max(other)) * 100 <= u64::from(one.min(other)) * u64::from(100 + more)
    };
    for (bits, runs, letters) in [(3, 3, 3), (3, 2, 2), (3, 1, 1), (2, 3, 3), (2, 1, 1), (1, 3, 3), (1, 1, 1)] {
        let fits = |(one, other): &&(u32, u32)| {
            let Some((one, other)) = texts.get(*one as usize).zip(texts.get(*other as usize)) else { return false };
            (one.sketch.sim ^ other.sketch.sim).count_ones() <= bits
                && within(one.sketch.features, other.sketch.features, runs)
                && within(one.sketch.letters, other.sketch.letters, letters)
        };
        let found: Vec<_> = near.iter().filter(fits).map(|pair| alike.get(pair).copied().unwrap_or_default()).collect();
        let right = found.iter().filter(|much| **much >= ALIKE).count() as f64 / found.len().max(1) as f64;
        let all = found.iter().filter(|much| **much >= SAME).count() as f64 / same.max(1) as f64;
        println!("| {bits} | {runs} | {letters} | {} | {right:.4} | {all:.4} |", found.len());
    }
}

/// Marks page after page by the tables, as a crawl does.
#[derive(Default)]
struct Marked {
    leaders: usize,
    marked: usize,
    right: usize,
    same_title: usize,
    cut: u64,
    looked_at: u64,
    took: Duration,
}

fn mark(texts: &[Text]) -> Marked {
    let mut tables = [(); TABLES as usize].map(|()| BTreeSet::<u64>::new());
    let (mut leaders, mut told) = (HashMap::<u64, &Text>::new(), Marked::default());
    for text in texts {
        let (mut looked_at, begun) = (0, Instant::now());
        let found = find(text.sketch.sim, |table, block| {
            let from = u64::from(block) << 48;
            let rows = tables.get(usize::from(table)).map(|rows| rows.range(from..=from | u64::MAX >> 16));
            let rows: Vec<u64> = rows.into_iter().flatten().take(LOOKED_AT + 1).copied().collect();
            looked_at += rows.len() as u64;
            Ok::<_, Infallible>(rows)
        });
        let Ok(found) = found;
        let leader =
            found.close.iter().filter_map(|sim| leaders.get(sim)).find(|l| l.sketch.distance(text.sketch).is_some());
        told.took += begun.elapsed();
        (told.cut, told.looked_at) = (told.cut + u64::from(found.cut), told.looked_at + looked_at);
        match leader {
            Some(leader) => {
                told.marked += 1;
                told.right += usize::from(jaccard(&leader.runs, &text.runs) >= ALIKE);
                told.same_title += usize::from(same_title(leader.title.as_deref(), text.title.as_deref()));
            }
            None => {
                told.leaders += usize::from(leaders.insert(text.sketch.sim, text).is_none());
                for (rows, table) in tables.iter_mut().zip(0..) {
                    rows.insert(rotated(text.sketch.sim, table));
                }
            }
        }
    }
    told
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip_while(|arg| arg != "--pages").skip(1);
    let Some(folder) = args.next() else {
        eprintln!("near_duplicates: --pages DIR is missing");
        return Ok(());
    };
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths)?;
    let (mut known, mut texts, mut short) = (HashSet::new(), Vec::new(), 0);
    for path in &paths {
        let bytes = fs::read(path)?;
        if known.insert(xxh3_64(&bytes)) {
            match read(&bytes)? {
                Some(text) => texts.push(text),
                None => short += 1,
            }
        }
    }
    texts.sort_by_key(|text| Reverse(text.runs.len())); // any order that the rule knows nothing of
    println!("{} files, {} different, {short} too short, {} compared", paths.len(), known.len(), texts.len());
    let (near, alike) = (near(&texts), alike(&texts));
    let right = near.iter().filter(|pair| alike.contains_key(pair)).count();
    let titles = |(one, other): &&(u32, u32)| {
        let title = |nth: u32| texts.get(nth as usize).and_then(|text| text.title.as_deref());
        same_title(title(*one), title(*other))
    };
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    println!(
        "{} pairs at most {BITS} bits apart and within the guards; precision (Jaccard >= {ALIKE}) {:.4}; of them {:.1} % with the same title",
        near.len(),
        share(right, near.len()),
        100.0 * share(near.iter().filter(titles).count(), near.len())
    );
    for least in [SAME, 0.95, ALIKE] {
        let all: Vec<_> = alike.iter().filter(|(_, much)| **much >= least).map(|(pair, _)| *pair).collect();
        let found = all.iter().filter(|pair| near.contains(pair)).count();
        println!("{} pairs with Jaccard >= {least}: recall {:.4}", all.len(), share(found, all.len()));
    }
    variants(&texts, &near, &alike);
    texts.sort_by_key(|text| xxh3_64(&text.sketch.sim.to_be_bytes())); // as they might come
    let all = mark(&texts);
    println!(
        "page after page: {} leaders, {} marked, precision of the marks {:.4}, {:.1} % with the leader's title; {} blocks cut, {:.2} \
         leaders compared a page",
        all.leaders,
        all.marked,
        share(all.right, all.marked),
        100.0 * share(all.same_title, all.marked),
        all.cut,
        all.looked_at as f64 / texts.len().max(1) as f64
    );
    let some: Vec<Text> = texts.into_iter().take(TIMED).collect();
    let timed = mark(&some);
    println!("a look-up in memory: {:.2} us", timed.took.as_secs_f64() * 1e6 / some.len().max(1) as f64);
    Ok(())
}
