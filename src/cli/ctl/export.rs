//! `lycosa ctl export …` and `exports`: a running crawl makes an export; those there are, and their files.

use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::door::{Ask, Door, send, stream};
use super::jobs::{WaitArgs, end_of, started};
use super::snapshot::{free, kept};
use super::table::{Column, Form, listed};
use super::{block_on, escaped_part, read, unread};
use crate::admin::exports::{ExportView, WantedExport};
use crate::admin::jobs::JobView;
use crate::base::units::{counted, human_size};
use crate::cli::args::formats;
use crate::cli::exit::CliError;
use crate::export::out::MANIFEST;
use crate::export::{Manifest, Options, Select, Shape, form};
use crate::telemetry::log::escaped;

const EXPORTS: &str = "/api/v1/exports";
/// After so many files there is a rest: the endpoint answers 500 requests a second.
const AT_ONCE: usize = 100;
const REST: Duration = Duration::from_millis(250);

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
    /// Which is downloaded; without it all are listed
    #[arg(requires = "output")]
    pub name: Option<String>,
    /// One file of it alone, such as MANIFEST.json
    #[arg(long, requires = "name")]
    pub file: Option<String>,
    /// The new file into which the bytes go, or the new folder into which the files of one that is a folder go
    #[arg(short, long, value_name = "PATH", requires = "name")]
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

/// Downloads an export, or one file of it; gives its bytes.
async fn downloaded(door: &Door, name: &str, file: Option<&str>, to: &Path) -> Result<u64, CliError> {
    let all: Vec<ExportView> = read(&send(door, Ask::get(EXPORTS)).await?)?;
    let is_folder = |view: &ExportView| form(&view.format).is_some_and(|form| form.shape == Shape::Folder);
    if file.is_some() || !all.iter().any(|view| view.name == name && is_folder(view)) {
        return one(door, name, file, to).await;
    }
    let path = format!("{EXPORTS}/{}?file={MANIFEST}", escaped_part(name));
    let manifest: Manifest = read(&send(door, Ask::get(path)).await?)?;
    let wrong = |e: std::io::Error| CliError::new(format!("{} cannot be made: {e}", to.display()));
    std::fs::create_dir(to).map_err(wrong)?;
    let mut bytes = 0;
    // The manifest comes last: a folder with one is whole.
    for (nth, file) in manifest.files.iter().map(|file| file.name.as_str()).chain([MANIFEST]).enumerate() {
        let path = to.join(file);
        if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(CliError::new(format!("{file:?} is no name of a file in an export; is it a lycosa?")));
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(wrong)?;
        bytes += one(door, name, Some(file), &path).await?;
        if nth % AT_ONCE == AT_ONCE - 1 {
            tokio::time::sleep(REST).await;
        }
    }
    Ok(bytes)
}

async fn one(door: &Door, name: &str, file: Option<&str>, to: &Path) -> Result<u64, CliError> {
    let file = file.map(|file| format!("?file={}", escaped_part(file))).unwrap_or_default();
    kept(door, stream(door, &format!("{EXPORTS}/{}{file}", escaped_part(name))).await?, to).await
}

/// Lists exports, or downloads a file of one.
pub(super) fn look(as_json: bool, door: &Door, args: &ExportsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let (Some(name), Some(to)) = (&args.name, &args.output) {
        free(to)?;
        let bytes = block_on(downloaded(door, name, args.file.as_deref(), to))?;
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
