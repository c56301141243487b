//! `cdxj`: the index lines of the captures and of those that revisits refer to, sorted by their bytes.

use std::collections::BTreeMap;
use std::io::Write;

use super::coded::Coded;
use super::{Begin, ExportError, Format, Output, Row};
use crate::base::sort::{Sorted, Sorter};
use crate::warc::writer::Place;

struct Cdxj<'a> {
    lines: Sorter,
    out: Coded<'a>,
}

pub(super) fn begin<'a>(_: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let sink = out.file("")?;
    Ok(Box::new(Cdxj { lines: Sorter::new(out.scratch()), out: Coded::by_name(out.to(), sink)? }))
}

impl<'a> Format<'a> for Cdxj<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        let groups = row.groups()?;
        for (page, group) in &groups {
            let Some(at) = &page.warc else { continue };
            let place = Place { file: at.file.as_str().into(), offset: at.offset, length: at.length };
            self.lines.push(group.entry.line(&place).as_bytes())?;
        }
        Ok(!groups.is_empty())
    }

    fn end(mut self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let lines = write_lines(&mut self.lines.sorted()?, &mut self.out)?;
        out.keep(self.out.finish()?)?;
        Ok(BTreeMap::from([("lines".to_owned(), lines)]))
    }
}

/// Writes each line once; gives how many.
pub(super) fn write_lines(lines: &mut Sorted, out: &mut impl Write) -> Result<u64, ExportError> {
    let (mut last, mut written) = (Vec::new(), 0);
    while let Some(line) = lines.next_record()? {
        if line != last {
            out.write_all(&line)?;
            written += 1;
            last = line;
        }
    }
    Ok(written)
}
