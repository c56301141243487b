//! Damages of what is said of the files, and of the files: WARC, index, `crawl.jsonl`.

use std::fs;

use lycosa::base::time::UnixMillis;
use lycosa::recovery::check::Fault;
use lycosa::storage::read;
use lycosa::storage::tables;
use lycosa::storage::values::{FileLengths, Unsynced, UnsyncedLines};

use super::{Named, all, done_page, file, meta, queued, write};

/// Each alone.
pub const ALL: &[Named] = &[
    (
        "a page listed as not yet safe is not there",
        |s, _| {
            let (_, entry) = all::<tables::Queue>(s).pop().unwrap();
            let warc = all::<tables::Pages>(s)[0].1.warc.clone().unwrap();
            let page = queued(s).0.page(UnixMillis(9));
            let listed = lycosa::storage::values::UnsyncedPage { page, rank: 0, order: 3, entry, warc, feed: 0 };
            write(s, |b| b.put_meta(3, &Unsynced(vec![listed])));
        },
        &[Fault::UnsyncedStray],
    ),
    (
        "a capture's record lies beyond the archive's end",
        |s, _| {
            let (key, mut page) = done_page(s);
            page.warc.as_mut().unwrap().offset = 1 << 40;
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::RecordMissing],
    ),
    (
        "a capture has no place",
        |s, _| {
            let (key, mut page) = done_page(s);
            page.warc = None;
            write(s, |b| b.put::<tables::Pages>(&key, &page));
        },
        &[Fault::RecordMissing],
    ),
    (
        "the open archive file is gone",
        |_, data| {
            fs::remove_file(file(data, ".warc.gz.open")).unwrap();
        },
        &[Fault::TailMissing, Fault::RecordMissing],
    ),
    (
        "a closed archive file is gone",
        |_, data| {
            fs::remove_file(file(data, ".warc.gz")).unwrap();
        },
        &[Fault::RecordMissing],
    ),
    (
        "a response is damaged",
        |s, data| {
            let name = file(data, ".warc.gz");
            let own = name.file_name().unwrap().to_str().unwrap();
            let pages = all::<tables::Pages>(s);
            let place = pages.iter().filter_map(|(_, p)| p.warc.clone()).find(|w| w.file == own).unwrap();
            let mut bytes = fs::read(&name).unwrap();
            bytes[(place.offset + place.length / 2) as usize] ^= 0x55;
            fs::write(&name, bytes).unwrap();
        },
        &[Fault::RecordWrong],
    ),
    (
        "two captures change places",
        |s, _| {
            let pages = all::<tables::Pages>(s);
            let ((a, mut one), (b, mut two)) = (pages[0].clone(), pages[1].clone());
            std::mem::swap(&mut one.warc, &mut two.warc);
            write(s, |batch| {
                batch.put::<tables::Pages>(&a, &one);
                batch.put::<tables::Pages>(&b, &two);
            });
        },
        &[Fault::RecordWrong],
    ),
    (
        "an index line is damaged",
        |_, data| {
            let path = file(data, ".cdxj");
            let text = fs::read_to_string(&path).unwrap().replacen("\"offset\":\"", "\"offset\":\"9", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::IndexLine, Fault::IndexMissing],
    ),
    ("an index is gone", |_, data| fs::remove_file(file(data, ".cdxj")).unwrap(), &[Fault::IndexMissing]),
    (
        "a line of the open index is damaged",
        |_, data| {
            let path = file(data, ".cdxj.open");
            let text = fs::read_to_string(&path).unwrap().replacen("\"offset\":\"", "\"offset\":\"9", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::IndexLine],
    ),
    (
        "a line of crawl.jsonl is damaged",
        |_, data| {
            let path = data.join("crawl.jsonl");
            let text = fs::read_to_string(&path).unwrap().replacen("{\"ts\"", "{}\"ts\"", 1);
            fs::write(&path, text).unwrap();
        },
        &[Fault::LineDamaged, Fault::LineMissing],
    ),
    (
        "a line of crawl.jsonl is another URL's",
        |_, data| {
            let path = data.join("crawl.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            let captured = text.lines().find(|line| line.contains("\"offset\":")).unwrap();
            let other = captured.replacen("\"url\":\"http://h", "\"url\":\"http://g", 1);
            fs::write(&path, text.replacen(captured, &other, 1)).unwrap();
        },
        &[Fault::LineMissing],
    ),
    (
        "lines said to be pending are not the end of crawl.jsonl",
        |s, _| {
            let file_lengths: FileLengths = meta(s);
            let pending = UnsyncedLines { from: file_lengths.jsonl / 2, text: "{}\n".into() };
            write(s, |b| {
                read::unsynced_lines(s, usize::MAX)
                    .unwrap()
                    .iter()
                    .for_each(|(n, _)| b.delete_meta::<UnsyncedLines>(*n));
                b.put_meta(3, &pending);
            });
        },
        &[Fault::UnsyncedStray],
    ),
];
