//! What Lycosa writes is read by other people's tools: `warcio` and FastWARC (`tests/warc_tools.py`).
//!
//! `LYCOSA_PYTHON` names a Python that has `tests/tools/requirements.txt`; `make test` makes one.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lycosa::base::time::UnixMillis;
use lycosa::document::Document;
use lycosa::domain::cut::Cut;
use lycosa::net::Fetched;
use lycosa::storage::values::FileLengths;
use lycosa::warc::archive::{Archive, ArchiveSettings, Strays};
use lycosa::warc::info::WarcInfo;
use lycosa::warc::member::Compression;
use lycosa::warc::metadata::{Metadata, Outlink};
use lycosa::warc::name::Series;
use lycosa::warc::page::PageRecords;
use lycosa::warc::record::{Capture, PROFILE_IDENTICAL, PROFILE_NOT_MODIFIED, RecordBuilder, RefersTo, SpoolRule};
use lycosa::warc::writer::WarcLimits;
use sha2::{Digest, Sha256};

const NOW: UnixMillis = UnixMillis(1_714_996_800_123);

/// A page and what readers must make of it.
struct Sample {
    url: String,
    head: String,
    /// As on the wire, without transfer coding.
    body: Vec<u8>,
    /// Without content coding.
    decoded: Vec<u8>,
    truncated: Option<Cut>,
    /// As on the wire, when it is to be stored so.
    exact: Option<Vec<u8>>,
}

fn sample(url: &str, head: &str, body: &[u8]) -> Sample {
    let head = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
    Sample { url: url.into(), head, body: body.to_vec(), decoded: body.to_vec(), truncated: None, exact: None }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// In chunks of such a size.
fn chunked(bytes: &[u8], size: usize) -> Vec<u8> {
    let chunk = |chunk: &[u8]| [format!("{:X}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
    let mut out: Vec<u8> = bytes.chunks(size).flat_map(chunk).collect();
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    out
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut out: Vec<u8> = (0..len / 8 + 1).flat_map(|_| next()).collect();
    out.truncate(len);
    out
}

fn samples() -> Vec<Sample> {
    let html = "<!doctype html><title>Spinne</title><p>Wolfspinnen jagen ohne Netz.</p>".repeat(40).into_bytes();
    let coded = |url, head, body| Sample { decoded: html.clone(), ..sample(url, head, body) };
    let mut cut = sample("http://h.test/cut", "HTTP/1.1 200 OK\nContent-Length: 99999", &html);
    cut.truncated = Some(Cut::Length);
    let ok = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8";
    let exact = |sample: Sample, wire: Vec<u8>| Sample { exact: Some(wire), ..sample };
    let chunks = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Type: text/html";
    let gzipped = "HTTP/1.1 200 OK\nContent-Encoding: gzip\nTransfer-Encoding: chunked";
    let cut_exact = Sample {
        truncated: Some(Cut::Length),
        ..sample("http://h.test/exact/cut", "HTTP/1.1 200 OK\nContent-Length: 99999", &html)
    };
    vec![
        exact(sample("http://h.test/exact/chunked", chunks, &html), chunked(&html, 500)),
        exact(coded("http://h.test/exact/gzip-chunked", gzipped, &gzip(&html)), chunked(&gzip(&html), 33)),
        exact(sample("http://h.test/exact/empty", chunks, b""), chunked(b"", 1)),
        exact(
            sample("http://h.test/exact/none", "HTTP/1.1 204 No Content\nTransfer-Encoding: chunked", b""),
            Vec::new(),
        ),
        exact(sample("http://h.test/exact/large", chunks, &noise(3 << 20)), chunked(&noise(3 << 20), 8_000)),
        exact(cut_exact, html.clone()),
        exact(
            Sample {
                head: "HTTP/1.1 200 OK\nContent-Type: text/html\nTransfer-Encoding: chunked\n\n".into(),
                ..sample("http://h.test/exact/line-feeds", ok, &html)
            },
            chunked(&html, 100),
        ),
        sample("http://h.test/", ok, &html),
        sample("http://h.test/chunked", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Type: text/html", &html),
        coded("http://h.test/gzip", "HTTP/1.1 200 OK\nContent-Encoding: gzip", &gzip(&html)),
        coded(
            "http://h.test/gzip-chunked",
            "HTTP/1.1 200 OK\ncontent-encoding: gzip\ntransfer-encoding: chunked",
            &gzip(&html),
        ),
        coded("http://h.test/brotli", "HTTP/1.1 200 OK\nContent-Encoding: br", &brotli(&html)),
        cut,
        sample("http://h.test/empty", "HTTP/1.1 200 OK\nContent-Length: 0", b""),
        sample("http://h.test/moved", "HTTP/1.1 301 Moved Permanently\nLocation: /\nContent-Length: 0", b""),
        sample("http://h.test/none", "HTTP/1.1 404 Not Found\nContent-Type: text/plain", b"no such page"),
        sample("http://h.test/error", "HTTP/1.0 503 Service Unavailable\nRetry-After: 10", b""),
        sample(
            "http://h.test/robots.txt",
            "HTTP/1.1 200 OK\nContent-Type: text/plain",
            b"User-agent: *\nDisallow: /x\n",
        ),
        sample("http://xn--bcher-kva.example/%E4%BD%A0?q=%E5%A5%BD&b=1", ok, &html),
        sample("http://www.h.test:8080/A/b//C/?z=1&a=2", ok, &html),
        sample("http://[2001:db8::1]/", ok, &html),
        sample("http://h.test/utf8/wölfe", ok, &html),
        sample("http://h.test/headers", "HTTP/1.1 200\nX-Bytes: caf\u{e9}\nSet-Cookie: a=b\nSet-Cookie: c=d", &html),
        Sample { head: "HTTP/1.1 200 OK\nX: y\n\n".into(), ..sample("http://h.test/line-feeds", ok, &html) },
        Sample {
            head: "HTTP/1.1 200 OK\r\nno field\r\n folded\r\nX : y\r\n: z\r\n\r\n".into(),
            ..sample("http://h.test/odd", ok, &html)
        },
        sample("http://h.test/warc-in-body", ok, b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"),
        sample("http://h.test/large", "HTTP/1.1 200 OK\nContent-Type: application/octet-stream", &noise(10 << 20)),
    ]
}

fn records(builder: &mut RecordBuilder, sample: &Sample, n: u64) -> PageRecords {
    let fetched = Fetched {
        request_head: b"GET / HTTP/1.1\r\nHost: h.test\r\nCookie: secret\r\nUser-Agent: Lycosa\r\n\r\n".to_vec(),
        response_head: sample.head.clone().into_bytes(),
        exact: sample.exact.clone().map(Document::from_bytes),
        cut: sample.truncated,
        ..Fetched::saved(200, Vec::new(), Document::from_bytes(sample.body.clone()))
    };
    let outlinks = [Outlink { url: "http://h.test/ä b".into(), hop: 'L', context: "a/@href", text: "a" }];
    let metadata = Metadata {
        via: Some("http://h.test/"),
        hops_from_seed: "LR",
        fetch_time_ms: Some(n),
        charset: None,
        usage: Some("header: Content-Usage: train-ai=n"),
        outlinks: &outlinks,
    };
    let (date, ip) = (UnixMillis(NOW.0 + n * 777), Some("2001:db8::7".parse().unwrap()));
    builder.page(&Capture { url: &sample.url, date, ip }, &fetched, Some(metadata), Some("text/html")).unwrap()
}

fn archive(compression: Compression, dir: &Path) -> Archive {
    let settings = ArchiveSettings {
        dir: dir.join("warc"),
        jsonl: dir.join("crawl.jsonl"),
        series: Series::new("TEST", "crawler.example.org").unwrap(),
        limits: WarcLimits { max_size: 10_000, max_age: Duration::from_secs(3600) },
        compression,
        info: WarcInfo { software: "Lycosa/0.1.0".into(), robots: "obey".into(), ..WarcInfo::default() },
        faults: lycosa::base::fault::Faults::default(),
    };
    Archive::open(settings, &FileLengths::default(), None, Strays::Remove, NOW).unwrap().0
}

/// Writes all samples and two revisits over several WARC files, the last left open; gives the manifest.
fn write_all(compression: Compression, dir: &Path) -> serde_json::Value {
    let mut archive = archive(compression, dir);
    let spool = SpoolRule { dir: dir.to_owned(), memory: 1 << 20 };
    let mut builder = RecordBuilder::new(compression, spool).with_block_digest(true);
    let mut manifest = BTreeMap::new();
    let mut expect = |url: &str, status: u16, decoded: &[u8]| {
        let body: String = Sha256::digest(decoded).iter().map(|b| format!("{b:02x}")).collect();
        manifest.insert(url.to_owned(), serde_json::json!({ "status": status, "body": body }));
    };
    for (n, sample) in (0..).zip(samples()) {
        archive.append([&records(&mut builder, &sample, n)], NOW).unwrap();
        if archive.rotate_due(NOW) {
            archive.close().unwrap();
        }
        expect(&sample.url, sample.head.get(9..12).map_or(200, |s| s.parse().unwrap()), &sample.decoded);
    }
    for (status, profile) in [(200, PROFILE_IDENTICAL), (304, PROFILE_NOT_MODIFIED)] {
        let url = format!("http://h.test/again/{status}");
        let again = sample(
            &url,
            &format!("HTTP/1.1 {status} X\nContent-Length: 9"),
            &[b'x'; 9][..if status == 200 { 9 } else { 0 }],
        );
        let mut page = records(&mut builder, &again, 50);
        let refers_to = RefersTo { profile, url: "http://h.test/", date: NOW };
        page.make_revisit(&mut builder, &refers_to, page.payload_digest()).unwrap();
        archive.append([&page], NOW).unwrap();
        expect(&url, status, b"");
    }
    serde_json::json!(manifest)
}

/// The Python with the tools. Without one the test fails where it must not be left out, and is skipped elsewhere.
pub fn python() -> Option<std::ffi::OsString> {
    let python = std::env::var_os("LYCOSA_PYTHON").filter(|p| !p.is_empty());
    if python.is_none() {
        let how = "set LYCOSA_PYTHON to a Python with `pip install -r tests/tools/requirements.txt`";
        assert!(std::env::var_os("CI").is_none(), "the archive tools are needed here: {how}");
        eprintln!("skipped: no archive tools; {how}");
    }
    python
}

/// Whether the tools find no fault in a folder, and what they say.
pub fn check(python: &std::ffi::OsStr, dir: &Path, manifest: Option<&Path>) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warc_tools.py");
    let manifest = manifest.map(|manifest| [Path::new("--manifest"), manifest]);
    let done = Command::new(python).arg(script).arg(dir).args(manifest.iter().flatten()).output().unwrap();
    let text = [done.stdout, done.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
    (done.status.success(), text)
}

#[test]
fn warcio_and_fastwarc_read_every_record_and_decode_every_body() {
    let Some(python) = python() else { return };
    for compression in Compression::BOTH {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join("manifest.json");
        std::fs::write(&manifest, write_all(compression, dir.path()).to_string()).unwrap();
        let (passed, text) = check(&python, &dir.path().join("warc"), Some(&manifest));
        assert!(passed, "{text}");
        assert!(text.contains("'chunked': 6"), "{text}");
        assert!(text.contains("'response': 27") && text.contains("'revisit': 2"), "{text}");
    }
}

#[test]
fn the_check_notices_a_damaged_file_a_wrong_index_and_a_missing_page() {
    let Some(python) = python() else { return };
    Compression::BOTH.into_iter().for_each(|compression| damage_is_noticed(&python, compression));
}

fn damage_is_noticed(python: &std::ffi::OsStr, compression: Compression) {
    let dir = tempfile::tempdir().unwrap();
    let warc_dir = dir.path().join("warc");
    let manifest = dir.path().join("manifest.json");
    let mut expected = write_all(compression, dir.path());
    expected["http://h.test/never"] = serde_json::json!({ "status": 200, "body": "" });
    std::fs::write(&manifest, expected.to_string()).unwrap();
    let index =
        std::fs::read_dir(&warc_dir).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().unwrap() == "cdxj");
    let index = index.unwrap();
    let text = std::fs::read_to_string(&index).unwrap().replace("\"status\":\"200\"", "\"status\":\"201\"");
    std::fs::write(&index, text).unwrap();
    let (passed, text) = check(python, &warc_dir, Some(&manifest));
    assert!(!passed);
    assert!(text.contains("http://h.test/never: is not in the WARC"), "{text}");
    assert!(text.contains("status is '201'"), "{text}");
}

#[test]
fn the_archive_of_a_crawl_that_keeps_bodies_as_they_came_is_read_by_the_tools() {
    let Some(python) = python() else { return };
    let (_sandbox, ended, manifest) = crate::archive_form::exact_crawl();
    let folder = tempfile::tempdir().unwrap();
    for name in ended.files_of("warc").iter().filter(|name| !name.starts_with('.')) {
        std::fs::write(folder.path().join(name), ended.bytes(&format!("warc/{name}"))).unwrap();
    }
    let file = folder.path().join("manifest.json");
    let sum = |body: &str| Sha256::digest(body).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let manifest = manifest
        .iter()
        .map(|(url, (status, body))| (url.clone(), serde_json::json!({ "status": status, "body": sum(body) })));
    std::fs::write(&file, serde_json::Value::Object(manifest.collect()).to_string()).unwrap();
    let (passed, text) = check(&python, folder.path(), Some(&file));
    assert!(passed && text.contains("'chunked': 4"), "{text}");
}
