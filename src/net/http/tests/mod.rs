//! Real sockets on loopback: a thread with a std listener plays the server.

mod exact;
mod framing;
mod limits;
#[cfg(feature = "old-tls")]
mod old;
mod proxied;
mod reuse;
mod secrets;
mod secure;
mod server;
mod socks;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use crate::document::{SpillBudget, SpillConfig};

use super::super::guard::parse_allow;
use super::super::protocol::FetchLimits;
use super::super::testing::{HUNG, on_runtime, url};
use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn config() -> HttpConfig {
    let policy = AddressPolicy::new(vec![parse_allow("127.0.0.0/8").unwrap()], Vec::new());
    let spill = SpillConfig {
        dir: std::env::temp_dir(),
        memory_body: 0,
        shared: SpillBudget::new(0),
        budget: SpillBudget::new(1 << 30),
    };
    HttpConfig::new(Arc::new(policy), spill)
}

fn client() -> Http {
    Http::new(config()).unwrap()
}

fn request(address: SocketAddr) -> FetchRequest {
    FetchRequest {
        url: url("http://h0.test/a/b?q=1"),
        addresses: vec![address],
        headers: vec![
            ("User-Agent".to_owned(), "Lycosa/test".to_owned()),
            ("Accept".to_owned(), "text/html, */*;q=0.1".to_owned()),
            ("Accept-Encoding".to_owned(), "gzip".to_owned()),
        ],
        via: None,
        anonymous: false,
        conditional: None,
        limits: FetchLimits::default(),
    }
}

fn bytes(fetched: &Fetched) -> Vec<u8> {
    fetched.body.to_vec().unwrap()
}
