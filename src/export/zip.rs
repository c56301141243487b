//! A ZIP of stored entries, written from its beginning to its end: length and CRC of each are known before it begins, so that local headers are
//! true and readers need no data descriptors. ZIP64 where numbers outgrow 32 bits. Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3, 4.4 and
//! 4.5.3.

use std::io::{self, Write};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// 2.0 for folders in names, 4.5 for ZIP64.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;
/// Names are UTF-8.
const UTF_8: u16 = 1 << 11;
/// 1980-01-01, the first day that there is; no time is in it.
const DAY: u16 = 1 << 5 | 1;
/// Made on Unix, where the mode below means something.
const UNIX: u16 = 3 << 8;
/// A regular file that everybody may read.
const MODE: u32 = 0o100_644 << 16;

/// An archive being written.
pub(super) struct Zip<W> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
    /// Bytes of the entry that are still to come.
    left: u64,
}

struct Entry {
    name: String,
    length: u64,
    crc: u32,
    at: u64,
}

fn put(out: &mut Vec<u8>, fields: &[Field]) {
    for field in fields {
        match field {
            Field::Two(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Four(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Eight(n) => out.extend_from_slice(&n.to_le_bytes()),
        }
    }
}

enum Field {
    Two(u16),
    Four(u32),
    Eight(u64),
}
use Field::{Eight, Four, Two};

/// The number, or what stands for one that is in the extra field.
fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn is_wide(n: u64) -> bool {
    n >= u64::from(u32::MAX)
}

impl Entry {
    /// The extra field with those numbers that need it; empty when none does.
    fn extra(&self, is_local: bool) -> Vec<u8> {
        let (mut numbers, mut out) = (Vec::new(), Vec::new());
        if is_wide(self.length) {
            put(&mut numbers, &[Eight(self.length), Eight(self.length)]);
        }
        if !is_local && is_wide(self.at) {
            put(&mut numbers, &[Eight(self.at)]);
        }
        if !numbers.is_empty() {
            put(&mut out, &[Two(1), Two(u16::try_from(numbers.len()).unwrap_or_default())]);
            out.extend_from_slice(&numbers);
        }
        out
    }

    /// What both headers have, from the needed version to the length of the extra field.
    fn common(&self, out: &mut Vec<u8>, extra: &[u8]) {
        let version = if extra.is_empty() { VERSION } else { VERSION_64 };
        let length = if is_wide(self.length) { u32::MAX } else { narrow(self.length) };
        let (name, extra) = (u16::try_from(self.name.len()), u16::try_from(extra.len()));
        put(out, &[Two(version), Two(UTF_8), Two(0), Two(0), Two(DAY), Four(self.crc), Four(length), Four(length)]);
        put(out, &[Two(name.unwrap_or_default()), Two(extra.unwrap_or_default())]);
    }

    fn local(&self) -> Vec<u8> {
        let (mut out, extra) = (Vec::new(), self.extra(true));
        put(&mut out, &[Four(LOCAL)]);
        self.common(&mut out, &extra);
        [&out[..], self.name.as_bytes(), &extra].concat()
    }

    fn central(&self) -> Vec<u8> {
        let (mut out, extra) = (Vec::new(), self.extra(false));
        let version = if extra.is_empty() { VERSION } else { VERSION_64 };
        put(&mut out, &[Four(CENTRAL), Two(UNIX | version)]);
        self.common(&mut out, &extra);
        let at = if is_wide(self.at) { u32::MAX } else { narrow(self.at) };
        put(&mut out, &[Two(0), Two(0), Two(0), Four(MODE), Four(at)]);
        [&out[..], self.name.as_bytes(), &extra].concat()
    }
}

impl<W: Write> Zip<W> {
    /// An empty one.
    pub fn new(out: W) -> Self {
        Self { out, at: 0, entries: Vec::new(), left: 0 }
    }

    /// Begins an entry; as many bytes as said are to be written into it.
    ///
    /// # Errors
    /// The one before has not its length; the name is too long; those of the output.
    pub fn begin(&mut self, name: &str, length: u64, crc: u32) -> io::Result<()> {
        self.ended()?;
        if name.len() > usize::from(u16::MAX) {
            return Err(io::Error::other("the name of an entry is too long for a ZIP"));
        }
        let entry = Entry { name: name.to_owned(), length, crc, at: self.at };
        self.raw(&entry.local())?;
        self.entries.push(entry);
        self.left = length;
        Ok(())
    }

    fn ended(&self) -> io::Result<()> {
        match self.left {
            0 => Ok(()),
            left => Err(io::Error::other(format!("an entry of the ZIP lacks {left} bytes"))),
        }
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Writes the directory and gives the output back.
    ///
    /// # Errors
    /// The last entry has not its length; those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.ended()?;
        let begin = self.at;
        for entry in std::mem::take(&mut self.entries) {
            self.raw(&entry.central())?;
            self.left += 1;
        }
        let (count, length) = (self.left, self.at - begin);
        let mut end = Vec::new();
        if is_wide(begin) || is_wide(length) || count >= u64::from(u16::MAX) {
            put(&mut end, &[Four(END_64), Eight(44), Two(UNIX | VERSION_64), Two(VERSION_64), Four(0), Four(0)]);
            put(&mut end, &[Eight(count), Eight(count), Eight(length), Eight(begin)]);
            put(&mut end, &[Four(LOCATOR_64), Four(0), Eight(self.at), Four(1)]);
        }
        let number = u16::try_from(count).unwrap_or(u16::MAX);
        put(
            &mut end,
            &[Four(END), Two(0), Two(0), Two(number), Two(number), Four(narrow(length)), Four(narrow(begin)), Two(0)],
        );
        self.raw(&end)?;
        Ok(self.out)
    }
}

/// The bytes of the entry that was begun.
impl<W: Write> Write for Zip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| io::Error::other("an entry of the ZIP is longer than was said"))?;
        self.raw(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps small writes, with their place: archives of many gigabytes are mostly zeros.
    #[derive(Default)]
    struct Sparse {
        at: u64,
        kept: Vec<(u64, Vec<u8>)>,
    }

    impl Write for Sparse {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() < 1 << 20 {
                self.kept.push((self.at, bytes.to_vec()));
            }
            self.at += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    #[test]
    fn a_small_archive_is_byte_for_byte_what_the_format_says() {
        let mut zip = Zip::new(Vec::new());
        zip.begin("a", 2, crc(b"hi")).unwrap();
        zip.write_all(b"hi").unwrap();
        let bytes = zip.finish().unwrap();
        let header = "1400 0008 0000 0000 2100 ac2a93d8 02000000 02000000 0100 0000";
        let expected = format!(
            "504b0304 {header} 61 6869 504b0102 1403 {header} 0000 0000 0000 0000a481 00000000 61 \
             504b0506 0000 0000 0100 0100 2f000000 21000000 0000"
        );
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), expected.replace(' ', ""));
    }

    #[test]
    fn an_entry_that_is_shorter_or_longer_than_was_said_is_an_error() {
        let mut zip = Zip::new(Vec::new());
        zip.begin("a", 2, 0).unwrap();
        assert!(zip.write_all(b"hi!").unwrap_err().to_string().contains("longer"));
        zip.write_all(b"h").unwrap();
        assert!(zip.begin("b", 0, 0).unwrap_err().to_string().contains("lacks 1 bytes"));
        assert!(zip.finish().is_err());
        assert!(Zip::new(Vec::new()).begin(&"x".repeat(70_000), 0, 0).is_err());
    }

    #[test]
    fn numbers_beyond_32_bits_stand_in_zip64_fields() {
        let (large, mut zip) = (5_u64 << 30, Zip::new(Sparse::default()));
        zip.begin("large", large, 0).unwrap();
        let zeros = vec![0; 1 << 20];
        (0..large >> 20).for_each(|_| zip.write_all(&zeros).unwrap());
        zip.begin("small", 1, crc(b"x")).unwrap();
        zip.write_all(b"x").unwrap();
        let out = zip.finish().unwrap();
        let kept = |nth: usize| &out.kept[nth].1[..];
        let eight = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        // The local header: both lengths are all ones, and in the extra field behind the name.
        assert_eq!((kept(0)[18..26].to_vec(), eight(kept(0), 39), eight(kept(0), 47)), (vec![255; 8], large, large));
        let at = 30 + 5 + 20 + large;
        assert_eq!(out.kept[1].0, at, "the second entry begins behind the first");
        // The directory: the place of the second.
        let second = kept(4);
        assert_eq!((second[42..46].to_vec(), eight(second, 46 + 5 + 4)), (vec![255; 4], at));
        let end = kept(5);
        assert_eq!((&end[..4], eight(end, 24), eight(end, 48)), (&b"PK\x06\x06"[..], 2, out.kept[3].0));
    }
}
