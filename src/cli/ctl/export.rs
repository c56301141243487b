//! `lycosa ctl export …` and `exports`: a running crawl makes an export; those there are, and their files.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::door::{Ask, Door, send, stream};
use super::jobs::{WaitArgs, end_of, started};
use super::snapshot::{free, kept};
use super::table::{Column, Form, listed};
use super::{block_on, escaped_part, read, unread};
use crate::admin::exports::WantedExport;
use crate::admin::jobs::JobView;
use crate::base::units::{counted, human_size};
use crate::cli::args::formats;
use crate::cli::exit::CliError;
use crate::export::{Manifest, Options, Select};
use crate::telemetry::log::escaped;

const EXPORTS: &str = "/api/v1/exports";

/// `lycosa ctl export …`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples: lycosa ctl export jsonl --name pages.jsonl.zst\n          \
                        lycosa ctl export warc --site example.org --after 4100 --no-wait")]
pub struct ExportArgs {
    /// Which format
    #[arg(value_parser = formats())]
    pub format: String,
    /// What it is called: a file or folder in the crawl's `export.dir`; by the format and the last entry when absent
    #[arg(long)]
    pub name: Option<String>,
    /// Replace one of this name
    #[arg(long)]
    pub replace: bool,
    /// Whether its end is waited for.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Which pages.
    #[command(flatten, next_help_heading = "Which pages")]
    pub select: Select,
    /// What the format is told.
    #[command(flatten, next_help_heading = "Of some formats")]
    pub options: Options,
}

/// `lycosa ctl exports …`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples: lycosa ctl exports\n          lycosa ctl exports pages.jsonl.zst -o pages.jsonl.zst")]
pub struct ExportsArgs {
    /// Whose file is downloaded; without it all are listed
    #[arg(requires = "output")]
    pub name: Option<String>,
    /// Of an export that is a folder: which file
    #[arg(long, requires = "name")]
    pub file: Option<String>,
    /// The new file into which the bytes go
    #[arg(short, long, value_name = "FILE", requires = "name")]
    pub output: Option<PathBuf>,
}

const COLUMNS: &[Column] = &[
    Column("name", "/name", Form::Plain),
    Column("format", "/format", Form::Plain),
    Column("pages", "/pages", Form::Plain),
    Column("unread", "/unread", Form::Plain),
    Column("bytes", "/bytes", Form::Plain),
    Column("last entry", "/last", Form::Plain),
];

/// Has an export made, and waits for it.
pub(super) fn make(as_json: bool, door: &Door, args: &ExportArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let ExportArgs { format, name, replace, wait, select, options } = args.clone();
    let wanted = WantedExport { format, name, select, options, replace };
    let body = serde_json::to_string(&wanted).map_err(unread)?;
    let begun = block_on(send(door, Ask::post(EXPORTS, body)))?;
    let answer = if wait.no_wait { begun } else { block_on(end_of(door, &begun))? };
    if as_json {
        return Ok(writeln!(out, "{}", answer.trim())?);
    }
    let job: JobView = read(&answer)?;
    let text = if wait.no_wait { started(&job) } else { told(&job)? };
    Ok(out.write_all(text.as_bytes())?)
}

fn told(job: &JobView) -> Result<String, CliError> {
    let name = escaped(job.result["name"].as_str().unwrap_or_default());
    let Manifest { counts, files, feed, .. } = serde_json::from_value(job.result.clone()).map_err(unread)?;
    let size = human_size(files.iter().map(|file| file.bytes).sum());
    let (pages, in_files) = (counted(counts.pages, "page"), counted(files.len() as u64, "file"));
    let not_read = match counts.unread {
        0 => String::new(),
        n => format!("not read of {}, which its manifest names\n", counted(n, "page")),
    };
    let next = format!("the next one goes on with: --after {} --log {}\n", feed.last, escaped(&feed.log));
    Ok(format!("{name}: {pages} of {} entries, {in_files}, {size}\n{not_read}{next}", counts.entries))
}

/// Lists exports, or downloads a file of one.
pub(super) fn look(as_json: bool, door: &Door, args: &ExportsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let (Some(name), Some(to)) = (&args.name, &args.output) {
        let file = args.file.as_deref().map(|file| format!("?file={}", escaped_part(file))).unwrap_or_default();
        let path = format!("{EXPORTS}/{}{file}", escaped_part(name));
        free(to)?;
        let bytes = block_on(async { kept(door, stream(door, &path).await?, to).await })?;
        let told = match as_json {
            true => json!({ "file": to, "bytes": bytes }).to_string(),
            false => format!("{}: {}", escaped(&to.display().to_string()), human_size(bytes)),
        };
        return Ok(writeln!(out, "{told}")?);
    }
    let answer = block_on(send(door, Ask::get(EXPORTS)))?;
    if as_json {
        return Ok(writeln!(out, "{}", answer.trim())?);
    }
    Ok(out.write_all(listed(&read(&answer)?, COLUMNS).as_bytes())?)
}
