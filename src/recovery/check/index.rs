//! Index lines (CDXJ) against captures: each line finds its own, each capture has one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};

use serde::Deserialize;

use super::archive::{fits, wrong};
use super::context::Context;
use super::error::{CheckError, Result};
use super::fault::{Fault, Note};
use super::files::Warc;
use super::findings::Findings;
use super::lines::each_line;
use super::stream::{Row, Stream};
use crate::base::disk::own;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, PageKey};
use crate::storage::tables::{Pages, Table};
use crate::storage::values::{PageRecord, Value};
use crate::warc::date::digits14;
use crate::warc::reader::{ReadError, WarcReader};
use crate::warc::scan::{Scanned, scan_next};
use crate::warc::surt::surt;
use crate::warc::writer::Place;

/// What a line says.
#[derive(Deserialize)]
struct Json {
    url: String,
    length: String,
    offset: String,
    filename: String,
}

/// Offsets in one file of the captures whose line, or record, was found.
pub type Found = BTreeSet<u64>;

/// Judges the index of one WARC; gives the captures that have a line, and the offsets of all lines.
pub fn index(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    name: &str,
    warc: &Warc,
) -> Result<(Found, BTreeSet<u64>)> {
    let (mut found, mut offsets, mut good, mut bad) = (Found::new(), BTreeSet::new(), Vec::new(), 0_u64);
    each_line(&warc.index, warc.index_limit, &mut |line| {
        if let Some(files) = &mut findings.report.files {
            files.index_lines += 1;
        }
        match judge(context, findings, name, warc, line)? {
            Judged::Of(offset, page) => {
                offsets.insert(offset);
                if page {
                    found.insert(offset);
                }
                if findings.repairing() {
                    good.push(line.to_vec());
                }
            }
            Judged::Bad(why) => {
                bad += 1;
                let text = String::from_utf8_lossy(line).trim_end().chars().take(120).collect::<String>();
                findings.find(Fault::IndexLine, name, &format!("{why}: {text}"), |_| {})?;
            }
        }
        Ok(())
    })?;
    let missing =
        if (found.len() as u64) < warc.pages { without_line(findings, name, warc, &found)? } else { Vec::new() };
    let remade_at_start = warc.open && !missing.is_empty() && !covers(warc);
    if remade_at_start {
        findings.note(Note::TidiedAtStart, || warc.index.display().to_string());
        return Ok((found, offsets));
    }
    for page in &missing {
        findings.find(Fault::IndexMissing, &page.value.url, name, |_| {})?;
    }
    if findings.repairing() && (bad > 0 || !missing.is_empty()) {
        mend(context, findings, name, warc, good, &missing, bad)?;
    }
    Ok((found, offsets))
}

/// True when the index is as long as it was committed: a start takes a shorter one as a sign to make it anew.
fn covers(warc: &Warc) -> bool {
    warc.index_limit == u64::MAX || std::fs::metadata(&warc.index).is_ok_and(|m| m.len() >= warc.index_limit)
}

enum Judged {
    /// A line for this offset, and whether a capture refers to it.
    Of(u64, bool),
    Bad(&'static str),
}

fn judge(context: &Context<'_>, findings: &mut Findings<'_>, name: &str, warc: &Warc, line: &[u8]) -> Result<Judged> {
    let Some((key, date, json)) = parts(line) else { return Ok(Judged::Bad("no index line")) };
    let (Ok(offset), Ok(length)) = (json.offset.parse::<u64>(), json.length.parse::<u64>()) else {
        return Ok(Judged::Bad("no place"));
    };
    if json.filename != name || offset.checked_add(length).is_none_or(|end| end > warc.limit) {
        return Ok(Judged::Bad("a place that is not in this file"));
    }
    if surt(&json.url) != key {
        return Ok(Judged::Bad("a key of another URL"));
    }
    let Some((_, record)) = page_at(context, findings, &json.url, name, offset)? else {
        if !context.full && !is_rules(&json.url) {
            findings.note(Note::Unreferenced, || format!("{name}: index line of {} at {offset}", json.url));
        }
        return Ok(Judged::Of(offset, false));
    };
    let fits = digits14(record.fetched) == date && record.warc.as_ref().is_some_and(|place| place.length == length);
    Ok(if fits { Judged::Of(offset, true) } else { Judged::Bad("another time or length than its capture's") })
}

fn parts(line: &[u8]) -> Option<(&str, &str, Json)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let mut words = line.splitn(3, ' ');
    let (key, date, json) = (words.next()?, words.next()?, words.next()?);
    Some((key, date, serde_json::from_str(json).ok()?))
}

/// True for what is fetched and archived without being a page.
pub fn is_rules(url: &str) -> bool {
    PageUrl::from_canonical(url).is_ok_and(|url| url.tail() == "/robots.txt")
}

/// The capture of a URL that says it stands at this place.
pub fn page_at(
    context: &Context<'_>,
    findings: &Findings<'_>,
    url: &str,
    file: &str,
    offset: u64,
) -> Result<Option<(PageKey, PageRecord)>> {
    let here = |page: &PageRecord| page.warc.as_ref().is_some_and(|p| p.file == file && p.offset == offset);
    for url in context.named_by(url) {
        let range = KeyRange::captures(context.key_of(&url));
        let captures = findings.storage.scan(Pages::FAMILY, &range.from, &range.until, usize::MAX)?;
        let decoded =
            captures.iter().filter_map(|(k, v)| Some((PageKey::decode(k).ok()?, PageRecord::decode(v).ok()?)));
        if let Some(found) = decoded.into_iter().find(|(_, page)| here(page)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The captures in this file that are not among those found: a pass over all captures, made only when some are missing.
pub fn without_line(findings: &mut Findings<'_>, name: &str, warc: &Warc, found: &Found) -> Result<Vec<Row<Pages>>> {
    let mut pages = Stream::<Pages>::quiet();
    let mut missing = Vec::new();
    while let Some(row) = pages.next_in(findings, &[])? {
        let place = row.value.warc.as_ref().filter(|place| place.file == name);
        let inside =
            |place: &&crate::storage::values::WarcPlace| place.offset.saturating_add(place.length) <= warc.limit;
        if place.filter(inside).is_some_and(|place| !found.contains(&place.offset)) {
            missing.push(row);
        }
    }
    Ok(missing)
}

/// Reads the record of a capture; what is wrong with it is told in words.
///
/// # Errors
/// When the disk cannot be read: nothing is known of the record then.
pub fn record_of(warc: &Warc, page: &PageRecord, offset: u64) -> Result<std::result::Result<Scanned, String>> {
    let open = || -> std::io::Result<_> {
        let mut file = File::open(&warc.path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(BufReader::new(file.take(warc.limit.saturating_sub(offset))))
    };
    let source = open().map_err(CheckError::io("read", &warc.path))?;
    match scan_next(&mut WarcReader::new(source, offset)) {
        Err(ReadError::Io { source, .. }) => Err(CheckError::io("read", &warc.path)(source)),
        Err(e) => Ok(Err(e.to_string())),
        Ok(None) => Ok(Err("the file ends there".into())),
        Ok(Some(record)) => Ok(fits(page, &record).map(|()| record)),
    }
}

/// Writes the index anew: the good lines, and one for each capture that lacks its own; a capture whose record is not there
/// is undone. The index of an open WARC is removed: the next start makes it anew from the records.
fn mend(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    name: &str,
    warc: &Warc,
    mut lines: Vec<Vec<u8>>,
    missing: &[Row<Pages>],
    bad: u64,
) -> Result<()> {
    if warc.open {
        std::fs::remove_file(&warc.index).map_err(CheckError::io("remove", &warc.index))?;
        findings.mended(Fault::IndexLine, name, "the open index is removed; the next start makes it anew");
        return Ok(());
    }
    for page in missing {
        let Some(place) = &page.value.warc else { continue };
        match record_of(warc, &page.value, place.offset)? {
            Ok(record) => {
                let place = Place { file: name.into(), offset: place.offset, length: place.length };
                lines.extend(record.cdxj_entry().map(|entry| entry.line(&place).into_bytes()));
                findings.mended(Fault::IndexMissing, &page.value.url, name);
            }
            Err(why) => wrong(context, findings, page.key, &page.value, &why)?,
        }
    }
    lines.sort_unstable();
    lines.dedup();
    let temporary = warc.index.with_extension("cdxj.tmp");
    let written = own::create(&temporary).and_then(|mut file| {
        lines.iter().try_for_each(|line| file.write_all(line))?;
        file.sync_all()
    });
    written.map_err(CheckError::io("write", &temporary))?;
    std::fs::rename(&temporary, &warc.index).map_err(CheckError::io("replace", &warc.index))?;
    if bad > 0 {
        findings.mended(Fault::IndexLine, name, &format!("{bad} lines left out"));
    }
    Ok(())
}
