//! Chunked bodies (RFC 9112, section 7.1): which bytes are payload and which are framing, in pieces as they come.
//!
//! Read as curl reads them: sizes in hexadecimal, and nothing else of their line counts (extensions, blanks, rubbish); lines end in
//! LF, with or without CR before it; trailers of any kind. A size that is none, and anything but a line end behind a chunk, is a fault.

/// How far a chunked body was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    at: At,
    /// Of the chunk: as far as its digits were read, then the bytes to come.
    left: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Before the first digit of a size.
    #[default]
    Start,
    Size,
    /// The rest of a line with a size.
    Extension,
    Data,
    /// Behind the data of a chunk.
    Behind,
    /// At the beginning of a line of the trailer.
    Line,
    Trailer,
    Done,
}

/// Bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How many; 0 when there are none to take.
    pub taken: usize,
    /// They are payload.
    pub is_data: bool,
}

/// This is no chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of the body cannot be read")]
pub struct ChunkFault;

impl Chunks {
    /// Whether the body has come to its end, trailers included.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether the last chunk was announced: all of the payload is there.
    pub fn is_complete(&self) -> bool {
        matches!(self.at, At::Line | At::Trailer | At::Done)
    }

    /// Takes what is of one kind from the beginning of `bytes`: payload, or framing to the next border.
    ///
    /// # Errors
    /// A byte that cannot stand there.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Step, ChunkFault> {
        if self.at == At::Data {
            let n = self.left.min(bytes.len() as u64);
            self.left -= n;
            if self.left == 0 {
                self.at = At::Behind;
            }
            return Ok(Step { taken: usize::try_from(n).unwrap_or(bytes.len()), is_data: true });
        }
        let mut taken = 0;
        for byte in bytes {
            if matches!(self.at, At::Data | At::Done) {
                break;
            }
            self.at = self.after(*byte)?;
            taken += 1;
        }
        Ok(Step { taken, is_data: false })
    }

    /// Goes through all of `bytes`; `with` gets what is payload.
    pub fn each(&mut self, mut bytes: &[u8], mut with: impl FnMut(&[u8])) -> Result<(), ChunkFault> {
        loop {
            let Step { taken, is_data } = self.step(bytes)?;
            let (now, later) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
            if is_data {
                with(now);
            }
            if taken == 0 {
                return Ok(());
            }
            bytes = later;
        }
    }

    fn after(&mut self, byte: u8) -> Result<At, ChunkFault> {
        Ok(match (self.at, byte) {
            (At::Start, _) if byte.is_ascii_hexdigit() => {
                self.left = 0;
                self.digit(byte)?
            }
            (At::Size, _) if byte.is_ascii_hexdigit() => self.digit(byte)?,
            (At::Size | At::Extension, b'\n') if self.left == 0 => At::Line,
            (At::Size | At::Extension, b'\n') => At::Data,
            (At::Size | At::Extension, _) => At::Extension,
            (At::Behind, b'\r') => At::Behind,
            (At::Behind, b'\n') => At::Start,
            (At::Line, b'\n') => At::Done,
            (At::Line, b'\r') => At::Line,
            (At::Trailer, b'\n') => At::Line,
            (At::Line | At::Trailer, _) => At::Trailer,
            _ => return Err(ChunkFault),
        })
    }

    fn digit(&mut self, byte: u8) -> Result<At, ChunkFault> {
        let digit = char::from(byte).to_digit(16).ok_or(ChunkFault)?;
        let more = self.left.checked_mul(16).and_then(|size| size.checked_add(digit.into()));
        self.left = more.ok_or(ChunkFault)?;
        Ok(At::Size)
    }
}

/// The payload of a chunked body, also of one that breaks off.
pub fn payload(body: &[u8]) -> Result<Vec<u8>, ChunkFault> {
    let mut out = Vec::with_capacity(body.len());
    Chunks::default().each(body, |payload| out.extend_from_slice(payload))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cases::{rows, unescaped};

    #[test]
    fn the_payload_is_what_stands_between_the_sizes_and_the_line_ends() {
        for row in rows(include_str!("../../tests/data/http/chunks.txt"), 2) {
            let want = Some(row.cells[1]).filter(|want| *want != "-").map(unescaped);
            assert_eq!(payload(&unescaped(row.cells[0])), want.ok_or(ChunkFault), "line {}: {}", row.line, row.text);
        }
    }

    #[test]
    fn a_step_stops_where_payload_begins_and_at_the_end() {
        let (mut chunks, mut rest, mut steps) = (Chunks::default(), &b"3\r\nabc\r\n0\r\n\r\nx"[..], Vec::new());
        for most in [9, 2, 9, 4, 9, 9] {
            let step = chunks.step(&rest[..most.min(rest.len())]).unwrap();
            steps.push((step.taken, step.is_data, chunks.is_complete(), chunks.is_done()));
            rest = &rest[step.taken..];
        }
        let want = [
            (3, false, false, false),
            (2, true, false, false),
            (1, true, false, false),
            (4, false, false, false),
            (3, false, true, true),
            (0, false, true, true),
        ];
        assert_eq!(steps, want);
    }

    proptest! {
        #[test]
        fn chunks_give_their_payload_back_however_they_are_cut(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..6), piece in 1usize..9,
        ) {
            let mut body = Vec::new();
            for part in &parts {
                body.extend_from_slice(format!("{:X}\r\n", part.len()).as_bytes());
                body.extend_from_slice(part);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(payload(&body).unwrap(), parts.concat());
            let (mut chunks, mut out) = (Chunks::default(), Vec::new());
            for bytes in body.chunks(piece) {
                chunks.each(bytes, |payload| out.extend_from_slice(payload)).unwrap();
            }
            prop_assert!(chunks.is_done());
            prop_assert_eq!(out, parts.concat());
        }
    }
}
