//! `warc`: WARC files of the captures and of those that revisits refer to, each with its index: a folder as a crawl makes it.

use std::collections::BTreeMap;

use super::cdxj::write_lines;
use super::pack::Pack;
use super::{Begin, ExportError, Format, Output, Row};
use crate::base::sort::Sorter;
use crate::warc::name::cdxj_name;

struct Warc<'a> {
    pack: Pack<'a>,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    Ok(Box::new(Warc { pack: Pack::new(begin, out) }))
}

impl<'a> Format<'a> for Warc<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        self.pack.take(row)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let (mut plans, mut counts) = (self.pack.files()?, BTreeMap::new());
        while let Some(plan) = plans.next()? {
            let mut index = Sorter::new(out.scratch());
            let mut sink = out.file(&plan.name)?;
            plan.write(&mut sink, |line| index.push(line.as_bytes()))?;
            out.keep(sink)?;
            let mut sink = out.file(&cdxj_name(&plan.name))?;
            write_lines(&mut index.sorted()?, &mut sink)?;
            out.keep(sink)?;
            for (name, n) in plan.counts() {
                *counts.entry(name).or_insert(0) += n;
            }
        }
        Ok(counts)
    }
}
