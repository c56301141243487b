//! `lycosa ctl nodes …`: the members of a crawl on several machines.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::door::Ask;
use super::table::{Column, Form, table};
use super::{escaped_part, read};
use crate::base::units::roughly;
use crate::cli::exit::CliError;
use crate::telemetry::log::escaped;

/// `lycosa ctl nodes …`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples: lycosa ctl nodes\n          lycosa ctl nodes dead n2")]
pub struct NodesArgs {
    /// What else.
    #[command(subcommand)]
    pub command: Option<NodesCommand>,
}

/// What is said of a member.
#[derive(Clone, Debug, Subcommand)]
pub enum NodesCommand {
    /// Say that a member's machine is off for good: a spare takes its place at once
    #[command(after_help = "Example: lycosa ctl nodes dead n2")]
    Dead {
        /// The member
        name: String,
    },
}

const NODES: &[Column] = &[
    Column("node", "/name", Form::Plain),
    Column("state", "/shown", Form::Plain),
    Column("heard of", "/heard", Form::Plain),
    Column("partitions", "/partitions", Form::Plain),
    Column("pages", "/pages", Form::Plain),
    Column("waiting", "/waiting", Form::Plain),
    Column("copy of", "/checkpoint_ms", Form::Time),
    Column("machine", "/machine", Form::Plain),
    Column("admin", "/admin", Form::Plain),
    Column("version", "/version", Form::Plain),
];

pub(super) fn ask(args: &NodesArgs) -> Ask {
    match &args.command {
        None => Ask::get("/api/v1/nodes".to_owned()),
        Some(NodesCommand::Dead { name }) => {
            Ask::post(format!("/api/v1/nodes/{}/dead", escaped_part(name)), String::new())
        }
    }
}

pub(super) fn told(answer: &str) -> Result<String, CliError> {
    let answer: Value = read(answer)?;
    let mut nodes: Vec<Value> = answer["nodes"].as_array().cloned().unwrap_or_default();
    for node in &mut nodes {
        let state = node["state"].as_str().unwrap_or("never heard of").to_owned();
        let shown = if node["is_lost"] == true && state != "dead" { format!("{state}, LOST") } else { state.clone() };
        let heard = node["beat_age_ms"].as_u64().map(|ms| roughly(std::time::Duration::from_millis(ms)));
        if state == "spare" {
            (node["pages"], node["waiting"], node["partitions"]) = Default::default(); // it has none
        }
        node["shown"] = shown.into();
        node["heard"] = heard.map_or(Value::Null, |age| format!("{age} ago").into());
    }
    let rows: Vec<&Value> = nodes.iter().collect();
    let (cluster, engine) = (answer["cluster"].as_str().unwrap_or_default(), &answer["engine"]);
    let server = escaped(engine["server"].as_str().unwrap_or("none"));
    let connected = match engine["connected"] == true {
        true => format!("engine {server}"),
        false => format!("engine away: {}", escaped(engine["why"].as_str().unwrap_or_default())),
    };
    Ok(format!("{}crawl {}, {connected}\n", table(&rows, NODES), escaped(cluster)))
}
