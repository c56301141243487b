//! The fuzzer's corpus, and every input that once broke something, through the fuzzer's own checks (`tests/fuzz/`).

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use lycosa::{base, content, document, domain, net, warc};

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

#[test]
fn every_corpus_belongs_to_a_target() {
    for folder in ["corpus", "regressions"] {
        for path in inputs(folder, "") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(targets::ALL.iter().any(|(target, _)| *target == name), "tests/fuzz/{folder}/{name} has no target");
        }
    }
}
