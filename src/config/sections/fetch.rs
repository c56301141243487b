//! How pages are asked for: `[politeness] [[host]] [fetch] [net] [tls]`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::section;
use crate::base::units::{duration, durations, optional_duration, size};
use crate::config::secrets::{self, ProxyUrl};
use crate::domain::host::ascii_pattern;
use crate::domain::priority::Weight;
use crate::net::tls::{TlsOld, TlsVerify};

pub use crate::net::dns::DnsSection;
pub use crate::net::protocol::{Preset, TimeoutsSection};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Which hosts wait for each other as if they were one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// Each host is on its own.
    #[default]
    Host,
    /// All hosts of a registrable domain.
    Domain,
    /// All hosts of an address.
    Ip,
}

section! {
    /// `[politeness]`: the gap between the end of an answer and the next request to the same host is the largest of
    /// `min_delay`, the robots Crawl-delay and `delay_factor` times the last answer's time (at most `max_delay`).
    PolitenessSection {
        /// Shortest gap.
        min_delay: Duration as "duration" = secs(1);
        /// Multiple of the last answer's time.
        delay_factor: f64 = 5.0;
        /// Cap of that multiple; never of a Crawl-delay.
        max_delay: Duration as "duration" = secs(30);
        /// Whether robots.txt is obeyed.
        respect_robots: bool = true;
        /// Whether `nofollow` of robots meta, `X-Robots-Tag` and `rel` is obeyed; as `respect_robots` when absent.
        respect_nofollow: Option<bool> = None;
        /// Which hosts share one connection and its gap.
        group_by: GroupBy = GroupBy::Host;
        /// Requests in flight at one public address, whatever the hosts; not counting hosts whose `[[host]]` asks for more.
        per_ip_connections: u32 = 4;
        /// Shortest time between the starts of two requests to one public address.
        per_ip_gap: Duration as "duration" = Duration::from_millis(250);
    }
}

impl PolitenessSection {
    /// Whether what is marked `nofollow` is left alone.
    pub fn obeys_nofollow(&self) -> bool {
        self.respect_nofollow.unwrap_or(self.respect_robots)
    }
}

/// `[[host]]`: other rules for a site of your own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSection {
    /// The host, or `*.example.org` for all below a name; letters beyond ASCII have become their form in DNS.
    #[serde(rename = "match", deserialize_with = "host_pattern")]
    pub pattern: String,
    /// Requests in flight at a time.
    pub max_connections: Option<u32>,
    /// Shortest gap, in place of `politeness.min_delay`.
    #[serde(default, with = "optional_duration")]
    pub min_delay: Option<Duration>,
    /// By how much more important than others its pages are: 0.01 to 100. Where the best come first, and for visits.
    pub weight: Option<Weight>,
    /// The proxy to it, `http://[user:password@]host:port`, or `none`.
    pub proxy: Option<ProxyUrl>,
    /// Headers of its requests, besides those of all or in place of them.
    #[serde(default, serialize_with = "secrets::headers")]
    pub headers: BTreeMap<String, String>,
}

fn host_pattern<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|pattern| ascii_pattern(&pattern))
}

section! {
    /// `[fetch]`: requests.
    FetchSection {
        /// Requests in flight.
        concurrency: usize = 200;
        /// Fetcher threads.
        threads: usize = 1;
        /// A longer body is cut and marked.
        max_body: u64 as "size" = 100 << 20;
        /// A body that decompresses to more is cut and marked.
        max_decoded: u64 as "size" = 200 << 20;
        /// Bodies above 64 KiB, and up to 1 MiB, share so much memory, as long as there is room.
        body_memory: u64 as "size" = 16 << 20;
        /// Others wait in temporary files, of so many bytes together.
        max_spill: u64 as "size" = 1 << 30;
        /// Redirects followed in a row.
        max_redirects: u8 = 20;
        /// `Accept-Encoding` header.
        accept_encoding: String = "gzip".into();
        /// `Accept-Language` header.
        accept_language: Option<String> = None;
        /// Further headers of every request.
        #[serde(serialize_with = "secrets::headers")]
        headers: BTreeMap<String, String> = BTreeMap::new();
        /// Addresses of this machine that connections come from, one of each family.
        source_address: Vec<IpAddr> = Vec::new();
        /// Bytes a second of all fetches together; 0 for no limit.
        max_bandwidth: u64 as "size" = 0;
        /// Further tries after 408, 425, 429, 5xx, a challenge and network faults.
        retries: u8 = 3;
        /// Waits before them; the last repeats.
        retry_delays: Vec<Duration> as "durations" = vec![secs(60), secs(900), secs(7_200)];
        /// So many consecutive 403, 429, 503 or challenge pages pause a host for an hour.
        waf_brake: u32 = 20;
        /// Time-outs.
        timeouts: TimeoutsSection = TimeoutsSection::default();
    }
}

impl FetchSection {
    /// The longest that a request may take. While the bandwidth is shared out the time for the body may come twice.
    pub fn slowest(&self) -> Duration {
        let paused = if self.max_bandwidth > 0 { self.timeouts.body } else { Duration::ZERO };
        self.timeouts.slowest().saturating_add(paused)
    }
}

section! {
    /// `[net]`: which addresses may be connected to.
    NetSection {
        /// Besides public addresses: `10.0.0.0/8`, `127.0.0.1/32:8500`, `*.intranet.example`.
        allow: Vec<String> = Vec::new();
    }
}

section! {
    /// `[tls]`.
    TlsSection {
        /// Certificates.
        verify: TlsVerify = TlsVerify::default();
        /// Servers of TLS 1.0, 1.1, or 1.2 with CBC or RSA key exchange.
        old: TlsOld = TlsOld::default();
        /// PEM files of certificates to be trusted beside Mozilla's.
        roots: Vec<PathBuf> = Vec::new();
    }
}
