//! `lycosa ctl actors`: every actor, and a restart of one.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::door::Ask;
use super::escaped_part;
use super::look::{PagingArgs, list};
use super::table::{Column, Form, listed};
use crate::cli::exit::CliError;

/// `lycosa ctl actors …`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples: lycosa ctl actors\n          lycosa ctl actors --kind fetcher\n          lycosa ctl actors restart store"
)]
pub struct ActorsArgs {
    /// Only of this kind: supervisor, frontier, politeness, fetcher, parser, deduper, store
    #[arg(long)]
    pub kind: Option<String>,
    /// Which part.
    #[command(flatten)]
    pub paging: PagingArgs,
    /// What with one; without it they are listed.
    #[command(subcommand)]
    pub command: Option<ActorsCommand>,
}

/// With one actor.
#[derive(Clone, Debug, Subcommand)]
pub enum ActorsCommand {
    /// Begin a new life of one: nothing is lost, and it is no death
    #[command(
        after_help = "Examples: lycosa ctl actors restart store\n          lycosa ctl actors restart fetcher/0\n          lycosa ctl actors restart politeness/example.org"
    )]
    Restart {
        /// Its kind, and which of its kind where there are several: a number of a fetcher, a host's name of politeness
        #[arg(value_name = "KIND[/N]")]
        actor: String,
    },
}

const ACTORS: &[Column] = &[
    Column("actor", "/kind", Form::Plain),
    Column("instance", "/instance", Form::Plain),
    Column("state", "/state", Form::Plain),
    Column("queue", "/queue", Form::Plain),
    Column("handled", "/handled", Form::Plain),
    Column("p50 s", "/handle_p50_seconds", Form::Seconds),
    Column("p99 s", "/handle_p99_seconds", Form::Seconds),
    Column("restarts", "/restarts", Form::Plain),
    Column("last fault", "/last_fault/why", Form::Plain),
];

/// The request.
///
/// # Errors
/// One of several is meant and not named.
pub(super) fn ask(args: &ActorsArgs) -> Result<Ask, CliError> {
    let Some(ActorsCommand::Restart { actor }) = &args.command else {
        return Ok(list("/api/v1/actors", &[("kind", &args.kind)], &args.paging));
    };
    let (kind, instance) = match actor.split_once('/') {
        Some((kind, instance)) if !instance.is_empty() => (kind, instance),
        None if !matches!(actor.as_str(), "fetcher" | "politeness") => (actor.as_str(), "main"),
        _ => {
            let kind = actor.trim_end_matches('/');
            return Err(CliError::usage(format!(
                "{kind}: there are several; name one as `{kind}/…`, `lycosa ctl actors --kind {kind}` lists them"
            )));
        }
    };
    Ok(Ask::post(format!("/api/v1/actors/{}/{}/restart", escaped_part(kind), escaped_part(instance)), String::new()))
}

/// The answer.
pub(super) fn told(args: &ActorsArgs, answer: &Value) -> String {
    match args.command {
        None => listed(answer, ACTORS),
        Some(_) => {
            let text = |name: &str| answer.get(name).map(super::table::cell).unwrap_or_default();
            format!(
                "{} {} was restarted: {} restarts so far, {}\n",
                text("kind"),
                text("instance"),
                text("restarts"),
                text("state")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_named_by_its_kind_and_where_there_are_several_by_which() {
        let asked = |actor: &str| {
            let command = Some(ActorsCommand::Restart { actor: actor.into() });
            ask(&ActorsArgs { command, ..ActorsArgs::default() }).map(|ask| ask.path)
        };
        assert_eq!(asked("store").unwrap(), "/api/v1/actors/store/main/restart");
        assert_eq!(asked("fetcher/3").unwrap(), "/api/v1/actors/fetcher/3/restart");
        for unclear in ["fetcher", "politeness/"] {
            assert!(asked(unclear).unwrap_err().message.contains("actors --kind"), "{unclear}");
        }
    }
}
