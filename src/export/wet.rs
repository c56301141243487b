//! `wet`: the text of each page, one `conversion` record a page, as in Common Crawl's WET files.

use std::collections::BTreeMap;

use super::derived::PerWarc;
use super::{Begin, ExportError, Format, Output, Row};
use crate::content::html::PageFacts;
use crate::domain::words::three_letters;
use crate::warc::record::{Derived, RecordKind};

struct Wet<'a>(PerWarc<'a>);

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    Ok(Box::new(Wet(PerWarc::new(begin, out, "wet", "Text of pages, one block a line"))))
}

impl<'a> Format<'a> for Wet<'a> {
    fn page(&mut self, row: &Row<'_>, out: &mut Output<'a>) -> Result<bool, ExportError> {
        if !(200..300).contains(&row.status()?) {
            return Ok(false);
        }
        let Some((place, page)) = row.page.warc.as_ref().zip(row.read()?) else { return Ok(false) };
        let text = text(&page.facts);
        let Some(stored) = row.stored()?.filter(|_| !text.is_empty()) else { return Ok(false) };
        let language = row.language()?.map(three_letters);
        let refers_to = stored.header.get("WARC-Record-ID").unwrap_or_default();
        let derived = Derived { kind: RecordKind::Conversion, refers_to, content_type: "text/plain", language };
        self.0.put(out, (row, &place.file), &derived, text.as_bytes())?;
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        self.0.end(out)
    }
}

/// The title and each block of text, one a line.
fn text(facts: &PageFacts) -> String {
    let blocks = facts.for_card.iter().flat_map(|made| &made.blocks).map(|block| block.text.as_str());
    facts.title.as_deref().into_iter().chain(blocks).flat_map(|line| [line, "\n"]).collect()
}
