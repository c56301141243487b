//! Near-duplicates among real pages: how many pairs the rule finds, and how many of those are; and the same of other rules.
//!
//! `cargo bench --profile release --bench near_duplicates -- --pages DIR`
//!
//! DIR and what lies below it is searched for `*.html`, such as the unpacked documentation packages of a Debian; pages that are the same byte
//! by byte are taken once. The truth is Jaccard's: runs of three tokens that two texts have in common, by those that either has, found for
//! all pairs by an exact join. `benches/RESULTS.md` has the figures.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lycosa::content::html::{ExtractOptions, PageReader};
use lycosa::domain::near::{BITS, Band, LOOKED_AT, Sketch, TABLES, find, same_title};
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
    /// Its SimHash: what was compared before there was a sketch.
    sim: u64,
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
    let Some((print, sketch)) = facts.shown.print.and_then(|print| Some((print, Sketch::of(&print)?))) else {
        return Ok(None);
    };
    let tokens = tokens(&format!("{}\n{}", facts.title.as_deref().unwrap_or_default(), facts.text));
    let hashes: Vec<u64> = tokens.iter().map(|token| xxh3_64(token.as_bytes())).collect();
    let run = |run: &[u64]| {
        run.iter().fold(7_u64, |sum, hash| (sum ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31))
    };
    let mut runs: Vec<u32> = hashes.windows(3).map(|three| (run(three) >> 32) as u32).collect();
    runs.sort_unstable();
    runs.dedup();
    Ok(Some(Text { sketch, sim: print.sim, title: facts.title, runs }))
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

/// Bits of two sketches, and of two SimHashes, that are looked at beyond those of the rule.
const MOST: u32 = 12;

/// Bits of a band.
const BAND: u32 = 8 * size_of::<Band>() as u32;

/// How far two texts are apart.
struct Pair {
    texts: (u32, u32),
    bits: u32,
    sim: u32,
    /// Both have nearly the same length.
    like: bool,
    /// So many of the lowest bits of a word are the same: with the width of a band one is found by the other.
    shared: u32,
    jaccard: f64,
}

/// All pairs that any of the rules may call near, by a look at each, and all that are alike.
fn pairs(texts: &[Text], alike: &HashMap<(u32, u32), f64>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (nth, text) in (0_u32..).zip(texts) {
        for (before, other) in (0_u32..).zip(texts).take(nth as usize) {
            let apart = || other.sketch.bits.iter().zip(text.sketch.bits).map(|(one, other)| one ^ other);
            let (bits, sim) = (apart().map(u64::count_ones).sum(), (other.sim ^ text.sim).count_ones());
            if bits > MOST && sim > 3 {
                continue;
            }
            // By the rule's own words: as if the sketches were the same.
            let like = Sketch { bits: text.sketch.bits, ..other.sketch }.distance(&text.sketch).is_some();
            let shared = apart().map(u64::trailing_zeros).max().unwrap_or_default();
            let jaccard = alike.get(&(before, nth)).copied().unwrap_or_default();
            pairs.push(Pair { texts: (before, nth), bits, sim, like, shared, jaccard });
        }
    }
    pairs
}

/// What the rule and others find: precision, and recall of what has so much in common.
fn rules(pairs: &[Pair], alike: &HashMap<(u32, u32), f64>) {
    let of = |least: f64| alike.values().filter(|much| **much >= least).count();
    println!("| rule | pairs | precision | recall of {SAME} | of 0.95 |\n|---|--:|--:|--:|--:|");
    let told = |name: &str, rule: &dyn Fn(&Pair) -> bool| {
        let found: Vec<&Pair> = pairs.iter().filter(|pair| rule(pair)).collect();
        let least = |least: f64| found.iter().filter(|pair| pair.jaccard >= least).count();
        let [right, same, much] =
            [share(least(ALIKE), found.len()), share(least(SAME), of(SAME)), share(least(0.95), of(0.95))];
        println!("| {name} | {} | {right:.4} | {same:.4} | {much:.4} |", found.len());
    };
    told("SimHash, 3 bits of 64 at most, like lengths", &|pair| pair.sim <= 3 && pair.like);
    for bits in 3..=MOST {
        told(&format!("sketch, {bits} bits of 256 at most, like lengths"), &|pair| pair.bits <= bits && pair.like);
    }
    told(&format!("sketch, {BITS} bits, any lengths"), &|pair| pair.bits <= BITS);
    for width in [32, BAND, 48, 64] {
        let name = format!("sketch, {BITS} bits, like lengths, one of four bands of {width} bits shared");
        told(&name, &|pair| pair.bits <= BITS && pair.like && pair.shared >= width);
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
    compared: u64,
    took: Duration,
}

fn mark(texts: &[Text]) -> Marked {
    let mut tables = [(); TABLES as usize].map(|()| HashMap::<Band, Vec<u32>>::new());
    let mut told = Marked::default();
    for (nth, text) in (0..).zip(texts) {
        let begun = Instant::now();
        let found = find(&text.sketch, |table, band| {
            let rows = tables.get(usize::from(table)).and_then(|rows| rows.get(&band));
            Ok::<_, Infallible>(rows.into_iter().flatten().take(LOOKED_AT + 1).copied().collect::<Vec<u32>>())
        });
        let Ok(found) = found;
        let leaders = found.pages.iter().filter_map(|leader| texts.get(*leader as usize));
        let near = leaders.filter_map(|leader| Some((leader.sketch.distance(&text.sketch)?, leader)));
        let nearest = near.min_by_key(|(distance, _)| *distance);
        told.took += begun.elapsed();
        (told.cut, told.compared) = (told.cut + u64::from(found.cut), told.compared + found.pages.len() as u64);
        match nearest {
            Some((_, leader)) => {
                told.marked += 1;
                told.right += usize::from(jaccard(&leader.runs, &text.runs) >= ALIKE);
                told.same_title += usize::from(same_title(leader.title.as_deref(), text.title.as_deref()));
            }
            None => {
                told.leaders += 1;
                for (rows, band) in tables.iter_mut().zip(text.sketch.bands()) {
                    rows.entry(band).or_default().push(nth);
                }
            }
        }
    }
    told
}

fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
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
    let alike = alike(&texts);
    let pairs = pairs(&texts, &alike);
    rules(&pairs, &alike);
    let near: Vec<&Pair> = pairs.iter().filter(|pair| pair.bits <= BITS && pair.like && pair.shared >= BAND).collect();
    let titled = |pair: &&&Pair| {
        let [one, other] = [pair.texts.0, pair.texts.1].map(|nth| texts.get(nth as usize));
        one.zip(other).is_some_and(|(one, other)| same_title(one.title.as_deref(), other.title.as_deref()))
    };
    let titled = near.iter().filter(titled).count();
    println!("of the pairs by the rule {:.1} % have the same title", 100.0 * share(titled, near.len()));
    texts.sort_by_key(|text| xxh3_64(&text.sim.to_be_bytes())); // as they might come
    let all = mark(&texts);
    println!(
        "page after page: {} leaders, {} marked, precision of the marks {:.4}, {:.1} % with the leader's title; {} cuts, {:.2} leaders compared a \
         page",
        all.leaders,
        all.marked,
        share(all.right, all.marked),
        100.0 * share(all.same_title, all.marked),
        all.cut,
        all.compared as f64 / texts.len().max(1) as f64
    );
    let some: Vec<Text> = texts.into_iter().take(TIMED).collect();
    let timed = mark(&some);
    println!("a look-up in memory: {:.2} us", timed.took.as_secs_f64() * 1e6 / some.len().max(1) as f64);
    Ok(())
}
