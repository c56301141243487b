//! `sitemap`: the pages of a site as sitemaps (<https://www.sitemaps.org/protocol.html>): those that are there, are not to be left out of search
//! engines, and lead nowhere else, each with the time of its last change.

use std::collections::BTreeMap;
use std::io::Write;

use super::{Begin, ExportError, Format, Output, Row, Sink, Source};
use crate::domain::note::Note;
use crate::storage::keys::KeyRange;
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::DoneKind;
use crate::warc::date::iso;

/// URLs and bytes of a file at most, as the protocol says; and files of an index.
const URLS: u64 = 50_000;
const BYTES: u64 = 50 << 20;
/// Room for the longest entry, and for the end of a file.
const ROOM: u64 = 64 << 10;
/// Longest URL, bytes.
const LONGEST: usize = 2_047;
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SPACE: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

struct Sitemap<'a> {
    source: &'a Source<'a>,
    base: &'a str,
    /// The file that is being written, and its URLs.
    open: Option<(Sink<'a>, u64)>,
    names: Vec<String>,
    counts: BTreeMap<String, u64>,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, _: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let base = begin.options.base.as_deref().unwrap_or_default();
    let counts = BTreeMap::new();
    Ok(Box::new(Sitemap { source: begin.source, base, open: None, names: Vec::new(), counts }))
}

impl<'a> Format<'a> for Sitemap<'a> {
    fn page(&mut self, row: &Row<'_>, out: &mut Output<'a>) -> Result<bool, ExportError> {
        let notes = &row.page.remarks.notes;
        let elsewhere = row.page.remarks.canonical.as_ref().is_some_and(|canonical| *canonical != row.page.url);
        let why_not = [
            ("no_success", !matches!(row.status()?, 200..=299)),
            ("redirects", row.page.how == DoneKind::Redirect || row.page.remarks.target.is_some()),
            ("noindex", notes.contains(&Note::NoIndex)),
            ("canonical_elsewhere", elsewhere),
            ("url_too_long", row.page.url.len() > LONGEST),
        ];
        if let Some((why, _)) = why_not.iter().find(|(_, holds)| *holds) {
            *self.counts.entry((*why).to_owned()).or_insert(0) += 1;
            return Ok(false);
        }
        let changed = self.changed(row)?;
        let is_full = |(sink, urls): &(Sink<'_>, u64)| *urls >= URLS || sink.position() + ROOM > BYTES;
        if self.open.as_ref().is_some_and(is_full) {
            self.close(out)?;
        }
        let (sink, urls) = match &mut self.open {
            Some(open) => open,
            None => {
                let name = format!("sitemap-{:05}.xml", self.names.len() + 1);
                let mut sink = out.file(&name)?;
                writeln!(sink, "{HEAD}<urlset {SPACE}>")?;
                self.names.push(name);
                self.open.insert((sink, 0))
            }
        };
        writeln!(sink, "<url><loc>{}</loc><lastmod>{changed}</lastmod></url>", escaped(&row.page.url))?;
        *urls += 1;
        Ok(true)
    }

    fn end(mut self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        self.close(out)?;
        let mut index = out.file("sitemap-index.xml")?;
        writeln!(index, "{HEAD}<sitemapindex {SPACE}>")?;
        for name in &self.names {
            writeln!(index, "<sitemap><loc>{}{name}</loc></sitemap>", escaped(self.base))?;
        }
        writeln!(index, "</sitemapindex>")?;
        out.keep(index)?;
        Ok(self.counts)
    }
}

impl<'a> Sitemap<'a> {
    fn close(&mut self, out: &mut Output<'a>) -> Result<(), ExportError> {
        let Some((mut sink, _)) = self.open.take() else { return Ok(()) };
        writeln!(sink, "</urlset>")?;
        out.keep(sink)
    }

    /// When it was first captured as it is now.
    fn changed(&self, row: &Row<'_>) -> Result<String, ExportError> {
        let since = usize::from(row.page.unchanged);
        let mut changed = row.page.fetched;
        if since > 0 {
            // The newest first; one that is newer than the row may have come meanwhile.
            let range = KeyRange::captures(row.entry.page);
            let captures = read::scan::<Pages>(self.source.storage, &range, usize::from(u8::MAX) + 1)?;
            let mut own = captures.iter().map(|(_, page)| page.fetched).filter(|at| *at <= row.page.fetched);
            changed = own.clone().nth(since).or_else(|| own.by_ref().last()).unwrap_or(changed);
        }
        Ok(iso(changed))
    }
}

/// As the content of an element; a canonical URL has no other character that means something there.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&apos;").replace('"', "&quot;")
}
