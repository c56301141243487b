//! The synthetic web: hosts and pages made by hashing from a seed, nothing stored.
//!
//! Tests run it in their own process, `lycosa testweb` as a program of its own. Every fact that matters to a crawler is
//! a pure function of the settings and of the moment ([`shape::Shape`]), so that the set of URLs to be fetched ([`truth::truth`]) is
//! known without crawling, and what changed when ([`history::history`]) without keeping it. An audit log tells who asked what when
//! ([`audit::AuditEntry`]).
//!
//! | on any host | what |
//! |---|---|
//! | `GET /_truth?depth=D&scope=hosts\|domains\|any` | the URLs to be fetched from `http://h0.test/`, sorted, one a line; `at=US`: at that moment, not now |
//! | `GET /_changes?since=US&limit=N` | what changed after that moment, JSON lines; the header `X-Changes-Next` says from where on to ask next, `X-Changes-More` whether there is more by now |
//! | `GET /_audit?since=N` | the log from entry N on, JSON lines |
//! | `POST /_audit/clear` | forgets the log and the failures counted for flaky pages |

use std::collections::BTreeSet;
use std::io::{self, Write};

pub mod audit;
pub mod change;
pub mod config;
mod connection;
mod control;
pub mod dice;
pub mod history;
mod href;
mod http;
mod links;
mod markup;
mod page;
pub mod place;
mod respond;
pub mod robots;
mod serve;
pub mod shape;
pub mod traps;
pub mod truth;
pub mod validators;
pub mod variant;
pub mod words;

pub use audit::AuditEntry;
pub use config::TestWebConfig;
pub use history::{ChangeKind, History, Told};
pub use serve::{TestWeb, TestWebError};
pub use truth::{TruthQuery, TruthScope};
pub use validators::Validators;

impl TestWeb {
    /// The URLs a crawl from [`TestWeb::start_url`] must fetch, canonical as the crawler writes them: those that there are by now.
    pub fn truth(&self, query: TruthQuery) -> BTreeSet<String> {
        truth::truth(&self.shape_now(), &query)
    }

    /// What changed after this moment, microseconds since 1970, until now: the first `limit` of it.
    pub fn changes(&self, since_us: u64, limit: usize) -> History {
        history::history(&self.shape_now(), since_us, limit)
    }

    /// `http://h0.test/`.
    pub fn start_url(&self) -> String {
        place::Node::START.url()
    }
}

/// Arguments of `lycosa testweb`.
#[derive(Debug, Clone, PartialEq, clap::Args)]
#[command(
    about = "Serve a synthetic web made by hashing from a seed",
    long_about = "Serves hosts h0.test, h1.test ... on one port by Host header; the start page is http://h0.test/. \
                  Nothing is stored. GET /_truth?depth=D&scope=hosts|domains|any lists the URLs a crawl from the start \
                  page must fetch; GET /_changes?since=US what changed when (microseconds since 1970, as in the log); \
                  GET /_audit?since=N tells who asked what when; POST /_audit/clear forgets it."
)]
pub struct TestwebArgs {
    /// The shape of the web.
    #[command(flatten)]
    pub config: TestWebConfig,
}

/// Serves until TERM or INT; prints one line when it listens.
pub fn run(args: TestwebArgs) -> Result<(), TestWebError> {
    raise_open_files();
    let (hosts, pages, changes) = (args.config.hosts, args.config.pages, args.config.changes.is_some());
    let web = TestWeb::start(args.config)?;
    let from = web.shape().first_us() / 1_000_000;
    let from = if changes { format!(" changes_from={from}") } else { String::new() };
    let mut out = io::stdout().lock();
    // A closed standard output is no reason to stop serving.
    let _ = writeln!(out, "testweb listening on http://{} hosts={hosts} pages={pages}{from}", web.addr());
    let _ = out.flush();
    drop(out);
    wait_for_signal()?;
    web.stop();
    Ok(())
}

/// A share: `0.1` or `10%`.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, divisor) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map_err(|_| format!("{text:?} is no share such as 0.1 or 10%"))? / divisor;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(format!("{text} lies outside 0 to 1 (or 0% to 100%)")) }
}

/// One connection a crawled host: lift the soft limit of open files to the hard one, if allowed.
fn raise_open_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn wait_for_signal() -> Result<(), TestWebError> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(TestWebError::Runtime)?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate()).map_err(TestWebError::Runtime)?;
        let mut int = signal(SignalKind::interrupt()).map_err(TestWebError::Runtime)?;
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
