//! Reads WARC files whose records are one gzip member or zstd frame each, as Lycosa and all common crawlers write them, or stand there
//! uncompressed.
//!
//! Memory is bounded: a header block has a cap, content is read through a [`Read`]. A file that is torn or damaged gives
//! an error that says where the record began, so that everything before is known to be whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::member::{Unpacker, pass_skippable};

/// Longest header block read, bytes.
pub const MAX_HEADER: usize = 256 * 1024;

/// Why a record could not be read: first where it begins, then what is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused to read.
    #[error("could not read the record at {0}: {1}")]
    Io(u64, #[source] io::Error),
    /// The file ends inside the record.
    #[error("the record at {0} is torn: the file ends inside it")]
    Torn(u64),
    /// The gzip member or zstd frame is damaged, or there is none.
    #[error("no whole gzip member or zstd frame at {0}: {1}")]
    Member(u64, #[source] io::Error),
    /// The header block is no WARC header.
    #[error("no WARC record at {0}: {1}")]
    Header(u64, &'static str),
    /// The content is not followed by two line ends and the end of the member.
    #[error("the record at {0} does not end where its Content-Length says")]
    End(u64),
}

impl ReadError {
    /// Where the bad record begins: everything before is whole.
    pub fn offset(&self) -> u64 {
        let (Self::Io(at, _) | Self::Torn(at) | Self::Member(at, _) | Self::Header(at, _) | Self::End(at)) = self;
        *at
    }

    pub(crate) fn from_io(offset: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Self::Torn(offset),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::Member(offset, source),
            _ => Self::Io(offset, source),
        }
    }
}

/// The header block of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcHeader {
    /// First byte of the record in the file.
    pub offset: u64,
    /// Names and values in their order.
    pub fields: Vec<(String, String)>,
    /// Bytes of content.
    pub content_length: u64,
}

impl WarcHeader {
    /// The first value of a field; names are compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// `WARC-Type`, or nothing.
    pub fn kind(&self) -> &str {
        self.get("WARC-Type").unwrap_or_default()
    }

    /// `WARC-Target-URI`, without the angle brackets that WARC 1.0 writers put around it.
    pub fn target(&self) -> Option<&str> {
        self.get("WARC-Target-URI").map(|uri| uri.strip_prefix('<').and_then(|u| u.strip_suffix('>')).unwrap_or(uri))
    }
}

enum State<R: BufRead> {
    /// Before a member.
    Between(Counting<R>),
    /// Inside the member that began at `offset`, with `left` bytes of content to come.
    Inside { member: Unpacker<Counting<R>>, offset: u64, left: u64 },
    /// After an error or the end.
    Over,
}

/// Reads record after record.
pub struct WarcReader<R: BufRead> {
    state: State<R>,
    /// Its records are not compressed; known once the first was looked at.
    plain: Option<bool>,
}

impl WarcReader<BufReader<File>> {
    /// Opens a file at `offset`, the first byte of a record.
    pub fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self::new(BufReader::with_capacity(64 * 1024, file), offset))
    }
}

impl<R: BufRead> WarcReader<R> {
    /// Reads from `source`, whose next byte is the file's byte `offset`.
    pub fn new(source: R, offset: u64) -> Self {
        Self { state: State::Between(Counting { inner: source, at: offset }), plain: None }
    }

    /// The next record's header; `None` at the end of the file. What is left of the record before is passed over.
    ///
    /// # Errors
    /// [`ReadError`]; after one there are no more records.
    pub fn next_record(&mut self) -> Result<Option<WarcHeader>, ReadError> {
        self.finish()?;
        let State::Between(mut source) = std::mem::replace(&mut self.state, State::Over) else { return Ok(None) };
        let begin = source.at;
        let plain = match self.plain {
            Some(plain) => plain,
            None => source.fill_buf().map_err(|e| ReadError::from_io(begin, e))?.starts_with(b"WARC/"),
        };
        self.plain = Some(plain);
        if !plain {
            pass_skippable(&mut source).map_err(|e| ReadError::from_io(begin, e))?;
        }
        let offset = source.at;
        let failed = |e| ReadError::from_io(offset, e);
        if source.fill_buf().map_err(failed)?.is_empty() {
            return Ok(None);
        }
        let mut member = if plain { Unpacker::plain(source) } else { Unpacker::new(source).map_err(failed)? };
        let header = read_header(&mut member, offset)?;
        self.state = State::Inside { member, offset, left: header.content_length };
        Ok(Some(header))
    }

    /// The content of the record whose header was read last; what was read of it already does not come again.
    pub fn content(&mut self) -> Content<'_, R> {
        Content { reader: self }
    }

    /// Passes over the rest of the record and checks its end; gives the bytes the record takes in the file, 0 when there
    /// is no record or it was finished before.
    ///
    /// # Errors
    /// [`ReadError`]; after one there are no more records.
    pub fn finish(&mut self) -> Result<u64, ReadError> {
        let State::Inside { offset, .. } = self.state else { return Ok(0) };
        io::copy(&mut self.content(), &mut io::sink()).map_err(|e| ReadError::from_io(offset, e))?;
        let State::Inside { mut member, left, .. } = std::mem::replace(&mut self.state, State::Over) else {
            return Ok(0);
        };
        if left > 0 {
            // What is not compressed has no end of its own but that of the file.
            return Err(if self.plain == Some(true) { ReadError::Torn(offset) } else { ReadError::End(offset) });
        }
        let mut end = Vec::with_capacity(8);
        // Behind one that is compressed its member ends too.
        let most = if self.plain == Some(true) { 4 } else { 5 };
        member.by_ref().take(most).read_to_end(&mut end).map_err(|e| ReadError::from_io(offset, e))?;
        if end != b"\r\n\r\n" {
            return Err(ReadError::End(offset));
        }
        let source = member.into_inner();
        let length = source.at - offset;
        self.state = State::Between(source);
        Ok(length)
    }
}

/// Where the next record begins in a file, behind the byte `after`: for whoever passes by damage. None when nothing that looks like one
/// follows.
///
/// # Errors
/// The system refused to read.
pub fn next_begin(path: &Path, after: u64) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let (mut begin, mut piece, mut held) = (after + 1, vec![0; 1 << 20], 0);
    file.seek(SeekFrom::Start(begin))?;
    loop {
        let n = file.read(piece.get_mut(held..).unwrap_or_default())?;
        let bytes = piece.get(..held + n).unwrap_or_default();
        for at in memchr::memchr3_iter(MAGICS[0][0], MAGICS[1][0], MAGICS[2][0], bytes) {
            let here = begin + at as u64;
            let is_magic = MAGICS.iter().any(|magic| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic)));
            if is_magic && matches!(WarcReader::open(path, here)?.next_record(), Ok(Some(_))) {
                return Ok(Some(here));
            }
        }
        if n == 0 {
            return Ok(None);
        }
        // What begins at the end of this piece may go on in the next.
        let kept = bytes.len().min(LONGEST_MAGIC - 1);
        let from = bytes.len() - kept;
        (begin, held) = (begin + from as u64, kept);
        piece.copy_within(from..from + kept, 0);
    }
}

/// What a record begins with: a gzip member, a zstd frame, or the record itself.
const MAGICS: [&[u8]; 3] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], b"WARC/1."];
const LONGEST_MAGIC: usize = 7;

/// The content of a record.
pub struct Content<'a, R: BufRead> {
    reader: &'a mut WarcReader<R>,
}

impl<R: BufRead> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let State::Inside { member, left, .. } = &mut self.reader.state else { return Ok(0) };
        let read = member.take(*left).read(buffer).inspect(|n| *left -= *n as u64);
        if read.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted) {
            self.reader.state = State::Over;
        }
        read
    }
}

fn read_header<R: BufRead>(member: &mut Unpacker<Counting<R>>, offset: u64) -> Result<WarcHeader, ReadError> {
    let mut block = Vec::with_capacity(1024);
    let mut byte = [0];
    while !block.ends_with(b"\r\n\r\n") {
        if block.len() >= MAX_HEADER {
            return Err(ReadError::Header(offset, "the header is too long"));
        }
        match member.read(&mut byte) {
            Ok(0) => return Err(ReadError::Header(offset, "the header has no end")),
            Ok(_) => block.extend_from_slice(&byte),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(ReadError::from_io(offset, e)),
        }
    }
    parse_header(&String::from_utf8_lossy(&block), offset)
}

fn parse_header(block: &str, offset: u64) -> Result<WarcHeader, ReadError> {
    let mut lines = block.split("\r\n");
    if !lines.next().is_some_and(|version| version.starts_with("WARC/")) {
        return Err(ReadError::Header(offset, "the first line is no WARC version"));
    }
    let mut fields: Vec<(String, String)> = Vec::with_capacity(16);
    for line in lines.take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            let (_, value) = fields.last_mut().ok_or(ReadError::Header(offset, "the first field is folded"))?;
            value.push(' ');
            value.push_str(line.trim());
        } else {
            let (name, value) = line.split_once(':').ok_or(ReadError::Header(offset, "a line has no colon"))?;
            fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    let mut header = WarcHeader { offset, fields, content_length: 0 };
    let length = header.get("Content-Length").and_then(|v| v.parse().ok());
    header.content_length = length.ok_or(ReadError::Header(offset, "there is no Content-Length"))?;
    Ok(header)
}

/// Counts what is consumed, so that members know where they begin.
struct Counting<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
        self.at += n as u64;
    }
}
