//! Records of a capture written once more, elsewhere and as something else: a revisit that becomes a response of its own, or one that
//! refers to another capture. Names, dates and all other fields stay.

use std::io::{self, Write};

use super::cdxj::CdxjEntry;
use super::date::{iso, parse_iso};
use super::digest::WarcDigest;
use super::header::{clean_uri, put_field};
use super::http_head::stored_response;
use super::member::{Compression, Packer};
use super::page::PageRecords;
use super::reader::{ReadError, WarcHeader, WarcReader};
use super::record::{RecordBytes, RecordId, RecordKind, RefersTo};
use crate::document::Document;
use crate::domain::cut::Cut;

/// What a revisit becomes.
#[derive(Clone, Copy, Debug)]
pub enum Recast<'a> {
    /// A response with this payload; why it is not whole, if it is not.
    Response(&'a [u8], Option<Cut>),
    /// A revisit that refers to another capture.
    Refers(&'a RefersTo<'a>),
}

/// A record as it was read: header and content.
pub type Read = (WarcHeader, Vec<u8>);

/// The records of a capture, the first of which is a revisit, with the first recast, each packed anew.
///
/// # Errors
/// The first is of no date, or cannot be packed.
pub fn recast(records: &[Read], recast: Recast<'_>, compression: Compression) -> io::Result<PageRecords> {
    let Some(((header, head), others)) = records.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let url = header.target().unwrap_or_default();
    let date = header.get("WARC-Date").and_then(parse_iso).ok_or(io::ErrorKind::InvalidData)?;
    let digest = header.get("WARC-Payload-Digest").and_then(|digest| digest.parse::<WarcDigest>().ok());
    let mut packer = Packer::new(compression);
    let (block, content, kind) = match recast {
        Recast::Response(payload, cut) => {
            let head = stored_response(head, payload.len() as u64);
            let cut = cut.map(|cut| ("WARC-Truncated", cut.as_str().to_owned()));
            let block = changed(header, RecordKind::Response, cut.as_slice());
            (block, [&head, payload].concat(), RecordKind::Response)
        }
        Recast::Refers(to) => {
            let fields = [
                ("WARC-Profile", to.profile.to_owned()),
                ("WARC-Refers-To-Target-URI", clean_uri(to.url).into_owned()),
                ("WARC-Refers-To-Date", iso(to.date)),
                ("WARC-Block-Digest", WarcDigest::of(head).to_string()),
            ];
            (changed(header, RecordKind::Revisit, &fields), head.clone(), RecordKind::Revisit)
        }
    };
    let entry = CdxjEntry::new(url, date, &content, digest, kind == RecordKind::Revisit);
    let mut packed = vec![RecordBytes { kind, data: pack(&mut packer, block, &content)? }];
    for (header, content) in others {
        let kind = if header.kind() == "request" { RecordKind::Request } else { RecordKind::Metadata };
        packed.push(RecordBytes { kind, data: pack(&mut packer, fields_of(header), content)? });
    }
    Ok(PageRecords::carried(packed, entry, (RecordId::random(), url.to_owned(), date), digest))
}

/// Reads the record that comes next, whole; none at the end, and none when it has more than `most` bytes.
///
/// # Errors
/// [`ReadError`].
pub fn read_next<R: io::BufRead>(reader: &mut WarcReader<R>, most: u64) -> Result<Option<Read>, ReadError> {
    let Some(header) = reader.next_record()? else { return Ok(None) };
    if header.content_length > most {
        return Ok(None);
    }
    let mut content = Vec::new();
    io::Read::read_to_end(&mut reader.content(), &mut content).map_err(|e| ReadError::from_io(header.offset, e))?;
    reader.finish()?;
    Ok(Some((header, content)))
}

/// The fields that tell what a revisit refers to.
const REFERRING: [&str; 5] =
    ["WARC-Profile", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Refers-To", "WARC-Block-Digest"];

fn changed(header: &WarcHeader, kind: RecordKind, fields: &[(&str, String)]) -> Vec<u8> {
    let mut block = b"WARC/1.1\r\n".to_vec();
    put_field(&mut block, "WARC-Type", kind.as_str());
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    let kept = header.fields.iter().filter(|(name, _)| {
        !REFERRING.iter().any(|gone| is(name, gone)) && !is(name, "WARC-Type") && !is(name, "Content-Length")
    });
    kept.for_each(|(name, value)| put_field(&mut block, name, value));
    fields.iter().for_each(|(name, value)| put_field(&mut block, name, value));
    block
}

fn fields_of(header: &WarcHeader) -> Vec<u8> {
    let mut block = b"WARC/1.1\r\n".to_vec();
    let kept = header.fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("Content-Length"));
    kept.for_each(|(name, value)| put_field(&mut block, name, value));
    block
}

fn pack(packer: &mut Packer, mut block: Vec<u8>, content: &[u8]) -> io::Result<Document> {
    put_field(&mut block, "Content-Length", &content.len().to_string());
    let mut member = packer.member(Vec::new())?;
    member.write_all(&block)?;
    member.write_all(b"\r\n")?;
    member.write_all(content)?;
    member.write_all(b"\r\n\r\n")?;
    Ok(Document::from_bytes(member.finish()?))
}

#[cfg(test)]
mod tests {
    use super::super::record::{Capture, PROFILE_IDENTICAL, PROFILE_NOT_MODIFIED, RecordBuilder, SpoolRule};
    use super::super::scan::{Scanned, scan_next};
    use super::*;
    use crate::base::time::UnixMillis;

    const CAPTURE: Capture<'_> = Capture { url: "http://b.test/x", date: UnixMillis(1_714_996_800_123), ip: None };
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\n";

    /// A revisit of a record of `a.test` and its request, as they are read.
    fn stored(profile: &'static str) -> Vec<Read> {
        let spool = SpoolRule { dir: std::env::temp_dir(), memory: usize::MAX };
        let mut builder = RecordBuilder::new(Compression::Gzip(1), spool);
        let id = RecordId::of(b"one");
        let to = RefersTo { profile, url: "http://a.test/x", date: UnixMillis(1_000) };
        let revisit = builder.revisit(&CAPTURE, id, HEAD, WarcDigest::of(b"payload"), &to).unwrap();
        let request = builder.request(&CAPTURE, RecordId::of(b"two"), id, b"GET /x HTTP/1.1\r\n\r\n").unwrap();
        let file: Vec<u8> = [revisit, request].iter().flat_map(|record| record.data.to_vec().unwrap()).collect();
        let mut reader = WarcReader::new(&*file, 0);
        std::iter::from_fn(|| read_next(&mut reader, 1 << 20).unwrap()).collect()
    }

    fn scanned(records: &PageRecords) -> Vec<Scanned> {
        let file: Vec<u8> = records.records().iter().flat_map(|record| record.data.to_vec().unwrap()).collect();
        let mut reader = WarcReader::new(&*file, 0);
        let all: Vec<_> = std::iter::from_fn(|| scan_next(&mut reader).unwrap()).collect();
        all.iter().for_each(|record| record.check_digests().unwrap());
        all
    }

    #[test]
    fn a_revisit_becomes_a_response_with_the_payload_and_keeps_its_name_date_and_request() {
        for compression in Compression::BOTH {
            let made = recast(&stored(PROFILE_IDENTICAL), Recast::Response(b"payload", Some(Cut::Length)), compression);
            let made = made.unwrap();
            let all = scanned(&made);
            let [response, request] = all.as_slice() else { panic!("{} records", all.len()) };
            let is = |name: &str| response.header.get(name);
            assert_eq!((response.header.kind(), is("WARC-Truncated")), ("response", Some("length")));
            assert_eq!(is("WARC-Record-ID"), Some(&*RecordId::of(b"one").to_string()));
            assert_eq!(request.header.get("WARC-Concurrent-To"), is("WARC-Record-ID"));
            assert_eq!(is("WARC-Date"), Some(&*iso(CAPTURE.date)));
            assert_eq!(response.payload, Some(WarcDigest::of(b"payload")));
            let named = |record: &Scanned| record.header.fields.iter().any(|(_, value)| value.contains("a.test"));
            assert!(!all.iter().any(named) && is("WARC-Profile").is_none(), "{:?}", response.header);
            assert_eq!(Some(made.entry()), response.cdxj_entry().as_ref());
        }
    }

    #[test]
    fn a_304_refers_to_another_capture_and_is_otherwise_as_it_was() {
        let to = RefersTo { profile: PROFILE_NOT_MODIFIED, url: "http://b.test/x", date: UnixMillis(2_000) };
        let made = recast(&stored(PROFILE_NOT_MODIFIED), Recast::Refers(&to), Compression::Gzip(1)).unwrap();
        let all = scanned(&made);
        let is = |name: &str| all[0].header.get(name);
        assert_eq!((all.len(), all[0].header.kind(), is("WARC-Profile")), (2, "revisit", Some(PROFILE_NOT_MODIFIED)));
        assert_eq!(is("WARC-Refers-To-Target-URI"), Some("http://b.test/x"));
        assert_eq!(is("WARC-Refers-To-Date"), Some(&*iso(to.date)));
        assert_eq!(all[0].head.as_deref(), Some(HEAD));
        assert_eq!(Some(made.entry()), all[0].cdxj_entry().as_ref());
    }
}
