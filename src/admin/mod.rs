//! The admin endpoint: HTTP on a thread of its own, loopback unless a token is set.
//!
//! Its paths stand in `routes.rs`, each with what answers it, which says what it takes and gives; `/api/openapi.json` is all of that as
//! OpenAPI 3.1. The live page at `/`, its files under `/ui/`, `/healthz` and `/readyz` need no token.
//!
//! A parameter or a field that is not described is refused with those that are. Errors are `application/problem+json` (RFC 9457).
//! Requests are guarded against other machines (token), other names for this machine (Host, against DNS rebinding) and other web pages
//! (Origin), see [`auth`].

pub mod across;
pub mod actors;
pub mod auth;
mod body;
mod bounded;
pub mod commit;
mod control;
mod crawl;
pub mod credit;
pub(crate) mod csv;
#[cfg(feature = "rocksdb")]
pub mod erasing;
pub mod erasures;
pub mod events;
pub mod exports;
pub mod feed;
pub mod find;
mod guard;
pub mod holders;
pub mod hosts;
pub mod index;
pub mod jobs;
mod kept;
#[cfg(feature = "cluster")]
pub mod members;
pub mod nodes;
pub mod orders;
pub mod own;
pub mod pages;
pub mod paging;
mod parameters;
pub mod pipeline;
mod probes;
mod problem;
pub mod reports;
pub mod rerank;
pub mod retry;
mod routes;
pub mod schedule;
pub mod search;
mod seeds;
mod server;
pub mod settings;
pub mod sinks;
#[cfg(feature = "cluster")]
pub mod standby;
pub mod statistics;
mod status;
mod ui;
pub mod url_lists;
pub mod urls;
pub mod views;
pub mod waits;
pub mod why_idle;

#[cfg(test)]
pub(crate) mod tests;

pub use control::{Control, ControlError, NewSeed, RejectedSeed, Reply, SeedReport};
pub use crawl::Done;
pub use guard::Entrance;
pub use problem::Problem;
pub use server::{AdminError, AdminServer, Listening};
pub use status::{counts, status};
