//! Where the endpoint of a running crawl is, and how it is asked (awc: the server is our own).

use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::time::Duration;

use awc::Client;
use awc::error::PayloadError;
use awc::http::{Method, StatusCode};
use bytes::Bytes;
use futures_util::Stream;

use super::escaped_part;
use crate::admin::{Problem, auth};
use crate::base::units::format_duration;
use crate::cli::args::{CtlArgs, SettingsArgs};
use crate::cli::exit::CliError;
use crate::cli::gather::layers;
use crate::config::{ADMIN_READ_TOKEN, ADMIN_TOKEN};
use crate::telemetry::log::escaped;

/// Largest answer taken, bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same for a checkpoint: the first one reads the whole database for its digests.
const CHECKPOINT: Duration = Duration::from_secs(3_600);

/// One request to the endpoint.
pub(super) struct Ask {
    pub method: Method,
    pub path: String,
    pub body: String,
}

impl Ask {
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: String::new() }
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, path: path.into(), body: String::new() }
    }

    pub fn put(path: impl Into<String>, body: String) -> Self {
        Self { method: Method::PUT, path: path.into(), body }
    }

    pub fn post(path: impl Into<String>, body: String) -> Self {
        Self { method: Method::POST, path: path.into(), body }
    }
}

/// Where the endpoint is, how to be let in, and how long an answer is waited for.
pub(super) struct Door {
    pub address: SocketAddr,
    token: Option<String>,
    /// The member that is asked.
    node: Option<String>,
    pub timeout: Option<Duration>,
}

impl Door {
    /// Longest wait for an answer, or for the next part of a stream that has an end.
    pub fn patience(&self) -> Duration {
        self.timeout.unwrap_or(PATIENCE)
    }

    /// A path, at the member that is asked.
    fn path(&self, path: &str) -> String {
        let Some(node) = self.node.as_deref().filter(|_| !path.contains("node=")) else { return path.to_owned() };
        let sign = if path.contains('?') { '&' } else { '?' };
        format!("{path}{sign}node={}", escaped_part(node))
    }

    pub fn too_slow(&self) -> CliError {
        self.slower_than(self.patience())
    }

    fn slower_than(&self, patience: Duration) -> CliError {
        let (address, patience) = (self.address, format_duration(patience));
        CliError::new(format!(
            "{address} did not answer within {patience}: is it a lycosa, and is its machine well? --timeout waits longer"
        ))
    }
}

/// The address and token: flags, else the crawl's own settings.
pub(super) fn door(args: &CtlArgs) -> Result<Door, CliError> {
    let settings = layers(args.config.as_deref(), &SettingsArgs::default())?.load()?;
    let address = match &args.admin {
        Some(text) => {
            let bare = text.trim_start_matches("http://").trim_end_matches('/');
            let wrong = || CliError::usage(format!("--admin {text}: expected ADDRESS:PORT such as 127.0.0.1:7700"));
            // A name may have several addresses; the daemon listens on one of IPv4 by default.
            let mut found: Vec<SocketAddr> = bare.to_socket_addrs().map_err(|_| wrong())?.collect();
            found.sort_unstable_by_key(SocketAddr::is_ipv6);
            found.first().copied().ok_or_else(wrong)?
        }
        None => settings.admin_listen.ok_or_else(|| {
            CliError::usage("admin.listen is off in this configuration; name the endpoint with --admin ADDRESS:PORT")
        })?,
    };
    let file = args.token_file.as_deref().or(settings.admin.token_file.as_deref());
    let token = match file {
        Some(file) => Some(auth::read_token(file).map_err(CliError::usage)?),
        None => [ADMIN_TOKEN, ADMIN_READ_TOKEN].iter().find_map(|name| std::env::var(name).ok()),
    };
    Ok(Door { address, token, node: args.node.clone(), timeout: args.timeout })
}

/// An answer whose body is still to come.
pub(super) type Answer = awc::ClientResponse<Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>>;

/// Asks and gives the answer.
pub(super) async fn send(door: &Door, ask: Ask) -> Result<String, CliError> {
    let usual = if ask.path.ends_with("/checkpoint") { CHECKPOINT } else { PATIENCE };
    let patience = door.timeout.unwrap_or(usual);
    let whole = async {
        let mut response = request(door, ask).await?;
        body(door, &mut response).await
    };
    tokio::time::timeout(patience, whole).await.map_err(|_| door.slower_than(patience))?
}

/// Asks for an answer without end.
pub(super) async fn stream(door: &Door, path: &str) -> Result<Answer, CliError> {
    let begin = request(door, Ask::get(path));
    tokio::time::timeout(door.patience(), begin).await.map_err(|_| door.too_slow())?
}

async fn request(door: &Door, ask: Ask) -> Result<Answer, CliError> {
    let kind = if ask.body.starts_with('{') { "application/json" } else { "text/plain; charset=utf-8" };
    // The wait is bounded by whoever asks; the client's own bound would name no reason.
    let client = Client::builder().disable_redirects().disable_timeout().finish();
    let mut request = client.request(ask.method, format!("http://{}{}", door.address, door.path(&ask.path)));
    if let Some(token) = &door.token {
        request = request.bearer_auth(token);
    }
    let sent = request.insert_header(("Content-Type", kind)).send_body(ask.body).await;
    let mut response = sent.map_err(|e| unreachable_endpoint(door.address, &e))?;
    if !response.status().is_success() {
        return Err(refusal(door, &mut response).await);
    }
    if let Some(missing) = response.headers().get("x-missing").and_then(|names| names.to_str().ok()) {
        eprintln!("note: {} did not answer and has no part in this; see `lycosa ctl nodes`", escaped(missing));
    }
    Ok(response)
}

async fn body(door: &Door, response: &mut Answer) -> Result<String, CliError> {
    let cut = |e| CliError::new(format!("the answer of {} did not arrive: {e}", door.address));
    let body = response.body().limit(MAX_ANSWER).await.map_err(cut)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// What an answer without success says.
async fn refusal(door: &Door, response: &mut Answer) -> CliError {
    let status = response.status();
    let text = match body(door, response).await {
        Ok(text) => text,
        Err(e) => return e,
    };
    if status == StatusCode::UNAUTHORIZED {
        return CliError::new(match door.token {
            Some(_) => format!("{} does not take that token: name the right one with --token-file FILE", door.address),
            None => format!(
                "{} asks for its token (admin.token_file): use --token-file FILE or --config FILE",
                door.address
            ),
        });
    }
    match serde_json::from_str::<Problem>(&text) {
        // What was typed is wrong.
        Ok(problem) if status == StatusCode::BAD_REQUEST => CliError::usage(problem.detail),
        Ok(problem) => CliError::new(problem.detail),
        Err(_) if text.starts_with("not ready: ") => CliError::new(text.trim_end()),
        Err(_) => CliError::new(format!("{} answered {status}; is it a lycosa?", door.address)),
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
