//! Searches of a large index: how long they take. `benches/RESULTS.md` has the figures.
//!
//! `cargo bench --profile release --bench search_scale -- [--pages N] [--words N] [--queries N] [--data DIR]`
//!
//! The index is made of pages that were never crawled, by the program's own writer: words by the law of Zipf and Mandelbrot, of which every
//! second one is followed by one of its eight usual followers, so that phrases come again; every eighth page is of Chinese, as pairs of
//! characters. There is no archive, so no snippets are made. An index in a folder given by `--data` is kept, and made only when it is not there.

use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lycosa::base::time::UnixMillis;
use lycosa::domain::ask::Ask;
use lycosa::domain::words::{BLOCK_GAP, Stem, TokenList, form, tokens};
use lycosa::index::{Entry, Reader, Search, Sort, Stand, Writer};
use nix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Words that there are, of letters and of Han.
const VOCABULARY: [u64; 2] = [1_000_000, 60_000];
/// Searches of each kind before any is timed.
const WARM: usize = 20;
/// Pages between two commits.
const COMMIT: u64 = 50_000;
const HOSTS: u64 = 2_000;
const LINKS: u64 = 20;

struct Plan {
    pages: u64,
    words: u64,
    queries: usize,
    data: Option<PathBuf>,
}

impl Plan {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan = Self { pages: 1_000_000, words: 300, queries: 200, data: None };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--pages" => plan.pages = value()?.parse()?,
                "--words" => plan.words = value()?.parse()?,
                "--queries" => plan.queries = value()?.parse()?,
                "--data" => plan.data = Some(value()?.into()),
                _ => {} // what cargo itself hands on
            }
        }
        Ok(plan)
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// A rank below `most`, as words and hosts come: p ~ 1 / (rank + 2.7)^1.07.
    fn zipf(&mut self, most: u64) -> u64 {
        const SHIFT: f64 = 2.7;
        const POWER: f64 = -0.07;
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let (low, high) = (SHIFT.powf(POWER), (most as f64 + SHIFT).powf(POWER));
        let rank = (low + unit * (high - low)).powf(1.0 / POWER) - SHIFT;
        (rank as u64).min(most - 1)
    }
}

fn mixed(from: u64) -> u64 {
    let z = (from ^ (from >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The word of a rank: syllables, two of three with an ending of English; or two characters.
fn word(rank: u64, han: bool) -> String {
    if han {
        let at = mixed(rank);
        let character = |n: u64| char::from_u32(0x4e00 + (n % 3_000) as u32).unwrap_or('一');
        return [character(at), character(at >> 32)].into_iter().collect();
    }
    let (mut left, mut out) = (rank / 3 + 20, String::new());
    while left > 0 {
        out.push(char::from(b"bdfgklmnprstvz"[(left % 14) as usize]));
        out.push(char::from(b"aeiou"[(left / 14 % 5) as usize]));
        left /= 70;
    }
    out + ["n", "ns", "ning"][(rank % 3) as usize]
}

/// The word that stands behind another one.
fn follower(dice: &mut Dice, before: u64, han: bool) -> u64 {
    let all = VOCABULARY[usize::from(han)];
    if dice.below(2) == 0 { dice.zipf(all) } else { Dice(mixed(before) ^ dice.below(8)).zipf(all) }
}

/// Words of a text.
fn text(dice: &mut Dice, count: u64, han: bool) -> String {
    let (mut out, mut last) = (String::new(), 0);
    for _ in 0..count {
        last = follower(dice, last, han);
        out.push_str(&word(last, han));
        out.push_str(if han { "" } else { " " });
    }
    out
}

fn listed(text: &str, list: &mut TokenList, place: u32, mut each: impl FnMut(&str)) -> u32 {
    let end = tokens(&form(text), place, |token| {
        list.push(token.text, token.place);
        each(token.text);
        true
    });
    end + BLOCK_GAP
}

fn link(page: u64) -> u64 {
    mixed(page ^ 0xf00d)
}

fn entry(dice: &mut Dice, id: u64, plan: &Plan) -> Entry {
    let han = id.is_multiple_of(8);
    let host = format!("h{}.test", dice.zipf(HOSTS));
    let titled = text(dice, 6, han);
    let (mut page, stem) = (Entry::default(), Stem::of("en").filter(|_| !han));
    listed(&titled, &mut page.title, 0, |_| {});
    listed(&titled, &mut page.heads, 0, |_| {});
    listed(&format!("{host}/{}/{id}", word(dice.zipf(1_000), false)), &mut page.url, 0, |_| {});
    let (mut place, mut left) = (0, plan.words / 2 + dice.below(plan.words));
    while left > 0 {
        let long = left.min(40);
        left -= long;
        let block = text(dice, long, han);
        let stems = &mut page.stems;
        place = listed(&block, &mut page.text, place, |word| {
            if let Some(stem) = stem
                && stem.bare(word) != word
            {
                stems.push(&stem.term(&stem.bare(word)), 0);
            }
        });
        if han {
            let pairs: Vec<char> = block.chars().collect();
            pairs.chunks(2).for_each(|pair| page.words.push(&pair.iter().collect::<String>(), 0));
        }
    }
    page.links = (0..LINKS).map(|_| link(dice.zipf(plan.pages))).collect();
    page.links.sort_unstable();
    page.links.dedup();
    page.links_ext = page.links.iter().step_by(4).copied().collect();
    let key = [mixed(id), id, mixed(id ^ 1)].map(u64::to_be_bytes).concat();
    Entry {
        id: key.first_chunk().copied().unwrap_or_default(),
        site: host.clone(),
        card: format!(
            "{{\"url\":\"http://{host}/{id}\",\"title\":\"{titled}\",\"abstract\":\"{}\"}}",
            text(dice, 40, han)
        ),
        host,
        own: link(id),
        seq: id,
        captured: 1_700_000_000_000 + id,
        changed: 1_700_000_000_000,
        out_links: LINKS as u32,
        depth: (id % 7) as u16,
        content: mixed(id ^ 2),
        status: 200,
        lang: Some(if han { "zh" } else { "en" }.into()),
        mime: "text/html".into(),
        ..page
    }
}

fn fill(plan: &Plan, dir: &std::path::Path) -> Result<()> {
    let began = Instant::now();
    let mut writer = Writer::open(dir, 256 << 20)?;
    let mut dice = Dice(42);
    for id in 0..plan.pages {
        writer.add(&entry(&mut dice, id, plan))?;
        if id % COMMIT == COMMIT - 1 {
            writer.commit(&Stand { seq: id, ..Stand::begin("0000000000000000") })?;
            eprintln!("{} pages in {:.0} s", id + 1, began.elapsed().as_secs_f64());
        }
    }
    writer.commit(&Stand { seq: plan.pages, ..Stand::begin("0000000000000000") })?;
    Ok(writer.close()?)
}

/// Time of the processor that this thread has had: what else a machine does counts little in it.
fn of_processor() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// What is asked: a name, and how one is made.
type Kind = (&'static str, fn(&mut Dice) -> String);

const KINDS: [Kind; 11] = [
    ("a rare word", |dice| word(20_000 + dice.below(500_000), false)),
    ("a word", |dice| word(300 + dice.below(10_000), false)),
    ("a frequent word", |dice| word(dice.below(60), false)),
    ("a rare and a frequent word", |dice| {
        format!("{} {}", word(20_000 + dice.below(500_000), false), word(dice.below(60), false))
    }),
    ("two words", |dice| format!("{} {}", word(100 + dice.below(3_000), false), word(100 + dice.below(3_000), false))),
    ("two frequent words", |dice| format!("{} {}", word(dice.below(60), false), word(dice.below(60), false))),
    ("three words of a text", |dice| text(dice, 3, false).trim().to_owned()),
    ("a phrase of two", |dice| {
        let first = 50 + dice.below(2_000);
        let second = Dice(mixed(first) ^ dice.below(8)).zipf(VOCABULARY[0]);
        format!("\"{} {}\"", word(first, false), word(second, false))
    }),
    ("a word, site:", |dice| format!("{} site:h{}.test", word(30 + dice.below(3_000), false), dice.zipf(HOSTS))),
    ("a word of Chinese", |dice| word(dice.zipf(VOCABULARY[1]), true)),
    ("two words of Chinese", |dice| format!("{} {}", word(dice.zipf(2_000), true), word(dice.zipf(2_000), true))),
];

fn measure(plan: &Plan, dir: &std::path::Path) -> Result<()> {
    let reader = Reader::open(dir)?;
    println!(
        "\n| search of {} pages, warm, without snippets | queries | hits (median) | CPU ms p50 | p99 | longest | clock ms p50 | p99 |",
        reader.documents()
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut all = Vec::new();
    for (name, make) in KINDS {
        let mut dice = Dice(7);
        let (mut times, mut totals) = (Vec::new(), Vec::new());
        for nth in 0..WARM + plan.queries {
            let ask = Ask::read(&make(&mut dice), UnixMillis(1_800_000_000_000))?;
            let (began, before) = (Instant::now(), of_processor()?);
            let slow = Cell::new(false);
            let late = || {
                slow.set(began.elapsed() > Duration::from_secs(20));
                slow.get()
            };
            let search = Search {
                ask: &ask,
                sort: Sort::Relevance,
                from: 0,
                limit: 10,
                explain: false,
                hidden: &[],
                targets: &|_| Vec::new(),
                late: &late,
            };
            let found = reader.search(&search)?;
            if nth >= WARM {
                times.push((of_processor()?.saturating_sub(before), began.elapsed()));
                totals.push(found.total);
            }
        }
        totals.sort_unstable();
        row(name, totals[totals.len() / 2].to_string(), &mut times);
        all.append(&mut times);
    }
    row("all", String::new(), &mut all);
    Ok(())
}

fn row(name: &str, hits: String, times: &mut [(Duration, Duration)]) {
    let of = |mut times: Vec<Duration>| {
        times.sort_unstable();
        [50, 99, 100].map(|share| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3)
    };
    let [cpu, clock] = [of(times.iter().map(|both| both.0).collect()), of(times.iter().map(|both| both.1).collect())];
    println!(
        "| {name} | {} | {hits} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
        times.len(),
        cpu[0],
        cpu[1],
        cpu[2],
        clock[0],
        clock[1]
    );
}

fn main() -> Result<()> {
    let plan = Plan::read(std::env::args().skip(1))?;
    let work = tempfile::tempdir()?;
    let dir = plan.data.clone().unwrap_or_else(|| work.path().to_owned());
    if !dir.join("meta.json").exists() {
        std::fs::create_dir_all(&dir)?;
        fill(&plan, &dir)?;
    }
    measure(&plan, &dir)
}
