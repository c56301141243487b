//! `jsonl`: one JSON object a page.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::coded::Coded;
use super::item::FeedItem;
use super::{Begin, ExportError, Format, Options, Output, Row};
use crate::domain::card::Card;
use crate::warc::metadata::outlinks;

struct Jsonl<'a> {
    out: Coded<'a>,
    options: &'a Options,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    item: FeedItem,
    card: Option<&'a Card>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// There was more text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    text_cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<Link<'a>>>,
    /// Why something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<&'a str>,
}

#[derive(Serialize)]
struct Link<'a> {
    url: &'a str,
    /// `L` a link, `E` an embed, `R` a redirect, `M` of a sitemap: as the metadata record has it.
    kind: char,
    context: &'a str,
    text: &'a str,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let sink = out.file("")?;
    Ok(Box::new(Jsonl { out: Coded::by_name(out.to(), sink)?, options: begin.options }))
}

/// Writes the line of a page.
///
/// # Errors
/// The storage's own, and that of what is written to.
pub fn write_line(row: &Row<'_>, options: &Options, out: &mut impl Write) -> Result<(), ExportError> {
    let card = row.card()?;
    let facts = row.read()?.map(|page| &page.facts).filter(|_| options.text);
    let metadata = if options.links { row.metadata()? } else { None };
    if options.links && metadata.is_none() {
        row.fail("its metadata record cannot be read");
    }
    let found: Option<Vec<_>> = metadata.as_deref().map(|fields| outlinks(fields).collect());
    let links = found.as_ref().map(|found| {
        found.iter().map(|l| Link { url: &l.url, kind: l.hop, context: l.context, text: l.text }).collect()
    });
    let line = Line {
        item: row.item(),
        card,
        text: facts.map(|facts| facts.text.as_str()),
        text_cut: facts.is_some_and(|facts| facts.text_cut),
        links,
        unread: row.unread(),
    };
    serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

impl<'a> Format<'a> for Jsonl<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        write_line(row, self.options, &mut self.out)?;
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        out.keep(self.out.finish()?)?;
        Ok(BTreeMap::new())
    }
}
