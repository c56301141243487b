//! The pass over the archive: the index of each file (CDXJ; each line finds its capture, each capture has a line), and with `--full`
//! every record.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use serde::Deserialize;

use super::files::Warc;
use super::lines::each_line;
use super::pass::Pass;
use super::stream::{Row, each};
use super::{CheckError, Fault, Note, Result};
use crate::base::disk::own;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, PageKey};
use crate::storage::tables::{Pages, Table};
use crate::storage::values::{PageRecord, Value};
use crate::warc::date::digits14;
use crate::warc::digest::WarcDigest;
use crate::warc::reader::{ReadError, WarcReader};
use crate::warc::scan::{Scanned, scan_next};
use crate::warc::surt::surt;
use crate::warc::writer::Place;

pub fn archive(pass: &mut Pass<'_>) -> Result<()> {
    let Some(files) = pass.files.take() else { return Ok(()) };
    files.tell(pass);
    for (name, warc) in &files.warcs {
        let (found, offsets) = index(pass, name, warc)?;
        if pass.full {
            records(pass, name, warc, &found, offsets)?;
        }
    }
    pass.files = Some(files);
    pass.flush()
}

/// Every record of a file is read. After a damaged one it goes on at the next offset that the index or a capture names.
fn records(pass: &mut Pass<'_>, name: &str, warc: &Warc, lined: &Found, mut offsets: BTreeSet<u64>) -> Result<()> {
    let mut found = Found::new();
    offsets.insert(0);
    let mut at = Some(0);
    while let Some(from) = at {
        let broken = walk(pass, name, warc, from, &mut found)?;
        at = broken.as_ref().and_then(|(broken, _)| offsets.range(broken + 1..).next().copied());
        if let Some((offset, why)) = broken
            && !lined.contains(&offset)
        {
            pass.note(Note::DamagedBytes, || format!("{name}: {why}"));
        }
    }
    if (found.len() as u64) < warc.pages { not_found(pass, name, warc, &found) } else { Ok(()) }
}

/// The captures whose record did not come by whole: what stands at the place of each.
fn not_found(pass: &mut Pass<'_>, name: &str, warc: &Warc, found: &Found) -> Result<()> {
    for row in without_line(pass, name, warc, found)? {
        let Some(place) = &row.value.warc else { continue };
        if let Err(why) = record_of(warc, &row.value, place.offset)? {
            pass.undone(Fault::RecordWrong, row.key, &row.value, &why)?;
        }
    }
    Ok(())
}

/// Reads on from `from`; gives where and why it cannot go on, if the end was not reached.
fn walk(pass: &mut Pass<'_>, name: &str, warc: &Warc, from: u64, found: &mut Found) -> Result<Option<(u64, String)>> {
    let mut reader = reader_at(warc, from)?;
    loop {
        let record = match scan_next(&mut reader) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(ReadError::Io(_, source)) => return Err(CheckError::io("read", &warc.path)(source)),
            Err(e) => return Ok(Some((e.offset(), e.to_string()))),
        };
        if let Some(files) = &mut pass.report.files {
            files.records += 1;
        }
        one(pass, name, &record, found)?;
    }
}

fn one(pass: &mut Pass<'_>, name: &str, record: &Scanned, found: &mut Found) -> Result<()> {
    let offset = record.header.offset;
    let captured = matches!(record.header.kind(), "response" | "revisit");
    let target = record.header.target().filter(|_| captured);
    let page = match target {
        Some(url) => page_at(pass, url, name, offset)?,
        None => None,
    };
    match page {
        Some((_, page)) => {
            if fits(&page, record).is_ok() {
                found.insert(offset);
            }
        }
        None if captured && target.is_some_and(is_rules) => {}
        None if captured => pass.note(Note::Unreferenced, || {
            format!("{name}: {} of {} at {offset}", record.header.kind(), target.unwrap_or_default())
        }),
        None => {
            if let Err(fault) = record.check_digests() {
                pass.note(Note::DamagedBytes, || format!("{name}: {} at {offset}: {fault}", record.header.kind()));
            }
        }
    }
    Ok(())
}

/// Whether a record is the one of a capture: type, URL, length and digests.
fn fits(page: &PageRecord, record: &Scanned) -> std::result::Result<(), String> {
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

/// Reads a WARC file on from a record.
fn reader_at(warc: &Warc, from: u64) -> Result<WarcReader<BufReader<io::Take<File>>>> {
    let open = || {
        let mut file = File::open(&warc.path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(BufReader::with_capacity(64 * 1024, file.take(warc.limit.saturating_sub(from))))
    };
    Ok(WarcReader::new(open().map_err(CheckError::io("read", &warc.path))?, from))
}

#[derive(Deserialize)]
struct Json {
    url: String,
    length: String,
    offset: String,
    filename: String,
}

/// Offsets in one file of the captures whose line, or record, was found.
type Found = BTreeSet<u64>;

/// Judges the index of one WARC; gives the captures that have a line, and the offsets of all lines.
fn index(pass: &mut Pass<'_>, name: &str, warc: &Warc) -> Result<(Found, BTreeSet<u64>)> {
    let (mut found, mut offsets, mut good, mut bad) = (Found::new(), BTreeSet::new(), Vec::new(), 0_u64);
    each_line(&warc.index, warc.index_limit, &mut |line| {
        if let Some(files) = &mut pass.report.files {
            files.index_lines += 1;
        }
        match judge(pass, name, warc, line)? {
            Judged::Of(offset, page) => {
                offsets.insert(offset);
                if page {
                    found.insert(offset);
                }
                if pass.repairing {
                    good.push(line.to_vec());
                }
            }
            Judged::Bad(why) => {
                bad += 1;
                let text = String::from_utf8_lossy(line).trim_end().chars().take(120).collect::<String>();
                pass.find(Fault::IndexLine, name, &format!("{why}: {text}"), |_| {})?;
            }
        }
        Ok(())
    })?;
    let missing = if (found.len() as u64) < warc.pages { without_line(pass, name, warc, &found)? } else { Vec::new() };
    let remade_at_start = warc.open && !missing.is_empty() && !covers(warc);
    if remade_at_start {
        pass.note(Note::TidiedAtStart, || warc.index.display().to_string());
        return Ok((found, offsets));
    }
    for page in &missing {
        pass.find(Fault::IndexMissing, &page.value.url, name, |_| {})?;
    }
    if pass.repairing && (bad > 0 || !missing.is_empty()) {
        mend(pass, name, warc, good, &missing, bad)?;
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

fn judge(pass: &mut Pass<'_>, name: &str, warc: &Warc, line: &[u8]) -> Result<Judged> {
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
    let Some((_, record)) = page_at(pass, &json.url, name, offset)? else {
        if !pass.full && !is_rules(&json.url) {
            pass.note(Note::Unreferenced, || format!("{name}: index line of {} at {offset}", json.url));
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
fn is_rules(url: &str) -> bool {
    PageUrl::from_canonical(url).is_ok_and(|url| url.tail() == "/robots.txt")
}

/// The capture of a URL that says it stands at this place.
fn page_at(pass: &Pass<'_>, url: &str, file: &str, offset: u64) -> Result<Option<(PageKey, PageRecord)>> {
    let here = |page: &PageRecord| page.warc.as_ref().is_some_and(|p| p.file == file && p.offset == offset);
    for url in pass.named_by(url) {
        let range = KeyRange::captures(pass.key_of(&url));
        let captures = pass.storage.scan(Pages::FAMILY, &range.from, &range.until, usize::MAX)?;
        let decoded =
            captures.iter().filter_map(|(k, v)| Some((PageKey::decode(k).ok()?, PageRecord::decode(v).ok()?)));
        if let Some(found) = decoded.into_iter().find(|(_, page)| here(page)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The captures in this file that are not among those found: a pass over all captures, made only when some are missing.
fn without_line(pass: &mut Pass<'_>, name: &str, warc: &Warc, found: &Found) -> Result<Vec<Row<Pages>>> {
    let mut missing = Vec::new();
    each::<Pages>(pass, |_, row| {
        let place = row.value.warc.as_ref().filter(|place| place.file == name);
        let place = place.filter(|place| place.offset.saturating_add(place.length) <= warc.limit);
        if place.is_some_and(|place| !found.contains(&place.offset)) {
            missing.push(row);
        }
        Ok(())
    })?;
    Ok(missing)
}

/// Reads the record of a capture; what is wrong with it is told in words.
///
/// # Errors
/// When the disk cannot be read: nothing is known of the record then.
fn record_of(warc: &Warc, page: &PageRecord, offset: u64) -> Result<std::result::Result<Scanned, String>> {
    match scan_next(&mut reader_at(warc, offset)?) {
        Err(ReadError::Io(_, source)) => Err(CheckError::io("read", &warc.path)(source)),
        Err(e) => Ok(Err(e.to_string())),
        Ok(None) => Ok(Err("the file ends there".into())),
        Ok(Some(record)) => Ok(fits(page, &record).map(|()| record)),
    }
}

/// Writes the index anew: the good lines, and one for each capture that lacks its own; a capture whose record is not there
/// is undone. The index of an open WARC is removed: the next start makes it anew from the records.
fn mend(
    pass: &mut Pass<'_>,
    name: &str,
    warc: &Warc,
    mut lines: Vec<Vec<u8>>,
    missing: &[Row<Pages>],
    bad: u64,
) -> Result<()> {
    if warc.open {
        std::fs::remove_file(&warc.index).map_err(CheckError::io("remove", &warc.index))?;
        pass.mended(Fault::IndexLine, name, "the open index is removed; the next start makes it anew");
        return Ok(());
    }
    for page in missing {
        let Some(place) = &page.value.warc else { continue };
        match record_of(warc, &page.value, place.offset)? {
            Ok(record) => {
                let place = Place { file: name.into(), offset: place.offset, length: place.length };
                lines.extend(record.cdxj_entry().map(|entry| entry.line(&place).into_bytes()));
                pass.mended(Fault::IndexMissing, &page.value.url, name);
            }
            Err(why) => pass.undone(Fault::RecordWrong, page.key, &page.value, &why)?,
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
        pass.mended(Fault::IndexLine, name, &format!("{bad} lines left out"));
    }
    Ok(())
}
