//! `lycosa replay` of a whole crawl of a rough web: the same eyes see the same, other rules see what they should, no socket is opened, and
//! what is damaged is named.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::read::MultiGzDecoder;
use lycosa::testweb::TestWebConfig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, program, until};

const SETTINGS: &str = "politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n\
                        extract = [{ name = \"head\", selector = \"h1\" }, { name = \"items\", selector = \"li\", many = true }]\n";

/// A crawl that has ended, of a web with redirects, loops, duplicates, broken markup, two charsets, codings and sitemaps.
fn crawled() -> Sandbox {
    let web = TestWebConfig { hosts: 6, pages: 60, sitemaps: true, ..TestWebConfig::rough() };
    let mut sandbox = Sandbox::new(web, SETTINGS);
    sandbox.finish();
    sandbox
}

fn replay(arguments: &[&str]) -> Output {
    program().arg("replay").args(arguments).output().unwrap()
}

/// Exit code, lines of JSON, and what was said.
fn told(output: &Output) -> (i32, Vec<Value>, String) {
    let lines = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code().unwrap(), lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn archive(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = fs::read_dir(sandbox.data().join("warc")).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "gz")).collect();
    files.sort();
    files
}

fn host_of(url: &Value) -> &str {
    url.as_str().unwrap().split('/').nth(2).unwrap()
}

#[test]
fn the_same_eyes_see_the_same_and_other_rules_see_what_they_should() {
    let mut sandbox = crawled();
    let (data, config) = (text(&sandbox.data()), text(&sandbox.config_file()));
    let with = |what: &str, more: &[&str]| {
        told(&replay(&[&["--data", &data, "--config", &config, "--what", what][..], more].concat()))
    };
    let (mut captures, indexed) = (0, sandbox.entries().len());
    for what in ["links", "scope", "extract"] {
        let (code, lines, said) = with(what, &["--compare"]);
        assert_eq!((code, &lines[..]), (0, &[][..]), "{what}: {said}");
        let (pages, rest) = said.split_once(" pages of 1 file, as the live run saw them, ").unwrap();
        // What is indexed and no page is a robots.txt, or what one redirects to.
        let others: usize = rest.trim_end().strip_suffix(" other answers").unwrap().parse().unwrap();
        captures = pages.parse().unwrap();
        assert!(captures + others == indexed && others < 20 && captures >= sandbox.truth().len(), "{what}: {said}");
    }
    let (code, lines, said) = with("links", &[]);
    assert_eq!((code, lines.len()), (0, captures), "{said}");
    let links: usize = lines.iter().map(|line| line["links"].as_array().unwrap().len()).sum();
    assert!(links > 5 * captures, "{links}");

    // Links that only other rules take.
    let (code, lines, said) = with("links", &["--compare", "--set", "parse.assets=true"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&format!(", {} of them seen otherwise than by the live run", lines.len())), "{said}");
    let is_embed = |link: &Value| {
        let line = link.as_str().unwrap();
        line.contains(" E =EMBED") || line.starts_with("outlinkText: ")
    };
    let embeds = |line: &Value| line["now"].as_array().unwrap().iter().all(is_embed);
    assert!(!lines.is_empty() && lines.iter().all(|line| line["then"] == json!([]) && embeds(line)), "{lines:?}");

    // A host that is excluded: all that was fetched of it would not be, and nothing else changes.
    let (code, lines, said) = with("scope", &["--compare", "--set", "scope.exclude=['^http://h2\\.test/']"]);
    assert_eq!(code, 1, "{said}");
    let verdicts: Vec<&Value> = lines.iter().flat_map(|line| line["verdicts"].as_array().unwrap()).collect();
    assert!(verdicts.iter().all(|v| v["now"] == "excluded" && v["then"] == "in" && host_of(&v["url"]) == "h2.test"));
    let differ: BTreeSet<String> = verdicts.iter().map(|v| v["url"].as_str().unwrap().to_owned()).collect();
    let fetched: BTreeSet<String> = sandbox.truth().into_iter().filter(|url| url.contains("//h2.test/")).collect();
    assert!(fetched.len() > 20 && differ.is_superset(&fetched), "{:?}", fetched.difference(&differ).next());

    let renamed = "extract=[{ name = \"heading\", selector = \"h1\" }]";
    let (code, lines, _) = with("extract", &["--compare", "--set", renamed]);
    let same_value = |line: &Value| line["then"]["head"].is_string() && line["then"]["head"] == line["now"]["heading"];
    assert!(code == 1 && lines.len() > 200 && lines.iter().all(same_value), "{lines:?}");
    let (code, lines, _) = with("card", &[]);
    assert!(code == 0 && lines.iter().any(|line| line["card"]["language"] == "zh"), "pages in GBK have cards");
    let (code, _, said) = with("card", &["--compare"]);
    assert!(code == 2 && said.contains("a crawl writes no cards"), "{said}");
    // The folder is as it was: another crawl goes on there.
    sandbox.finish();
}

#[test]
fn where_no_file_of_an_archive_is_nothing_is_said_to_be_as_it_was() {
    let mut sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 3, ..TestWebConfig::default() }, SETTINGS);
    sandbox.finish();
    for file in fs::read_dir(sandbox.data().join("warc")).unwrap() {
        let (file, name) = file.map(|file| (file.path(), file.file_name())).unwrap();
        fs::rename(file, sandbox.beside(name.to_str().unwrap())).unwrap();
    }
    fs::write(sandbox.data().join("warc/notes.txt"), "no archive").unwrap();
    for compare in [&["--compare"][..], &[]] {
        let data = text(&sandbox.data());
        let (code, lines, said) = told(&replay(&[&["--data", &data, "--what", "links"], compare].concat()));
        assert!(code == 2 && lines.is_empty() && said.contains("it holds no file of an archive"), "{code} {said}");
    }
}

#[test]
fn a_replay_opens_no_socket() {
    let Ok(strace) = Command::new("strace").arg("-V").output() else { return eprintln!("strace is not installed") };
    assert!(strace.status.success());
    let sandbox = crawled();
    let trace = sandbox.beside("trace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=socket,connect", "-o"])
        .arg(&trace)
        .arg(program().get_program())
        .args(["replay", "--what", "links", "--data"])
        .arg(sandbox.data())
        .arg("--config")
        .arg(sandbox.config_file())
        .output()
        .unwrap();
    let (code, lines, said) = told(&output);
    assert!(code == 0 && lines.len() > 100, "{said}");
    let calls = fs::read_to_string(&trace).unwrap();
    let sockets: Vec<&str> =
        calls.lines().filter(|line| line.contains("socket(") || line.contains("connect(")).collect();
    assert_eq!(sockets, Vec::<&str>::new());
}

#[test]
fn files_of_others_are_read_in_every_form_and_what_is_damaged_is_named_and_passed_by() {
    let sandbox = crawled();
    let config = text(&sandbox.config_file());
    let file = &archive(&sandbox)[0];
    let plain = sandbox.beside("plain.warc");
    let mut bytes = Vec::new();
    MultiGzDecoder::new(File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    fs::write(&plain, &bytes).unwrap();
    let files = |paths: &[&Path], more: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| text(path)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        told(&replay(&[more, &["--config", &config, "--warc"][..], &paths].concat()))
    };
    let (code, own, said) = files(&[file], &["--what", "links", "--compare"]);
    assert_eq!((code, &own[..]), (0, &[][..]), "{said}");
    assert!(said.contains("as the live run saw them") && said.contains(" unresolved revisit"), "{said}");
    let (_, packed, _) = files(&[file], &["--what", "links"]);
    let (code, unpacked, said) = files(&[&plain], &["--what", "links"]);
    let links = |lines: &[Value]| lines.iter().map(|l| (l["url"].clone(), l["links"].clone())).collect::<Vec<_>>();
    assert!(code == 0 && packed.len() > 100 && links(&packed) == links(&unpacked), "{said}");

    // The middle of the file is overwritten: one record is lost, and said to be, all others are read.
    let broken = sandbox.beside("broken.warc.gz");
    let mut bytes = fs::read(file).unwrap();
    let at = packed[packed.len() / 2]["offset"].as_u64().unwrap();
    bytes[usize::try_from(at).unwrap()..][..64].fill(b'x');
    fs::write(&broken, &bytes).unwrap();
    let (code, lines, said) = files(&[&broken, &plain], &["--what", "links"]);
    assert_eq!((code, lines.len()), (1, packed.len() - 1 + unpacked.len()), "{said}");
    assert!(
        said.starts_with("damaged: ")
            && said.contains(&format!("broken.warc.gz: no whole gzip member or zstd frame at {at}")),
        "{said}"
    );
    assert!(said.contains(", 1 damaged record"), "{said}");
    let (code, _, said) = files(&[&plain], &["--what", "scope", "--compare"]);
    assert!(code == 2 && said.contains("name that with --data"), "{said}");
    let (code, _, said) = files(&[&sandbox.beside("nothing")], &["--what", "links"]);
    assert!(code == 1 && said.contains("nothing cannot be read: No such file"), "{said}");
}

#[test]
fn who_interrupts_a_replay_gets_whole_lines_and_the_exit_code_that_says_so() {
    let sandbox = crawled();
    let mut child = program()
        .args(["replay", "--what", "links", "--data"])
        .arg(sandbox.data())
        .arg("--config")
        .arg(sandbox.config_file())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It stands still while nobody takes what it writes: there is much more than a pipe holds.
    let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let waits = || {
        let names =
            fs::read_dir(&tasks).unwrap().filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name == "signals\n").count()
    };
    until("the signal to be taken", || (waits() == 0).then_some(()), || "it waits for it still".into());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(11) && said.ends_with("; interrupted\n"), "{said}");
    assert!(
        (rest.is_empty() || rest.ends_with('\n'))
            && rest.lines().all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
}
