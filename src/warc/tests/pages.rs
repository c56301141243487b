//! Pages for the tests.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use crate::base::time::UnixMillis;
use crate::document::Document;
use crate::warc::metadata::Metadata;
use crate::warc::page::{PageRecords, PageSource};
use crate::warc::record::{Capture, RecordBuilder, SpoolRule};

pub const NOON: UnixMillis = UnixMillis(1_714_996_800_123);

/// Makes pages as a parser thread does.
pub struct Maker {
    pub builder: RecordBuilder,
}

impl Maker {
    pub fn new(dir: &Path) -> Self {
        let spool = SpoolRule { dir: dir.to_owned(), memory: 64 * 1024 };
        Self { builder: RecordBuilder::new(1, spool) }
    }

    pub fn page(&mut self, url: &str, head: &[u8], body: &[u8]) -> PageRecords {
        let body = Document::from_bytes(body.to_vec());
        let source = PageSource {
            capture: Capture { url, date: NOON, ip: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) },
            request_head: b"GET / HTTP/1.1\r\nHost: h.test\r\nCookie: secret\r\n\r\n",
            response_head: head,
            exact: None,
            body: &body,
            truncated: None,
            identified_type: None,
            metadata: Some(Metadata { via: Some("http://h.test/via"), hops_from_seed: "L", ..Metadata::default() }),
        };
        self.builder.page(&source).unwrap()
    }

    /// A page stored as it came: `exact` is its body on the wire, `body` the payload.
    pub fn exact(&mut self, head: &[u8], exact: &[u8], body: &[u8]) -> PageRecords {
        let (exact, body) = (Document::from_bytes(exact.to_vec()), Document::from_bytes(body.to_vec()));
        let source = PageSource {
            capture: Capture { url: "http://h.test/", date: NOON, ip: None },
            request_head: b"",
            response_head: head,
            exact: Some(&exact),
            body: &body,
            truncated: None,
            identified_type: None,
            metadata: None,
        };
        self.builder.page(&source).unwrap()
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
