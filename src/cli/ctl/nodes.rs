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
#[command(
    after_help = "Examples: lycosa ctl nodes\n          lycosa ctl nodes dead n2\n          lycosa ctl nodes leave n3"
)]
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
    /// Have a member leave: the others take all that it has, then its process ends
    #[command(after_help = "Example: lycosa ctl nodes leave n3")]
    Leave {
        /// The member
        name: String,
    },
}

const NODES: &[Column] = &[
    Column("node", "/name", Form::Plain),
    Column("state", "/shown", Form::Plain),
    Column("heard of", "/heard", Form::Plain),
    Column("partitions", "/partitions", Form::Plain),
    Column("moving", "/moving", Form::Plain),
    Column("links out", "/links_out", Form::Plain),
    Column("in", "/links_in", Form::Plain),
    Column("kept for others", "/kept", Form::Plain),
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
        Some(NodesCommand::Leave { name }) => {
            Ask::post(format!("/api/v1/nodes/{}/leave", escaped_part(name)), String::new())
        }
    }
}

pub(super) fn told(answer: &str) -> Result<String, CliError> {
    let answer: Value = read(answer)?;
    let mut nodes: Vec<Value> = answer["nodes"].as_array().cloned().unwrap_or_default();
    for node in &mut nodes {
        let state = node["state"].as_str().unwrap_or("never heard of").to_owned();
        let state = if node["leaving"] == true { format!("{state}, leaving") } else { state };
        let shown = if node["is_lost"] == true && state != "dead" { format!("{state}, LOST") } else { state.clone() };
        let heard = node["beat_age_ms"].as_u64().map(|ms| roughly(std::time::Duration::from_millis(ms)));
        let moving = (node["going"].as_u64().unwrap_or_default(), node["coming"].as_u64().unwrap_or_default());
        node["moving"] = match moving {
            (0, 0) => Value::Null,
            (going, 0) => format!("-{going}").into(),
            (0, coming) => format!("+{coming}").into(),
            (going, coming) => format!("-{going} +{coming}").into(),
        };
        let kept =
            node["outbox"].as_object().into_iter().flat_map(|to| to.values()).filter_map(|to| to["links"].as_u64());
        node["kept"] = kept.sum::<u64>().into();
        if state == "spare" {
            for key in ["pages", "waiting", "partitions", "links_out", "links_in", "kept"] {
                node[key] = Value::Null; // it has none
            }
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
