//! The fuzzer's corpus, and every input that once broke something, through the fuzzer's own checks (`tests/fuzz/`).

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use lycosa::{base, content, document, domain, net, warc};

use crate::dice::Dice;
use crate::sandbox::scale;

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

/// The files of a folder, in the order of their names; none when it is not there.
fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(folder).join(target);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_input_of_the_corpus_passes_the_checks_of_its_target() {
    let mut failed = Vec::new();
    for (target, check) in targets::ALL {
        let corpus = inputs("corpus", target);
        assert!(!corpus.is_empty(), "tests/fuzz/corpus/{target} is empty");
        for file in corpus.into_iter().chain(inputs("regressions", target)) {
            let data = fs::read(&file).unwrap();
            if catch_unwind(|| check(&data)).is_err() {
                failed.push(file);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Changes an input as fuzzers do: pieces doubled, moved, taken out, put in from another, bytes and bits changed.
fn mutated(dice: &mut Dice, from: &[Vec<u8>]) -> Vec<u8> {
    let pick = |dice: &mut Dice| from[dice.below(from.len() as u64) as usize].clone();
    let mut data = pick(dice);
    for _ in 0..=dice.below(8) {
        let at = dice.below(data.len() as u64 + 1) as usize;
        let end = (at + dice.below(32) as usize).min(data.len());
        match dice.below(6) {
            0 => drop(data.drain(at..end)),
            1 => data.splice(at..at, data[at..end].to_vec()).for_each(drop),
            2 => {
                let other = pick(dice);
                let begin = dice.below(other.len() as u64 + 1) as usize;
                let piece = &other[begin..(begin + dice.below(64) as usize).min(other.len())];
                data.splice(at..end, piece.iter().copied()).for_each(drop);
            }
            3 => data.insert(at, dice.below(256) as u8),
            4 => {
                let odd = [
                    "\u{fffd}", "：", "\u{301}", "\u{200b}", "搜", "\"", "%2f", "\0", "<p>", "&#x", "İ", "ß", "\r\n",
                    "~",
                ];
                data.splice(at..at, odd[dice.below(odd.len() as u64) as usize].bytes()).for_each(drop);
            }
            _ => {
                if let Some(byte) = data.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
        }
    }
    data.truncate(4_096);
    data
}

#[test]
#[ignore = "`make soak-index` runs it"]
fn changed_inputs_of_what_is_made_of_pages_pass_the_checks_of_their_targets() {
    let seed = Dice::seed();
    for name in ["ask", "blocks", "card", "mirror_name", "words"] {
        let (_, check) = targets::ALL.iter().find(|(target, _)| *target == name).unwrap();
        let mut dice = Dice::of(seed);
        let from: Vec<_> = inputs("corpus", name).into_iter().map(|file| fs::read(file).unwrap()).collect();
        let count = 5_000 * scale();
        for nth in 0..count {
            let data = mutated(&mut dice, &from);
            let passed = catch_unwind(|| check(&data)).is_ok();
            assert!(passed, "{name}, LYCOSA_KILL_SEED={seed}, input {nth}: {data:?}");
        }
        println!("{name}: {count} inputs, LYCOSA_KILL_SEED={seed}");
    }
}

#[test]
fn every_corpus_belongs_to_a_target() {
    for folder in ["corpus", "regressions"] {
        for path in inputs(folder, "") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(targets::ALL.iter().any(|(target, _)| *target == name), "tests/fuzz/{folder}/{name} has no target");
        }
    }
}
