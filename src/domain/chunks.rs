//! Chunked bodies (RFC 9112, section 7.1): which bytes are payload and which are framing, in pieces as they come.
//!
//! What is taken is what hyper takes, so that a body that was received can be read again: sizes in hexadecimal of any length,
//! blanks after them, extensions, trailers; lines end in CRLF and in nothing else.

/// How far a chunked body was read.
#[derive(Clone, Debug, Default)]
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
    Blank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line of the trailer.
    Line,
    Trailer,
    TrailerLf,
    EndLf,
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
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether a chunk is over and the next has not begun.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.at == At::Start
    }

    /// Takes what is of one kind from the beginning of `bytes`: payload, `most` of it, or framing to the next border.
    ///
    /// # Errors
    /// A byte that cannot stand there.
    pub fn step(&mut self, bytes: &[u8], most: u64) -> Result<Step, ChunkFault> {
        if self.at == At::Data {
            let n = self.left.min(most).min(bytes.len() as u64);
            self.left -= n;
            if self.left == 0 {
                self.at = At::DataCr;
            }
            return Ok(Step { taken: usize::try_from(n).unwrap_or(bytes.len()), is_data: true });
        }
        let mut taken = 0;
        for byte in bytes {
            if matches!(self.at, At::Data | At::Done) || (taken > 0 && self.at == At::Start) {
                break;
            }
            self.at = self.after(*byte)?;
            taken += 1;
        }
        Ok(Step { taken, is_data: false })
    }

    fn after(&mut self, byte: u8) -> Result<At, ChunkFault> {
        Ok(match (self.at, byte) {
            (At::Start, _) if byte.is_ascii_hexdigit() => {
                self.left = 0;
                self.digit(byte)?
            }
            (At::Size, _) if byte.is_ascii_hexdigit() => self.digit(byte)?,
            (At::Size | At::Blank, b' ' | b'\t') => At::Blank,
            (At::Size | At::Blank, b';') => At::Extension,
            (At::Size | At::Blank | At::Extension, b'\r') => At::SizeLf,
            (At::Extension, _) if byte != b'\n' => At::Extension,
            (At::SizeLf, b'\n') if self.left == 0 => At::Line,
            (At::SizeLf, b'\n') => At::Data,
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Start,
            (At::Line, b'\r') => At::EndLf,
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::Line | At::Trailer, _) => At::Trailer,
            (At::TrailerLf, b'\n') => At::Line,
            (At::EndLf, b'\n') => At::Done,
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
///
/// # Errors
/// What it has is no chunked body.
pub fn payload(mut body: &[u8]) -> Result<Vec<u8>, ChunkFault> {
    let (mut chunks, mut out) = (Chunks::default(), Vec::with_capacity(body.len()));
    loop {
        let Step { taken, is_data } = chunks.step(body, u64::MAX)?;
        let (now, later) = body.split_at_checked(taken).unwrap_or((body, &[]));
        if is_data {
            out.extend_from_slice(now);
        }
        if taken == 0 {
            return Ok(out);
        }
        body = later;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_payload_is_what_stands_between_the_sizes_and_the_line_ends() {
        let cases: &[(&[u8], &[u8])] = &[
            (b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", b"hello world"),
            (b"0\r\n\r\n", b""),
            (b"", b""),
            (b"a;x=y\r\n0123456789\r\n0;z\r\n\r\n", b"0123456789"),
            (b"00000000000000000000002 \t\r\nab\r\n000\r\n\r\n", b"ab"),
            (b"A \t;\r\n0123456789\r\n0\r\nX: y\r\nZ\r\n\r\n", b"0123456789"),
            (b"2\r\n\r\n\r\n0\r\n\r\n", b"\r\n"),
            (b"2\r\nab\r\n0\r\n\r\nmore", b"ab"),
            (b"5\r\nhel", b"hel"),
            (b"2\r\nab\r", b"ab"),
            (b"2\r\nab\r\n7", b"ab"),
        ];
        for (body, want) in cases {
            assert_eq!(payload(body).as_deref(), Ok(*want), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn what_hyper_refuses_is_refused() {
        for body in [
            &b"x\r\n"[..],
            b"\r\n",
            b" 2\r\nab\r\n",
            b"2\nab\n0\n\n",
            b"2\rxab",
            b"2\r\nabc",
            b"2\r\nab\rx",
            b"2 2\r\nab\r\n",
            b"2;\nab",
            b"10000000000000000\r\n",
            b"0\r\n\rx",
            b"0\r\nX: y\rz",
        ] {
            assert_eq!(payload(body), Err(ChunkFault), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_step_stops_at_the_limit_of_payload_and_at_the_end_of_a_chunk() {
        let (mut chunks, mut rest, mut steps) = (Chunks::default(), &b"3\r\nabc\r\n0\r\n\r\nx"[..], Vec::new());
        for most in [9, 2, 0, 9, 9, 9, 9] {
            let step = chunks.step(rest, most).unwrap();
            steps.push((step.taken, step.is_data, chunks.is_between(), chunks.is_done()));
            rest = &rest[step.taken..];
        }
        let want = [
            (3, false, false, false),
            (2, true, false, false),
            (0, true, false, false),
            (1, true, false, false),
            (2, false, true, false),
            (5, false, false, true),
            (0, false, false, true),
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
            for mut bytes in body.chunks(piece) {
                while !bytes.is_empty() {
                    let step = chunks.step(bytes, u64::MAX).unwrap();
                    if step.is_data {
                        out.extend_from_slice(&bytes[..step.taken]);
                    }
                    bytes = &bytes[step.taken..];
                }
            }
            prop_assert!(chunks.is_done());
            prop_assert_eq!(out, parts.concat());
        }
    }
}
