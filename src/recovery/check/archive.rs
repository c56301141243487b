//! The pass over the archive: the index of each file, and with `--full` every record.

use std::collections::BTreeSet;
use std::io::{BufReader, Read, Seek, SeekFrom};

use super::context::Context;
use super::error::{CheckError, Result};
use super::fault::{Fault, Note};
use super::files::Warc;
use super::findings::Findings;
use super::index::{Found, index, is_rules, page_at, record_of, without_line};
use crate::storage::keys::PageKey;
use crate::storage::values::PageRecord;
use crate::warc::digest::WarcDigest;
use crate::warc::reader::{ReadError, WarcReader};
use crate::warc::scan::{Scanned, scan_next};

/// The pass.
pub fn archive(context: &Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let Some(files) = &context.files else { return Ok(()) };
    files.tell(findings);
    for (name, warc) in &files.warcs {
        let (found, offsets) = index(context, findings, name, warc)?;
        if context.full {
            records(context, findings, name, warc, &found, offsets)?;
        }
    }
    findings.flush()
}

/// Every record of a file is read. After a damaged one it goes on at the next offset that the index or a capture names.
fn records(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    name: &str,
    warc: &Warc,
    lined: &Found,
    mut offsets: BTreeSet<u64>,
) -> Result<()> {
    let mut found = Found::new();
    offsets.insert(0);
    let mut at = Some(0);
    while let Some(from) = at {
        let broken = walk(context, findings, name, warc, from, &mut found)?;
        at = broken.as_ref().and_then(|(broken, _)| offsets.range(broken + 1..).next().copied());
        if let Some((offset, why)) = broken
            && !lined.contains(&offset)
        {
            findings.note(Note::Unreferenced, || format!("{name}: {why}"));
        }
    }
    if (found.len() as u64) < warc.pages { not_found(context, findings, name, warc, &found) } else { Ok(()) }
}

/// The captures whose record did not come by whole: what stands at the place of each.
fn not_found(context: &Context<'_>, findings: &mut Findings<'_>, name: &str, warc: &Warc, found: &Found) -> Result<()> {
    for row in without_line(findings, name, warc, found)? {
        let Some(place) = &row.value.warc else { continue };
        if let Err(why) = record_of(warc, &row.value, place.offset)? {
            wrong(context, findings, row.key, &row.value, &why)?;
        }
    }
    Ok(())
}

/// Reads on from `from`; gives where and why it cannot go on, if the end was not reached.
fn walk(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    name: &str,
    warc: &Warc,
    from: u64,
    found: &mut Found,
) -> Result<Option<(u64, String)>> {
    let open = || -> std::io::Result<_> {
        let mut file = std::fs::File::open(&warc.path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(BufReader::with_capacity(256 * 1024, file.take(warc.limit.saturating_sub(from))))
    };
    let mut reader = WarcReader::new(open().map_err(CheckError::io("read", &warc.path))?, from);
    loop {
        let record = match scan_next(&mut reader) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(ReadError::Io { source, .. }) => return Err(CheckError::io("read", &warc.path)(source)),
            Err(e) => return Ok(Some((e.offset(), e.to_string()))),
        };
        if let Some(files) = &mut findings.report.files {
            files.records += 1;
        }
        one(context, findings, name, &record, found)?;
    }
}

fn one(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    name: &str,
    record: &Scanned,
    found: &mut Found,
) -> Result<()> {
    let offset = record.header.offset;
    let captured = matches!(record.header.kind(), "response" | "revisit");
    let target = record.header.target().filter(|_| captured);
    let page = match target {
        Some(url) => page_at(context, findings, url, name, offset)?,
        None => None,
    };
    match page {
        Some((_, page)) => {
            if fits(&page, record).is_ok() {
                found.insert(offset);
            }
        }
        None if captured && target.is_some_and(is_rules) => {}
        None if captured => findings.note(Note::Unreferenced, || {
            format!("{name}: {} of {} at {offset}", record.header.kind(), target.unwrap_or_default())
        }),
        None => {
            if let Err(fault) = record.check_digests() {
                findings.note(Note::Unreferenced, || format!("{name}: {} at {offset}: {fault}", record.header.kind()));
            }
        }
    }
    Ok(())
}

/// Whether a record is the one of a capture: type, URL, length and digests.
pub fn fits(page: &PageRecord, record: &Scanned) -> std::result::Result<(), String> {
    let kind = record.header.kind();
    let wanted = if page.how.is_revisit() { "revisit" } else { "response" };
    if kind != wanted {
        return Err(format!("there is a {kind}, not a {wanted}"));
    }
    if record.header.target() != Some(&*page.asked()) {
        return Err(format!("there is a record of {}", record.header.target().unwrap_or("nothing")));
    }
    if page.warc.as_ref().is_some_and(|place| place.length != record.length) {
        return Err(format!("the record there has {} bytes", record.length));
    }
    record.check_digests().map_err(|fault| fault.to_string())?;
    let said = record.header.get("WARC-Payload-Digest").and_then(|d| d.parse::<WarcDigest>().ok());
    if said.is_some_and(|digest| digest.0 != page.payload_digest) {
        return Err("its payload digest is not the capture's".into());
    }
    Ok(())
}

/// A capture whose record is damaged or another's is undone.
pub fn wrong(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    key: PageKey,
    page: &PageRecord,
    why: &str,
) -> Result<()> {
    let undone = if findings.repairing() { Some(context.undo(findings, key, page)?) } else { None };
    findings.find(Fault::RecordWrong, &page.url, why, |batch| undone.into_iter().for_each(|u| batch.append(u)))
}
