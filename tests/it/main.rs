//! Tests of the whole: the program, a node in one process, the daemon. One binary, so that RocksDB is linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod admin;
mod archive_form;
mod blackout;
#[cfg(feature = "rocksdb")]
mod carry;
mod check;
#[cfg(feature = "rocksdb")]
mod check_program;
#[cfg(feature = "rocksdb")]
mod checkpoint;
mod cli;
mod clock;
mod cockpit;
mod compared;
mod cookies;
#[cfg(feature = "rocksdb")]
mod copies;
mod corpus;
mod crawl;
mod credentials;
mod credit;
mod ctl;
#[cfg(feature = "faults")]
mod deaths;
mod depths;
mod dice;
#[cfg(feature = "rocksdb")]
mod disk;
#[cfg(all(feature = "cluster", feature = "faults"))]
mod engine;
#[cfg(all(feature = "rocksdb", feature = "faults"))]
mod erase;
mod events;
#[cfg(feature = "rocksdb")]
mod export;
#[cfg(feature = "rocksdb")]
mod export_derived;
mod extract;
#[cfg(feature = "rocksdb")]
mod feed;
mod fetch;
mod first_minutes;
mod groups;
mod holders;
mod hostile;
#[cfg(feature = "faults")]
mod hubs;
#[cfg(all(feature = "rocksdb", feature = "search", feature = "faults"))]
mod index;
#[cfg(feature = "faults")]
mod kill;
#[cfg(all(feature = "rocksdb", feature = "search"))]
mod known_items;
mod ledger;
mod limits;
#[cfg(feature = "rocksdb")]
mod log_damage;
mod manual;
mod marks;
#[cfg(feature = "faults")]
mod matrix;
#[cfg(all(feature = "cluster", feature = "rocksdb", feature = "faults"))]
mod members;
mod memory;
mod metrics;
#[cfg(feature = "rocksdb")]
mod mirror;
mod names;
mod near;
mod nearer;
mod openapi;
mod orders;
mod page;
mod patience;
#[cfg(feature = "rocksdb")]
mod places;
mod politeness;
mod power;
mod proxy;
mod real_pages;
mod refresh;
#[cfg(feature = "rocksdb")]
mod refusals;
mod rejected;
mod replay;
mod restart;
mod revisits;
mod robots;
mod robots_away;
mod room;
mod rules;
#[cfg_attr(not(feature = "faults"), allow(dead_code, reason = "used by the kills"))]
mod sandbox;
#[cfg(feature = "faults")]
mod saturated;
#[cfg(all(feature = "rocksdb", feature = "search"))]
mod search;
mod service;
#[cfg(all(feature = "rocksdb", feature = "faults"))]
mod sinks;
mod site;
mod sitemaps;
mod spellings;
#[cfg(all(feature = "rocksdb", feature = "faults"))]
mod split;
#[cfg(all(feature = "cluster", feature = "rocksdb", feature = "faults"))]
mod standby;
mod support;
mod tree;
mod visits;
mod warc;
mod warc_tools;
#[cfg(feature = "faults")]
mod webhook;
mod words;
