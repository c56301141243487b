//! Content codings. Input: a byte that chooses the codings, a byte for the size of pieces, then the body.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::document::decode::{DecodedEnd, decoded};
use super::input::{byte, size};

const CAP: u64 = 64 * 1024;
const CODINGS: [&str; 8] = ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, deflate", "zstd, gzip, br", "identity"];

/// What comes out does not depend on how it is read, never exceeds the cap, and undoes what an encoder did.
pub fn check(data: &[u8]) {
    let (choice, rest) = byte(data);
    let (size, body) = size(rest);
    let codings = CODINGS[usize::from(choice) % CODINGS.len()];
    let (whole, end) = read(body, codings, CAP, usize::MAX);
    assert!(whole.len() as u64 <= CAP);
    let (pieces, pieces_end) = read(body, codings, CAP, size);
    // Before damage, a decoder gives more or less depending on how much it is asked for at once; what it gives may be all
    // that the next one needs.
    let damaged = [end, pieces_end].contains(&DecodedEnd::Corrupt);
    let stacked = codings.contains(',');
    assert!(end == pieces_end || (damaged && stacked), "{end:?}, {pieces_end:?}: {codings} in pieces of {size}");
    let common = whole.len().min(pieces.len());
    assert_eq!(whole[..common], pieces[..common]);
    assert!(damaged || whole.len() == pieces.len());
    capped(body, codings, &whole, end);
    undoes(body);
}

/// With a lower cap comes the beginning of the same.
fn capped(body: &[u8], codings: &str, whole: &[u8], end: DecodedEnd) {
    let cap = whole.len() / 2;
    let (half, _) = read(body, codings, cap as u64, usize::MAX);
    assert!(half.len() <= cap && whole.starts_with(&half));
    assert!(end == DecodedEnd::Corrupt || half.len() == cap, "{} of {cap}", half.len());
}

fn read(body: &[u8], codings: &str, cap: u64, size: usize) -> (Vec<u8>, DecodedEnd) {
    let mut decoded = decoded(Pieces { body, size }, codings, cap);
    let mut out = Vec::new();
    let mut buffer = vec![0; size.min(4096)];
    loop {
        match decoded.read(&mut buffer).expect("the source never fails") {
            0 => return (out, decoded.end()),
            n => out.extend_from_slice(&buffer[..n]),
        }
    }
}

fn undoes(body: &[u8]) {
    let level = Compression::fast();
    let gzip = write(GzEncoder::new(Vec::new(), level), body, GzEncoder::finish);
    let zlib = write(ZlibEncoder::new(Vec::new(), level), body, ZlibEncoder::finish);
    let raw = write(DeflateEncoder::new(Vec::new(), level), body, DeflateEncoder::finish);
    let coded = [("gzip", gzip), ("deflate", zlib), ("deflate", raw)];
    for (coding, bytes) in coded {
        assert_eq!(read(&bytes, coding, CAP, usize::MAX), (body.to_vec(), DecodedEnd::Whole), "{coding}");
    }
}

fn write<W: Write>(mut encoder: W, body: &[u8], finish: fn(W) -> std::io::Result<Vec<u8>>) -> Vec<u8> {
    encoder.write_all(body).and_then(|()| finish(encoder)).expect("a vector takes all")
}

/// A source that gives few bytes at a time.
struct Pieces<'a> {
    body: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.size.min(buf.len()).min(self.body.len());
        let (now, later) = self.body.split_at(n);
        buf[..n].copy_from_slice(now);
        self.body = later;
        Ok(n)
    }
}
