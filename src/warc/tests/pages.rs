//! Pages for the tests.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use crate::base::time::UnixMillis;
use crate::document::Document;
use crate::net::Fetched;
use crate::warc::member::Compression;
use crate::warc::metadata::Metadata;
use crate::warc::page::PageRecords;
use crate::warc::record::{Capture, RecordBuilder, SpoolRule};

pub const NOON: UnixMillis = UnixMillis(1_714_996_800_123);

/// Makes pages as a parser thread does.
pub struct Maker {
    pub builder: RecordBuilder,
}

impl Maker {
    pub fn new(dir: &Path) -> Self {
        Self::of(Compression::default(), dir)
    }

    pub fn of(compression: Compression, dir: &Path) -> Self {
        let spool = SpoolRule { dir: dir.to_owned(), memory: 64 * 1024 };
        Self { builder: RecordBuilder::new(compression, spool) }
    }

    pub fn page(&mut self, url: &str, head: &[u8], body: &[u8]) -> PageRecords {
        let fetched = Fetched {
            request_head: b"GET / HTTP/1.1\r\nHost: h.test\r\nCookie: secret\r\n\r\n".to_vec(),
            response_head: head.to_vec(),
            ..Fetched::saved(200, Vec::new(), Document::from_bytes(body.to_vec()))
        };
        let capture = Capture { url, date: NOON, ip: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
        let metadata = Metadata { via: Some("http://h.test/via"), hops_from_seed: "L", ..Metadata::default() };
        self.builder.page(&capture, &fetched, Some(metadata), None).unwrap()
    }

    /// A page stored as it came: `exact` is its body on the wire, `body` the payload.
    pub fn exact(&mut self, head: &[u8], exact: &[u8], body: &[u8]) -> PageRecords {
        let fetched = Fetched {
            response_head: head.to_vec(),
            exact: Some(Document::from_bytes(exact.to_vec())),
            ..Fetched::saved(200, Vec::new(), Document::from_bytes(body.to_vec()))
        };
        let capture = Capture { url: "http://h.test/", date: NOON, ip: None };
        self.builder.page(&capture, &fetched, None, None).unwrap()
    }

    pub fn html(&mut self, n: u32) -> PageRecords {
        let body = format!("<p>page {n}</p>").repeat(20);
        let url = format!("http://h{}.test/p/{n}", n % 3);
        self.page(
            &url,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n",
            body.as_bytes(),
        )
    }
}
