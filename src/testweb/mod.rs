//! The synthetic web: hosts and pages made by hashing from a seed, nothing stored.
//!
//! Tests run it in their own process, `lycosa testweb` as a program of its own. Every fact that matters to a crawler is
//! a pure function of the settings ([`shape::Shape`]), so that the set of URLs to be fetched ([`truth::truth`]) is known
//! without crawling. An audit log tells who asked what when ([`audit::AuditEntry`]); [`audit_check`] judges it.
//!
//! | on any host | what |
//! |---|---|
//! | `GET /_truth?depth=D&scope=hosts\|domains\|any` | the URLs to be fetched from `http://h0.test/`, sorted, one a line |
//! | `GET /_audit?since=N` | the log from entry N on, JSON lines |
//! | `POST /_audit/clear` | forgets the log and the failures counted for flaky pages |

use std::collections::BTreeSet;

pub mod args;
pub mod audit;
pub mod audit_check;
mod clock;
pub mod config;
mod connection;
mod control;
pub mod dice;
mod href;
mod http;
mod links;
mod maps;
mod markup;
mod mazes;
mod page;
pub mod place;
mod respond;
pub mod robots;
mod serve;
pub mod shape;
pub mod traps;
pub mod truth;
pub mod words;

pub use args::{TestwebArgs, run};
pub use audit::AuditEntry;
pub use config::TestWebConfig;
pub use serve::{TestWeb, TestWebError};
pub use truth::{TruthQuery, TruthScope};

impl TestWeb {
    /// The URLs a crawl from [`TestWeb::start_url`] must fetch, canonical as the crawler writes them.
    pub fn truth(&self, query: TruthQuery) -> BTreeSet<String> {
        truth::truth(self.shape(), &query)
    }

    /// `http://h0.test/`.
    pub fn start_url(&self) -> String {
        place::Node::START.url()
    }
}

#[cfg(test)]
mod tests;
