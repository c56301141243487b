use std::collections::HashSet;

use proptest::prelude::*;

use super::token::{finished, mixed, stands_alone};
use super::*;
use crate::domain::cases;

fn print(text: &str) -> Option<TextPrint> {
    told(text, "").0
}

fn told(text: &str, of_url: &str) -> (Option<TextPrint>, Told) {
    let mut printer = Printer::new(of_url);
    printer.push(text);
    printer.finish()
}

/// The tokens of a text, one character after the other.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    for c in text.chars() {
        let last = tokens.last_mut().unwrap();
        if stands_alone(c) {
            tokens.extend([c.to_string(), String::new()]);
        } else if c.is_alphanumeric() {
            last.extend(c.to_lowercase());
        } else {
            tokens.push(String::new());
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// The hash of a token: of eight bytes at a time, the last filled up with zeros.
fn hash_of(token: &str) -> u64 {
    let eights = token.as_bytes().chunks(8).map(|chunk| chunk.iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b)));
    finished(eights.fold(0, mixed), token.chars().any(char::is_numeric))
}

/// The print by its definition: a list of tokens, a set of runs, 64 counters.
fn plain(text: &str) -> Option<TextPrint> {
    let tokens = tokens(text);
    let digest = |kept: &dyn Fn(&String) -> bool| {
        finished(tokens.iter().filter(|t| kept(t)).map(|t| hash_of(t)).fold(0, mixed), false)
    };
    let hashes: Vec<u64> = tokens.iter().map(|t| hash_of(t)).collect();
    let runs = match hashes[..] {
        [] => return None,
        [one] => vec![(0, one, 0)],
        [one, two] => vec![(one, two, 0)],
        _ => hashes.windows(3).map(|run| (run[0], run[1], run[2])).collect(),
    };
    let (mut known, mut counters, mut features, mut kept) = (HashSet::new(), [0_i32; 64], 0, Vec::new());
    for (first, second, third) in runs {
        let run = (first ^ second.rotate_left(21) ^ third.rotate_left(42)).wrapping_mul(PRIME);
        let run = (run ^ (run >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let run = run ^ (run >> 32);
        if known.insert(run as u16) {
            features += 1;
            kept.push(run);
            for (bit, counter) in counters.iter_mut().enumerate() {
                *counter += if run >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
    }
    let sim = counters.iter().enumerate().filter(|(_, n)| **n > 0).fold(0, |sim, (bit, _)| sim | 1 << bit);
    let words = digest(&|token| !token.chars().any(char::is_numeric));
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count() as u32;
    let sketch = (features >= 64 && letters >= 400).then(|| sketch(&kept));
    Some(TextPrint { whole: digest(&|_| true), words, sim, features, letters, sketch })
}

/// The sketch by its definition: part after part, the least of the next that has any.
fn sketch(runs: &[u64]) -> [u64; 4] {
    let least = |part: u64| runs.iter().filter(|run| *run >> 56 == part).map(|run| (run >> 24) as u32).min();
    let bit = |part: u64| {
        let next = (0..256).find_map(|steps| Some((least((part + steps) % 256)?, steps)));
        let (least, steps) = next.unwrap();
        finished(mixed(mixed(0, least.into()), steps), false) >> 63
    };
    [0, 64, 128, 192].map(|from| (0..64).fold(0, |word, part| word | bit(from + part) << part))
}

/// Bits in which the sketches of two texts differ.
fn apart(one: &str, other: &str) -> u32 {
    let [one, other] = [one, other].map(|text| print(text).unwrap().sketch.unwrap());
    one.iter().zip(other).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn words(n: u64) -> String {
    (0..n).map(|n| format!("word{} ", n * n % 1_009)).collect()
}

#[test]
fn case_marks_and_white_space_do_not_count_and_numbers_count_in_the_whole_alone() {
    let page = print("No events in May 2026, sorry.").unwrap();
    assert_eq!(print("no EVENTS\n in May - 2026 (sorry)"), Some(page));
    let other = print("No events in May 2031, sorry").unwrap();
    assert_eq!((page.whole == other.whole, page.words == other.words), (false, true));
    assert_ne!(print("events no in May 2026 sorry").unwrap().words, page.words, "another order");
    assert_eq!((print(""), print(" -- ")), (None, None));
    assert_eq!(print("Hello").unwrap().features, 1);
    assert_eq!(print("ÜBER die Straße"), print("über die straße"));
}

#[test]
fn scripts_without_spaces_have_a_token_for_each_character() {
    assert_eq!(print("天地玄黄"), print("天 地，玄。黄"));
    assert_eq!(print("天地玄黄").unwrap().features, 2);
    assert_ne!(print("ab cd"), print("abcd"));
    assert_eq!(tokens("abc天def๕x"), ["abc", "天", "def", "๕", "x"]);
}

#[test]
fn near_texts_have_near_prints_and_others_do_not() {
    let text = words(400);
    let near = print(&text.replacen("word100 ", "house ", 1)).unwrap();
    let page = print(&text).unwrap();
    assert!((page.sim ^ near.sim).count_ones() <= 6, "{page:?} {near:?}");
    let far = print(&text.replace("word", "sentence")).unwrap();
    assert!((page.sim ^ far.sim).count_ones() > 12, "{page:?} {far:?}");
    assert_eq!(print(&(text.clone() + &text)).unwrap().features, page.features + 2, "a repeat adds its joints alone");
}

#[test]
fn half_of_what_two_texts_do_not_share_is_seen_in_their_sketches() {
    for (words, one_in) in [(150_u32, 15), (600, 15), (600, 50), (6_000, 15), (6_000, 50), (40_000, 50)] {
        let text = |other: bool| -> String {
            let word = |n: u32| n.wrapping_mul(0x9e37_79b9) ^ u32::from(other && n.is_multiple_of(one_in));
            (0..words).map(|n| format!("w{:x} ", word(n))).collect()
        };
        // Of `one_in` runs three are others, here and there.
        let shared = f64::from(one_in - 3) / f64::from(one_in + 3);
        let wanted = 128.0 * (1.0 - shared);
        let found = f64::from(apart(&text(false), &text(true)));
        assert!((found - wanted).abs() < 4.0 * wanted.sqrt(), "{words} words, one of {one_in}: {found} for {wanted}");
    }
    assert!((96..160).contains(&apart(&words(400), &words(400).replace("word", "sentence"))));
}

#[test]
fn a_text_of_which_nothing_is_told_by_a_hash_has_no_sketch() {
    let has = |text: &str| print(text).is_some_and(|print| print.sketch.is_some());
    let long = |n: usize| (0..n).map(|n| format!("{:06x} ", n * 7_919)).collect::<String>();
    assert_eq!([65, 66, 67].map(|n| has(&long(n))), [false, false, true], "400 characters");
    let short = |n: usize| (0..n).map(|n| format!("{:x} ", n * 7_919)).collect::<String>();
    assert!(!has(&short(64)) && has(&short(200)));
    assert!(!has(&format!("{} {}", "a ".repeat(900), "b".repeat(900))), "few runs");
}

fn letters(n: u32) -> String {
    n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect()
}

#[test]
fn the_words_of_the_url_are_no_news() {
    let told = |text, url| told(text, url).1;
    let page = told("Not/there was not found", "/not/there");
    assert_eq!(page.whole, told("was found", "/x").whole);
    assert_eq!(page.vocabulary.len(), 2);
    assert_eq!(told("上海 was found", "/%E4%B8%8A%E6%B5%B7").words, told("was found", "/").words);
    assert_eq!(told("page 7", "/page/7"), Told::default());
    let deep: String = (0..300).map(|n| format!("/{}", letters(n))).collect();
    let echo = format!("{deep} was found");
    assert_eq!(told(&echo, &deep), told("was found", "/"), "of a deep path too");
    assert_eq!(told("at 13:20", "/").words, told("at 13:21", "/").words);
    assert_ne!(told("at 13:20", "/").whole, told("at 13:21", "/").whole);
}

#[test]
fn of_a_page_with_very_many_words_nobody_says_which_are_new() {
    let page = |n: u32| (0..n).map(|n| letters(n * 7_919) + " ").collect::<String>();
    assert!(!told(&page(1_000), "").1.many);
    assert!(told(&page(4_000), "").1.many);
}

/// At least as many features as add up through all planes that one page can fill.
#[test]
fn a_long_text_is_counted_as_its_definition_says() {
    let text: String = (0..120_000_u32).map(|n| format!("w{:x} ", n.wrapping_mul(0x9e37_79b9))).collect();
    assert_eq!(print(&text), plain(&text));
    assert!(print(&text).unwrap().features > 40_000);
}

/// Base64 without a space and Chinese without a sign are cut at the same places; so is what has many words.
#[test]
fn a_long_text_is_the_same_in_any_pieces() {
    for text in ["Abc9".repeat(20_000), "天a".repeat(15_000), words(6_000)] {
        let whole = told(&text, "");
        for size in [1_000, 9_999, 30_001] {
            let mut pieces = Printer::new("");
            cases::pieces(&text, &[size]).for_each(|piece| pieces.push(piece));
            assert_eq!(pieces.finish(), whole, "{size}");
        }
    }
}

proptest! {
    #[test]
    fn the_print_is_that_of_its_definition_in_any_pieces(
        text in "[a-cA-C0-2 .ßÄİK漢字かไท१\u{301}\u{2028}]{0,80}", cuts in proptest::collection::vec(0_usize..80, 0..6),
    ) {
        let mut pieces = Printer::new("");
        let mut from = 0;
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        for at in cuts.into_iter().chain([text.len()]).filter(|at| *at <= text.len()) {
            pieces.push(&text[from..at]);
            from = at;
        }
        let in_pieces = pieces.finish();
        prop_assert_eq!(&in_pieces, &told(&text, ""));
        prop_assert_eq!(in_pieces.0, plain(&text));
    }
}
