//! The crawl as a whole: status, seeds, pause, resume, checkpoints, stop; and which file knows which other command.

use std::io::Write;

use serde_json::{Value, json};

use super::door::Ask;
use super::look::{list, path};
use super::table::{Column, Form, facts, listed, table};
use super::told::InForce;
use super::{read, urls};
use crate::admin::index::IndexView;
use crate::admin::sinks::SinksView;
use crate::admin::{Done, NewSeed, SeedReport};
use crate::base::time::UnixMillis;
use crate::base::units::{counted, human_size};
use crate::cli::args::{CtlArgs, CtlCommand, IndexOrder, SeedSaid, SeedsCommand};
use crate::cli::checkpoint;
use crate::cli::diff::Which;
use crate::cli::exit::CliError;
use crate::cli::gather::read_input;
use crate::config::without_scheme;
use crate::domain::seed::{in_utf8, seed_lines};
use crate::recovery::checkpoint::shelf::Listing;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::log::escaped;
use crate::telemetry::summary;
use crate::warc::date::iso;

pub(super) fn ask(args: &CtlArgs) -> Result<Ask, CliError> {
    Ok(match &args.command {
        CtlCommand::Status => Ask::get("/api/v1/status"),
        CtlCommand::Health => Ask::get("/readyz"),
        CtlCommand::Pause => Ask::post("/api/v1/pause", String::new()),
        CtlCommand::Resume => Ask::post("/api/v1/resume", String::new()),
        CtlCommand::Checkpoint => Ask::post("/api/v1/checkpoint", folder(args)),
        CtlCommand::Drain => Ask::post("/api/v1/drain", String::new()),
        CtlCommand::Stop => Ask::post("/api/v1/stop", String::new()),
        CtlCommand::Seeds(SeedsCommand::Add { urls, file, said }) => {
            let mut urls = urls.clone();
            if let Some(file) = file {
                urls.extend(urls_of(&read_input(file)?)?);
            }
            if urls.is_empty() {
                return Err(CliError::usage("no URL given; try `lycosa ctl seeds add https://example.org/`"));
            }
            Ask::post("/api/v1/seeds", seeds(urls, said))
        }
        CtlCommand::Seeds(SeedsCommand::List { paging }) => list("/api/v1/reports/seeds", &[], paging),
        CtlCommand::Checkpoints => Ask::get("/api/v1/checkpoints"),
        CtlCommand::Sinks => Ask::get("/api/v1/sinks"),
        CtlCommand::Index { order: None } => Ask::get("/api/v1/index"),
        CtlCommand::Index { order: Some(IndexOrder::Rebuild) } => Ask::post("/api/v1/index/rebuild", String::new()),
        CtlCommand::Host(host) => super::host::ask(host),
        CtlCommand::Erasures { id: Some(id), .. } => Ask::get(format!("/api/v1/erasures/{}", super::escaped_part(id))),
        CtlCommand::Erasures { id: None, host } => Ask::get(path("/api/v1/erasures", &[("host", host.clone())])),
        CtlCommand::Urls(command) => urls::ask(command),
        CtlCommand::Diff(Which { url, from, to }) => {
            let query = [("url", Some(url.clone())), ("from", from.clone()), ("to", to.clone())];
            Ask::get(path("/api/v1/diff", &query))
        }
        CtlCommand::Snapshot(_)
        | CtlCommand::Report(_)
        | CtlCommand::Events(_)
        | CtlCommand::Feed(_)
        | CtlCommand::Export(_)
        | CtlCommand::Exports(_) => {
            Ask::get("/readyz") // asked elsewhere
        }
        CtlCommand::Look(command) => super::look::ask(command)?,
        CtlCommand::Settings(command) => super::settings::ask(command)?,
    })
}

pub(super) fn told(command: &CtlCommand, answer: &str, now: &InForce) -> Result<String, CliError> {
    Ok(match command {
        CtlCommand::Status => status(&read(answer)?),
        CtlCommand::Health => answer.to_owned(),
        CtlCommand::Seeds(SeedsCommand::List { .. }) => listed(&read(answer)?, SEEDS),
        CtlCommand::Seeds(SeedsCommand::Add { said, .. }) => report(&read(answer)?, said),
        CtlCommand::Checkpoint => checkpoint::told_made(&read(answer)?),
        CtlCommand::Checkpoints => checkpoints(&read(answer)?),
        CtlCommand::Index { .. } => index(&read(answer)?),
        CtlCommand::Sinks => sinks(&read(answer)?),
        CtlCommand::Erasures { id: Some(_), .. } => facts(&read(answer)?),
        CtlCommand::Erasures { id: None, .. } => listed(&read(answer)?, ERASURES),
        CtlCommand::Urls(command) => urls::told(command, answer)?,
        CtlCommand::Pause | CtlCommand::Resume | CtlCommand::Drain | CtlCommand::Stop => {
            let Done { done, still } = read(answer)?;
            match still {
                Some(still) => {
                    let told = format!("{done}: your pause is over, but the crawl waits all the same: {still}");
                    escaped(&told) + "\n"
                }
                None => format!("{done}: done\n"),
            }
        }
        CtlCommand::Host(host) => super::host::told(host, answer)?,
        CtlCommand::Snapshot(_)
        | CtlCommand::Report(_)
        | CtlCommand::Events(_)
        | CtlCommand::Feed(_)
        | CtlCommand::Export(_)
        | CtlCommand::Exports(_) => String::new(),
        CtlCommand::Diff(_) => String::new(), // told elsewhere
        CtlCommand::Look(command) => super::look::told(command, answer)?,
        CtlCommand::Settings(command) => super::settings::told(command, answer, now)?,
    })
}

fn status(status: &StatusSnapshot) -> String {
    let mut text = summary::table(status, &format!("{:?}", status.state).to_lowercase());
    if !status.idle_reason.is_empty() {
        text += &format!("idle: {}\n", escaped(&status.idle_reason));
    }
    if status.held_back.urls > 0 {
        text += "`lycosa ctl urls readmit --held-back` takes up what is held back\n";
    }
    text
}

/// Whether the answer says that nothing was done: no seed was taken.
pub(super) fn nothing_done(command: &CtlCommand, answer: &str) -> Result<bool, CliError> {
    let CtlCommand::Seeds(SeedsCommand::Add { .. }) = command else { return Ok(false) };
    let seeds: SeedReport = read(answer)?;
    Ok(seeds.accepted + seeds.known == 0)
}

/// The URLs of a file; a line that is no text is told and left out.
fn urls_of(file: &[u8]) -> Result<Vec<String>, CliError> {
    let mut urls = Vec::new();
    for (number, line) in seed_lines(&in_utf8(file)) {
        match line {
            Ok(url) => urls.push(url.to_owned()),
            // Who does not read this sees the same in the count.
            Err(_) => _ = writeln!(std::io::stderr(), "lycosa: line {number} is not UTF-8 text and is left out"),
        }
    }
    Ok(urls)
}

const SEEDS: &[Column] = &[
    Column("state", "/state", Form::Plain),
    Column("reason", "/reason", Form::Plain),
    Column("added", "/added", Form::Time),
    Column("rank", "/rank", Form::Plain),
    Column("max depth", "/max_depth", Form::Plain),
    Column("tags", "/tags", Form::Plain),
    Column("URL", "/url", Form::Plain),
];
const ERASURES: &[Column] = &[
    Column("certificate", "/id", Form::Plain),
    Column("began", "/began", Form::Plain),
    Column("done", "/ended", Form::Plain),
    Column("nothing left", "/erased", Form::Plain),
];
const SINKS: &[Column] = &[
    Column("name", "/name", Form::Plain),
    Column("kind", "/kind", Form::Plain),
    Column("does", "/doing", Form::Plain),
    Column("read up to", "/after", Form::Plain),
    Column("behind", "/behind", Form::Plain),
    Column("sent", "/sent", Form::Plain),
    Column("taken away", "/removed", Form::Plain),
    Column("rejected", "/rejected", Form::Plain),
    Column("away since", "/away_since_ms", Form::Time),
    Column("to", "/to", Form::Plain),
];
const CHECKPOINTS: &[Column] = &[
    Column("name", "/name", Form::Plain),
    Column("made", "/ts", Form::Plain),
    Column("pages", "/counts/pages_stored", Form::Plain),
    Column("waiting", "/counts/waiting", Form::Plain),
    Column("size", "/bytes", Form::Size),
    Column("archive files", "/archive_files", Form::Plain),
    Column("copy sent", "/copied/sent_bytes", Form::Size),
    Column("copy reused", "/copied/reused_bytes", Form::Size),
    Column("by hand", "/by_hand", Form::Plain),
];

/// How far the index is, in lines.
fn index(view: &IndexView) -> String {
    let IndexView { doing, documents, seq, behind, generation, bytes, failures, unread, bare, .. } = view;
    if !view.enabled {
        return "there is no index; `lycosa ctl set index.enabled=true` begins one\n".into();
    }
    let (of, size) = (counted(*documents, "document"), human_size(*bytes));
    let mut text =
        format!("{doing}: {of} up to entry {seq}, {behind} entries behind, generation {generation:04}, {size}\n");
    if doing == "rebuild" {
        text += "a new generation is built beside it, which answers once it has caught up: `lycosa ctl index` tells how far it is\n";
    }
    if let Some(building) = &view.building {
        text += &format!("generation {:04} is being built: up to entry {}\n", building.generation, building.seq);
    }
    if *failures > 0 || *unread > 0 {
        let (failed, unread, bare) = (counted(*failures, "failure"), counted(*unread, "document"), bare.len());
        text +=
            &format!("{failed}; {unread} without their text, {bare} of them because the index died of their page\n");
    }
    text + &view.error.iter().map(|error| format!("waits: {}\n", escaped(error))).collect::<String>()
}

/// How far each sink is, then what is wrong.
fn sinks(all: &SinksView) -> String {
    if all.sinks.is_empty() {
        return "there are no sinks; [[sink]] in the settings makes some\n".into();
    }
    let rows: Vec<Value> = all.sinks.iter().map(|sink| json!(sink)).collect();
    let mut text = table(&rows.iter().collect::<Vec<_>>(), SINKS);
    for sink in &all.sinks {
        let refused = sink.rejected + sink.skipped;
        if refused > 0 {
            text += &format!(
                "{0}: {refused} refused for good or passed over, listed in sinks/{0}.rejected.jsonl\n",
                escaped(&sink.name)
            );
        }
        if let Some(since) = sink.asked_since_ms {
            text += &format!("{}: waits for an answer since {}\n", escaped(&sink.name), iso(UnixMillis(since)));
        }
        if let Some(error) = &sink.error {
            text += &escaped(&format!("{}: {error}", sink.name));
            text.push('\n');
        }
    }
    text
}

/// The oldest first, then what is damaged.
fn checkpoints(listing: &Listing) -> String {
    let good: Vec<Value> = listing.checkpoints.iter().map(|made| json!(made)).collect();
    let damaged = listing.damaged.iter().map(|text| format!("damaged: {}\n", escaped(text)));
    let good = match good.is_empty() {
        true => "none; `lycosa ctl checkpoint` makes one\n".to_owned(),
        false => table(&good.iter().collect::<Vec<_>>(), CHECKPOINTS),
    };
    good + &damaged.collect::<String>()
}

/// Whether a job carries a command out whose end is waited for.
pub(super) fn waits(command: &CtlCommand) -> bool {
    match command {
        CtlCommand::Urls(command) => urls::waits(command),
        CtlCommand::Look(command) => super::look::waits(command),
        CtlCommand::Settings(command) => super::settings::waits(command),
        _ => false,
    }
}

/// Seeds as the endpoint takes them.
fn seeds(urls: Vec<String>, said: &SeedSaid) -> String {
    let SeedSaid { rank, weight, max_depth, tags, cycle } = said;
    if *said == SeedSaid::default() {
        return urls.join("\n");
    }
    let said = NewSeed {
        rank: *rank,
        weight: *weight,
        max_depth: *max_depth,
        tags: tags.clone(),
        cycle: cycle.clone(),
        ..NewSeed::default()
    };
    let seed = |url| NewSeed { url, ..said.clone() };
    json!({ "seeds": urls.into_iter().map(seed).collect::<Vec<NewSeed>>() }).to_string()
}

fn report(report: &SeedReport, said: &SeedSaid) -> String {
    let SeedReport { accepted, known, rejected, guessed } = report;
    let mut text = format!("{accepted} accepted, {known} known already, {} rejected\n", rejected.len());
    if *known > 0 && *said != SeedSaid::default() {
        text += "what is said now of a known seed replaces what was said of it; a URL that is queued keeps its place\n";
    }
    for url in guessed {
        text += &format!("{}\n", escaped(&without_scheme(url)));
    }
    for seed in rejected {
        text += &format!("{}\n", escaped(&format!("rejected {}: {}", seed.url, seed.reason)));
    }
    text
}

/// The folder whose crawl is asked, so that another one that listens there refuses.
fn folder(args: &CtlArgs) -> String {
    let whole = args.folder.as_deref().map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
    whole.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default()
}
