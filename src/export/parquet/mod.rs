//! `parquet`: a table of captures, sorted by URL, that queries for Common Crawl's index read unchanged.

mod table;
mod write;

use std::collections::BTreeMap;

use super::{Begin, ExportError, Format, Output, Row, Sink};
use crate::base::sort::Sorter;
use crate::domain::words::three_letters;
use table::{COLUMNS, RIGHTS, Told, rights, row as row_of};
use write::Table;

struct Parquet<'a> {
    crawl: &'a str,
    /// Rows in JSON behind what they are sorted by.
    rows: Sorter,
    sink: Sink<'a>,
    rights: bool,
    /// A record lies behind 2 GiB in its file.
    wide: bool,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let crawl = &begin.source.settings.crawl.name;
    let (rows, sink) = (Sorter::new(out.scratch()), out.file("")?);
    Ok(Box::new(Parquet { crawl, rows, sink, rights: begin.options.rights, wide: false }))
}

impl<'a> Format<'a> for Parquet<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        let language = row.language()?.map(three_letters);
        // The record of what is no text is not read: then the type that is known is the one that was sent, or close to it.
        let stored = if row.read()?.is_some() { row.stored()? } else { None };
        let sent = stored.and_then(|stored| stored.field("content-type"));
        let mime_sent = sent.as_deref().and_then(|sent| sent.split(';').next()).map(str::trim);
        let told = Told { seq: row.number, page: &row.page, mime_sent, language, crawl: self.crawl };
        let Some(mut values) = row_of(&told) else { return Ok(false) };
        if self.rights {
            values.extend(rights(&row.rights()?));
        }
        self.wide |= row.page.warc.as_ref().is_some_and(|place| i32::try_from(place.offset).is_err());
        let text = |nth: usize| values.get(nth).and_then(|value| value.as_str()).unwrap_or_default().as_bytes();
        let time = row.page.fetched.0.to_be_bytes();
        let mut record = [text(0), b"\0", text(1), b"\0", &time].concat();
        let key = u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes();
        serde_json::to_writer(&mut record, &values).map_err(std::io::Error::from)?;
        record.extend(key);
        self.rows.push(&record)?;
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let Self { rows, sink, rights, wide, .. } = *self;
        let mut rows = rows.sorted()?;
        let columns = [COLUMNS, if rights { RIGHTS } else { &[] }].concat();
        let mut table = Table::begin(sink, columns, wide)?;
        while let Some(record) = rows.next_record()? {
            let (record, key) = record.split_at(record.len().saturating_sub(4));
            let key = key.try_into().map_or(0, u32::from_le_bytes);
            let json = usize::try_from(key).ok().and_then(|key| record.get(key..)).unwrap_or_default();
            table.add(serde_json::from_slice(json).map_err(std::io::Error::from)?, json.len())?;
        }
        let (sink, rows) = table.end()?;
        out.keep(sink)?;
        Ok(BTreeMap::from([("rows".to_owned(), rows)]))
    }
}
