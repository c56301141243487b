//! WARC files. Input: a byte, then by it the file's bytes, or the bytes of one record before compression (by gzip, or by zstd where
//! the byte is 128 or more), or the values and content of a record to be written and read back.

use std::io::{BufReader, Read, Write};

use super::input::{byte, line, text};
use super::warc::header::{HeaderBlock, MAX_VALUE};
use super::warc::member::{Compression, Packer};
use super::warc::reader::{ReadError, WarcHeader, WarcReader};

/// No file makes the reader panic or read past a record, and it reads what the writer writes.
pub fn check(data: &[u8]) {
    let (way, data) = byte(data);
    let compression = if way < 128 { Compression::Gzip(1) } else { Compression::Zstd(1) };
    match way % 3 {
        0 => any_file(data),
        1 => any_file(&member(compression, data)),
        _ => written(compression, data),
    }
}

/// Records with their content, and how the file ended.
type Found = (Vec<(WarcHeader, Vec<u8>)>, Option<(u64, &'static str)>);

fn any_file(file: &[u8]) {
    let whole = read(file, file.len().max(1));
    let offsets: Vec<_> = whole.0.iter().map(|(header, _)| header.offset).collect();
    assert!(offsets.is_sorted_by(|a, b| a < b) && offsets.iter().all(|at| *at < file.len() as u64));
    assert_eq!(read(file, 3), whole, "in pieces");
}

fn read(file: &[u8], size: usize) -> Found {
    let mut reader = WarcReader::new(BufReader::with_capacity(size, file), 0);
    let mut records = Vec::new();
    loop {
        match reader.next_record() {
            Err(error) => return (records, Some((error.offset(), kind(&error)))),
            Ok(None) => return (records, None),
            Ok(Some(header)) => {
                let mut content = Vec::new();
                let ended = reader.content().take(1 << 20).read_to_end(&mut content);
                assert!(content.len() as u64 <= header.content_length);
                if ended.is_ok() {
                    records.push((header, content));
                }
            }
        }
    }
}

fn kind(error: &ReadError) -> &'static str {
    match error {
        ReadError::Torn(_) => "torn",
        ReadError::Member(..) => "member",
        ReadError::Header(_, why) => why,
        ReadError::End(_) => "end",
        _ => "other",
    }
}

fn member(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut packer = Packer::new(compression);
    let mut member = packer.member(Vec::new()).expect("a vector takes all");
    member.write_all(bytes).and_then(|()| member.finish()).expect("a vector takes all")
}

fn written(compression: Compression, data: &[u8]) {
    let (value, rest) = line(data);
    let (uri, content) = line(rest);
    let (value, uri) = (text(value), text(uri));
    let mut block = HeaderBlock::default();
    block.put("X-Value", &value);
    block.put_uri("WARC-Target-URI", &uri);
    let record = [&block.finish(content.len() as u64), content, b"\r\n\r\n"].concat();
    let file = member(compression, &record).repeat(2);
    let (records, ended) = read(&file, file.len());
    assert_eq!((records.len(), ended), (2, None));
    for (header, found) in &records {
        assert_eq!(found, content);
        assert_eq!(header.fields.len(), 3);
        assert!(header.target().is_some_and(|target| !target.contains([' ', '\n', '\r'])));
        assert!(header.get("x-value").is_some_and(|read| read.len() <= MAX_VALUE));
    }
}
