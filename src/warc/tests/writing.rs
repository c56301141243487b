use std::fs;
use std::time::Duration;

use super::pages::{Maker, NOON};
use crate::document::Document;
use crate::warc::WarcError;
use crate::warc::writer::{WarcLimits, WarcWriter};

const LIMITS: WarcLimits = WarcLimits { max_size: 1000, max_age: Duration::from_secs(60) };

fn writer() -> (tempfile::TempDir, WarcWriter) {
    let dir = tempfile::tempdir().unwrap();
    let warc = WarcWriter::create(dir.path(), "T.warc.gz", NOON, LIMITS).unwrap();
    (dir, warc)
}

fn document(bytes: &[u8]) -> Document {
    Document::from_bytes(bytes.to_vec())
}

#[test]
fn places_tell_where_each_record_lies() {
    let (dir, mut warc) = writer();
    let page = Maker::new(dir.path()).html(1);
    let parts: Vec<_> = page.records().iter().map(|r| r.data.to_vec().unwrap()).collect();
    let mut places = warc.append(page.records().iter().map(|r| &r.data)).unwrap();
    places.extend(warc.append([&document(b"last")]).unwrap());
    let bytes = fs::read(warc.path()).unwrap();
    for (place, part) in places.iter().zip(parts.iter().map(Vec::as_slice).chain([&b"last"[..]])) {
        let at = place.offset as usize;
        assert_eq!(&bytes[at..at + place.length as usize], part);
        assert_eq!(&place.file, warc.name());
    }
    assert_eq!(warc.position(), bytes.len() as u64);
}

#[test]
fn records_in_files_and_larger_than_the_gathering_buffer_keep_their_order() {
    let (dir, mut warc) = writer();
    let spilled = tempfile::tempfile_in(dir.path()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&spilled, &vec![b'f'; 700_000], 0).unwrap();
    let records = [
        Document::from_bytes(vec![b'a'; 10]),
        Document::from_bytes(vec![b'b'; 3_000_000]),
        Document::from_file(spilled, 700_000),
        Document::from_bytes(vec![b'c'; 10]),
    ];
    warc.append(&records).unwrap();
    let expected: Vec<u8> = records.iter().flat_map(|r| r.to_vec().unwrap()).collect();
    assert!(fs::read(warc.path()).unwrap() == expected);
}

#[test]
fn a_record_that_cannot_be_read_back_undoes_the_whole_append() {
    let (dir, mut warc) = writer();
    warc.append([&document(b"kept")]).unwrap();
    let short = tempfile::tempfile_in(dir.path()).unwrap();
    let records = [Document::from_bytes(vec![b'x'; 2_000_000]), Document::from_file(short, 10)];
    assert!(matches!(warc.append(&records), Err(WarcError::Io { .. })));
    assert_eq!(fs::read(warc.path()).unwrap(), b"kept");
    assert_eq!(warc.append([&document(b"!")]).unwrap()[0].offset, 4);
}

#[test]
fn a_file_is_due_by_size_or_by_age() {
    let (_dir, mut warc) = writer();
    assert!(!warc.rotate_due(NOON));
    assert!(!warc.rotate_due(NOON.plus(Duration::from_secs(59))));
    assert!(warc.rotate_due(NOON.plus(Duration::from_secs(60))));
    warc.append([&Document::from_bytes(vec![0; 1000])]).unwrap();
    assert!(warc.rotate_due(NOON));
}

#[test]
fn closing_gives_the_final_name_and_ends_writing() {
    let (dir, mut warc) = writer();
    warc.append([&document(b"x")]).unwrap();
    assert!(warc.path().to_string_lossy().ends_with(".warc.gz.open"));
    let path = warc.close().unwrap();
    assert_eq!(path.file_name().unwrap().to_str(), Some(&**warc.name()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(matches!(warc.append([&Document::empty()]), Err(WarcError::Refusing(_))));
}

#[test]
fn a_closed_file_is_never_written_over() {
    let (dir, mut warc) = writer();
    let path = warc.close().unwrap();
    let again = WarcWriter::create(dir.path(), warc.name(), NOON, LIMITS);
    assert!(matches!(again, Err(WarcError::Io { action: "create", .. })));
    fs::write(dir.path().join(format!("{}.open", warc.name())), "other").unwrap();
    assert!(crate::warc::writer::close_name(dir.path(), warc.name()).is_err());
    assert_eq!(fs::read(path).unwrap(), b"");
}
