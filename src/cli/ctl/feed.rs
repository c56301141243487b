//! `lycosa ctl feed …`: what became of each page, and who reads it.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::door::{Ask, Door, send};
use super::look::path;
use super::table::{Column, Form, table};
use super::{block_on, escaped_part, read, unread};
use crate::admin::feed::{Acknowledged, ConsumerView, ConsumersView, FeedItem, FeedPage};
use crate::cli::exit::CliError;
use crate::telemetry::log::escaped;

/// Entries asked for at a time, and with what is read again for them.
const PAGE: u64 = 1_000;
const WITH_MORE: u64 = 100;
/// So many seconds the endpoint waits for an entry before it answers that there is none.
const WAIT: u64 = 30;

/// Rest after an answer without entries: a crawl that comes to its end waits for none.
const REST: Duration = Duration::from_millis(500);

/// `lycosa ctl feed …`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples: lycosa ctl feed --after 4100 --json > pages.jsonl\n          lycosa ctl feed --follow --kind first,changed\n          lycosa ctl feed acknowledge backup 4100 --hold"
)]
pub struct FeedArgs {
    /// Only what follows this entry; from the first that is left when absent
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// The feed that this entry is of
    #[arg(long, value_name = "ID", requires = "after")]
    log: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only these kinds: first, changed, little, numbers, markup, unchanged, back, redirect, gone, failed, rejected, erased
    #[arg(long, value_name = "KIND,…")]
    kind: Option<String>,
    /// Only of this host
    #[arg(long)]
    host: Option<String>,
    /// With each entry what is read again of its page: card, text, links, rights; in JSON alone (`--json`)
    #[arg(long, value_name = "PART,…")]
    include: Option<String>,
    /// Go on with what comes, until interrupted
    #[arg(long)]
    follow: bool,
    /// Who reads it; without it entries are shown.
    #[command(subcommand)]
    command: Option<FeedCommand>,
}

impl FeedArgs {
    /// Whether entries are shown, one a line: an error is none.
    pub fn is_lines(&self) -> bool {
        self.command.is_none()
    }
}

/// Who reads the feed.
#[derive(Clone, Debug, Subcommand)]
pub enum FeedCommand {
    /// List who reads the feed, and how far each is
    #[command(after_help = "Example: lycosa ctl feed consumers")]
    Consumers,
    /// Say that somebody is done with the entries up to a number
    #[command(after_help = "Example: lycosa ctl feed acknowledge backup 4100 --hold")]
    Acknowledge {
        /// Its name: 1 to 64 of a-z, 0-9, '-', '_'
        name: String,
        /// The last entry that it is done with
        #[arg(value_name = "N")]
        after: Option<u64>,
        /// The feed that this entry is of
        #[arg(long, value_name = "ID")]
        log: Option<String>,
        /// Keep for it what it has not read: entries, and archive files
        #[arg(long, conflicts_with = "let_go")]
        hold: bool,
        /// Keep nothing for it any more
        #[arg(long)]
        let_go: bool,
    },
    /// Take a reader off the list
    #[command(after_help = "Example: lycosa ctl feed forget backup")]
    Forget {
        /// Its name
        name: String,
    },
}

const CONSUMERS: &[Column] = &[
    Column("name", "/name", Form::Plain),
    Column("read up to", "/after", Form::Plain),
    Column("behind", "/behind", Form::Plain),
    Column("holds", "/hold", Form::Plain),
    Column("said", "/at_ms", Form::Time),
];

/// Shows entries, or what becomes of a command about who reads them.
pub(super) fn run(as_json: bool, door: &Door, args: &FeedArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let at = |name: &str| format!("/api/v1/feed/consumers/{}", escaped_part(name));
    let ask = match &args.command {
        None => return follow(as_json, door, args, out),
        Some(FeedCommand::Consumers) => Ask::get("/api/v1/feed/consumers"),
        Some(FeedCommand::Acknowledge { name, after, log, hold, let_go }) => {
            let hold = (*hold || *let_go).then_some(*hold);
            let said = Acknowledged { after: *after, log: log.clone(), hold };
            Ask::put(at(name), serde_json::to_string(&said).map_err(unread)?)
        }
        Some(FeedCommand::Forget { name }) => Ask::delete(at(name)),
    };
    let answer = block_on(send(door, ask))?;
    if as_json {
        return Ok(writeln!(out, "{}", answer.trim())?);
    }
    let text = match &args.command {
        Some(FeedCommand::Acknowledge { .. }) => {
            let ConsumerView { name, after, behind, hold, .. } = read(&answer)?;
            let held = if hold { ", which are kept for it" } else { "" };
            format!("{name} has read up to {after}; {behind} entries follow{held}\n")
        }
        _ => readers(&read(&answer)?),
    };
    Ok(out.write_all(text.as_bytes())?)
}

fn readers(all: &ConsumersView) -> String {
    let ConsumersView { log, high, oldest, consumers } = all;
    let rows: Vec<_> = consumers.iter().map(|consumer| json!(consumer)).collect();
    let table = match rows.is_empty() {
        true => "nobody reads it under a name; `lycosa ctl feed acknowledge NAME` begins\n".to_owned(),
        false => table(&rows.iter().collect::<Vec<_>>(), CONSUMERS),
    };
    format!("feed {log}, entries {oldest} to {high}\n{table}")
}

/// Shows entries page by page, and with `follow` what comes then.
fn follow(as_json: bool, door: &Door, args: &FeedArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let FeedArgs { after, log, limit, kind, host, include, follow, .. } = args;
    if include.is_some() && !as_json {
        return Err(CliError::usage("--include is told in JSON alone: say --json too"));
    }
    let most = if include.is_some() { WITH_MORE } else { PAGE };
    let wait = WAIT.min(door.patience().as_secs() / 2).max(1);
    let (mut after, mut log, mut left) = (*after, log.clone(), limit.unwrap_or(u64::MAX));
    while left > 0 {
        let query = [
            ("after", after.map(|n| n.to_string())),
            ("log", log.clone()),
            ("limit", Some(left.min(most).to_string())),
            ("wait", follow.then(|| wait.to_string())),
            ("kind", kind.clone()),
            ("host", host.clone()),
            ("include", include.clone()),
        ];
        let page: FeedPage =
            match block_on(send(door, Ask::get(path("/api/v1/feed", &query)))).and_then(|page| read(&page)) {
                Ok(page) => page,
                Err(error) => {
                    go_on(after, log.as_deref());
                    return Err(error);
                }
            };
        for item in &page.items {
            writeln!(out, "{}", if as_json { line(item)? } else { told(item) })?;
        }
        out.flush()?;
        if *follow && page.items.is_empty() {
            std::thread::sleep(REST);
        }
        left = left.saturating_sub(page.items.len() as u64);
        let is_end = page.next >= page.high;
        (after, log) = (Some(page.next), Some(page.log));
        if is_end && !follow {
            break;
        }
    }
    go_on(after, log.as_deref());
    Ok(())
}

/// Says on standard error, which whoever takes the lines of standard output does not read, how to go on.
fn go_on(after: Option<u64>, log: Option<&str>) {
    if let (Some(after), Some(log)) = (after, log) {
        let _ = writeln!(std::io::stderr(), "go on with: lycosa ctl feed --after {after} --log {}", escaped(log));
    }
}

fn line(item: &impl Serialize) -> Result<String, CliError> {
    serde_json::to_string(item).map_err(|e| CliError::new(format!("an entry cannot be written: {e}")))
}

/// Number, kind, status or reason, URL, title.
fn told(item: &FeedItem) -> String {
    let capture = item.capture.as_ref();
    let status = capture.map(|capture| capture.status.to_string());
    let why = [status, item.reason.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let title = capture.and_then(|capture| capture.title.clone()).unwrap_or_default();
    let url = item.url.as_deref().unwrap_or("(nothing is left of it)");
    let text = format!("{} {} {why} {url}  {title}", item.seq, item.kind);
    escaped(text.trim_end()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_line_and_no_site_steers_the_terminal() {
        let (id, host_id) = ("00".repeat(20), "00".repeat(8));
        let item = FeedItem {
            seq: 41,
            kind: "failed".into(),
            id,
            host_id,
            committed_ms: 5,
            url: Some("http://a.test/\u{1b}[2J".into()),
            reason: Some("reset".into()),
            capture: None,
            included: Default::default(),
        };
        assert_eq!(told(&item), "41 failed reset http://a.test/\\u{1b}[2J");
        assert_eq!(told(&FeedItem { url: None, reason: None, ..item }), "41 failed  (nothing is left of it)");
    }

    #[test]
    fn who_reads_is_a_table_below_what_there_is() {
        let one = ConsumerView { name: "backup".into(), after: 7, hold: true, at_ms: 1_714_979_289_000, behind: 5 };
        let all = ConsumersView { log: "9f".into(), high: 12, oldest: 3, consumers: vec![one] };
        let expected = "feed 9f, entries 3 to 12\n\
                        name    read up to  behind  holds  said\n\
                        backup           7       5  true   2024-05-06T07:08:09Z\n";
        assert_eq!(readers(&all), expected);
        assert!(readers(&ConsumersView { consumers: Vec::new(), ..all }).contains("nobody reads it"));
    }
}
