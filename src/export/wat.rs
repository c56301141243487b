//! `wat`: what is to be said of each response, its head and its page, as JSON in `metadata` records, as in Common Crawl's WAT files.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::derived::PerWarc;
use super::{Begin, ExportError, Format, Output, Row};
use crate::content::html::{Outline, outline};
use crate::content::mime::{Kind, sniff};
use crate::storage::values::WarcPlace;
use crate::warc::date::iso;
use crate::warc::pick::Picked;
use crate::warc::record::{Derived, RecordKind};

struct Wat<'a>(PerWarc<'a>);

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    Ok(Box::new(Wat(PerWarc::new(begin, out, "wat", "Heads and links of responses"))))
}

impl<'a> Format<'a> for Wat<'a> {
    fn page(&mut self, row: &Row<'_>, out: &mut Output<'a>) -> Result<bool, ExportError> {
        let Some(own) = &row.page.warc else { return Ok(false) };
        let Some(stored) = row.stored()? else { return Ok(false) };
        let Some(place) = row.holder()?.and_then(|holder| holder.warc.as_ref()) else { return Ok(false) };
        let said = envelope(row, stored, place, page(row, stored)?);
        let refers_to = stored.header.get("WARC-Record-ID").unwrap_or_default();
        let derived =
            Derived { kind: RecordKind::Metadata, refers_to, content_type: "application/json", language: None };
        self.0.put(out, (row, &own.file), &derived, said.to_string().as_bytes())?;
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        self.0.end(out)
    }
}

/// The outline of a page of HTML.
fn page(row: &Row<'_>, stored: &Picked) -> Result<Option<Outline>, ExportError> {
    let (content_type, document) = (stored.field_list("content-type"), row.document()?);
    let kind = sniff(content_type.as_deref(), document);
    let Some(url) = row.url().filter(|_| matches!(kind, Kind::Html | Kind::Xhtml) && !document.is_empty()) else {
        return Ok(None);
    };
    Ok(Some(outline(kind, content_type.as_deref(), &url.to_url(), document, u64::MAX)))
}

/// The envelope, all of whose numbers are texts. Of a revisit it is that of the record that holds its body, but for URL and time.
fn envelope(row: &Row<'_>, stored: &Picked, place: &WarcPlace, page: Option<Outline>) -> Value {
    let mut http = http(&stored.head);
    http.insert("Entity-Length".into(), stored.body.len().to_string().into());
    if let Some(digest) = stored.header.get("WARC-Payload-Digest") {
        http.insert("Entity-Digest".into(), digest.into());
    }
    if let Some(page) = page {
        http.insert("HTML-Metadata".into(), json!(page));
    }
    let mut payload = Map::from_iter([
        ("Actual-Content-Type".to_owned(), json!("application/http; msgtype=response")),
        ("Actual-Content-Length".to_owned(), stored.header.content_length.to_string().into()),
        ("HTTP-Response-Metadata".to_owned(), http.into()),
    ]);
    if let Some(digest) = stored.header.get("WARC-Block-Digest") {
        payload.insert("Block-Digest".into(), digest.into());
    }
    json!({
        "Container": {
            "Filename": place.file,
            "Compressed": true,
            "Offset": place.offset.to_string(),
            "Gzip-Metadata": { "Deflate-Length": place.length.to_string() },
        },
        "Envelope": {
            "Format": "WARC/1.1",
            "WARC-Header-Metadata": header(row, stored),
            "Payload-Metadata": payload,
        },
    })
}

/// The fields of the record.
fn header(row: &Row<'_>, stored: &Picked) -> Value {
    let mut fields = Map::new();
    stored.header.fields.iter().for_each(|(name, value)| add(&mut fields, name, value));
    if row.page.how.is_revisit() {
        let own = [("WARC-Target-URI", row.page.asked().into_owned()), ("WARC-Date", iso(row.page.fetched))];
        for (name, value) in own {
            if let Some(other) = fields.insert(name.into(), value.into()) {
                fields.insert(name.replace("WARC-", "WARC-Refers-To-"), other);
            }
        }
    }
    fields.into()
}

/// Status line and fields of an HTTP head; bytes that are no UTF-8 are replaced.
fn http(head: &[u8]) -> Map<String, Value> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let mut status = lines.next().unwrap_or_default().splitn(3, ' ').map(str::trim);
    let mut next = || status.next().unwrap_or_default();
    let message = json!({ "Version": next(), "Status": next(), "Reason": next() });
    let mut fields = Map::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        add(&mut fields, name.trim(), value.trim());
    }
    Map::from_iter([
        ("Response-Message".to_owned(), message),
        ("Headers-Length".to_owned(), head.len().to_string().into()),
        ("Headers".to_owned(), fields.into()),
    ])
}

/// A field that comes again makes a list, as Common Crawl's extractor does since 2024.
fn add(fields: &mut Map<String, Value>, name: &str, value: &str) {
    match fields.get_mut(name) {
        None => _ = fields.insert(name.into(), value.into()),
        Some(Value::Array(values)) => values.push(value.into()),
        Some(one) => *one = json!([one.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_told_field_by_field_and_one_that_comes_again_as_a_list() {
        let head = b"HTTP/1.1 200 Fine, thank you\r\nServer: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nSet-Cookie: c\r\nX:\xff\r\n\r\n";
        let want = json!({
            "Response-Message": { "Version": "HTTP/1.1", "Status": "200", "Reason": "Fine, thank you" },
            "Headers-Length": head.len().to_string(),
            "Headers": { "Server": "x", "Set-Cookie": ["a", "b", "c"], "X": "\u{fffd}" },
        });
        assert_eq!(Value::from(http(head)), want);
        assert_eq!(http(b"")["Response-Message"], json!({ "Version": "", "Status": "", "Reason": "" }));
    }
}
