//! The records of a WARC, one after the other, past damage.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::{EraseError, Host, Result};
use crate::warc::filler::ERASED;
use crate::warc::reader::{ReadError, WarcHeader, WarcReader, next_begin};

/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// What a record is to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was received from it, or sent to it.
    Own,
    /// It is of another host, and says that its payload is in a record of the host's.
    Relying,
    /// It stands where something was erased.
    Filler,
    /// It is of another host; whether it names the host.
    Other(bool),
}

/// A record that was read to its end.
pub struct Record {
    pub header: WarcHeader,
    pub length: u64,
    pub what: What,
}

impl Record {
    /// Whether an index has a line for such a record.
    pub fn is_indexed(&self) -> bool {
        matches!(self.header.kind(), "response" | "revisit")
    }
}

/// Hands every record of a file to `act`; gives the places that are damaged, from where each begins to the next record, where it went on.
/// `deep`: others' contents are searched for the host's name.
pub fn each_record(
    path: &Path,
    host: &Host,
    deep: bool,
    act: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<Vec<Range<u64>>> {
    let read = || EraseError::io("read", path);
    let (mut from, mut damaged) = (Some(0), Vec::new());
    while let Some(begin) = from.take() {
        let mut reader = WarcReader::open(path, begin).map_err(read())?;
        loop {
            match one(&mut reader, host, deep) {
                Ok(Some(record)) => act(record)?,
                Ok(None) => break,
                Err(ReadError::Io(_, source)) => return Err(read()(source)),
                Err(e) => {
                    from = next_begin(path, e.offset()).map_err(read())?;
                    let end = match from {
                        Some(next) => next,
                        None => path.metadata().map_err(read())?.len(),
                    };
                    damaged.push(e.offset()..end);
                    break;
                }
            }
        }
    }
    Ok(damaged)
}

fn one<R: io::BufRead>(
    reader: &mut WarcReader<R>,
    host: &Host,
    deep: bool,
) -> std::result::Result<Option<Record>, ReadError> {
    let Some(header) = reader.next_record()? else { return Ok(None) };
    let what = match what_is(&header, host) {
        What::Other(named) if deep => What::Other(names(reader, host, &header)? || named),
        what => what,
    };
    let length = reader.finish()?;
    Ok(Some(Record { header, length, what }))
}

fn what_is(header: &WarcHeader, host: &Host) -> What {
    let owns = |url: Option<&str>| url.is_some_and(|url| host.owns(url));
    if owns(header.target()) {
        What::Own
    } else if owns(header.get("WARC-Refers-To-Target-URI")) {
        What::Relying
    } else if header.get("Content-Type") == Some(ERASED) {
        What::Filler
    } else {
        What::Other(header.fields.iter().any(|(_, value)| host.is_named_in(value.as_bytes())))
    }
}

/// Whether the content names the host: read piece by piece, each with the end of the one before.
fn names<R: io::BufRead>(
    reader: &mut WarcReader<R>,
    host: &Host,
    header: &WarcHeader,
) -> std::result::Result<bool, ReadError> {
    let (mut piece, mut held) = (vec![0; PIECE + host.overlap() + 1], 0);
    let mut named = false;
    loop {
        let read = reader.content().read(piece.get_mut(held..).unwrap_or_default());
        let n = match read {
            Ok(0) => return Ok(named),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(ReadError::from_io(header.offset, e)),
        };
        let filled = held + n;
        named = named || host.is_named_in(piece.get(..filled).unwrap_or_default());
        held = filled.min(host.overlap());
        piece.copy_within(filled - held..filled, 0);
    }
}
