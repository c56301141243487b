use flate2::Compression;
use proptest::prelude::*;

use super::*;

const CAP: u64 = 1 << 20;

fn text() -> Vec<u8> {
    "all the world's a stage ".repeat(500).into_bytes()
}

fn all(mut coded: impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    coded.read_to_end(&mut out).unwrap();
    out
}

pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    all(flate2::bufread::GzEncoder::new(data, Compression::fast()))
}

fn zlib(data: &[u8]) -> Vec<u8> {
    all(flate2::bufread::ZlibEncoder::new(data, Compression::fast()))
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    all(flate2::bufread::DeflateEncoder::new(data, Compression::fast()))
}

fn br(data: &[u8]) -> Vec<u8> {
    all(brotli::CompressorReader::new(data, 4096, 3, 22))
}

fn zst(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 1).unwrap()
}

/// What comes out, in reads of an odd size, and how it ended.
fn take_off(coded: &[u8], encoding: &str, cap: u64) -> (Vec<u8>, DecodedEnd) {
    let mut reader = decoded(coded, encoding, cap);
    let mut out = Vec::new();
    let mut buf = [0; 977];
    loop {
        match reader.read(&mut buf).unwrap() {
            0 => break,
            n => out.extend_from_slice(&buf[..n]),
        }
    }
    (out, reader.end())
}

#[test]
fn every_coding_comes_off_whole() {
    let text = text();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("", text.clone()),
        ("identity", text.clone()),
        ("gzip", gzip(&text)),
        ("X-GZip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", br(&text)),
        ("zstd", zst(&text)),
        ("gzip, br", br(&gzip(&text))),
        ("deflate,gzip , zstd", zst(&gzip(&zlib(&text)))),
        ("identity, gzip", gzip(&text)),
    ];
    for (encoding, coded) in cases {
        assert_eq!(take_off(&coded, encoding, CAP), (text.clone(), DecodedEnd::Whole), "{encoding}");
    }
}

#[test]
fn several_gzip_members_are_one_body_and_rubbish_after_them_is_ignored() {
    let mut coded = gzip(b"one ");
    coded.extend(gzip(b""));
    coded.extend(gzip(b"two"));
    assert_eq!(take_off(&coded, "gzip", CAP), (b"one two".to_vec(), DecodedEnd::Whole));
    coded.extend(b"\0\0 rubbish");
    assert_eq!(take_off(&coded, "gzip", CAP), (b"one two".to_vec(), DecodedEnd::Whole));
}

#[test]
fn several_zstd_frames_are_one_body() {
    let mut coded = zst(b"one ");
    coded.extend(zst(b"two"));
    assert_eq!(take_off(&coded, "zstd", CAP), (b"one two".to_vec(), DecodedEnd::Whole));
}

#[test]
fn a_body_that_is_not_in_the_coding_it_claims_is_passed_through() {
    for encoding in ["gzip", "x-gzip", "zstd", "utf-8", "none", "gzip, utf-8", "text/html"] {
        assert_eq!(take_off(b"<html>plain", encoding, CAP), (b"<html>plain".to_vec(), DecodedEnd::Whole), "{encoding}");
    }
}

/// What comes out of a body of this type, and the notes.
fn take_off_as(coded: &[u8], encoding: &str, content_type: &str) -> (Vec<u8>, Vec<Note>) {
    let mut reader = decoded_as(coded, encoding, Some(content_type), CAP);
    (all(&mut reader), reader.notes())
}

#[test]
fn a_coding_that_is_not_there_is_noted_and_the_text_kept() {
    let html: &[u8] = b"<!DOCTYPE html><title>plain</title>";
    let with_mark = [b"\xef\xbb\xbf".as_slice(), html].concat();
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        for plain in [html, with_mark.as_slice(), b"\r\n\t <html> something"] {
            assert_eq!(
                take_off_as(plain, encoding, "text/html"),
                (plain.to_vec(), vec![Note::DecodePlain]),
                "{encoding}"
            );
        }
    }
    for encoding in ["", "identity", "utf-8"] {
        assert_eq!(take_off_as(html, encoding, "text/html"), (html.to_vec(), vec![]), "{encoding:?}");
    }
}

#[test]
fn a_text_that_was_compressed_once_more_is_taken_apart_and_noted() {
    let text = text();
    for kind in ["text/html", "Text/HTML; charset=utf-8", "text/plain", "application/xml", "application/rss+xml"] {
        for (encoding, coded) in [("", gzip(&text)), ("gzip", gzip(&gzip(&text))), ("br", br(&gzip(&text)))] {
            let (out, notes) = take_off_as(&coded, encoding, kind);
            assert!(out == text && notes == [Note::DecodeExtra], "{kind} {encoding:?} {notes:?}");
        }
    }
    for kind in ["application/gzip", "application/octet-stream", ""] {
        assert_eq!(take_off_as(&gzip(&text), "", kind), (gzip(&text), vec![]), "{kind}");
    }
    assert_eq!(take_off_as(&gzip(&gzip(&text)), "", "text/html"), (gzip(&text), vec![Note::DecodeExtra]), "once only");
}

#[test]
fn a_text_compressed_once_more_is_capped_like_any_other_and_may_be_damaged() {
    let zeros = gzip(&vec![b'0'; 3_000_000]);
    let mut reader = decoded_as(&*zeros, "", Some("text/html"), 1_000);
    assert_eq!((all(&mut reader).len(), reader.notes()), (1_000, vec![Note::DecodeCapped, Note::DecodeExtra]));
    let cut = gzip(&text());
    let (_, notes) = take_off_as(&cut[..cut.len() / 2], "", "text/html");
    assert_eq!(notes, [Note::DecodeCorrupt, Note::DecodeExtra]);
    assert_eq!(take_off_as(b"x", "compress", "text/html").1, [Note::DecodeUnsupported]);
}

#[test]
fn an_empty_body_is_whole_under_every_coding() {
    for encoding in ["", "gzip", "deflate", "br", "zstd", "gzip, br"] {
        assert_eq!(take_off(b"", encoding, CAP), (Vec::new(), DecodedEnd::Whole), "{encoding}");
    }
}

#[test]
fn a_cut_body_gives_what_came_before_the_cut() {
    let noise: Vec<u8> = (0..60_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (encoding, coded) in
        [("gzip", gzip(&noise)), ("deflate", zlib(&noise)), ("br", br(&noise)), ("zstd", zst(&noise))]
    {
        let (out, end) = take_off(&coded[..coded.len() * 3 / 4], encoding, CAP);
        assert_eq!(end, DecodedEnd::Corrupt, "{encoding}");
        assert!(noise.starts_with(&out), "{encoding}");
        assert!(encoding == "zstd" || out.len() > 10_000, "{encoding}: {}", out.len());
    }
}

#[test]
fn a_damaged_checksum_is_reported_after_the_data() {
    let mut coded = gzip(&text());
    let at = coded.len() - 6;
    coded[at] ^= 0xff;
    assert_eq!(take_off(&coded, "gzip", CAP), (text(), DecodedEnd::Corrupt));
}

#[test]
fn the_cap_stops_a_bomb_and_says_so() {
    let zeros = vec![0; 3_000_000];
    for (encoding, coded) in [
        ("identity", zeros.clone()),
        ("gzip", gzip(&zeros)),
        ("deflate", raw_deflate(&zeros)),
        ("br", br(&zeros)),
        ("zstd", zst(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        assert_eq!(take_off(&coded, encoding, 1000), (vec![0; 1000], DecodedEnd::Capped), "{encoding}");
        assert_eq!(take_off(&coded, encoding, 3_000_000), (zeros.clone(), DecodedEnd::Whole), "{encoding}, exact");
        assert_eq!(take_off(&coded, encoding, 2_999_999).1, DecodedEnd::Capped, "{encoding}, one short");
    }
}

#[test]
fn a_bomb_in_an_inner_stage_is_capped_too() {
    // 200,000 empty members are 4 MB for the outer stage and nothing for the inner one.
    let empty_members = gzip(b"").repeat(200_000);
    let (out, end) = take_off(&gzip(&empty_members), "gzip, gzip", 100_000);
    assert!(out.is_empty());
    assert_ne!(end, DecodedEnd::Whole);
}

#[test]
fn windows_above_the_web_limits_are_refused() {
    // zstd frame header (RFC 8878 section 3.1.1): magic, descriptor without single segment, window byte 2^27.
    let zstd_window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00];
    assert_eq!(take_off(&zstd_window, "zstd", CAP), (Vec::new(), DecodedEnd::Corrupt));
    // brotli, WBITS 0010001 then 30: a window of 1 GiB.
    assert_eq!(take_off(&[0x11, 0x1e, 0x00, 0x00], "br", CAP), (Vec::new(), DecodedEnd::Corrupt));
}

#[test]
fn codings_that_cannot_be_taken_off_are_said_so() {
    for encoding in ["compress", "x-compress, gzip", "gzip, gzip, gzip, gzip"] {
        assert_eq!(take_off(b"data", encoding, CAP), (Vec::new(), DecodedEnd::Unsupported), "{encoding}");
    }
}

#[test]
fn a_failing_source_is_an_error_not_a_corrupt_body() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk"))
        }
    }
    let text = text();
    for (encoding, coded) in [
        ("", text.clone()),
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("br", br(&text)),
        ("zstd", zst(&text)),
        ("zstd, gzip", gzip(&zst(&text))),
    ] {
        for length in [0, 3, coded.len() / 2] {
            let mut reader = decoded(io::Cursor::new(&coded[..length]).chain(Broken), encoding, CAP);
            let error = io::copy(&mut reader, &mut io::sink()).expect_err(encoding);
            assert_eq!(error.to_string(), "disk", "{encoding} {length}");
        }
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_fail_or_pass_the_cap(data in proptest::collection::vec(any::<u8>(), 0..300), pick in 0..6usize) {
        let encoding = ["gzip", "deflate", "br", "zstd", "br, gzip", "zstd, deflate"][pick];
        let mut coded = match pick { 0 | 4 => vec![0x1f, 0x8b, 8, 0], 3 => vec![0x28, 0xb5, 0x2f, 0xfd], _ => vec![] };
        coded.extend(data);
        let (out, _) = take_off(&coded, encoding, 5000);
        prop_assert!(out.len() <= 5000);
    }

    #[test]
    fn what_was_coded_comes_back(data in proptest::collection::vec(any::<u8>(), 0..3000)) {
        for (encoding, coded) in [("gzip", gzip(&data)), ("deflate", zlib(&data)), ("br", br(&data)), ("zstd", zst(&data))] {
            prop_assert_eq!(take_off(&coded, encoding, CAP), (data.clone(), DecodedEnd::Whole));
        }
    }
}
