//! Index files that are gone, cut or zeroed, another feed, and a new generation on wish.

use std::fs;
use std::path::PathBuf;

use lycosa::index::Writer;
use lycosa::storage::keys::FeedKey;
use lycosa::storage::tables::Feed;
use lycosa::storage::txn::Txn;
use lycosa::storage::values::FeedLog;
use lycosa::storage::{RocksOptions, RocksStorage, Storage, read};
use nix::sys::signal::Signal;

use super::*;
use crate::checkpoint::{ask, assert_is_the_truth, on, until_requests};

/// The files of the generation that answers, largest first.
fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = Folder::of(&sandbox.data());
    let dir = folder.generation(folder.current().unwrap());
    let mut files: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|path| path.is_file()).collect();
    files.retain(|path| path.extension().is_none_or(|e| e != "lock"));
    files.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).unwrap().len()));
    files
}

#[test]
fn an_index_whose_files_are_gone_cut_or_zeroed_is_made_anew_and_the_crawl_goes_on_untouched() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let (expected, asked) = (indexable(&sandbox.data()), sandbox.web.audit_len());
    let damages: [fn(&Sandbox); 6] = [
        |sandbox| fs::remove_file(&files(sandbox)[0]).unwrap(),
        |sandbox| {
            let file = &files(sandbox)[0];
            let length = fs::metadata(file).unwrap().len();
            fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
        },
        |sandbox| {
            let file = &files(sandbox)[0];
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes.iter_mut().skip(middle).take(64).for_each(|byte| *byte = 0);
            fs::write(file, bytes).unwrap();
        },
        |sandbox| files(sandbox).iter().for_each(|file| fs::write(file, b"").unwrap()),
        |sandbox| {
            let meta = files(sandbox).into_iter().find(|path| path.ends_with("meta.json")).unwrap();
            fs::write(meta, vec![0; 500]).unwrap();
        },
        |sandbox| fs::remove_dir_all(sandbox.data().join("index")).unwrap(),
    ];
    for (n, damage) in damages.iter().enumerate() {
        damage(&sandbox);
        let log = sandbox.finish();
        same(&documents(&sandbox), &expected);
        verified(&sandbox);
        assert!(n == 5 || log.contains("the index is made anew: generation="), "{n}: {log}");
        assert!(Folder::of(&sandbox.data()).numbers().len() == 1, "{n}: the broken one is gone");
    }
    assert_eq!(sandbox.web.audit_len(), asked, "no page was asked for again");
    assert_is_the_truth(&sandbox);
}

#[test]
fn an_index_that_is_absent_empty_or_cannot_be_written_is_told_as_what_it_is() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let dir = sandbox.data().join("index");
    fs::remove_dir_all(&dir).unwrap();
    let told = |arguments: &[&str], code: i32, words: &str| {
        let said = index(&sandbox, arguments);
        assert!(said.code == Some(code) && said.text.contains(words), "{arguments:?}: {said:?}");
    };
    told(&["verify"], 1, "there is no index to compare");
    fs::create_dir_all(dir.join("0001")).unwrap();
    drop(Writer::open(&dir.join("0001"), 16 << 20).unwrap());
    told(&["verify"], 1, "the index is empty");
    fs::create_dir(dir.join("current")).unwrap();
    told(&["build"], 3, "index/current cannot be written");
    fs::remove_dir(dir.join("current")).unwrap();
    told(&["build"], 0, "generation 0001");
    verified(&sandbox);
}

#[test]
fn after_a_checkpoint_is_put_back_a_new_generation_is_built_and_is_that_of_the_crawl() {
    let mut sandbox = asking_every("60ms", 1, "");
    let mut crawl = Running::start(&mut sandbox, &[]);
    until_requests(&sandbox, &crawl.daemon, 40);
    let name = ask(&crawl.daemon);
    let feed: Value = serde_json::from_str(&crawl.get("/api/v1/feed?limit=1").1).unwrap();
    let high = feed["high"].as_u64();
    let before = until_index(&crawl, "more than the checkpoint has", |view| view["seq"].as_u64() > high);
    assert_eq!(before["generation"], 1);
    crawl.daemon.signal(Signal::SIGKILL);
    crawl.daemon.wait();
    on(&sandbox.data(), &[&"restore", &name, &"--force"]).done();
    is_told_to_be_of_before(&sandbox);
    let log = sandbox.finish();
    assert!(log.contains("the index is of another feed") && log.contains("written=0002 from_entry=0"), "{log}");
    same(&documents(&sandbox), &indexable(&sandbox.data()));
    verified(&sandbox);
    assert_eq!(Folder::of(&sandbox.data()).numbers(), [2]);
}

/// At rest nobody is shown pages that the crawl does not have any more; it is no fault, for the next start makes it anew.
fn is_told_to_be_of_before(sandbox: &Sandbox) {
    let why = "of another state of this crawl";
    let status = index(sandbox, &["status"]).done();
    assert!(status.contains(why), "{status}");
    let data = sandbox.data();
    let at_rest = |command: &[&str]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = Vec::new();
        all.extend(command.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
        all.extend([&"--data" as &dyn AsRef<std::ffi::OsStr>, &data]);
        run(&all, None)
    };
    let searched = at_rest(&["search", "title:a"]);
    assert!(searched.code == Some(2) && searched.text.contains(why), "{searched:?}");
    let checked = at_rest(&["check"]).done();
    assert!(checked.contains("index_of_before") && !checked.contains("index_ahead"), "{checked}");
}

#[test]
fn keywords_that_are_found_otherwise_make_a_new_generation() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    let expected = indexable(&sandbox.data());
    for (find, number) in [("fill", 1), ("first", 2), ("first", 2)] {
        let set = format!("index.keywords={find}");
        let mut crawl = sandbox.start(&["--until-done", "--set", &set], None);
        assert_eq!(crawl.wait().code(), Some(0), "{}", crawl.log());
        assert_eq!(Folder::of(&sandbox.data()).numbers(), [number], "{find}: {}", crawl.log());
        same(&documents(&sandbox), &expected);
        verified(&sandbox);
    }
}

#[test]
fn other_words_in_the_dictionary_make_a_new_generation_and_no_others_do_not() {
    let words = tempfile::NamedTempFile::new().unwrap();
    fs::write(words.path(), "狼蛛科动物\n").unwrap();
    let mut sandbox = sandbox(&format!("index.dictionary = {:?}\n", words.path()));
    sandbox.finish();
    let expected = indexable(&sandbox.data());
    same(&documents(&sandbox), &expected);
    let generations = |sandbox: &Sandbox| Folder::of(&sandbox.data()).numbers();
    let others = tempfile::NamedTempFile::new().unwrap();
    fs::write(others.path(), "蜘蛛图鉴\n").unwrap();
    let (data, set) = (sandbox.data(), format!("index.dictionary={}", others.path().display()));
    let searched = run(&[&"search" as &dyn AsRef<std::ffi::OsStr>, &"a", &"--data", &data, &"--set", &set], None);
    let told = "name the crawl's configuration with --config FILE";
    assert!(searched.code == Some(2) && searched.text.contains(told), "{searched:?}");
    // A part of speech says nothing of how it is cut.
    for (text, number) in [("狼蛛科动物 n\n", 1), ("狼蛛科动物 n\n蜘蛛图鉴 9", 2), ("", 3)] {
        fs::write(words.path(), text).unwrap();
        let log = sandbox.finish();
        assert_eq!(generations(&sandbox), [number], "{text}: {log}");
        same(&documents(&sandbox), &expected);
        verified(&sandbox);
    }
    fs::write(words.path(), "好用 0").unwrap();
    let mut crawl = sandbox.start(&["--until-done"], None);
    assert_eq!(crawl.wait().code(), Some(2), "{}", crawl.log());
    assert!(crawl.log().contains("line 1: \"0\" is no frequency"), "{}", crawl.log());
}

#[test]
fn a_new_generation_is_built_beside_the_old_one_on_wish_and_takes_its_place() {
    let mut sandbox = sandbox("");
    let crawl = Running::start(&mut sandbox, &[]);
    let all = |sandbox: &Sandbox| indexable(&sandbox.data());
    until("the crawl", || (sandbox.lines().len() >= sandbox.truth().len()).then_some(()), || crawl.daemon.log());
    // What the index has caught up with may lack what is not shown yet.
    let whole = |view: &Value| caught_up(view) && view["documents"].as_u64() == Some(all(&sandbox).len() as u64);
    until_index(&crawl, "all of it", whole);
    let (code, told) = crawl.ctl(&["index", "rebuild"]);
    assert!(code == 0 && told.contains("a new generation is built beside it"), "{told}");
    let view = until_index(&crawl, "the new one", |view| view["generation"] == 2 && caught_up(view));
    assert_eq!(view["documents"].as_u64(), Some(all(&sandbox).len() as u64), "{view}");
    let metrics = crawl.get("/metrics").1;
    assert!(metrics.contains(&format!("\nlycosa_index_documents {}\n", all(&sandbox).len())), "{metrics}");
    let (_, consumers) = crawl.ctl(&["feed", "consumers"]);
    assert!(consumers.contains("\nindex "), "{consumers}");
    let (code, told) = crawl.ctl(&["feed", "forget", "index"]);
    assert!(code == 1 && told.contains("index.enabled=false"), "{told}");

    // Switched off it holds nothing, and switched on it goes on.
    assert_eq!(crawl.ctl(&["set", "index.enabled=false"]).0, 0);
    until_index(&crawl, "its end", |view| view["doing"] == "off");
    let nobody = || crawl.ctl(&["feed", "consumers"]).1.contains("nobody reads it").then_some(());
    until("nothing held", nobody, || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["set", "index.enabled=true"]).0, 0);
    until_index(&crawl, "it again", caught_up);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    same(&documents(&sandbox), &all(&sandbox));
    verified(&sandbox);
}

#[test]
fn an_index_switched_on_over_a_trimmed_feed_has_the_pages_whose_entries_are_gone() {
    let mut sandbox = sandbox("");
    sandbox.finish();
    trim(&sandbox, 40);
    fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    sandbox.finish();
    same(&documents(&sandbox), &indexable(&sandbox.data()));
    verified(&sandbox);
}

/// Lets go of the first entries of the feed, as `feed.keep` does once they are old.
fn trim(sandbox: &Sandbox, until: u64) {
    let options = RocksOptions { memory: 16 << 20, ..RocksOptions::default() };
    let storage = RocksStorage::open(&sandbox.data(), options).unwrap();
    let log: FeedLog = read::meta(&storage, ()).unwrap().unwrap();
    let mut txn = Txn::new(&storage);
    (1..=until).for_each(|number| txn.delete::<Feed>(&FeedKey { number }));
    txn.put_meta((), &FeedLog { trimmed: until, ..log });
    storage.write(&txn.into_batch()).unwrap();
    storage.sync().unwrap();
}
