use std::collections::BTreeSet;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::domain::cases;
use crate::domain::textprint::Printer;

/// Leaders in four tables, as a database has them.
#[derive(Default)]
struct Tables {
    rows: [BTreeSet<u64>; TABLES as usize],
    leaders: Vec<Sketch>,
}

impl Tables {
    /// What is near, by the tables; the sketch becomes a leader where nothing is.
    fn take(&mut self, sketch: Sketch) -> Option<(u64, u8)> {
        let scan = |table: u8, block: u16| {
            let from = u64::from(block) << 48;
            let rows = self.rows[usize::from(table)].range(from..=from | u64::MAX >> 16);
            Ok::<_, Infallible>(rows.take(LOOKED_AT + 1).copied().collect())
        };
        let found = find(sketch.sim, scan).unwrap();
        assert_eq!(found.cut, 0);
        let near = found.close.iter().find_map(|sim| {
            let leader = self.leaders.iter().find(|leader| leader.sim == *sim)?;
            Some((*sim, sketch.distance(*leader)?))
        });
        if near.is_none() && !self.leaders.iter().any(|leader| leader.sim == sketch.sim) {
            self.leaders.push(sketch);
            (0..TABLES).for_each(|table| _ = self.rows[usize::from(table)].insert(rotated(sketch.sim, table)));
        }
        near
    }
}

/// The same by comparing it with every leader.
fn by_force(leaders: &mut Vec<Sketch>, sketch: Sketch) -> Option<(u64, u8)> {
    let near = leaders.iter().filter_map(|leader| Some((sketch.distance(*leader)?, leader.sim))).min();
    if near.is_none() && !leaders.iter().any(|leader| leader.sim == sketch.sim) {
        leaders.push(sketch);
    }
    near.map(|(distance, sim)| (sim, distance))
}

/// Some texts, and others with few bits changed.
fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let one = (0..6_u8, prop::collection::vec(0..64_u32, 0..6), 950..1_000_u32);
    prop::collection::vec(one, 1..60).prop_map(|all| {
        let changed = |(of, bits, features): (u8, Vec<u32>, u32)| {
            let sim = (u64::from(of) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let sim = bits.into_iter().fold(sim, |sim, bit| sim ^ 1 << bit);
            Sketch { sim, features, letters: 6 * features }
        };
        all.into_iter().map(changed).collect()
    })
}

proptest! {
    #[test]
    fn the_tables_find_what_a_look_at_every_leader_finds(all in sketches()) {
        let (mut tables, mut leaders) = (Tables::default(), Vec::new());
        for sketch in all {
            prop_assert_eq!(tables.take(sketch), by_force(&mut leaders, sketch));
        }
        prop_assert_eq!(tables.leaders, leaders);
    }

    #[test]
    fn leaders_are_not_near_each_other_and_all_others_are_near_one(all in sketches()) {
        let mut leaders = Vec::new();
        for sketch in all {
            let near = by_force(&mut leaders, sketch);
            let led = leaders.iter().any(|leader| leader.sim == sketch.sim) || near.is_some();
            prop_assert!(led);
        }
        for (nth, one) in leaders.iter().enumerate() {
            prop_assert!(leaders[..nth].iter().all(|other| one.distance(*other).is_none()));
        }
    }

    #[test]
    fn nearness_is_mutual_and_everything_close_shares_a_block(sim: u64, flipped in prop::collection::vec(0..64_u32, 0..=3)) {
        let other = flipped.iter().fold(sim, |sim, bit| sim ^ 1 << bit);
        prop_assert!((0..TABLES).any(|table| block(sim, table) == block(other, table)));
        prop_assert!((0..TABLES).all(|table| straight(rotated(sim, table), table) == sim));
        let [one, two] = [sim, other].map(|sim| Sketch { sim, features: 100, letters: 500 });
        prop_assert_eq!(one.distance(two), two.distance(one));
        prop_assert_eq!(one.distance(two), bits(sim, other));
    }
}

#[test]
fn of_a_crowded_block_the_first_are_looked_at_and_the_cut_is_told() {
    let rows: Vec<u64> = (0..=LOOKED_AT as u64).collect();
    let found = find(1, |table, _| Ok::<_, Infallible>(if table == 0 { rows.clone() } else { Vec::new() })).unwrap();
    assert_eq!((found.cut, found.close.first(), found.close.contains(&(LOOKED_AT as u64))), (1, Some(&1), false));
    let found = find(1, |_, _| Ok::<_, Infallible>(rows[..LOOKED_AT].to_vec())).unwrap();
    assert_eq!(found.cut, 0);
}

#[test]
fn titles_are_the_same_with_every_digit_and_missing_ones_never_are() {
    for (one, other, same) in [
        (Some("Chapter 4. Queries"), Some("Chapter 4.  Queries\n"), true),
        (Some("Chapter 4. Queries"), Some("Chapter 5. Queries"), false),
        (Some("Chapter 4"), Some("chapter 4"), false),
        (Some("Chapter 4"), None, false),
        (None, None, false),
        (Some(" "), Some(""), false),
    ] {
        assert_eq!(same_title(one, other), same, "{one:?} {other:?}");
    }
}

/// Words of a language that does not exist, and its Chinese ones.
fn word(n: usize) -> String {
    let n = n * 7_919 % 100_003;
    (0..4).map(|place| char::from(b'a' + (n / 17_usize.pow(place) % 17) as u8)).collect()
}

fn character(n: usize) -> char {
    char::from_u32(0x4e00 + (n * 7_919 % 20_011) as u32).unwrap()
}

/// What a row of the table stands for: as its head says.
fn made(what: &str) -> String {
    let (of, changes) = what.split_once(';').unwrap_or((what, ""));
    let (kind, n) = of.trim().split_once(' ').unwrap_or((of.trim(), "0"));
    let (from, n) = n.split_once('+').map_or((0, n), |(from, n)| (from.trim().parse().unwrap(), n));
    let n: usize = n.trim().parse().unwrap();
    let mut words: Vec<String> = match kind {
        "words" => (from..from + n).map(word).collect(),
        "han" => (from..from + n).map(|n| character(n).to_string()).collect(),
        "none" => Vec::new(),
        other => panic!("no such text: {other}"),
    };
    for change in changes.split(';').map(str::trim).filter(|change| !change.is_empty()) {
        match change.split_once(' ').unwrap() {
            ("swap", rest) => {
                let (at, with) = rest.split_once(' ').unwrap();
                words[at.parse::<usize>().unwrap()] = with.to_owned();
            }
            ("before", text) => words.insert(0, text.to_owned()),
            ("after", text) => words.push(text.to_owned()),
            other => panic!("no such change: {other:?}"),
        }
    }
    words.join(if kind == "han" { "" } else { " " })
}

#[test]
fn texts_are_near_or_not_as_the_table_says() {
    let sketch = |what: &str| {
        let mut printer = Printer::new("");
        printer.push(&made(what));
        printer.finish().0.as_ref().and_then(Sketch::of)
    };
    cases::check(include_str!("../../../tests/data/near.txt"), |[one, other]| match (sketch(one), sketch(other)) {
        (Some(one), Some(other)) if one.distance(other).is_some() => ["near"],
        (Some(_), Some(_)) => ["other"],
        _ => ["short"],
    });
}

/// A SimHash tells much from little by chance: the longer the text, the surer a word of it is little.
#[test]
fn how_often_a_text_with_one_other_word_is_near() {
    let sketch = |text: String| {
        let mut printer = Printer::new("");
        printer.push(&text);
        printer.finish().0.as_ref().and_then(Sketch::of).unwrap()
    };
    let found = |n: usize| {
        let near = |nth: &usize| {
            let text = made(&format!("words {}+{n}", nth * 1_000));
            let (before, after) = text.split_at(text.match_indices(' ').nth(n / 2).unwrap().0);
            let (_, after) = after[1..].split_once(' ').unwrap();
            sketch(text.clone()).distance(sketch(format!("{before} another {after}"))).is_some()
        };
        (0..400).filter(near).count()
    };
    let of_400 = [100, 300, 1_000, 3_000].map(found);
    println!("{of_400:?}");
    assert!(of_400.is_sorted() && of_400[1] > 200 && of_400[2] > 360, "{of_400:?}");
}
