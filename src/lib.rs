//! Lycosa: an actor-model web crawler that loses nothing when killed.
//!
//! | room | what lives there |
//! |---|---|
//! | [`domain`] | pure rules: URLs, robots, politeness, ranks, scope, HTML; no IO, no clock |
//! | [`storage`] | the one schema, its keys and values, RocksDB and its memory twin |
//! | [`net`] | connections, DNS, address policy |
//! | [`warc`] | WARC 1.1 and CDXJ |
//! | [`config`] | file form to checked settings |
//! | [`telemetry`] | metric names, log set-up |
//! | [`admin`] | the HTTP endpoint that steers and shows a running crawl |
//! | [`cli`] | the commands of the `lycosa` program |
//! | [`clock`] | the only reader of real time |

pub mod actors;
pub mod admin;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod document;
pub mod domain;
pub mod fault;
pub mod net;
pub mod storage;
pub mod telemetry;
pub mod warc;
