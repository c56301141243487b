//! `lycosa ctl …`: speaks to the admin endpoint of a running crawl (awc: the server is our own).

mod host;
mod report;
mod urls;

use std::borrow::Cow;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use awc::Client;
use awc::http::{Method, StatusCode};
use serde_json::Value;

use super::args::{CtlArgs, CtlCommand, SeedSaid, SeedsCommand, SettingsArgs};
use super::exit::{CliError, unless_gone};
use super::gather::{layers, read_input};
use super::summary;
use crate::admin::jobs::JobView;
use crate::admin::orders::HostOrdered;
use crate::admin::{NewSeed, Problem, SeedReport, auth, seed_lines};
use crate::checkpoint::manifest::Summary;
use crate::config::{ADMIN_READ_TOKEN, ADMIN_TOKEN};
use crate::telemetry::StatusSnapshot;

pub use host::HostArgs;
pub use report::ReportArgs;
pub use urls::UrlsCommand;

/// Largest answer taken, bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same for a checkpoint: the first one reads the whole database for its digests.
const CHECKPOINT: Duration = Duration::from_secs(3_600);

/// One request to the endpoint.
struct Ask {
    method: Method,
    path: Cow<'static, str>,
    body: String,
}

/// Where the endpoint is and how to be let in.
struct Door {
    address: SocketAddr,
    token: Option<String>,
}

/// Carries out a command and shows the answer.
///
/// # Errors
/// Nobody listens, the endpoint refuses, or the answer is none.
pub fn run(args: &CtlArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let door = door(args)?;
    if let CtlCommand::Report(report) = &args.command {
        return report::run(args.json, &door, report, out);
    }
    let ask = ask(args)?;
    let answer = actix_rt::System::new().block_on(send(&door, ask))?;
    if args.json {
        return Ok(writeln!(out, "{}", answer.trim_end())?);
    }
    let unread = |e: serde_json::Error| CliError::new(format!("the answer of {} makes no sense: {e}", door.address));
    match args.command {
        CtlCommand::Status => {
            let status: StatusSnapshot = serde_json::from_str(&answer).map_err(unread)?;
            out.write_all(summary::table(&status, &format!("{:?}", status.state).to_lowercase()).as_bytes())?;
            if !status.idle_reason.is_empty() {
                writeln!(out, "idle: {}", crate::telemetry::log::escaped(&status.idle_reason))?;
            }
        }
        CtlCommand::Health => out.write_all(answer.as_bytes())?,
        CtlCommand::Seeds(_) => {
            let seeds: SeedReport = serde_json::from_str(&answer).map_err(unread)?;
            unless_gone(report(&seeds, out))?;
            if seeds.accepted + seeds.known == 0 {
                return Err(CliError::new("no seed was taken"));
            }
        }
        CtlCommand::Host(_) => {
            let ordered: HostOrdered = serde_json::from_str(&answer).map_err(unread)?;
            unless_gone(host::show(&ordered, out))?;
        }
        CtlCommand::Urls(_) => {
            let job: JobView = serde_json::from_str(&answer).map_err(unread)?;
            unless_gone(show_job(&job, out))?;
        }
        CtlCommand::Report(_) => {} // shown page by page
        CtlCommand::Checkpoint => {
            let made: Summary = serde_json::from_str(&answer).map_err(unread)?;
            unless_gone(super::checkpoint::told_made(&made, out))?;
        }
        CtlCommand::Pause | CtlCommand::Resume | CtlCommand::Stop => {
            let answer: Value = serde_json::from_str(&answer).map_err(unread)?;
            writeln!(out, "{}: done", answer.get("done").and_then(Value::as_str).unwrap_or("command"))?;
        }
    }
    Ok(())
}

/// A job that has begun.
fn show_job(job: &JobView, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "job {} ({}) has begun; see /api/v1/jobs/{}", job.id, job.kind, job.id)
}

/// A part of a path, or a value of a query.
fn escaped_part(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn report(report: &SeedReport, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{} accepted, {} known already, {} rejected", report.accepted, report.known, report.rejected.len())?;
    for seed in &report.rejected {
        let text = format!("rejected {}: {}", seed.url, seed.reason);
        writeln!(out, "{}", crate::telemetry::log::escaped(&text))?;
    }
    Ok(())
}

/// The address and token: flags, else the crawl's own settings.
fn door(args: &CtlArgs) -> Result<Door, CliError> {
    let settings = layers(args.config.as_deref(), &SettingsArgs::default())?.load()?;
    let address = match &args.admin {
        Some(text) => {
            let bare = text.trim_start_matches("http://").trim_end_matches('/');
            bare.parse()
                .map_err(|_| CliError::usage(format!("--admin {text}: expected ADDRESS:PORT such as 127.0.0.1:7700")))?
        }
        None => settings.admin_listen.ok_or_else(|| {
            CliError::usage("admin.listen is off in this configuration; name the endpoint with --admin ADDRESS:PORT")
        })?,
    };
    let file = args.token_file.as_deref().or(settings.admin_token_file.as_deref());
    let token = match file {
        Some(file) => Some(auth::read_token(file).map_err(CliError::usage)?),
        None => [ADMIN_TOKEN, ADMIN_READ_TOKEN].iter().find_map(|name| std::env::var(name).ok()),
    };
    Ok(Door { address, token })
}

fn ask(args: &CtlArgs) -> Result<Ask, CliError> {
    let post = |path: &'static str, body| Ask { method: Method::POST, path: path.into(), body };
    let get = |path: &'static str| Ask { method: Method::GET, path: path.into(), body: String::new() };
    Ok(match &args.command {
        CtlCommand::Status => get("/api/v1/status"),
        CtlCommand::Health => get("/readyz"),
        CtlCommand::Host(host) => host::ask(host),
        CtlCommand::Urls(urls) => urls::ask(urls)?,
        CtlCommand::Report(_) => get("/api/v1/reports/statuses"),
        CtlCommand::Pause => post("/api/v1/pause", String::new()),
        CtlCommand::Resume => post("/api/v1/resume", String::new()),
        CtlCommand::Checkpoint => post("/api/v1/checkpoint", folder(args)),
        CtlCommand::Stop => post("/api/v1/stop", String::new()),
        CtlCommand::Seeds(SeedsCommand::Add { urls, file, said }) => {
            let mut urls = urls.clone();
            if let Some(file) = file {
                urls.extend(seed_lines(&String::from_utf8_lossy(&read_input(file)?)));
            }
            if urls.is_empty() {
                return Err(CliError::usage("no URL given; try `lycosa ctl seeds add https://example.org/`"));
            }
            post("/api/v1/seeds", seeds(urls, said)?)
        }
    })
}

/// Seeds as the endpoint takes them.
fn seeds(urls: Vec<String>, said: &SeedSaid) -> Result<String, CliError> {
    let SeedSaid { rank, max_depth, tags } = said;
    if rank.is_none() && max_depth.is_none() && tags.is_empty() {
        return Ok(urls.join("\n"));
    }
    let seed = |url| NewSeed { url, rank: *rank, max_depth: *max_depth, tags: tags.clone() };
    let seeds: Vec<NewSeed> = urls.into_iter().map(seed).collect();
    serde_json::to_string(&serde_json::json!({ "seeds": seeds }))
        .map_err(|e| CliError::new(format!("the seeds cannot be written: {e}")))
}

/// The folder whose crawl is asked, so that another one that listens there refuses.
fn folder(args: &CtlArgs) -> String {
    let whole = args.folder.as_deref().map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
    whole.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default()
}

async fn send(door: &Door, ask: Ask) -> Result<String, CliError> {
    let patience = if ask.path.ends_with("/checkpoint") { CHECKPOINT } else { PATIENCE };
    let client = Client::builder().timeout(patience).disable_redirects().finish();
    let mut request = client.request(ask.method, format!("http://{}{}", door.address, ask.path));
    if let Some(token) = &door.token {
        request = request.bearer_auth(token);
    }
    let sent = request.insert_header(("Content-Type", "text/plain; charset=utf-8")).send_body(ask.body).await;
    let mut response = sent.map_err(|e| unreachable_endpoint(door.address, &e))?;
    let cut = |e| CliError::new(format!("the answer of {} did not arrive: {e}", door.address));
    let body = response.body().limit(MAX_ANSWER).await.map_err(cut)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    if response.status().is_success() {
        return Ok(text);
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        return Err(CliError::new(format!(
            "{} asks for its token (admin.token_file): use --token-file FILE or --config FILE",
            door.address
        )));
    }
    match serde_json::from_str::<Problem>(&text) {
        Ok(problem) => Err(CliError::new(problem.detail)),
        Err(_) if text.starts_with("not ready: ") => Err(CliError::new(text.trim_end())),
        Err(_) => Err(CliError::new(format!("{} answered {}; is it a lycosa?", door.address, response.status()))),
    }
}

fn unreachable_endpoint(address: SocketAddr, error: &awc::error::SendRequestError) -> CliError {
    match error {
        awc::error::SendRequestError::Connect(e) => CliError::new(format!(
            "no crawl answers on {address} ({e}); start one with `lycosa run`, or name its endpoint with --admin or --config"
        )),
        other => CliError::new(format!("asking {address} failed: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::tests::start;
    use crate::cli::Exit;

    fn ctl(admin: impl ToString, command: CtlCommand) -> CtlArgs {
        CtlArgs { admin: Some(admin.to_string()), token_file: None, config: None, json: false, folder: None, command }
    }

    fn told(args: &CtlArgs) -> Result<String, CliError> {
        let mut out = Vec::new();
        run(args, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_command_reaches_the_crawl() {
        let (server, recorder) = start(None);
        let at = server.address();
        assert!(told(&ctl(at, CtlCommand::Status)).unwrap().contains("URLs discovered     3"));
        let json = told(&CtlArgs { json: true, ..ctl(at, CtlCommand::Status) }).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["waiting"], 3);
        let urls = vec!["http://a.test/".to_owned(), "http://b.test/".to_owned()];
        let seeds = CtlCommand::Seeds(SeedsCommand::Add { urls, file: None, said: SeedSaid::default() });
        assert_eq!(told(&ctl(at, seeds)).unwrap(), "2 accepted, 0 known already, 0 rejected\n");
        assert_eq!(told(&ctl(format!("http://{at}/"), CtlCommand::Pause)).unwrap(), "pause: done\n");
        assert_eq!(told(&ctl(at, CtlCommand::Stop)).unwrap(), "stop: done\n");
        assert_eq!(recorder.calls(), ["seeds http://a.test/ http://b.test/", "pause", "stop"]);
    }

    #[test]
    fn a_refusal_is_told_in_the_crawls_own_words() {
        let (server, _) = start(None);
        let error = told(&ctl(server.address(), CtlCommand::Resume)).unwrap_err();
        assert_eq!((error.exit, error.message.as_str()), (Exit::Error, "the disk is full"));
    }

    #[test]
    fn the_token_opens_and_its_absence_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "correct-horse-battery").unwrap();
        let (server, _) = start(Some(&file));
        let closed = ctl(server.address(), CtlCommand::Status);
        assert!(told(&closed).unwrap_err().message.contains("token_file"));
        told(&CtlArgs { token_file: Some(file), ..closed }).unwrap();
    }

    #[test]
    fn when_nobody_listens_the_error_says_what_to_do() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = told(&ctl(free, CtlCommand::Status)).unwrap_err();
        assert!(error.message.contains(&free.to_string()) && error.message.contains("lycosa run"), "{error}");
        let error = told(&ctl("nonsense", CtlCommand::Status)).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
    }

    #[test]
    fn the_configuration_of_the_crawl_names_its_endpoint() {
        let (server, _) = start(None);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("[admin]\nlisten = \"{}\"\n", server.address())).unwrap();
        let args = CtlArgs { admin: None, config: Some(file.path().into()), ..ctl("", CtlCommand::Status) };
        assert!(told(&args).is_ok());
        std::fs::write(file.path(), "[admin]\nlisten = \"off\"\n").unwrap();
        assert_eq!(told(&args).unwrap_err().exit, Exit::Usage);
    }
}
