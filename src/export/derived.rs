//! WARC files made of the crawl's: for `X.warc.gz` one `X.warc.wet.gz` or `X.warc.wat.gz`, as Common Crawl has them.

use std::collections::BTreeMap;
use std::io;

use super::{Begin, ExportError, Output, Row, Sink};
use crate::warc::info::WarcInfo;
use crate::warc::member::Compression;
use crate::warc::record::{Capture, Derived, RecordBuilder, RecordBytes, RecordError, RecordId, SpoolRule};

/// Bytes of a record that stay in memory.
const MEMORY: usize = 8 << 20;
/// How gzip is to compress: these files are read more often than they are written.
const LEVEL: u8 = 6;

/// The files that are made of WARC files, one at a time.
pub(super) struct PerWarc<'a> {
    /// What stands between `.warc.` and `.gz`.
    ending: &'static str,
    builder: RecordBuilder,
    info: WarcInfo,
    /// The WARC whose records come now, and the file that is made of it.
    open: Option<(String, Sink<'a>)>,
    /// How often each WARC was begun: its records come one after another, so once.
    begun: BTreeMap<String, u32>,
    records: u64,
}

impl<'a> PerWarc<'a> {
    /// `description`: a sentence on what is in them.
    pub fn new(begin: &Begin<'a>, out: &Output<'a>, ending: &'static str, description: &str) -> Self {
        let spool = SpoolRule { dir: out.scratch().to_owned(), memory: MEMORY };
        let settings = begin.source.settings;
        let info = WarcInfo {
            software: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
            operator: settings.agent.contact.clone().unwrap_or_default(),
            is_part_of: settings.crawl.name.clone(),
            description: description.to_owned(),
            ..WarcInfo::default()
        };
        let builder = RecordBuilder::new(Compression::Gzip(LEVEL), spool);
        Self { ending, builder, info, open: None, begun: BTreeMap::new(), records: 0 }
    }

    /// Adds a record that is made of the one in `warc`.
    pub fn put(
        &mut self,
        out: &mut Output<'a>,
        (row, warc): (&Row<'_>, &str),
        derived: &Derived<'_>,
        content: &[u8],
    ) -> Result<(), ExportError> {
        let asked = row.page.asked();
        let capture = Capture { url: &asked, date: row.page.fetched, ip: None };
        if self.open.as_ref().is_none_or(|(open, _)| open != warc) {
            self.begin(out, warc, &capture)?;
        }
        let record = self.builder.derived(&capture, derived, content);
        self.records += 1;
        self.write(record)
    }

    fn begin(&mut self, out: &mut Output<'a>, warc: &str, capture: &Capture<'_>) -> Result<(), ExportError> {
        self.close(out)?;
        let stem = [".warc.gz", ".warc.zst"].iter().find_map(|ending| warc.strip_suffix(ending)).unwrap_or(warc);
        let times = self.begun.entry(warc.to_owned()).or_default();
        *times += 1;
        let again = if *times > 1 { format!("-{times}") } else { String::new() };
        let name = format!("{stem}{again}.warc.{}.gz", self.ending);
        self.open = Some((warc.to_owned(), out.file(&name)?));
        // No time of its own, so that the same pages give the same bytes.
        let record = self.builder.warcinfo(RecordId::of(name.as_bytes()), capture.date, &name, &self.info);
        self.write(record)
    }

    fn write(&mut self, record: Result<RecordBytes, RecordError>) -> Result<(), ExportError> {
        let record = record.map_err(io::Error::other)?;
        match &mut self.open {
            Some((_, sink)) => Ok(record.data.write_to(sink)?),
            None => Ok(()),
        }
    }

    fn close(&mut self, out: &mut Output<'a>) -> Result<(), ExportError> {
        self.open.take().map_or(Ok(()), |(_, sink)| out.keep(sink))
    }

    /// There are no more records.
    pub fn end(mut self, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        self.close(out)?;
        Ok(BTreeMap::from([("records".to_owned(), self.records)]))
    }
}
