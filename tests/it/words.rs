//! Words of Chinese are those of the `jieba` that people know from Python (`tests/jieba_words.py`), on the texts of the table of cards.
//!
//! `LYCOSA_PYTHON` names a Python that has `tests/tools/requirements.txt`; `make test` makes one.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use lycosa::domain::words::{cut, is_han};

/// The runs of Han in the table, those of pages in other encodings by what is expected of them.
fn runs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/card");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let texts: Vec<String> = tables.map(|path| fs::read_to_string(path).unwrap()).collect();
    let runs = texts.iter().flat_map(|text| text.split(|c| !is_han(c)));
    // The sign of repetition is no Han to PyPI's jieba.
    let runs: BTreeSet<&str> = runs.filter(|run| !run.is_empty() && !run.contains(['々', '〇'])).collect();
    runs.into_iter().map(str::to_owned).collect()
}

#[test]
fn words_of_chinese_are_those_of_the_jieba_of_python() {
    let python = std::env::var("LYCOSA_PYTHON").expect("run the tests with `make test`");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jieba_words.py");
    let mut child =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python starts");
    let runs = runs();
    assert!(runs.len() > 150, "{} runs", runs.len());
    child.stdin.take().unwrap().write_all(serde_json::to_string(&runs).unwrap().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "jieba of Python fails; is it of tests/tools/requirements.txt?");
    let theirs: Vec<Vec<String>> = serde_json::from_slice(&done.stdout).unwrap();
    for (run, theirs) in runs.iter().zip(theirs) {
        assert_eq!(cut(run).collect::<Vec<_>>(), theirs, "{run}");
    }
}
