use std::io::{Read, Write};

use super::pages::Maker;
use crate::warc::member::{Compression, Packer};
use crate::warc::reader::{MAX_HEADER, ReadError, WarcReader};
use crate::warc::scan::scan_next;

fn member(content: &[u8]) -> Vec<u8> {
    member_of(Compression::default(), content)
}

fn member_of(compression: Compression, content: &[u8]) -> Vec<u8> {
    let mut packer = Packer::new(compression);
    let mut member = packer.member(Vec::new()).unwrap();
    member.write_all(content).unwrap();
    member.finish().unwrap()
}

fn first(bytes: &[u8]) -> Result<(), ReadError> {
    scan_next(&mut WarcReader::new(bytes, 0)).map(drop)
}

fn three(compression: Compression) -> (Vec<u8>, Vec<u64>) {
    let mut maker = Maker::of(compression, &std::env::temp_dir());
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    for record in maker.html(1).records() {
        offsets.push(bytes.len() as u64);
        bytes.extend(record.data.to_vec().unwrap());
    }
    (bytes, offsets)
}

#[test]
fn records_are_read_one_by_one_with_their_places() {
    for compression in Compression::BOTH {
        let (bytes, offsets) = three(compression);
        let mut reader = WarcReader::new(bytes.as_slice(), 0);
        let mut found = Vec::new();
        let mut end = 0;
        while let Some(header) = reader.next_record().unwrap() {
            found.push((header.kind().to_owned(), header.offset));
            end = header.offset + reader.finish().unwrap();
        }
        let kinds = ["response", "request", "metadata"].map(str::to_owned);
        assert_eq!(found, kinds.into_iter().zip(offsets).collect::<Vec<_>>());
        assert_eq!(end, bytes.len() as u64);
    }
}

#[test]
fn content_may_be_read_in_part_before_the_next_record() {
    for compression in Compression::BOTH {
        let (bytes, _) = three(compression);
        let mut reader = WarcReader::new(bytes.as_slice(), 0);
        reader.next_record().unwrap().unwrap();
        let mut begin = [0; 15];
        reader.content().read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200 OK");
        assert_eq!(reader.next_record().unwrap().unwrap().kind(), "request");
    }
}

#[test]
fn a_file_cut_anywhere_gives_every_whole_record_and_then_says_where_the_torn_one_begins() {
    for compression in Compression::BOTH {
        let (bytes, offsets) = three(compression);
        for len in 0..bytes.len() {
            let mut reader = WarcReader::new(&bytes[..len], 0);
            let mut whole = 0;
            let end = loop {
                match scan_next(&mut reader) {
                    Ok(Some(_)) => whole += 1,
                    other => break other,
                }
            };
            let begun = offsets.iter().filter(|o| **o < len as u64).count();
            let at_border = offsets.contains(&(len as u64));
            assert_eq!(whole, if at_border || begun == 0 { begun } else { begun - 1 }, "cut at {len}");
            match end {
                Ok(_) => assert!(at_border),
                Err(e) => assert_eq!(e.offset(), offsets[begun - 1], "cut at {len}"),
            }
            assert!(scan_next(&mut reader).unwrap().is_none(), "nothing comes after an error");
        }
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    for compression in Compression::BOTH {
        let (bytes, offsets) = three(compression);
        let end = offsets[1] as usize;
        for at in (10..end).step_by(7) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let read = scan_next(&mut WarcReader::new(bytes.as_slice(), 0));
            assert!(read.is_err(), "byte {at} of {end}");
        }
    }
}

#[test]
fn what_is_no_record_is_told_apart() {
    let cases: [(&[u8], &str); 6] = [
        (b"GET / HTTP/1.1\r\n\r\n", "the first line is no WARC version"),
        (b"WARC/1.1\r\nWARC-Type: x\r\n\r\n", "there is no Content-Length"),
        (b"WARC/1.1\r\nContent-Length: -1\r\n\r\n", "there is no Content-Length"),
        (b"WARC/1.1\r\nno colon\r\n\r\n", "a line has no colon"),
        (b"WARC/1.1\r\n folded\r\n\r\n", "the first field is folded"),
        (b"WARC/1.1\r\nContent-Length: 0\r\n", "the header has no end"),
    ];
    for (content, expected) in cases {
        for compression in Compression::BOTH {
            let read = first(&member_of(compression, content));
            assert!(matches!(read, Err(ReadError::Header(0, why)) if why == expected));
        }
    }
    // A record may stand there uncompressed.
    assert!(matches!(first(b"WARC/1.1\r\n"), Err(ReadError::Header(0, "the header has no end"))));
    assert!(matches!(first(b"no WARC/1.1\r\n"), Err(ReadError::Member(0, _))));
}

#[test]
fn content_must_end_where_its_length_says() {
    for end in ["", "\r\n", "\r\n\r\nx", "long\r\n\r\n"] {
        for compression in Compression::BOTH {
            let content = format!("WARC/1.1\r\nContent-Length: 2\r\n\r\nab{end}");
            assert!(matches!(first(&member_of(compression, content.as_bytes())), Err(ReadError::End(0))), "{end:?}");
        }
    }
    let bytes = member(b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nab\r\n\r\n");
    assert!(matches!(first(&bytes), Err(ReadError::End(0))));
}

#[test]
fn a_header_without_bound_is_refused() {
    let bytes = member(&[b"WARC/1.1\r\n".as_slice(), &b"A: b\r\n".repeat(MAX_HEADER)].concat());
    assert!(matches!(first(&bytes), Err(ReadError::Header(_, "the header is too long"))));
}

#[test]
fn folded_fields_and_bracketed_uris_of_other_writers_are_read() {
    let bytes =
        member(b"WARC/1.0\r\nWARC-Target-URI: <http://h.test/>\r\nA: b\r\n  c\r\ncontent-length: 0\r\n\r\n\r\n\r\n");
    let header = WarcReader::new(bytes.as_slice(), 0).next_record().unwrap().unwrap();
    assert_eq!(header.target(), Some("http://h.test/"));
    assert_eq!(header.get("a"), Some("b c"));
}

#[test]
fn a_file_that_begins_with_a_skippable_frame_is_read_and_places_count_it() {
    let (bytes, offsets) = three(Compression::Zstd(1));
    let file = [&[0x5d, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7][..], &bytes].concat();
    let mut reader = WarcReader::new(file.as_slice(), 0);
    let mut found = Vec::new();
    while let Some(record) = scan_next(&mut reader).unwrap() {
        found.push(record.header.offset - 10);
    }
    assert_eq!(found, offsets);
    assert!(matches!(first(&file[..9]), Err(ReadError::Torn(0))));
}
