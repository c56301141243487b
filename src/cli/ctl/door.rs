//! Where the endpoint of a running crawl is, and how it is asked (awc: the server is our own).

use std::net::SocketAddr;
use std::time::Duration;

use awc::Client;
use awc::http::{Method, StatusCode};

use crate::admin::{Problem, auth};
use crate::cli::args::{CtlArgs, SettingsArgs};
use crate::cli::exit::CliError;
use crate::cli::gather::layers;
use crate::config::{ADMIN_READ_TOKEN, ADMIN_TOKEN};

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
    /// Without a body.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: String::new() }
    }

    /// A command.
    pub fn post(path: impl Into<String>, body: String) -> Self {
        Self { method: Method::POST, path: path.into(), body }
    }
}

/// Where the endpoint is and how to be let in.
pub(super) struct Door {
    pub address: SocketAddr,
    token: Option<String>,
}

/// The address and token: flags, else the crawl's own settings.
pub(super) fn door(args: &CtlArgs) -> Result<Door, CliError> {
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

/// Asks and gives the answer.
///
/// # Errors
/// Nobody listens, or the endpoint refuses.
pub(super) async fn send(door: &Door, ask: Ask) -> Result<String, CliError> {
    let patience = if ask.path.ends_with("/checkpoint") { CHECKPOINT } else { PATIENCE };
    let kind = if ask.body.starts_with('{') { "application/json" } else { "text/plain; charset=utf-8" };
    let client = Client::builder().timeout(patience).disable_redirects().finish();
    let mut request = client.request(ask.method, format!("http://{}{}", door.address, ask.path));
    if let Some(token) = &door.token {
        request = request.bearer_auth(token);
    }
    let sent = request.insert_header(("Content-Type", kind)).send_body(ask.body).await;
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
