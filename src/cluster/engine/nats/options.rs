//! Where the engine is and what lets one in.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};
use url::Url;

use super::super::EngineError;
use crate::domain::cluster::map::named;

/// Replicas of what is kept, if there are as many servers.
const REPLICAS: usize = 3;
/// What the client holds back at most: commands on their way to the connection, and messages of a subscription not yet read.
const COMMANDS: usize = 64;
const UNREAD: usize = 64;
/// A server that says nothing is asked after so long, and given up when it has not answered twice.
const PING: Duration = Duration::from_secs(5);
/// A connection has to stand within this.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait between two attempts.
const RETRY: Duration = Duration::from_secs(1);

/// Settings of a NATS engine, as the user writes them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NatsOptions {
    /// Name of the crawl: what is kept and said goes by it.
    pub name: String,
    /// `nats://host:port` or `tls://host:port`, a user and password or a token before the `@`; no others are ever tried.
    pub servers: Vec<String>,
    /// A credentials file of NATS (JWT and seed), or one with an NKey seed alone.
    pub credentials: Option<PathBuf>,
    /// PEM file with the certificates that sign those of the servers; absent: those of the system.
    pub authority: Option<PathBuf>,
    /// PEM files with this member's own certificate and its key, where the servers want one.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsOptions").field("name", &self.name).field("servers", &self.places()).finish_non_exhaustive()
    }
}

/// What the client is to be made with.
pub(super) struct Checked {
    pub(super) servers: Vec<ServerAddr>,
    pub(super) options: ConnectOptions,
    pub(super) replicas: usize,
    /// The servers for messages.
    pub(super) places: String,
}

impl NatsOptions {
    /// Reads them, the files too.
    pub(super) fn check(&self) -> Result<Checked, EngineError> {
        named(&self.name).map_err(|err| wrong("name", err))?;
        let mut servers = vec![];
        let mut auth: Option<(String, Option<String>)> = None;
        let mut tls = false;
        for text in &self.servers {
            let (server, entry) = server(text)?;
            match (&auth, &entry) {
                (None, Some(_)) => auth = entry,
                (Some(one), Some(other)) if one != other => {
                    return Err(wrong("servers", "they name different users; one user goes for all of them"));
                }
                _ => {}
            }
            tls |= server.tls_required();
            servers.push(server);
        }
        if servers.is_empty() {
            return Err(wrong("servers", "none is named; write at least one, such as \"nats://127.0.0.1:4222\""));
        }
        let options = self.entry(auth)?.require_tls(tls);
        let options = options
            .client_capacity(COMMANDS)
            .subscription_capacity(UNREAD)
            .ping_interval(PING)
            .connection_timeout(CONNECT)
            .retry_on_initial_connect()
            .ignore_discovered_servers()
            .reconnect_delay_callback(|tries| {
                RETRY.min(Duration::from_millis(10) * u32::try_from(tries.min(100)).unwrap_or_default())
            });
        Ok(Checked { replicas: servers.len().min(REPLICAS), servers, options, places: self.places() })
    }

    /// What lets one in.
    fn entry(&self, auth: Option<(String, Option<String>)>) -> Result<ConnectOptions, EngineError> {
        let mut options = ConnectOptions::new();
        match auth {
            Some((user, Some(password))) => options = options.user_and_password(user, password),
            Some((token, None)) => options = options.token(token),
            None => {}
        }
        if let Some(path) = &self.credentials {
            let told = |why: &dyn std::fmt::Display| wrong("credentials", format!("{}: {why}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|err| told(&err))?;
            let seed = text.trim();
            options = if seed.starts_with("SU") && !seed.contains(char::is_whitespace) {
                options.nkey(seed.to_owned())
            } else {
                options.credentials(&text).map_err(|err| told(&err))?
            };
        }
        // The client reads them with each connection, and would try for ever without them.
        let pem = |setting, path: &PathBuf, label: &str| {
            let told = |why: &dyn std::fmt::Display| wrong(setting, format!("{}: {why}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|err| told(&err))?;
            let is_pem = text.lines().any(|line| line.starts_with("-----BEGIN ") && line.contains(label));
            if is_pem { Ok(()) } else { Err(told(&format!("there is no {label} in it (PEM)"))) }
        };
        if let Some(path) = &self.authority {
            pem("authority", path, "CERTIFICATE")?;
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            pem("certificate", certificate, "CERTIFICATE")?;
            pem("key", key, "PRIVATE KEY")?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }

    /// The servers for messages: without user, password and token.
    fn places(&self) -> String {
        let place = |text: &String| server(text).map_or_else(|_| "…".to_owned(), |(server, _)| place(&server));
        self.servers.iter().map(place).collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn place(server: &ServerAddr) -> String {
    let host = server.host();
    if host.contains(':') { format!("[{host}]:{}", server.port()) } else { format!("{host}:{}", server.port()) }
}

/// A server, and the user and password before its `@`; a token is a user without a password.
#[expect(clippy::type_complexity, reason = "a pair of what is apart afterwards")]
fn server(text: &str) -> Result<(ServerAddr, Option<(String, Option<String>)>), EngineError> {
    // Never the text itself: it may hold a password.
    let form = || wrong("servers", "one of them is no address such as \"nats://host:4222\" or \"tls://host:4222\"");
    let full = if text.contains("://") { text.to_owned() } else { format!("nats://{text}") };
    let mut url = Url::parse(&full).map_err(|_| form())?;
    let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) || !bare {
        return Err(form());
    }
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let auth = (!url.username().is_empty()).then(|| (decoded(url.username()), url.password().map(decoded)));
    url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| form())?;
    Ok((ServerAddr::from_url(url).map_err(|_| form())?, auth))
}

fn wrong(setting: &'static str, why: impl std::fmt::Display) -> EngineError {
    EngineError::Setting { setting, why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(servers: &[&str]) -> NatsOptions {
        NatsOptions {
            name: "prod".into(),
            servers: servers.iter().map(|&text| text.to_owned()).collect(),
            ..NatsOptions::default()
        }
    }

    #[test]
    fn servers_are_read_and_what_lets_one_in_is_taken_off() {
        let options = of(&["nats://me:se%40cret@e1", "tls://[::1]:5222", "e3:4333"]);
        let checked = options.check().unwrap();
        assert_eq!(checked.places, "e1:4222, [::1]:5222, e3:4333");
        assert_eq!(checked.replicas, 3);
        assert!(checked.servers.iter().all(|server| server.username().is_none() && server.password().is_none()));
        assert_eq!(server("me:se%40cret@e1").unwrap().1, Some(("me".into(), Some("se@cret".into()))));
        assert!(!format!("{options:?} {:?}", checked.servers).contains("cret"));
        assert_eq!(of(&["nats://e1"; 5]).check().unwrap().replicas, 3);
    }

    #[test]
    fn what_cannot_be_is_refused_without_a_secret() {
        for (servers, part) in [
            (&["http://me:secret@e1"][..], "no address"),
            (&["nats://me:secret@e1/path"], "no address"),
            (&["nats://me:secret@"], "no address"),
            (&["nats://me:secret@e1", "nats://me:secret2@e2"], "different users"),
            (&[], "none is named"),
        ] {
            let err = of(servers).check().err().unwrap().to_string();
            assert!(err.contains(part) && !err.contains("secret"), "{err}");
        }
        let err = NatsOptions { name: "A b".into(), ..of(&["e1"]) }.check().err().unwrap();
        assert!(err.to_string().contains("cluster.name"), "{err}");
        let err = NatsOptions { credentials: Some("/nowhere/creds".into()), ..of(&["e1"]) }.check().err().unwrap();
        assert!(err.to_string().contains("/nowhere/creds"), "{err}");
    }
}
