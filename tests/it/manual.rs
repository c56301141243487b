//! What README and manuals say can be typed and asked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use lycosa::cli::args::Cli;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manuals() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md")];
    all.extend(fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()));
    all.retain(|path| path.extension().is_some_and(|e| e == "md"));
    all
}

/// The commands in a manual's fenced blocks, continued lines joined, without prompt, comment, and what the shell does.
fn commands(text: &str) -> Vec<String> {
    let (mut inside, mut found) = (false, Vec::new());
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        }
        let line = line.trim().trim_start_matches("$ ");
        if inside && line.starts_with("lycosa ") {
            found.push(line.to_owned());
        }
    }
    found
}

/// A line as a shell would take it apart; ends at a comment, a redirection, a pipe or `&`.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if word.is_empty() => break,
            (None, '>' | '|' | '&' | ';' | '<') => break,
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (None, c) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

/// Docs that name a file that was moved send their reader nowhere.
#[test]
fn every_file_and_folder_of_the_source_that_a_document_names_is_there() {
    let src = root().join("src");
    let rooms: Vec<String> = fs::read_dir(&src)
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    let named = regex::Regex::new(&format!(r"`((?:src/)?(?:{})/[\w/]*(?:/|\.rs))`", rooms.join("|"))).unwrap();
    let mut documents = manuals();
    documents.extend(fs::read_dir(root().join("docs/adr")).unwrap().map(|e| e.unwrap().path()));
    let mut count = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for path in named.captures_iter(&text).map(|found| found[1].to_owned()) {
            count += 1;
            let there = src.join(path.trim_start_matches("src/")).exists();
            assert!(there, "{} names {path}", document.display());
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn every_command_of_the_manuals_is_one_that_the_program_takes() {
    let mut tried = 0;
    for path in manuals() {
        for line in commands(&fs::read_to_string(&path).unwrap()) {
            let taken = Cli::try_parse_from(words(&line));
            let shown = |e: &clap::Error| {
                matches!(e.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion)
            };
            assert!(taken.as_ref().err().is_none_or(shown), "{}: {line}\n{}", path.display(), taken.unwrap_err());
            tried += 1;
        }
    }
    assert!(tried > 50, "only {tried} commands were found");
}

/// The paths of the endpoint that a text names.
fn paths(text: &str) -> BTreeSet<String> {
    let named = regex::Regex::new(r"/api/v1/[a-z0-9/{}_.-]*[a-z0-9}]").unwrap();
    named.find_iter(text).map(|m| m.as_str().to_owned()).collect()
}

#[test]
fn every_path_of_the_manuals_is_one_that_the_endpoint_describes() {
    let node = crate::cockpit::described();
    let fits = |named: &str, path: &str| {
        let (named, path): (Vec<_>, Vec<_>) = (named.split('/').collect(), path.split('/').collect());
        let same = |(a, b): (&&str, &&str)| a == b || b.starts_with('{');
        named.len() <= path.len() && named.iter().zip(&path).all(same)
    };
    for manual in manuals() {
        for named in paths(&fs::read_to_string(&manual).unwrap()) {
            assert!(node.iter().any(|path| fits(&named, path)), "{}: {named}", manual.display());
        }
    }
}
