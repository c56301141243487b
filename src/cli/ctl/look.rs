//! Questions to a running crawl: why this URL, why nothing happens, hosts, actors, pages, jobs.

use std::io::Write;

use clap::Subcommand;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::door::Ask;
use super::unread;
use crate::cli::exit::{CliError, unless_gone};
use crate::telemetry::log::escaped;

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum LookCommand {
    /// Say why a URL was, or was not, crawled
    Explain {
        /// The URL
        url: String,
    },
    /// Say why nothing is happening
    WhyIdle,
    /// List hosts with their queues
    Hosts {
        /// Only those that stand there: active, waiting, parked, idle, held
        #[arg(long)]
        state: Option<String>,
        /// By queue, rate, errors, next or name
        #[arg(long)]
        sort: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// List actors: queue, handled, latency, restarts
    Actors {
        /// Only of this kind, such as store
        #[arg(long)]
        kind: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// List captures
    Pages {
        /// Only of this host
        #[arg(long)]
        host: Option<String>,
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
    /// List background jobs
    Jobs {
        /// Stop this one instead
        #[arg(long, value_name = "ID")]
        cancel: Option<u64>,
    },
}

/// Which part of a list.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PagingArgs {
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on after the former part, which ended by naming this
    #[arg(long)]
    cursor: Option<String>,
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

/// What a command asks.
pub(super) fn ask(command: &LookCommand) -> Ask {
    let list = |base: &str, own: &[(&str, &Option<String>)], paging: &PagingArgs| {
        let own = own.iter().map(|(name, value)| (*name, (*value).clone()));
        let paging = [("limit", paging.limit.map(|n| n.to_string())), ("cursor", paging.cursor.clone())];
        Ask::get(path(base, &own.chain(paging).collect::<Vec<_>>()))
    };
    match command {
        LookCommand::Explain { url } => Ask::get(path("/api/v1/explain", &[("url", Some(url.clone()))])),
        LookCommand::WhyIdle => Ask::get("/api/v1/why-idle"),
        LookCommand::Hosts { state, sort, paging } => {
            list("/api/v1/hosts", &[("state", state), ("sort", sort)], paging)
        }
        LookCommand::Actors { kind, paging } => list("/api/v1/actors", &[("kind", kind)], paging),
        LookCommand::Pages { host, paging } => list("/api/v1/pages", &[("host", host)], paging),
        LookCommand::Jobs { cancel: None } => Ask::get("/api/v1/jobs"),
        LookCommand::Jobs { cancel: Some(id) } => Ask::delete(format!("/api/v1/jobs/{id}")),
    }
}

/// Headings of a table, and where in an item the value stands.
type Columns = &'static [(&'static str, &'static str)];

const HOSTS: Columns = &[
    ("host", "/name"),
    ("state", "/state"),
    ("queued", "/queued"),
    ("retries", "/due"),
    ("done", "/done"),
    ("errors", "/errors"),
    ("waits for", "/wait/why"),
    ("orders", "/orders/0"),
];
const ACTORS: Columns = &[
    ("actor", "/kind"),
    ("instance", "/instance"),
    ("state", "/state"),
    ("queue", "/queue"),
    ("handled", "/handled"),
    ("p50 s", "/handle_p50_seconds"),
    ("p99 s", "/handle_p99_seconds"),
    ("restarts", "/restarts"),
    ("last fault", "/last_fault/why"),
];
const PAGES: Columns =
    &[("status", "/status"), ("how", "/how"), ("type", "/mime"), ("bytes", "/bytes"), ("URL", "/url")];
const JOBS: Columns = &[
    ("job", "/id"),
    ("kind", "/kind"),
    ("state", "/state"),
    ("looked at", "/looked"),
    ("changed", "/changed"),
    ("about", "/about"),
    ("error", "/error"),
];

/// Shows an answer.
///
/// # Errors
/// It is none.
pub(super) fn tell(command: &LookCommand, answer: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let answer: Value = serde_json::from_str(answer).map_err(unread)?;
    let text = match command {
        LookCommand::Explain { .. } => explained(answer),
        LookCommand::WhyIdle => idle(&answer),
        LookCommand::Hosts { .. } => listed(&answer, HOSTS),
        LookCommand::Actors { .. } => listed(&answer, ACTORS),
        LookCommand::Pages { .. } => listed(&answer, PAGES),
        LookCommand::Jobs { cancel: Some(_) } => table(&[&answer], JOBS),
        LookCommand::Jobs { cancel: None } => listed(&answer, JOBS),
    };
    unless_gone(out.write_all(text.as_bytes()))
}

/// The answer first, then every fact it rests on, one a line.
fn explained(mut explanation: Value) -> String {
    let answer = explanation.as_object_mut().and_then(|facts| facts.remove("answer"));
    format!("{}\n\n{}", answer.as_ref().map(cell).unwrap_or_default(), facts(&explanation))
}

fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    let within = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Null => {}
        Value::Object(parts) => parts.iter().for_each(|(part, value)| flatten(&within(part), value, facts)),
        Value::Array(items) => {
            items.iter().zip(1..).for_each(|(item, n)| flatten(&within(&n.to_string()), item, facts));
        }
        plain => facts.push((name.to_owned(), cell(plain))),
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

/// One thing, every fact a line.
pub(super) fn facts(answer: &Value) -> String {
    let mut facts = Vec::new();
    flatten("", answer, &mut facts);
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// A list, or one page of it with the way to the next.
fn listed(answer: &Value, columns: Columns) -> String {
    let items = answer.get("items").unwrap_or(answer).as_array();
    let items: Vec<&Value> = items.into_iter().flatten().collect();
    let mut text = if items.is_empty() { "none\n".to_owned() } else { table(&items, columns) };
    if answer.get("all_looked_at") == Some(&Value::Bool(false)) {
        text.push_str("there are more hosts than were looked at for this order\n");
    }
    if let Some(next) = answer.get("next").and_then(Value::as_str) {
        text.push_str(&format!("more: --cursor {next}\n"));
    }
    text
}

/// Columns as wide as their widest cell; those of numbers to the right; empty ones are left out.
fn table(items: &[&Value], columns: Columns) -> String {
    let mut lines = vec![String::new(); items.len() + 1];
    for (heading, at) in columns {
        let values: Vec<&Value> = items.iter().map(|item| item.pointer(at).unwrap_or(&Value::Null)).collect();
        if values.iter().all(|value| value.is_null()) {
            continue;
        }
        let right = values.iter().all(|value| value.is_number() || value.is_null());
        let cells: Vec<String> = std::iter::once((*heading).to_owned()).chain(values.iter().map(|v| cell(v))).collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&cells) {
            line.push_str(&if right { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") });
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A value as people read it; what came from a site cannot steer the terminal.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escaped(text).to_string(),
        Value::Number(n) if n.is_f64() => format!("{:.4}", n.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_is_encoded_and_what_is_absent_is_left_out() {
        let explain = ask(&LookCommand::Explain { url: "http://a.test/?q=1&r=ü#x".into() });
        assert_eq!(explain.path, "/api/v1/explain?url=http%3A%2F%2Fa.test%2F%3Fq%3D1%26r%3D%C3%BC%23x");
        let paging = PagingArgs { limit: Some(5), cursor: None };
        let hosts = ask(&LookCommand::Hosts { state: Some("parked".into()), sort: None, paging });
        assert_eq!(hosts.path, "/api/v1/hosts?state=parked&limit=5");
    }

    #[test]
    fn a_list_is_a_table_with_the_way_to_its_next_part() {
        let answer = json!({"items": [
            {"name": "a.test", "state": "active", "queued": 7, "wait": {"why": "gap"}},
            {"name": "long.name.test", "state": "parked", "queued": 1200, "wait": null},
        ], "next": "0a0b", "all_looked_at": true});
        let expected = "host            state   queued  waits for\n\
                        a.test          active       7  gap\n\
                        long.name.test  parked    1200\n\
                        more: --cursor 0a0b\n";
        assert_eq!(listed(&answer, HOSTS), expected);
        assert_eq!(listed(&json!([]), JOBS), "none\n");
    }

    #[test]
    fn an_explanation_begins_with_its_answer_and_no_site_steers_the_terminal() {
        let told =
            explained(json!({"answer": "It is done.", "page": {"title": "\u{1b}[2J", "status": 200}, "x": [1, null]}));
        assert!(told.starts_with("It is done.\n\n") && told.contains("\npage.status  200\n"), "{told}");
        assert!(!told.contains('\u{1b}') && told.contains("\nx.1          1\n"), "{told}");
    }
}
