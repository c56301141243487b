//! The pages of a WARC file, one after another: each response with the metadata record that speaks of it, whoever has written them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::date::parse_iso;
use super::metadata::{MAX_OUTLINK_BYTES, MAX_TEXT_BYTES};
use super::pick::{Picked, picked};
use super::reader::{ReadError, WarcHeader, WarcReader, next_begin};
use crate::base::time::UnixMillis;
use crate::domain::cut::Cut;

/// Most bytes of the content of a response that are read.
pub const MOST: u64 = 64 << 20;
/// Most bytes of a metadata record.
const METADATA: u64 = (MAX_OUTLINK_BYTES + MAX_TEXT_BYTES + (1 << 20)) as u64;

/// What a revisit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revisit {
    /// The server said that the page has not changed.
    NotModified,
    /// The payload is one that was stored before.
    Identical,
}

/// A response as stored.
#[derive(Debug)]
pub struct StoredPage {
    /// First byte of its record in the file.
    pub offset: u64,
    /// `WARC-Target-URI`.
    pub url: String,
    /// `WARC-Date`.
    pub date: UnixMillis,
    /// Head and body; of a revisit the head alone.
    pub picked: Picked,
    /// Why the body is not whole.
    pub cut: Option<Cut>,
    /// Set when it is a revisit.
    pub revisit: Option<Revisit>,
    /// The fields of its metadata record; none when there is no such record.
    pub metadata: Option<String>,
    id: String,
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and where.
    pub why: String,
}

/// Reads the pages of a file. After a record that cannot be read it goes on with the next that can.
pub struct StoredPages {
    path: PathBuf,
    reader: Option<WarcReader<BufReader<File>>>,
    /// Its metadata record may follow.
    pending: Option<StoredPage>,
}

impl StoredPages {
    /// Of a file: gzip members, zstd frames, or plain.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.to_owned(), reader: Some(WarcReader::open(path, 0)?), pending: None })
    }

    /// The next record: a page whose records are all read, or nothing that is to be told.
    fn step(&mut self, reader: &mut WarcReader<BufReader<File>>) -> Result<Step, Fault> {
        let Some(header) = reader.next_record()? else { return Ok(Step::End) };
        let http = header.get("Content-Type").is_some_and(|kind| kind.starts_with("application/http"));
        match header.kind() {
            kind @ ("response" | "revisit") if http => {
                let is_revisit = kind == "revisit";
                let page = response(&header, content(reader, &header, MOST)?, is_revisit)?;
                Ok(Step::Page(self.pending.replace(page)))
            }
            "metadata" if self.pending.as_ref().is_some_and(|page| speaks_of(&header, page)) => {
                let fields = content(reader, &header, METADATA)?;
                self.pending.iter_mut().for_each(|page| {
                    page.metadata = Some(String::from_utf8_lossy(&fields).into_owned());
                });
                Ok(Step::Page(None))
            }
            _ => Ok(Step::Page(None)),
        }
    }

    /// What is told of a fault, where that is one; goes on behind it.
    fn damaged(&mut self, reader: WarcReader<BufReader<File>>, fault: Fault) -> Option<Damage> {
        let Fault { offset, why, lost, torn } = fault;
        if !lost {
            self.reader = Some(reader);
        } else if let Ok(Some(next)) = next_begin(&self.path, offset) {
            self.reader = WarcReader::open(&self.path, next).ok();
        } else if torn && self.path.extension().is_some_and(|ending| ending == "open") {
            return None; // where a crawl was writing, or is
        }
        Some(Damage { path: self.path.clone(), why })
    }
}

impl Iterator for StoredPages {
    type Item = Result<StoredPage, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(mut reader) = self.reader.take() {
            match self.step(&mut reader) {
                Ok(Step::End) => break,
                Ok(Step::Page(page)) => {
                    self.reader = Some(reader);
                    if let Some(page) = page {
                        return Some(Ok(page));
                    }
                }
                Err(fault) => {
                    if let Some(damage) = self.damaged(reader, fault) {
                        return Some(Err(damage));
                    }
                }
            }
        }
        self.pending.take().map(Ok)
    }
}

enum Step {
    End,
    Page(Option<StoredPage>),
}

struct Fault {
    offset: u64,
    why: String,
    /// Nobody knows where the next record begins.
    lost: bool,
    /// The file ends within it.
    torn: bool,
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        let torn = matches!(error, ReadError::Torn(_));
        Self { offset: error.offset(), why: error.to_string(), lost: true, torn }
    }
}

/// A record that is whole and makes no sense.
fn bad(header: &WarcHeader, why: &str) -> Fault {
    let offset = header.offset;
    Fault { offset, why: format!("the record at {offset} cannot be used: {why}"), lost: false, torn: false }
}

fn content(reader: &mut WarcReader<BufReader<File>>, header: &WarcHeader, most: u64) -> Result<Vec<u8>, Fault> {
    if header.content_length > most {
        let size = header.content_length;
        return Err(bad(header, &format!("it has {size} bytes, more than the {most} that are read here")));
    }
    let mut bytes = Vec::new();
    reader.content().read_to_end(&mut bytes).map_err(|e| ReadError::from_io(header.offset, e))?;
    reader.finish()?;
    Ok(bytes)
}

fn response(header: &WarcHeader, content: Vec<u8>, is_revisit: bool) -> Result<StoredPage, Fault> {
    let wrong = |why: &str| bad(header, why);
    let url = header.target().ok_or_else(|| wrong("it has no WARC-Target-URI"))?.to_owned();
    let date = header.get("WARC-Date").and_then(parse_iso).ok_or_else(|| wrong("it has no WARC-Date"))?;
    let picked = picked(header.clone(), content).map_err(|why| wrong(&why))?;
    let cut = header.get("WARC-Truncated").and_then(|why| Cut::ALL.iter().copied().find(|cut| cut.as_str() == why));
    let not_modified = header.get("WARC-Profile").is_some_and(|profile| profile.contains("server-not-modified"));
    let revisit = is_revisit.then_some(if not_modified { Revisit::NotModified } else { Revisit::Identical });
    let id = header.get("WARC-Record-ID").unwrap_or_default().to_owned();
    Ok(StoredPage { offset: header.offset, url, date, picked, cut, revisit, metadata: None, id })
}

/// Whether a metadata record is about this page: it names its record, or only its URL.
fn speaks_of(header: &WarcHeader, page: &StoredPage) -> bool {
    let named = header.get("WARC-Concurrent-To").or_else(|| header.get("WARC-Refers-To"));
    match named {
        Some(id) => id == page.id,
        None => header.target() == Some(page.url.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::warc::member::{Compression, Packer};

    fn record(kind: &str, fields: &str, content: &str) -> Vec<u8> {
        let http = if kind == "metadata" { "application/warc-fields" } else { "application/http; msgtype=response" };
        let length = content.len();
        format!("WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: {http}\r\n{fields}Content-Length: {length}\r\n\r\n{content}\r\n\r\n").into_bytes()
    }

    fn response(n: u32) -> Vec<u8> {
        let fields = format!("WARC-Record-ID: <urn:{n}>\r\nWARC-Target-URI: <http://a.test/{n}>\r\n");
        record("response", &fields, &format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody {n}"))
    }

    fn metadata(of: u32) -> Vec<u8> {
        record("metadata", &format!("WARC-Concurrent-To: <urn:{of}>\r\n"), &format!("via: http://a.test/{of}\r\n"))
    }

    /// A file of these records in this form.
    fn file(records: &[Vec<u8>], form: Option<Compression>, ending: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
        let mut packer = form.map(Packer::new);
        for record in records {
            let bytes = match &mut packer {
                Some(packer) => {
                    let mut member = packer.member(Vec::new()).unwrap();
                    member.write_all(record).unwrap();
                    member.finish().unwrap()
                }
                None => record.clone(),
            };
            file.write_all(&bytes).unwrap();
        }
        file
    }

    /// Each page by the number in its URL with whether it has metadata, each damage as `!`.
    fn told(path: &Path) -> String {
        let page = |page: Result<StoredPage, Damage>| match page {
            Ok(page) => {
                let n = page.url.rsplit('/').next().unwrap().to_owned();
                assert_eq!(page.picked.body, format!("body {n}").into_bytes());
                let via = format!("via: http://a.test/{n}\r\n");
                assert!(page.metadata.as_ref().is_none_or(|fields| *fields == via), "{:?}", page.metadata);
                format!("{n}{}", if page.metadata.is_some() { "m" } else { "" })
            }
            Err(damage) => {
                let is_number = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
                let mut words = damage.why.split([' ', ':']).filter(|word| !word.is_empty());
                format!("!{}", words.find(is_number).unwrap_or_default())
            }
        };
        StoredPages::open(path).unwrap().map(page).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pages_come_with_their_metadata_in_every_form_of_file() {
        let info = record("warcinfo", "", "software: x\r\n");
        let all = [info, response(1), metadata(1), response(2), response(3), metadata(2), metadata(3)];
        for form in [None, Some(Compression::Gzip(1)), Some(Compression::Zstd(1))] {
            assert_eq!(told(file(&all, form, ".warc").path()), "1m 2 3m", "{form:?}");
        }
        assert_eq!(told(file(&[], None, ".warc").path()), "");
    }

    #[test]
    fn behind_a_damaged_record_the_next_whole_one_is_read() {
        for form in [None, Some(Compression::Gzip(1)), Some(Compression::Zstd(1))] {
            let records: Vec<Vec<u8>> = (1..5).map(response).collect();
            let good = file(&records, form, ".warc");
            let lengths: Vec<usize> =
                (1..5).map(|n| std::fs::read(file(&records[..n], form, ".warc").path()).unwrap().len()).collect();
            let bytes = std::fs::read(good.path()).unwrap();
            // The begin of the second record and all of its first half are overwritten.
            let mut broken = bytes.clone();
            broken[lengths[0]..(lengths[0] + lengths[1]) / 2].fill(b'x');
            std::fs::write(good.path(), &broken).unwrap();
            assert_eq!(told(good.path()), format!("!{} 1 3 4", lengths[0]), "{form:?}");
            // Torn: damage in a file that is whole by its name, the end of one that was being written.
            for (ending, expected) in [(".warc", format!("1 2 !{} 3", lengths[2])), (".open", "1 2 3".to_owned())] {
                let torn = file(&records, form, ending);
                std::fs::write(torn.path(), &bytes[..bytes.len() - 30]).unwrap();
                assert_eq!(told(torn.path()), expected, "{form:?}");
            }
        }
    }

    #[test]
    fn a_record_that_is_whole_and_makes_no_sense_is_told_and_the_next_is_read() {
        let nameless = record("response", "", "HTTP/1.1 200 OK\r\n\r\n");
        let headless = record("response", "WARC-Target-URI: http://a.test/9\r\n", "no head");
        let digest = "WARC-Target-URI: http://a.test/9\r\nWARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";
        let other = record("response", digest, "HTTP/1.1 200 OK\r\n\r\n");
        for (bad, why) in [(nameless, "no WARC-Target-URI"), (headless, "no HTTP head"), (other, "WARC-Block-Digest")] {
            let file = file(&[response(1), bad, response(2)], None, ".warc");
            let found: Vec<_> = StoredPages::open(file.path()).unwrap().collect();
            let whys: Vec<String> = found.iter().filter_map(|page| Some(page.as_ref().err()?.to_string())).collect();
            assert!(whys.len() == 1 && whys[0].contains(why) && found.len() == 3, "{whys:?}");
        }
    }
}
