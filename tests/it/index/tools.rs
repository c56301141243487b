//! The link graph against one that another program made of the archive.

use std::path::Path;
use std::process::Command;

use super::*;
use crate::sandbox::python;

#[test]
fn the_links_of_the_index_are_those_that_another_program_finds_in_the_archive() {
    let Some(python) = python() else { return };
    let mut sandbox = asking_every("5ms", scale(), "");
    sandbox.finish();
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link_graph.py")).arg(sandbox.data().join("warc"));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let graph: BTreeMap<String, usize> = serde_json::from_slice(&done.stdout).unwrap();
    assert!(graph.len() > 50 && graph.values().any(|n| *n > 3), "{graph:?}");
    assert_eq!(in_links(&sandbox, graph.keys().cloned()), graph);
    println!("{} URLs with the pages that link there", graph.len());
}
