//! Lines of `crawl.jsonl` that are of the host are overwritten at equal length.

use super::archive::TOGETHER;
use super::look::{each_line, line_owned};
use super::note::Fill;
use super::{LINES, Result, Work};
use crate::recovery::checkpoint::uploads;

impl Work<'_> {
    pub(super) fn lines(&mut self) -> Result<()> {
        let path = self.erase.data().join(uploads::JSONL);
        self.tell(LINES, "lines of crawl.jsonl", 0);
        let (mut ranges, mut at, host) = (Vec::new(), 0_u64, self.host);
        each_line(&path, &mut |line| {
            if line_owned(host, line) {
                ranges.push((at, line.strip_suffix(b"\n").unwrap_or(line).len() as u64));
            }
            at += line.len() as u64;
            if ranges.len() < TOGETHER { Ok(()) } else { self.fill(lines_at(std::mem::take(&mut ranges))) }
        })?;
        if !ranges.is_empty() {
            self.fill(lines_at(ranges))?;
        }
        Ok(self.erase.faults.check("erase.lines")?)
    }
}

fn lines_at(ranges: Vec<(u64, u64)>) -> Fill {
    Fill { file: None, ranges }
}
