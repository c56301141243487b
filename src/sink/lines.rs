//! Entries of the feed as lines of JSON: those of `lycosa export jsonl` where there is a capture, those of the feed where there is none.

use std::io::{self, Write};

use crate::export::item::{FeedItem, Include};
use crate::export::{ExportError, Row, Source, jsonl};
use crate::storage::feed::Item;

/// Writes the line of an entry. Gives the row, where there is a capture.
///
/// # Errors
/// The storage's own, and that of what is written to.
pub fn write<'s>(
    source: &'s Source<'s>,
    item: &Item,
    with_text: bool,
    out: &mut impl Write,
) -> Result<Option<Row<'s>>, ExportError> {
    let Some(page) = &item.page else {
        serde_json::to_writer(&mut *out, &FeedItem::from(item)).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        return Ok(None);
    };
    let row = Row::new(source, item.number, item.entry.clone(), page.clone());
    jsonl::write_line(&row, Include { card: true, text: with_text, ..Include::default() }, out)?;
    Ok(Some(row))
}
