//! CDXJ: the index that finds a capture by URL and time. One line a capture: SURT key, 14-digit time, JSON.
//!
//! Field names and the value `warc/revisit` are those of pywb and `cdxj-indexer`; all values are strings. While a WARC is
//! open its lines are appended as they come; when it is closed they are sorted by bytes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::append::sync_dir;
use super::date::digits14;
use super::digest::WarcDigest;
use super::error::WarcError;
use super::header::{MAX_VALUE, clean_uri};
use super::http_head;
use super::surt::surt;
use super::writer::Place;
use crate::base::disk::own;
use crate::base::sort::{Sorted, Sorter};
use crate::base::time::UnixMillis;
use crate::domain::text::cut_at;

/// Bytes read and written at a time.
const PIECE: usize = 256 * 1024;

/// What a line says of a capture, all but its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CdxjEntry {
    url: String,
    date: UnixMillis,
    mime: String,
    status: Option<u16>,
    digest: Option<WarcDigest>,
}

#[derive(Serialize)]
struct Json<'a> {
    url: &'a str,
    mime: &'a str,
    status: String,
    digest: Option<WarcDigest>,
    length: String,
    offset: String,
    filename: &'a str,
}

impl CdxjEntry {
    /// `url` as in `WARC-Target-URI`; MIME type and status are read from the HTTP head as stored. An unknown type is
    /// written `unk`, an unknown status `-`.
    pub fn new(url: &str, date: UnixMillis, head: &[u8], digest: Option<WarcDigest>, revisit: bool) -> Self {
        let mime = if revisit { Some("warc/revisit".to_owned()) } else { http_head::mime(head) };
        let url = cut_at(&clean_uri(url), MAX_VALUE).to_owned();
        let mime = mime.unwrap_or_else(|| "unk".to_owned());
        Self { url, date, mime, status: http_head::status(head), digest }
    }

    /// When the capture was made.
    pub fn date(&self) -> UnixMillis {
        self.date
    }

    /// The line, with its line end, for a capture that stands at `place`.
    pub fn line(&self, place: &Place) -> String {
        let json = Json {
            url: &self.url,
            mime: &self.mime,
            status: self.status.map_or_else(|| "-".to_owned(), |s| s.to_string()),
            digest: self.digest,
            length: place.length.to_string(),
            offset: place.offset.to_string(),
            filename: &place.file,
        };
        // Strings and digests always serialise; an empty object keeps the line readable if that ever changes.
        let json = serde_json::to_string(&json).unwrap_or_else(|_| "{}".to_owned());
        format!("{} {} {json}\n", surt(&self.url), digits14(self.date))
    }
}

/// Sorts the lines of `open` by their bytes into `closed`, which appears whole or not at all. A last line without end
/// and equal lines are dropped. Memory is bounded however long the index is: pieces are sorted in nameless files beside it.
pub fn sort_into(open: &Path, closed: &Path) -> Result<(), WarcError> {
    let mut lines = sorted_lines(open, closed).map_err(WarcError::io("sort", open))?;
    let temporary = closed.with_extension("cdxj.tmp");
    write_lines(&temporary, &mut lines).map_err(WarcError::io("write", &temporary))?;
    fs::rename(&temporary, closed).map_err(WarcError::io("rename to", closed))?;
    closed.parent().map_or(Ok(()), sync_dir)
}

fn sorted_lines(open: &Path, closed: &Path) -> io::Result<Sorted> {
    let mut from = BufReader::with_capacity(PIECE, File::open(open)?);
    let mut sorter = Sorter::new(closed.parent().unwrap_or(Path::new(".")));
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        if line.ends_with(b"\n") {
            sorter.push(&line)?;
        }
        line.clear();
    }
    sorter.sorted()
}

fn write_lines(path: &Path, lines: &mut Sorted) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(PIECE, own::create(path)?);
    let mut last = Vec::new();
    while let Some(line) = lines.next_record()? {
        if line != last {
            out.write_all(&line)?;
            last = line;
        }
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { file: "x.warc.gz".into(), offset: 10, length: 20 }
    }

    #[test]
    fn a_line_has_key_time_and_a_json_of_strings() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        let entry = CdxjEntry::new("http://www.h.test/A", UnixMillis(0), head, Some(WarcDigest::of(b"")), false);
        assert_eq!(
            entry.line(&place()),
            "test,h)/a 19700101000000 {\"url\":\"http://www.h.test/A\",\"mime\":\"text/html\",\"status\":\"200\",\
             \"digest\":\"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\",\"length\":\"20\",\"offset\":\"10\",\
             \"filename\":\"x.warc.gz\"}\n"
        );
    }

    #[test]
    fn a_revisit_and_an_unknown_answer_are_marked() {
        let revisit = CdxjEntry::new("http://h.test/", UnixMillis(0), b"HTTP/1.1 304 N\r\n\r\n", None, true);
        assert!(revisit.line(&place()).contains("\"mime\":\"warc/revisit\",\"status\":\"304\",\"digest\":null"));
        let unknown = CdxjEntry::new("http://h.test/", UnixMillis(0), b"", None, false);
        assert!(unknown.line(&place()).contains("\"mime\":\"unk\",\"status\":\"-\""));
    }

    #[test]
    fn nothing_from_outside_can_add_a_line_or_a_word_to_the_key() {
        let entry = CdxjEntry::new("http://h.test/a b\nc", UnixMillis(0), b"HTTP/1.1 200\r\n", None, false);
        let line = entry.line(&place());
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(line.split(' ').nth(1), Some("19700101000000"));
    }

    #[test]
    fn closing_sorts_by_bytes_and_drops_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let (open, closed) = (dir.path().join("x.cdxj.open"), dir.path().join("x.cdxj"));
        fs::write(&open, "b 1\na,b 1\na) 1\nb 1\nZ 1\ntorn").unwrap();
        sort_into(&open, &closed).unwrap();
        assert_eq!(fs::read_to_string(&closed).unwrap(), "Z 1\na) 1\na,b 1\nb 1\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }
}
