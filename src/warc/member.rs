//! One record, one member: a gzip member (RFC 1952) in a `.warc.gz`, a zstd frame (RFC 8878) in a `.warc.zst`, as
//! <https://iipc.github.io/warc-specifications/specifications/warc-zstd/> has them. Nothing else asks which a file is made of.
//!
//! A fresh compressor is several hundred kilobytes to allocate and clear, which costs more than compressing a small
//! record; so each thread keeps one [`Packer`].

use std::io::{self, BufRead, Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compress, Crc, FlushCompress, Status};
use serde::{Deserialize, Serialize};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};
use zstd::stream::read::Decoder;

const BUFFER: usize = 32 * 1024;
/// Largest zstd window that is read, as a power of two: 8 MiB, which every reader should take (RFC 8878 section 3.1.1.1.2); those
/// written have 4 MiB at most.
const WINDOW_LOG: u32 = 23;
/// What a frame begins with (RFC 8878 section 3.1.1), and one to be passed over (section 3.1.2): the first of four bytes.
const FRAME: u8 = 0x28;
const SKIPPABLE: std::ops::RangeInclusive<u8> = 0x50..=0x5f;

/// How the records of a WARC are compressed, with the level, 1 to 9; in the settings `1`, `"zstd"` (of level 1), `"zstd:3"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
#[expect(missing_docs, reason = "each name says it")]
pub enum Compression {
    Gzip(u8),
    Zstd(u8),
}

impl Compression {
    /// Both, at their lowest level.
    pub const BOTH: [Self; 2] = [Self::Gzip(1), Self::Zstd(1)];

    fn level(self) -> u8 {
        let (Self::Gzip(level) | Self::Zstd(level)) = self;
        level
    }

    /// What the names of such files end with.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gzip(_) => ".warc.gz",
            Self::Zstd(_) => ".warc.zst",
        }
    }

    /// What the final name of a WARC says; `None` of any other file's.
    pub fn of(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|one| name.ends_with(one.ending()))
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self::Gzip(1)
    }
}

/// Its form in the settings.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a gzip level or \"zstd\"")]
enum Written {
    Level(i64),
    Named(String),
}

impl From<Compression> for Written {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Gzip(level) => Self::Level(level.into()),
            Compression::Zstd(1) => Self::Named("zstd".into()),
            Compression::Zstd(level) => Self::Named(format!("zstd:{level}")),
        }
    }
}

impl TryFrom<Written> for Compression {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let read = match &written {
            Written::Level(level) => u8::try_from(*level).ok().map(Self::Gzip),
            Written::Named(name) if name == "zstd" => Some(Self::Zstd(1)),
            Written::Named(name) => name.strip_prefix("zstd:").and_then(|level| level.parse().ok()).map(Self::Zstd),
        };
        let is_level = |read: &Self| matches!(read, Self::Gzip(1..=9) | Self::Zstd(1..=9));
        let as_written = |read: &Self| match &written {
            Written::Named(name) => name == "zstd" || *name == format!("zstd:{}", read.level()),
            Written::Level(_) => true,
        };
        read.filter(|read| is_level(read) && as_written(read))
            .ok_or_else(|| "allowed are gzip levels 1 to 9, \"zstd\", and \"zstd:1\" to \"zstd:9\"".into())
    }
}

/// A reusable compressor.
pub struct Packer {
    compression: Compression,
    /// None while a member is written. One of a member left unfinished does not come back: at level 1 zlib-rs 0.6 goes on with the
    /// block of that member even after a reset.
    kept: Option<Codec>,
    buffer: Vec<u8>,
}

enum Codec {
    Gzip { deflate: Compress, crc: Crc },
    Zstd(Encoder<'static>),
}

impl Packer {
    /// A gzip level above 9 counts as 9; 0 stores.
    pub fn new(compression: Compression) -> Self {
        Self { compression, kept: None, buffer: vec![0; BUFFER] }
    }

    /// Begins a member on `out`. No time is in it, so that equal input gives equal bytes.
    pub fn member<W: Write>(&mut self, mut out: W) -> io::Result<Member<'_, W>> {
        let codec = match self.kept.take() {
            Some(used) => used.again()?,
            None => Codec::new(self.compression)?,
        };
        if let Compression::Gzip(level) = self.compression {
            let extra = match level {
                1 => 4, // "fastest", RFC 1952 section 2.3.1
                9.. => 2,
                _ => 0,
            };
            out.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, extra, 255])?;
        }
        Ok(Member { packer: self, codec, out })
    }
}

impl Codec {
    fn new(compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::Gzip(level) => {
                let level = flate2::Compression::new(level.min(9).into());
                Self::Gzip { deflate: Compress::new(level, false), crc: Crc::new() }
            }
            Compression::Zstd(level) => {
                let mut encoder = Encoder::new(level.into())?;
                encoder.set_parameter(CParameter::ChecksumFlag(true))?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Ready for another member.
    fn again(mut self) -> io::Result<Self> {
        match &mut self {
            Self::Gzip { deflate, crc } => {
                deflate.reset();
                crc.reset();
            }
            Self::Zstd(encoder) => encoder.reinit()?,
        }
        Ok(self)
    }

    /// One call of the compressor: bytes of `input` it took, bytes it made, and whether that was all of an ending member.
    fn step(&mut self, input: &[u8], buffer: &mut [u8], ending: bool) -> io::Result<(usize, usize, bool)> {
        match self {
            Self::Gzip { deflate, crc } => {
                let (before_in, before_out) = (deflate.total_in(), deflate.total_out());
                let flush = if ending { FlushCompress::Finish } else { FlushCompress::None };
                let status = deflate.compress(input, buffer, flush).map_err(io::Error::other)?;
                let taken = usize::try_from(deflate.total_in() - before_in).unwrap_or(input.len());
                let made = usize::try_from(deflate.total_out() - before_out).unwrap_or(0);
                crc.update(input.get(..taken).unwrap_or_default());
                Ok((taken, made, status == Status::StreamEnd))
            }
            Self::Zstd(encoder) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(buffer));
                let left = if ending { encoder.finish(&mut to, true) } else { encoder.run(&mut from, &mut to) }?;
                Ok((from.pos(), to.pos(), ending && left == 0))
            }
        }
    }
}

/// A member being written; [`finish`](Member::finish) writes its end.
pub struct Member<'a, W> {
    packer: &'a mut Packer,
    codec: Codec,
    out: W,
}

impl<W: Write> Member<'_, W> {
    /// Ends the member and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        while !self.step(&[], true)?.1 {}
        if let Codec::Gzip { crc, .. } = &self.codec {
            self.out.write_all(&crc.sum().to_le_bytes())?;
            self.out.write_all(&crc.amount().to_le_bytes())?;
        }
        self.packer.kept = Some(self.codec);
        Ok(self.out)
    }

    /// One call of the compressor: how much input it took, and whether the member is at its end.
    fn step(&mut self, input: &[u8], ending: bool) -> io::Result<(usize, bool)> {
        let buffer = &mut self.packer.buffer;
        let (taken, made, ended) = self.codec.step(input, buffer, ending)?;
        if taken == 0 && made == 0 && !ended {
            return Err(io::Error::other("the compressor makes no progress"));
        }
        self.out.write_all(buffer.get(..made).unwrap_or_default())?;
        Ok((taken, ended))
    }
}

impl<W: Write> Write for Member<'_, W> {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        if input.is_empty() {
            return Ok(0);
        }
        loop {
            let (taken, _) = self.step(input, false)?;
            if taken > 0 {
                return Ok(taken);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads one member, whichever it is, to its end and no further; of what is not compressed there is no end.
pub struct Unpacker<R: BufRead>(Opened<R>);

enum Opened<R: BufRead> {
    Plain(R),
    Gzip(Box<GzDecoder<R>>),
    Zstd(Decoder<'static, R>),
}

impl<R: BufRead> Unpacker<R> {
    /// Of a member that begins with the next byte.
    pub fn new(mut source: R) -> io::Result<Self> {
        Ok(Self(match source.fill_buf()?.first() {
            Some(&FRAME) => Opened::Zstd(frame(source)?),
            _ => Opened::Gzip(Box::new(GzDecoder::new(source))),
        }))
    }

    /// Of what is not compressed.
    pub fn plain(source: R) -> Self {
        Self(Opened::Plain(source))
    }

    /// The source; behind the member once that was read to its end.
    pub fn into_inner(self) -> R {
        match self.0 {
            Opened::Plain(source) => source,
            Opened::Gzip(decoder) => decoder.into_inner(),
            Opened::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<R: BufRead> Read for Unpacker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Opened::Plain(source) => source.read(buffer),
            Opened::Gzip(decoder) => decoder.read(buffer),
            Opened::Zstd(decoder) => decoder.read(buffer).map_err(damage),
        }
    }
}

/// Passes over skippable frames, such as the one with a dictionary that other writers begin with; a frame that needs the dictionary
/// cannot be read here.
pub fn pass_skippable(source: &mut impl BufRead) -> io::Result<()> {
    while source.fill_buf()?.first().is_some_and(|first| SKIPPABLE.contains(first)) {
        io::copy(&mut frame(&mut *source)?, &mut io::sink()).map_err(damage)?;
    }
    Ok(())
}

fn frame<R: BufRead>(source: R) -> io::Result<Decoder<'static, R>> {
    let mut decoder = Decoder::with_buffer(source)?.single_frame();
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(decoder)
}

/// The decoder's own errors are of the kind `Other`, which no fault of a file is.
fn damage(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Other => io::Error::new(io::ErrorKind::InvalidData, error),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(packer: &mut Packer, input: &[u8]) -> Vec<u8> {
        let mut member = packer.member(Vec::new()).unwrap();
        member.write_all(input).unwrap();
        member.finish().unwrap()
    }

    /// What a member of these bytes holds, and what comes behind it.
    fn unpacked(bytes: &[u8]) -> io::Result<(Vec<u8>, &[u8])> {
        let mut member = Unpacker::new(bytes)?;
        let mut out = Vec::new();
        member.read_to_end(&mut out)?;
        Ok((out, member.into_inner()))
    }

    fn either() -> impl Strategy<Value = Compression> {
        prop_oneof![(0u8..11).prop_map(Compression::Gzip), (1u8..10).prop_map(Compression::Zstd)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_member_of_a_reused_compressor_decodes_to_its_own_input_and_ends_before_the_next(
            inputs in prop::collection::vec(prop::collection::vec(0u8..8, 0..70_000), 1..4), compression in either(),
        ) {
            let mut packer = Packer::new(compression);
            let file: Vec<u8> = inputs.iter().flat_map(|input| packed(&mut packer, input)).collect();
            let mut rest = file.as_slice();
            for input in inputs {
                let (found, behind) = unpacked(rest).unwrap();
                prop_assert_eq!(found, input);
                rest = behind;
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_member_left_unfinished_does_not_leak_into_the_next() {
        for compression in (1..10).flat_map(|level| [Compression::Gzip(level), Compression::Zstd(level)]) {
            for written in [4, 10_000, 300_000] {
                let mut packer = Packer::new(compression);
                let mut lost = packer.member(Vec::new()).unwrap();
                lost.write_all(&vec![7; written]).unwrap();
                drop(lost);
                let next = packed(&mut packer, b"kept");
                assert_eq!(unpacked(&next).unwrap(), (b"kept".to_vec(), &b""[..]), "{compression:?}");
            }
        }
    }

    #[test]
    fn a_frame_has_a_checksum_no_dictionary_and_a_window_of_4_mib_at_most() {
        for level in 1..10 {
            let frame = packed(&mut Packer::new(Compression::Zstd(level)), &[0; 1 << 20]);
            assert_eq!(frame[..4], [FRAME, 0xb5, 0x2f, 0xfd]);
            assert_eq!(frame[4] & 0b0000_0111, 0b0000_0100, "a checksum, no dictionary");
            assert!(frame[5] >> 3 <= 22 - 10, "4 MiB at level {level}");
        }
    }

    #[test]
    fn a_window_above_the_limit_is_refused_before_it_is_allocated() {
        let window_of_128_mib = [FRAME, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0];
        assert_eq!(unpacked(&window_of_128_mib).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn skippable_frames_are_passed_over_to_the_member_behind_them() {
        let skippable = |first: u8, content: &[u8]| [&[first, 0x2a, 0x4d, 0x18, 3, 0, 0, 0], content].concat();
        let frame = packed(&mut Packer::new(Compression::Zstd(1)), b"record");
        let file = [skippable(0x5d, b"abc"), skippable(0x50, b"def"), frame.clone()].concat();
        let mut source = file.as_slice();
        pass_skippable(&mut source).unwrap();
        assert_eq!(source, frame);
        for (broken, kind) in
            [(&skippable(0x50, b"ab")[..], io::ErrorKind::UnexpectedEof), (b"PK no frame", io::ErrorKind::InvalidData)]
        {
            assert_eq!(pass_skippable(&mut &*broken).unwrap_err().kind(), kind);
        }
    }

    #[test]
    fn the_setting_is_a_level_of_gzip_or_zstd_with_or_without_one() {
        let read = |text: &str| serde_json::from_str::<Compression>(text);
        use Compression::{Gzip, Zstd};
        for (text, compression) in [("1", Gzip(1)), ("9", Gzip(9)), ("\"zstd\"", Zstd(1)), ("\"zstd:9\"", Zstd(9))] {
            assert_eq!(read(text).unwrap(), compression);
            assert_eq!(serde_json::to_string(&compression).unwrap(), text);
        }
        let wrong = r#"0 10 -1 257 "gzip" "zstd:0" "zstd:10" "zstd:" "zstd:03" "zstd:+3" "ZSTD" true 1.5"#;
        for wrong in wrong.split(' ') {
            let said = read(wrong).unwrap_err().to_string();
            assert!(said.contains("gzip level") && said.contains("\"zstd\""), "{wrong}: {said}");
        }
    }
}
