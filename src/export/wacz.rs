//! `wacz`: one file for replay in a browser (WACZ 1.1.1, <https://specs.webrecorder.net/wacz/1.1.1/>): WARC files stored as they are, an index in
//! compressed blocks (ZipNum), the list of pages, and digests of all.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pack::Pack;
use super::part::{Measure, Part};
use super::zip::Zip;
use super::{Begin, ExportError, Format, Output, Row, Sink};
use crate::base::sort::{Sorted, Sorter};
use crate::base::time::UnixMillis;
use crate::content::mime::{Kind, sniff};
use crate::warc::date::iso;

/// Lines of a block of the index.
const BLOCK: usize = 1_024;
const INDEX: &str = "index.cdx.gz";

struct Wacz<'a> {
    pack: Pack<'a>,
    pages: Part,
    out: Sink<'a>,
    text: bool,
    title: &'a str,
    /// The newest capture in it.
    newest: UnixMillis,
    /// The first page in it, with its time.
    first: Option<(String, String)>,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let text = begin.options.text;
    let mut pages = Part::new(out.scratch())?;
    line(&mut pages, &json!({ "format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": text }))?;
    let (pack, title) = (Pack::new(begin, out), begin.source.settings.crawl.name.as_str());
    Ok(Box::new(Wacz { pack, pages, out: out.file("")?, text, title, newest: UnixMillis(0), first: None }))
}

fn line(out: &mut impl Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

impl<'a> Format<'a> for Wacz<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        if row.page.warc.as_ref().is_some_and(|place| place.file.ends_with(".zst")) {
            row.fail("its record is in a .warc.zst, which readers of WACZ do not know: use the format warc");
            return Ok(false);
        }
        if !self.pack.take(row)? {
            return Ok(false);
        }
        self.newest = self.newest.max(row.page.fetched);
        let kind = sniff(row.page.mime.as_deref(), b"");
        if matches!(kind, Kind::Html | Kind::Xhtml) && matches!(row.status()?, 200..=299) {
            self.list(row)?;
        }
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let Self { pack, pages, out: sink, title, newest, first, .. } = *self;
        let (mut zip, mut resources, mut counts) = (Zip::new(sink), Vec::new(), BTreeMap::new());
        let (mut index, mut plans) = (Sorter::new(out.scratch()), pack.files()?);
        while let Some(plan) = plans.next()? {
            let mut measure = Measure::default();
            plan.write(&mut measure, |line| index.push(line.as_bytes()))?;
            let path = format!("archive/{}", plan.name);
            zip.begin(&path, measure.length, measure.crc())?;
            plan.write(&mut zip, |_| Ok(()))?;
            resources.push(resource(&path, &measure));
            for (name, n) in plan.counts() {
                *counts.entry(name).or_insert(0) += n;
            }
        }
        let (blocks, places) = zipnum(&mut index.sorted()?, out)?;
        for (path, part) in [(INDEX, blocks), ("index.idx", places)] {
            part_into(&mut zip, &format!("indexes/{path}"), part, &mut resources)?;
        }
        part_into(&mut zip, "pages/pages.jsonl", pages, &mut resources)?;
        let mut package = json!({
            "profile": "data-package", "wacz_version": "1.1.1", "title": title, "created": iso(newest),
            "software": concat!("Lycosa/", env!("CARGO_PKG_VERSION")), "resources": resources,
        });
        if let Some((url, date)) = first {
            (package["mainPageUrl"], package["mainPageDate"]) = (url.into(), date.into());
        }
        let package = serde_json::to_vec_pretty(&package).map_err(io::Error::from)?;
        let hash = format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(&package)));
        let digest = json!({ "path": "datapackage.json", "hash": hash }).to_string();
        for (name, bytes) in [("datapackage.json", &*package), ("datapackage-digest.json", digest.as_bytes())] {
            let mut measure = Measure::default();
            measure.write_all(bytes)?;
            zip.begin(name, measure.length, measure.crc())?;
            zip.write_all(bytes)?;
        }
        out.keep(zip.finish()?)?;
        Ok(counts)
    }
}

impl Wacz<'_> {
    /// Adds a page to the list of pages.
    fn list(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        let (url, date) = (row.page.asked().into_owned(), iso(row.page.fetched));
        let id = format!("{}-{}", row.item().id, row.page.fetched.0);
        let mut page = json!({ "id": id, "url": url, "ts": date });
        if let Some(title) = &row.page.title {
            page["title"] = title.as_str().into();
        }
        if self.text
            && let Some(read) = row.read()?
        {
            page["text"] = read.facts.text.as_str().into();
        }
        self.first.get_or_insert((url, date));
        Ok(line(&mut self.pages, &page)?)
    }
}

fn resource(path: &str, measure: &Measure) -> Value {
    let name = path.rsplit('/').next().unwrap_or(path);
    json!({ "name": name, "path": path, "hash": format!("sha256:{}", measure.sha256()), "bytes": measure.length })
}

fn part_into(zip: &mut Zip<Sink<'_>>, path: &str, part: Part, resources: &mut Vec<Value>) -> io::Result<()> {
    resources.push(resource(path, &part.measure));
    zip.begin(path, part.measure.length, part.measure.crc())?;
    part.copy(zip).map(drop)
}

/// The index in blocks, each a gzip member, and where each block is with its first line: both sorted.
fn zipnum(lines: &mut Sorted, out: &Output<'_>) -> Result<(Part, Part), ExportError> {
    let (mut blocks, mut places) = (Part::new(out.scratch())?, Part::new(out.scratch())?);
    writeln!(places, "!meta 0 {}", json!({ "format": "cdxj-gzip-1.0", "filename": INDEX }))?;
    let (mut block, mut last) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next_record()? {
        if line != last {
            block.push(line.clone());
            last = line;
        }
        if block.len() >= BLOCK {
            end_block(&mut block, &mut blocks, &mut places)?;
        }
    }
    end_block(&mut block, &mut blocks, &mut places)?;
    Ok((blocks, places))
}

fn end_block(lines: &mut Vec<Vec<u8>>, blocks: &mut Part, places: &mut Part) -> io::Result<()> {
    let Some(first) = lines.first() else { return Ok(()) };
    // Key and time: what stands before the JSON.
    let key = first.split(|byte| *byte == b'{').next().unwrap_or_default().trim_ascii_end().to_vec();
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    lines.drain(..).try_for_each(|line| packed.write_all(&line))?;
    let packed = packed.finish()?;
    let digest = format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(&packed)));
    let place = json!({ "offset": blocks.measure.length, "length": packed.len(), "digest": digest });
    blocks.write_all(&packed)?;
    places.write_all(&key)?;
    writeln!(places, " {place}")
}
