//! What a power failure leaves of the files, beyond ends that are missing (see `archive.rs`).

use std::fs::{self, OpenOptions};

use super::archive::{add, open, open_pair, open_with};
use super::pages::Maker;
use crate::storage::values::FileLengths;
use crate::warc::archive::Strays;
use crate::warc::reader::WarcReader;

#[test]
fn an_open_warc_of_which_nothing_is_left_begins_with_its_warcinfo_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut maker = Maker::new(dir.path());
    let (mut archive, _) = open(dir.path(), &FileLengths::default());
    let lost = add(&mut archive, &mut maker, 1);
    let (file_lengths, warc) = (archive.file_lengths(), open_pair(&archive, dir.path()).0);
    drop(archive);
    for left in [0, 7] {
        OpenOptions::new().write(true).open(&warc).unwrap().set_len(left).unwrap();
        let (archive, repair) = open_with(dir.path(), &file_lengths, Some(lost.offset), Strays::Remove);
        assert!(repair.lacks(&lost.file, lost.offset) && !repair.lacks("other.warc.gz", lost.offset));
        assert_eq!(archive.file_lengths().warc.unwrap().1, lost.offset);
        let mut reader = WarcReader::open(&warc, 0).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().kind(), "warcinfo");
    }
    let (mut archive, _) = open_with(dir.path(), &file_lengths, Some(lost.offset), Strays::Remove);
    assert_eq!(add(&mut archive, &mut maker, 1), lost);
}

#[test]
fn the_end_of_crawl_jsonl_is_written_anew_whatever_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.jsonl");
    for left in ["a\n", "a\nb", "a\nb\n", "a\n\0\0\0\0", "a\nb\nc\nd\n", ""] {
        fs::write(&path, left).unwrap();
        let (mut archive, _) = open(dir.path(), &FileLengths { jsonl: 6, ..FileLengths::default() });
        archive.log_again(2, "b\nc\n").unwrap();
        let whole = if left.is_empty() { "b\nc\n" } else { "a\nb\nc\n" };
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{left:?}");
        assert_eq!(archive.file_lengths().jsonl, whole.len() as u64);
    }
}
