//! `jsonl`: one JSON object a page.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::coded::Coded;
use super::item::{FeedItem, Include};
use super::{Begin, ExportError, Format, Options, Output, Row};

struct Jsonl<'a> {
    out: Coded<'a>,
    options: &'a Options,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let sink = out.file("")?;
    Ok(Box::new(Jsonl { out: Coded::by_name(out.to(), sink)?, options: begin.options }))
}

/// Writes the line of a page.
///
/// # Errors
/// The storage's own, and that of what is written to.
pub fn write_line(row: &Row<'_>, include: Include, out: &mut impl Write) -> Result<(), ExportError> {
    let line = FeedItem { included: row.included(include)?, ..row.item() };
    serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

impl<'a> Format<'a> for Jsonl<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        let Options { text, links, rights, .. } = *self.options;
        write_line(row, Include { card: true, text, links, rights }, &mut self.out)?;
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        out.keep(self.out.finish()?)?;
        Ok(BTreeMap::new())
    }
}
