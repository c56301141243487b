//! Lycosa: an actor-model web crawler that loses nothing when killed.
//!
//! | room | what lives there |
//! |---|---|
//! | [`base`] | what every room stands on: time, locks, units, exit codes, invariants, fault points, the disk, sorting |
//! | [`domain`] | the rules of crawling, pure: URLs, robots.txt, politeness, ranks, scope, traps, outcomes; `now` is an argument |
//! | [`content`] | what bodies say, pure: charset, MIME type, HTML, XML, feeds, sitemaps, extraction |
//! | [`document`] | a body: in memory while small, then in a temporary file; content codings, chunks |
//! | [`net`] | connections, HTTP/1.1, TLS, DNS, proxies, cookies, address policy |
//! | [`storage`] | the one schema, its keys and values, the ledger; RocksDB and its twin in memory |
//! | [`warc`] | WARC, CDXJ and `crawl.jsonl`: what becomes of an exchange, written, read and repaired |
//! | [`recovery`] | a data folder at rest: checked, repaired, saved as a checkpoint, put back, carried elsewhere; a host erased; a crawl taken apart and put together |
//! | [`telemetry`] | log, metrics, events, status, what to do about a trouble |
//! | [`config`] | TOML, environment and flags become checked settings |
//! | [`export`] | the pages of a data folder in forms that others read |
//! | [`index`] | the index of pages: its documents, writer, reader, generations; who follows the feed into it; the only importer of tantivy |
//! | [`sink`] | pages handed on as they are committed: what is sent, what answers mean, files that roll |
//! | [`cluster`] | what members of a crawl on several machines say to each other: the engine (NATS JetStream), the lease kept |
//! | [`crawl`] | the actors, their supervision, and what they share; the rules in force and their changes |
//! | [`admin`] | the HTTP endpoint that steers and shows a running crawl |
//! | [`app`] | composition root: the only place that names every actor and its thread; starts, watches and ends a crawl |
//! | [`testweb`] | the practice web, with its truth and its log of requests |
//! | [`cli`] | the commands of the program `lycosa` |
//!
//! Each imports only rooms above it.
//!
//! # Embedding a crawl
//!
//! [`app::run`] does what `lycosa run` does: data folder, signals, admin endpoint. A program that wants less takes the parts:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use lycosa::admin;
//! use lycosa::app::{self, NodeControl, Parts, Placement};
//! use lycosa::base::clock::Clock;
//! use lycosa::base::fault::Faults;
//! use lycosa::base::fence::Fence;
//! use lycosa::config::Layers;
//! use lycosa::content::modules::MimeModules;
//! use lycosa::crawl::node::Stop;
//! use lycosa::storage::MemoryStorage;
//! use lycosa::testweb::{TestWeb, TestWebConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Two practice hosts of five pages on a free port of this machine. A real site needs neither this nor the override.
//! let web = TestWeb::start(TestWebConfig { hosts: 2, pages: 5, ..TestWebConfig::default() })?;
//! let folder = tempfile::tempdir()?;
//!
//! let settings = Layers::new()
//!     .set(&format!("store.data_dir={}", folder.path().display()))?
//!     .set(&format!("dns.overrides={{ '*.test' = '{}' }}", web.addr()))?
//!     .set("agent.email=me@example.org")?
//!     .set("scope.mode=any")?
//!     .set("politeness.min_delay=5ms")?
//!     .set("disk.pause_below=10MB")?
//!     .set("crawl.until_done=true")?
//!     .load()?;
//! let parts = Parts {
//!     storage: Arc::new(MemoryStorage::new()), // RocksStorage::open(folder, …) keeps the crawl for another run
//!     seed: 1,
//!     clock: Clock::real(),
//!     faults: Faults::default(),
//!     fence: Fence::default(),
//!     placement: Placement::Spread,
//!     modules: MimeModules::default(), // with(…) adds your own for other kinds of documents
//! };
//!
//! let crawl = app::start(settings, parts)?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let why = runtime.block_on(async {
//!     NodeControl::add_seeds(crawl.node.clone(), vec!["http://h0.test/".to_owned()]).await?;
//!     Ok::<_, Box<dyn std::error::Error>>(app::watch(&crawl.node).await)
//! })?;
//! let counts = admin::status(&crawl.node);
//! crawl.shutdown(Duration::from_secs(5)); // closes the WARC; `folder/warc` now holds the pages
//!
//! assert_eq!(why, Stop::Done);
//! assert_eq!((counts.pages_stored, counts.errors), (10, 0));
//! assert!(counts.adds_up());
//! # Ok(())
//! # }
//! ```
//!
//! The rules are of use without a crawl:
//!
//! ```
//! use lycosa::domain::robots::RobotsRules;
//! use lycosa::domain::url::{Canonicaliser, CleanRules};
//!
//! let canon = Canonicaliser::new(CleanRules::default());
//! let url = canon.parse("HTTP://Example.org:80/a/../b?utm_source=x&q=1#top")?;
//! assert_eq!(url.as_str(), "http://example.org/b?q=1");
//!
//! let robots = RobotsRules::parse(b"User-agent: *\nDisallow: /b", &["lycosa"]);
//! assert!(!robots.allows(url.tail()));
//! # Ok::<(), lycosa::domain::url::UrlError>(())
//! ```

pub mod admin;
pub mod app;
pub mod base;
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod config;
pub mod content;
pub mod crawl;
pub mod document;
pub mod domain;
pub mod export;
#[cfg(feature = "search")]
pub mod index;
pub mod net;
pub mod recovery;
#[cfg(test)]
mod rooms;
pub mod sink;
pub mod storage;
pub mod telemetry;
pub mod testweb;
pub mod warc;

/// The README's example is tested too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
