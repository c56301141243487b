//! `lycosa ctl snapshot`: a stored page, as its server sent it.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use futures_util::StreamExt;
use serde_json::json;
use tempfile::NamedTempFile;

use super::door::{Answer, Door, stream};
use super::escaped_part;
use crate::base::units::human_size;
use crate::cli::exit::{CliError, Safe, unless_gone};
use crate::telemetry::log::escaped;

/// Which page, and where it goes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl snapshot https://example.org/ -o page.html\n          lycosa ctl snapshot example.org/doc --as text"
)]
pub struct SnapshotArgs {
    /// Its URL
    pub url: String,
    /// The new file into which the bytes go; `-` is standard output, which it is when absent
    #[arg(short, long, value_name = "FILE|-")]
    pub output: Option<PathBuf>,
    /// Its bytes as stored (the content coding kept), its text, or a page without scripts
    #[arg(long = "as", value_enum, default_value_t = FormArg::Stored, value_name = "FORM")]
    pub form: FormArg,
    /// The newest capture not after this: milliseconds since 1970, or a time such as 2026-11-28T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub at: Option<u64>,
}

/// In which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// The bytes as stored.
    #[default]
    Stored,
    /// The text.
    Text,
    /// Without scripts, images and requests.
    Rendered,
}

fn moment(text: &str) -> Result<u64, String> {
    let wrong = || "expected milliseconds since 1970, or a time such as 2026-11-28T12:00:00Z".to_owned();
    let stamp = || text.parse::<jiff::Timestamp>().ok().and_then(|at| u64::try_from(at.as_millisecond()).ok());
    text.parse().ok().or_else(stamp).ok_or_else(wrong)
}

impl SnapshotArgs {
    fn path(&self) -> String {
        let form = match self.form {
            FormArg::Stored => "stored",
            FormArg::Text => "text",
            FormArg::Rendered => "rendered",
        };
        let at = self.at.map(|at| format!("&at={at}")).unwrap_or_default();
        format!("/api/v1/snapshot?url={}&as={form}{at}", escaped_part(&self.url))
    }

    /// The file, when it is one.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// Fetches the page; its bytes go to the file, or as they are to `out`.
pub(super) async fn run(door: &Door, args: &SnapshotArgs, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    if json && args.file().is_none() {
        return Err(CliError::usage("--json tells of the page, its bytes go to a file: name it with -o FILE"));
    }
    let to_terminal = args.output.is_none() && args.form == FormArg::Stored && std::io::stdout().is_terminal();
    if to_terminal {
        return Err(CliError::usage("its bytes could steer the terminal: name a file with -o FILE, or use --as text"));
    }
    args.file().map_or(Ok(()), free)?;
    let page = fetched(door, args, json, out);
    match door.timeout {
        // Whoever names a time means the whole page, however it drips.
        Some(longest) => tokio::time::timeout(longest, page).await.map_err(|_| door.too_slow())?,
        None => page.await,
    }
}

async fn fetched(door: &Door, args: &SnapshotArgs, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let answer = stream(door, &args.path()).await?;
    match args.file() {
        Some(file) => into_file(door, answer, file, json, out).await,
        // What is text is shown as text: nothing in it steers a terminal.
        None if args.form != FormArg::Stored => copy(door, answer, &mut Safe(out)).await.map(drop),
        None => copy(door, answer, out).await.map(drop),
    }
}

/// Into a file that is whole or not there.
async fn into_file(door: &Door, answer: Answer, file: &Path, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let header = |name: &str| answer.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let (status, date) = (header("x-archived-status"), header("x-archived-date"));
    let (kind, coding) = (header("x-archived-content-type"), header("x-archived-content-encoding"));
    let bytes = kept(door, answer, file).await?;
    let told = match json {
        true => json!({ "file": file, "bytes": bytes, "status": status, "date": date, "content_type": kind, "content_encoding": coding }).to_string(),
        false => {
            let coding = coding.map(|coding| format!(", content coding {coding} kept")).unwrap_or_default();
            let [status, kind, date] = [status, kind, date].map(Option::unwrap_or_default);
            escaped(&format!("{}: {}, status {status}, {kind}{coding}, fetched {date}", file.display(), human_size(bytes)))
        }
    };
    unless_gone(writeln!(out, "{told}"))
}

/// Refuses a file that is there: nothing is written over what may be somebody's.
pub(super) fn free(to: &Path) -> Result<(), CliError> {
    match to.symlink_metadata() {
        Ok(_) => Err(CliError::usage(format!("{} is there already: name another file, or remove it", to.display()))),
        Err(_) => Ok(()),
    }
}

/// Writes an answer into a new file, which is whole or not there; gives its bytes.
pub(super) async fn kept(door: &Door, answer: Answer, to: &Path) -> Result<u64, CliError> {
    let wrong = |e: &dyn std::fmt::Display| CliError::new(format!("{} cannot be written: {e}", to.display()));
    let dir = to.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = NamedTempFile::new_in(dir).map_err(|e| wrong(&e))?;
    let bytes = copy(door, answer, &mut part).await?;
    part.persist_noclobber(to).map_err(|e| wrong(&e.error))?;
    Ok(bytes)
}

/// Every byte, as many as were announced; each part must come in time.
async fn copy(door: &Door, mut answer: Answer, out: &mut dyn Write) -> Result<u64, CliError> {
    let announced = announced(&answer)?;
    let mut bytes: u64 = 0;
    loop {
        let part = tokio::time::timeout(door.patience(), answer.next()).await.map_err(|_| door.too_slow())?;
        let Some(part) = part else { break };
        let part = part.map_err(|e| CliError::new(format!("it did not arrive whole: {e}")))?;
        bytes += part.len() as u64;
        out.write_all(&part)?;
    }
    if bytes != announced {
        return Err(CliError::new(format!(
            "it did not arrive whole: {bytes} of {announced} bytes; is the daemon still there?"
        )));
    }
    out.flush()?;
    Ok(bytes)
}

/// How long it is. The client library takes a connection that ends early for the end of the answer.
fn announced(answer: &Answer) -> Result<u64, CliError> {
    let length = answer.headers().get("content-length").and_then(|v| v.to_str().ok()?.parse().ok());
    length.ok_or_else(|| {
        CliError::new(
            "the answer does not say how long it is, so that nobody can tell whether it is whole; is it a lycosa?",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_named_by_its_url_form_and_time() {
        let at = Some(moment("2024-05-06T07:08:09Z").unwrap());
        let args = SnapshotArgs { url: "a.test/x?y".into(), output: None, form: FormArg::Text, at };
        assert_eq!(args.path(), "/api/v1/snapshot?url=a.test%2Fx%3Fy&as=text&at=1714979289000");
        assert_eq!((moment("17"), moment("yesterday").is_err()), (Ok(17), true));
    }

    #[test]
    fn a_dash_is_no_file() {
        let to = |output: &str| SnapshotArgs {
            url: String::new(),
            output: Some(output.into()),
            form: FormArg::Stored,
            at: None,
        };
        assert_eq!((to("-").file(), to("x").file()), (None, Some(Path::new("x"))));
    }
}
