//! Questions to a running crawl: why this URL, why nothing happens, hosts, actors, pages, jobs, how it went.

use std::io::Write;
use std::time::Duration;

use clap::Subcommand;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::actors::{self, ActorsArgs};
use super::door::Ask;
use super::jobs::{self, JobsArgs};
use super::robots::{self, RobotsArgs};
use super::table::{Column, Form, cell, listed, table};
use super::{explain, unread};
use crate::base::units::parse_duration;
use crate::cli::exit::{CliError, unless_gone};

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum LookCommand {
    /// Say why a URL was, or was not, crawled
    #[command(
        after_help = "Examples: lycosa ctl explain example.org/page\n          lycosa ctl explain --all https://example.org/page"
    )]
    Explain {
        /// The URL; without a scheme that one is taken which the crawl knows it by
        url: String,
        /// Everything that is known, not only what decides
        #[arg(long)]
        all: bool,
    },
    /// Say why nothing is happening
    #[command(after_help = "Example: lycosa ctl why-idle")]
    WhyIdle,
    /// Show pages, rates, queues and memory over time
    #[command(after_help = "Example: lycosa ctl statistics --since 12h --points 24")]
    Statistics {
        /// Since when
        #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1h")]
        since: Duration,
        /// At most so many lines
        #[arg(long, value_name = "N", default_value_t = 20)]
        points: usize,
    },
    /// List hosts with their queues
    #[command(after_help = "Example: lycosa ctl hosts --sort queue --limit 20")]
    Hosts {
        /// Only those that stand there: active, waiting, parked, idle, held
        #[arg(long)]
        state: Option<String>,
        /// Only those whose name contains this
        #[arg(long, value_name = "PART")]
        contains: Option<String>,
        /// By queue, rate, errors, next or name
        #[arg(long)]
        sort: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// Show a host's robots.txt: what it said, when, and what that means for a URL
    Robots(RobotsArgs),
    /// List actors (queue, handled, latency, restarts); restart one
    Actors(ActorsArgs),
    /// List captures
    #[command(
        after_help = "Examples: lycosa ctl pages --host example.org\n          lycosa ctl pages --status 404 --mime text/ --since 2h"
    )]
    Pages {
        /// Only of this host
        #[arg(long)]
        host: Option<String>,
        /// Only with this status
        #[arg(long, value_name = "CODE")]
        status: Option<u16>,
        /// Only of this media type, or of all that begin so, such as image/
        #[arg(long, value_name = "TYPE")]
        mime: Option<String>,
        /// Only of this time until now, such as 2h
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        since: Option<Duration>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// List background jobs; show or cancel one
    Jobs(JobsArgs),
}

/// Which part of a list.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PagingArgs {
    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Go on after the former part, which ended by naming this
    #[arg(long)]
    pub cursor: Option<String>,
}

/// A path with the parameters that are there.
fn path(base: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => base.to_owned(),
        query => format!("{base}?{query}"),
    }
}

/// A part of a list.
pub(super) fn list(base: &str, own: &[(&str, &Option<String>)], paging: &PagingArgs) -> Ask {
    let own = own.iter().map(|(name, value)| (*name, (*value).clone()));
    let paging = [("limit", paging.limit.map(|n| n.to_string())), ("cursor", paging.cursor.clone())];
    Ask::get(path(base, &own.chain(paging).collect::<Vec<_>>()))
}

/// What a command asks.
///
/// # Errors
/// It is not clear what is meant.
pub(super) fn ask(command: &LookCommand) -> Result<Ask, CliError> {
    Ok(match command {
        LookCommand::Explain { url, .. } => Ask::get(path("/api/v1/explain", &[("url", Some(url.clone()))])),
        LookCommand::WhyIdle => Ask::get("/api/v1/why-idle"),
        LookCommand::Statistics { since, points } => {
            let since = since.as_secs().max(1).to_string();
            let query = [("since", Some(since)), ("points", Some(points.to_string()))];
            Ask::get(path("/api/v1/statistics", &query))
        }
        LookCommand::Hosts { state, contains, sort, paging } => {
            list("/api/v1/hosts", &[("state", state), ("contains", contains), ("sort", sort)], paging)
        }
        LookCommand::Robots(args) => robots::ask(args)?,
        LookCommand::Actors(args) => actors::ask(args)?,
        LookCommand::Pages { host, status, mime, since, paging } => {
            let (status, since) =
                (status.map(|code| code.to_string()), since.map(|time| time.as_secs().max(1).to_string()));
            let which = [("host", host), ("status", &status), ("mime", mime), ("since", &since)];
            list("/api/v1/pages", &which, paging)
        }
        LookCommand::Jobs(args) => jobs::ask(args),
    })
}

const HOSTS: &[Column] = &[
    Column("host", "/name", Form::Plain),
    Column("state", "/state", Form::Plain),
    Column("queued", "/queued", Form::Plain),
    Column("retries", "/due", Form::Plain),
    Column("done", "/done", Form::Plain),
    Column("errors", "/errors", Form::Plain),
    Column("waits for", "/wait/why", Form::Plain),
    Column("until", "/wait/until_ms", Form::Time),
    Column("orders", "/orders", Form::Plain),
];
const PAGES: &[Column] = &[
    Column("status", "/status", Form::Plain),
    Column("how", "/how", Form::Plain),
    Column("when", "/captured_ms", Form::Time),
    Column("type", "/mime", Form::Plain),
    Column("size", "/bytes", Form::Size),
    Column("URL", "/url", Form::Plain),
];
const STATISTICS: &[Column] = &[
    Column("when", "/at_ms", Form::Time),
    Column("pages", "/pages", Form::Plain),
    Column("pages/s", "/pages_per_second", Form::Plain),
    Column("received/s", "/bytes_per_second", Form::Size),
    Column("errors", "/errors", Form::Plain),
    Column("waiting", "/waiting", Form::Plain),
    Column("in flight", "/in_flight", Form::Plain),
    Column("hosts active", "/hosts_active", Form::Plain),
    Column("memory", "/resident_bytes", Form::Size),
];

/// Shows an answer.
///
/// # Errors
/// It is none.
pub(super) fn tell(command: &LookCommand, answer: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let text = match command {
        LookCommand::Robots(args) => robots::told(args, &serde_json::from_str(answer).map_err(unread)?),
        _ => told(command, serde_json::from_str(answer).map_err(unread)?),
    };
    unless_gone(out.write_all(text.as_bytes()))
}

fn told(command: &LookCommand, answer: Value) -> String {
    match command {
        LookCommand::Explain { all, .. } => explain::told(answer, *all),
        LookCommand::WhyIdle => idle(&answer),
        LookCommand::Statistics { .. } => statistics(&answer),
        LookCommand::Hosts { .. } | LookCommand::Robots(_) => listed(&answer, HOSTS),
        LookCommand::Actors(args) => actors::told(args, &answer),
        LookCommand::Pages { .. } => listed(&answer, PAGES),
        LookCommand::Jobs(args) => jobs::told(args, &answer),
    }
}

/// The answer, then each finding with what to do.
fn idle(why: &Value) -> String {
    let text = |value: &Value, at: &str| value.pointer(at).map(cell).unwrap_or_default();
    let findings = why.get("findings").and_then(Value::as_array).into_iter().flatten();
    let told = findings.map(|finding| {
        format!("  {}: {}\n    {}\n", text(finding, "/code"), text(finding, "/sentence"), text(finding, "/advice"))
    });
    format!("{}\n{}", text(why, "/answer"), told.collect::<String>())
}

/// A line for each moment, the oldest first.
fn statistics(answer: &Value) -> String {
    let points: Vec<&Value> = answer.get("points").and_then(Value::as_array).into_iter().flatten().collect();
    match points.is_empty() {
        true => "nothing was noted yet; look again in a few seconds\n".to_owned(),
        false => table(&points, STATISTICS),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_is_encoded_and_what_is_absent_is_left_out() {
        let asked = |command| ask(&command).unwrap().path;
        let explain = asked(LookCommand::Explain { url: "http://a.test/?q=1&r=ü#x".into(), all: true });
        assert_eq!(explain, "/api/v1/explain?url=http%3A%2F%2Fa.test%2F%3Fq%3D1%26r%3D%C3%BC%23x");
        let paging = PagingArgs { limit: Some(5), cursor: None };
        let (state, contains) = (Some("parked".to_owned()), Some("a.t".to_owned()));
        let hosts = asked(LookCommand::Hosts { state, contains, sort: None, paging: paging.clone() });
        assert_eq!(hosts, "/api/v1/hosts?state=parked&contains=a.t&limit=5");
        let (mime, since) = (Some("image/".to_owned()), Some(Duration::from_secs(7_200)));
        let pages = asked(LookCommand::Pages { host: None, status: Some(404), mime, since, paging });
        assert_eq!(pages, "/api/v1/pages?status=404&mime=image%2F&since=7200&limit=5");
        let statistics = LookCommand::Statistics { since: Duration::from_secs(7_200), points: 9 };
        assert_eq!(asked(statistics), "/api/v1/statistics?since=7200&points=9");
    }

    #[test]
    fn statistics_are_a_table_the_oldest_first() {
        let point =
            |at: u64, pages| json!({"at_ms": at, "pages": pages, "pages_per_second": 1.26, "bytes_per_second": 2048.4});
        let answer = json!({"points": [point(1_714_979_289_000, 7), point(1_714_979_294_000, 1_200)]});
        let expected = "when                  pages  pages/s  received/s\n\
                        2024-05-06T07:08:09Z      7      1.3     2.0 KiB\n\
                        2024-05-06T07:08:14Z   1200      1.3     2.0 KiB\n";
        assert_eq!(statistics(&answer), expected);
        assert!(statistics(&json!({"points": []})).starts_with("nothing was noted yet"));
    }
}
