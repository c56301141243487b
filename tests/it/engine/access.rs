//! Who may in, and what is said to whom may not.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

use lycosa::base::clock::Clock;
use lycosa::cluster::engine::contract::{ALL, Place};
use lycosa::cluster::engine::{Engine, EngineError, Nats, NatsOptions};

use super::{Crawl, LONG, connected, when};
use crate::support::nats::Servers;

/// The user of NATS's own documentation of NKeys, and its seed.
const NKEY: [&str; 2] = [
    "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
    "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
];

/// What a member may do on the servers, and no more (docs/cluster.md).
fn permissions(name: &str) -> String {
    format!(
        "permissions: {{ publish: [\"lycosa.{name}.>\", \"$KV.lycosa-{name}.>\", \
         \"$JS.API.STREAM.INFO.KV_lycosa-{name}\", \"$JS.API.STREAM.CREATE.KV_lycosa-{name}\", \
         \"$JS.API.STREAM.UPDATE.KV_lycosa-{name}\", \"$JS.API.STREAM.MSG.GET.KV_lycosa-{name}\"], \
         subscribe: [\"lycosa.{name}.>\"] }}"
    )
}

fn with_user(url: &str, user: &str) -> String {
    url.replace("nats://", &format!("nats://{user}@"))
}

/// A member with no more than it needs.
struct Limited<'a>(Crawl<'a>);

impl Place for Limited<'_> {
    fn connect(&self) -> Arc<dyn Engine> {
        let servers = self.0.servers.urls().iter().map(|url| with_user(url, "member:s3cret")).collect();
        Arc::new(connected(&NatsOptions { servers, ..self.0.options() }))
    }
    fn stop(&self) {
        self.0.stop();
    }
    fn start(&self) {
        self.0.start();
    }
    fn empty(&self) {
        self.0.empty();
    }
}

#[test]
fn a_member_needs_no_more_than_the_subjects_of_its_crawl() {
    let users = format!("authorization {{ users: [ {{ user: member, password: s3cret, {} }} ] }}", permissions("x"));
    let Some(servers) = Servers::with(1, &users) else { return };
    let place = Limited(Crawl { servers: &servers, name: "x".into() });
    for wanted in
        ["a_watch_tells_what_is_there_and_each_newest_state", "an_ask_is_answered", "all_is_every_entry_by_key"]
    {
        let (_, keeps) = ALL.iter().find(|(name, _)| *name == wanted).unwrap();
        keeps(&place);
        servers.empty();
    }
    // Another crawl's entries are not this user's.
    let urls: Vec<_> = servers.urls().iter().map(|url| with_user(url, "member:s3cret")).collect();
    let options = NatsOptions { name: "y".into(), servers: urls.clone(), ..NatsOptions::default() };
    let engine = Nats::start(&options, Clock::real()).unwrap();
    let state = when(&engine, |state| state.why.as_ref().is_some_and(|why| why.contains("ermissions")));
    assert!(!state.connected);
    assert!(!format!("{options:?} {state:?}").contains("s3cret"));
}

#[test]
fn who_is_not_let_in_is_told_where_and_why_without_the_secret() {
    let Some(servers) = Servers::with(1, "authorization { token: \"right-t0ken\" }") else { return };
    let crawl = Crawl { servers: &servers, name: "x".into() };
    let of = |token: &str| NatsOptions {
        servers: servers.urls().iter().map(|url| with_user(url, token)).collect(),
        ..crawl.options()
    };
    let engine = Nats::start(&of("wrong-t0ken"), Clock::real()).unwrap();
    let state = when(&engine, |state| state.why.as_ref().is_some_and(|why| why.contains("authorization")));
    let port = servers.urls()[0].rsplit(':').next().unwrap().to_owned();
    let why = state.why.unwrap();
    assert!(why.contains(&port) && !why.contains("t0ken"), "{why}");
    let err = engine.read("a").unwrap_err();
    assert!(matches!(err, EngineError::Away { .. }) && !err.to_string().contains("t0ken"), "{err}");
    connected(&of("right-t0ken"));
}

#[test]
fn a_file_with_an_nkey_lets_in() {
    let Some(servers) = Servers::with(1, &format!("authorization {{ users: [ {{ nkey: {} }} ] }}", NKEY[0])) else {
        return;
    };
    let path = servers.folder().join("member.nk");
    std::fs::write(&path, format!("{}\n", NKEY[1])).unwrap();
    let options = Crawl { servers: &servers, name: "x".into() }.options();
    let engine = connected(&NatsOptions { credentials: Some(path), ..options });
    engine.write_if("a", b"1", None).unwrap();
}

#[test]
fn tls_is_spoken_to_servers_of_a_named_authority_and_no_others() {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let put = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (cert, key) = (put("server.pem", certificate.pem()), put("server.key", key.serialize_pem()));
    let authority = put("authority.pem", authority.pem());
    let tls = format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}", cert.display(), key.display());
    let Some(servers) = Servers::with(1, &tls) else { return };
    let urls: Vec<_> = servers.urls().iter().map(|url| url.replace("nats://", "tls://")).collect();
    let options = NatsOptions { name: "x".into(), servers: urls, ..NatsOptions::default() };
    let engine = connected(&NatsOptions { authority: Some(authority), ..options.clone() });
    engine.write_if("a", b"1", None).unwrap();
    let stranger = Nats::start(&options, Clock::real()).unwrap();
    let state = when(&stranger, |state| state.why.as_ref().is_some_and(|why| why.contains("certificate")));
    assert!(!state.connected);
}

/// A server that says of itself what `info` says, and agrees to everything.
fn pretends(info: serde_json::Value) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", socket.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let mut stream = stream.unwrap();
            let _ = write!(stream, "INFO {info}\r\n");
            let reader = BufReader::new(stream.try_clone().unwrap());
            for line in reader.lines().map_while(Result::ok) {
                if line == "PING" && stream.write_all(b"PONG\r\n").is_err() {
                    break;
                }
            }
        }
    });
    url
}

#[test]
fn a_server_that_is_too_old_is_refused_with_what_to_do() {
    let url = pretends(serde_json::json!({
        "server_id": "A", "server_name": "old", "version": "2.9.10", "proto": 1, "go": "go1.19", "host": "127.0.0.1", "port": 4222,
        "headers": true, "max_payload": 1_048_576, "client_id": 1, "jetstream": true,
    }));
    let options = NatsOptions { name: "x".into(), servers: vec![url], ..NatsOptions::default() };
    let engine = Nats::start(&options, Clock::real()).unwrap();
    let state = when(&engine, |state| state.why.as_ref().is_some_and(|why| why.contains("2.9.10")));
    let why = state.why.unwrap();
    assert!(!state.connected && why.contains("at least 2.12") && why.contains("upgrade"), "{why}");
    let done = [engine.write_if("a", b"1", None).map(|_| vec![]), engine.ask("s", b"", LONG)];
    assert!(done.iter().all(|done| matches!(done, Err(EngineError::Refused { .. }))), "{done:?}");
}

#[test]
fn a_server_that_takes_small_messages_only_is_refused() {
    let url = pretends(serde_json::json!({
        "server_id": "A", "server_name": "bare", "version": "2.15.1", "proto": 1, "go": "go1", "host": "127.0.0.1", "port": 4222,
        "headers": true, "max_payload": 65_536, "client_id": 1,
    }));
    let options = NatsOptions { name: "x".into(), servers: vec![url], ..NatsOptions::default() };
    let engine = Nats::start(&options, Clock::real()).unwrap();
    when(&engine, |state| state.why.as_ref().is_some_and(|why| why.contains("max_payload")));
}
