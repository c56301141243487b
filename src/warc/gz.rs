//! One gzip member a record, with a compressor that is kept between records.
//!
//! A fresh deflate state is several hundred kilobytes to allocate and clear, which costs more than compressing a small
//! record; so each thread keeps one [`Gzipper`].

use std::io::{self, Write};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

const BUFFER: usize = 32 * 1024;

/// A reusable gzip compressor (RFC 1952).
pub struct Gzipper {
    deflate: Compress,
    buffer: Vec<u8>,
    level: u32,
}

impl Gzipper {
    /// `level` is 0 (stored) to 9; more counts as 9.
    pub fn new(level: u32) -> Self {
        let level = level.min(9);
        Self { deflate: Compress::new(Compression::new(level), false), buffer: vec![0; BUFFER], level }
    }

    /// Begins a member on `out`.
    pub fn member<W: Write>(&mut self, mut out: W) -> io::Result<Member<'_, W>> {
        self.deflate.reset();
        let extra = match self.level {
            1 => 4, // "fastest", RFC 1952 section 2.3.1
            9 => 2,
            _ => 0,
        };
        out.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, extra, 255])?; // no time, so that equal input gives equal bytes
        Ok(Member { gzipper: self, crc: Crc::new(), out })
    }
}

/// A member being written; [`finish`](Member::finish) writes its end.
pub struct Member<'a, W> {
    gzipper: &'a mut Gzipper,
    crc: Crc,
    out: W,
}

impl<W: Write> Member<'_, W> {
    /// Ends the member and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        while self.step(&[], FlushCompress::Finish)?.1 != Status::StreamEnd {}
        self.out.write_all(&self.crc.sum().to_le_bytes())?;
        self.out.write_all(&self.crc.amount().to_le_bytes())?;
        Ok(self.out)
    }

    /// One call of the compressor: how much input it took, and its status.
    fn step(&mut self, input: &[u8], flush: FlushCompress) -> io::Result<(usize, Status)> {
        let g = &mut *self.gzipper;
        let (before_in, before_out) = (g.deflate.total_in(), g.deflate.total_out());
        let status = g.deflate.compress(input, &mut g.buffer, flush).map_err(io::Error::other)?;
        let taken = usize::try_from(g.deflate.total_in() - before_in).unwrap_or(input.len());
        let made = usize::try_from(g.deflate.total_out() - before_out).unwrap_or(0);
        if taken == 0 && made == 0 && status != Status::StreamEnd {
            return Err(io::Error::other("the gzip compressor makes no progress"));
        }
        self.out.write_all(g.buffer.get(..made).unwrap_or_default())?;
        Ok((taken, status))
    }
}

impl<W: Write> Write for Member<'_, W> {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        if input.is_empty() {
            return Ok(0);
        }
        loop {
            let (taken, _) = self.step(input, FlushCompress::None)?;
            if taken > 0 {
                self.crc.update(input.get(..taken).unwrap_or_default());
                return Ok(taken);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::bufread::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    fn gunzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_member_of_a_reused_compressor_decodes_to_its_own_input(
            inputs in prop::collection::vec(prop::collection::vec(0u8..8, 0..70_000), 1..4), level in 0u32..11,
        ) {
            let mut gzipper = Gzipper::new(level);
            for input in inputs {
                let mut member = gzipper.member(Vec::new()).unwrap();
                member.write_all(&input).unwrap();
                prop_assert_eq!(gunzip(&member.finish().unwrap()), input);
            }
        }
    }

    #[test]
    fn a_member_left_unfinished_does_not_leak_into_the_next() {
        let mut gzipper = Gzipper::new(1);
        let mut lost = gzipper.member(Vec::new()).unwrap();
        lost.write_all(b"lost").unwrap();
        drop(lost);
        let mut member = gzipper.member(Vec::new()).unwrap();
        member.write_all(b"kept").unwrap();
        assert_eq!(gunzip(&member.finish().unwrap()), b"kept");
    }
}
