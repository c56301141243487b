//! TLS with good and bad certificates, under each value of `tls.verify`.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::server::{Server, Session, read_head};
use super::*;
use crate::domain::cut::Cut;
use crate::domain::note::Note;
use crate::net::tls::read_roots;

pub(super) type Issuer = CertifiedIssuer<'static, KeyPair>;

pub(super) fn authority() -> Issuer {
    authority_named("one")
}

fn authority_named(name: &str) -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

pub(super) fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn key_der(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

/// A certificate for a name, signed by the authority.
pub(super) fn signed(params: &CertificateParams, issuer: &Issuer) -> (CertificateDer<'static>, KeyPair) {
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, issuer).unwrap().der().clone(), key)
}

/// Shows one certificate and signs with whatever key it is given.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesServerCert for Shows {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

pub(super) fn server_config(cert: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key_der(key)).unwrap();
    let shows = Shows(Arc::new(CertifiedKey::new(vec![cert], key)));
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(shows)))
}

/// Answers one request a connection, its body to the end, and closes TLS as it should be closed.
pub(super) fn server(config: Arc<ServerConfig>) -> Server {
    serves(config, "HTTP/1.1 200 OK\r\n\r\nsecret", true).0
}

/// Answers one request a connection, tells what it was, and closes with or without the alert that should end TLS.
pub(super) fn serves(config: Arc<ServerConfig>, answer: &'static str, goodbye: bool) -> (Server, Receiver<String>) {
    let (heard, hears) = channel();
    (Server::start(move |session| converse(Arc::clone(&config), session, answer, goodbye, &heard)), hears)
}

/// One connection of such a server.
pub(super) fn converse(
    config: Arc<ServerConfig>,
    session: Session,
    answer: &str,
    goodbye: bool,
    heard: &Sender<String>,
) {
    let tls = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(tls, session.stream);
    let Some(head) = read_head(&mut stream) else { return };
    let _ = heard.send(String::from_utf8_lossy(&head).into_owned());
    let _ = stream.write_all(answer.as_bytes());
    if goodbye {
        stream.conn.send_close_notify();
    }
    let _ = stream.flush();
    let _ = stream.sock.shutdown(std::net::Shutdown::Write);
    let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
}

/// A file with the authority's certificate.
fn pem(issuer: &Issuer) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), issuer.pem()).unwrap();
    file
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_its_file_is_named() {
    let authority = authority();
    let (certificate, key) = signed(&params("a.test"), &authority);
    let server = server(server_config(certificate, &key));
    for (files, works) in [(vec![], false), (vec![pem(&authority)], true), (vec![pem(&authority_named("two"))], false)]
    {
        let paths: Vec<_> = files.iter().map(|file| file.path().to_owned()).collect();
        let roots = read_roots(&paths).unwrap();
        let http = Http::new(HttpConfig { verify: TlsVerify::Strict, roots, ..config() }).unwrap();
        let answer = http.fetch(request_for(&server, "https://a.test/")).await;
        assert_eq!(answer.is_ok(), works, "{answer:?}");
    }
}

#[tokio::test]
async fn a_second_connection_to_a_server_resumes_the_session_of_the_first() {
    let authority = authority();
    let (certificate, key) = signed(&params("a.test"), &authority);
    let (config, (heard, hears)) = (server_config(certificate, &key), channel());
    let server = Server::start(move |session| {
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), session.stream);
        let Some(_) = read_head(&mut stream) else { return };
        let _ = heard.send(stream.conn.handshake_kind());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let http = Http::new(super::config()).unwrap();
    for _ in 0..2 {
        http.fetch(request_for(&server, "https://a.test/")).await.unwrap();
    }
    let kinds: Vec<_> = hears.try_iter().collect();
    assert_eq!(kinds, [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)]);
}

#[test]
fn a_file_of_roots_without_any_is_refused_with_its_name() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, why) in [
        ("", "holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\nnonsense", "is no PEM file"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate"),
    ] {
        std::fs::write(file.path(), text).unwrap();
        let error = read_roots(&[file.path().to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("tls.roots: /") && error.contains(why), "{error}");
    }
    let error = read_roots(&["/nonexistent/ca.pem".into()]).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/ca.pem: cannot be read"), "{error}");
}

pub(super) fn https(verify: TlsVerify, issuer: &Issuer) -> Http {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    Http::with_tls(config(), TlsClient::with_roots(verify, roots).unwrap())
}

fn request_for(server: &Server, text: &str) -> FetchRequest {
    FetchRequest { url: url(text), ..request(server.address) }
}

const URL: &str = "https://h0.test/";

#[test]
fn each_fault_of_a_certificate_has_its_note_its_failure_or_nothing_as_configured() {
    let issuer = authority();
    let (mut expired, mut early, mut client) = (params("h0.test"), params("h0.test"), params("h0.test"));
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    early.not_before = date_time_ymd(2095, 1, 1);
    client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let own = |params: CertificateParams| {
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().der().clone(), key)
    };
    let mut own_authority = params("h0.test");
    own_authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let cases = [
        ("good", signed(&params("h0.test"), &issuer), None),
        ("expired", signed(&expired, &issuer), Some((Note::TlsExpired, Failure::TlsExpired))),
        ("not valid yet", signed(&early, &issuer), Some((Note::TlsExpired, Failure::TlsExpired))),
        ("another name", signed(&params("h1.test"), &issuer), Some((Note::TlsName, Failure::TlsName))),
        ("signed by itself", own(params("h0.test")), Some((Note::TlsSelfSigned, Failure::TlsSelfSigned))),
        ("an authority, signed by itself", own(own_authority), Some((Note::TlsSelfSigned, Failure::TlsSelfSigned))),
        (
            "unknown issuer",
            signed(&params("h0.test"), &authority_named("two")),
            Some((Note::TlsIssuer, Failure::TlsIssuer)),
        ),
        ("not for servers", signed(&client, &issuer), Some((Note::TlsCertificate, Failure::TlsCertificate))),
    ];
    for (name, (cert, key), fault) in cases {
        let server = server(server_config(cert, &key));
        for verify in [TlsVerify::Record, TlsVerify::Strict, TlsVerify::Off] {
            let result = on_runtime(https(verify, &issuer).fetch(request_for(&server, URL)));
            if let (TlsVerify::Strict, Some((_, failure))) = (verify, fault) {
                let told = result.unwrap_err();
                assert_eq!(told.failure, failure, "{name}: {told}");
                assert!(told.detail.ends_with(crate::net::tls::STRICT), "{name}: {told}");
                continue;
            }
            let noted = fault.filter(|_| verify == TlsVerify::Record).map(|(note, _)| note);
            let fetched = result.unwrap_or_else(|e| panic!("{name} {verify:?}: {e}"));
            assert_eq!((fetched.tls_fault.is_some(), bytes(&fetched)), (noted.is_some(), b"secret".to_vec()), "{name}");
            assert_eq!(fetched.notes, noted.into_iter().collect::<Vec<_>>(), "{name} {verify:?}");
            assert!(fetched.timings.tls > Duration::ZERO && fetched.cut.is_none());
        }
    }
}

#[test]
fn a_body_is_whole_also_where_tls_says_no_goodbye() {
    let issuer = authority();
    let to_the_end = "HTTP/1.1 200 OK\r\n\r\nsecret";
    let with_length = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
    let in_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecret\r\n0\r\n\r\n";
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsecret";
    for (answer, goodbye, cut, note) in [
        (to_the_end, true, None, None),
        (to_the_end, false, None, Some(Note::TlsUnclosed)),
        (with_length, false, None, None),
        (in_chunks, false, None, None),
        (short, false, Some(Cut::Disconnect), Some(Note::EndedEarly)),
    ] {
        let (cert, key) = signed(&params("h0.test"), &issuer);
        let (server, _) = serves(server_config(cert, &key), answer, goodbye);
        let fetched = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request_for(&server, URL))).unwrap();
        assert_eq!((fetched.cut, bytes(&fetched)), (cut, b"secret".to_vec()), "{answer}");
        assert_eq!(fetched.notes, note.into_iter().collect::<Vec<_>>(), "{answer}");
    }
}

#[test]
fn a_resumed_session_is_judged_as_the_first_one_was() {
    let issuer = authority();
    let (cert, key) = signed(&params("h1.test"), &issuer);
    let server = server(server_config(cert, &key));
    on_runtime(async {
        let http = https(TlsVerify::Record, &issuer);
        for _ in 0..3 {
            let fetched = http.fetch(request_for(&server, URL)).await.unwrap();
            assert!(!fetched.reused && fetched.tls_fault.is_some());
        }
    });
}

#[test]
fn a_server_without_the_certificates_key_is_refused_even_under_record() {
    let issuer = authority();
    let (cert, _) = signed(&params("h0.test"), &issuer);
    let server = server(server_config(cert, &KeyPair::generate().unwrap()));
    for (verify, passes) in [(TlsVerify::Record, false), (TlsVerify::Strict, false), (TlsVerify::Off, true)] {
        let result = on_runtime(https(verify, &issuer).fetch(request_for(&server, URL)));
        assert_eq!(result.is_ok(), passes, "{verify:?}: {result:?}");
        if let Err(fault) = result {
            assert!(fault.failure == Failure::Tls && fault.detail.contains("prove"), "{fault}");
        }
    }
}

#[test]
fn a_certificate_that_cannot_be_read_is_noted_as_a_fault() {
    let issuer = authority();
    let (_, key) = signed(&params("h0.test"), &issuer);
    let server = server(server_config(CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x01]), &key));
    let result = on_runtime(https(TlsVerify::Record, &issuer).fetch(request_for(&server, URL)));
    assert_eq!(result.unwrap().notes, [Note::TlsCertificate]);
    let result = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request_for(&server, URL)));
    assert_eq!(result.unwrap_err().failure, Failure::TlsCertificate);
}

#[test]
fn an_address_in_the_url_is_matched_against_the_certificate() {
    let issuer = authority();
    let (cert, key) = signed(&params("127.0.0.1"), &issuer);
    let server = server(server_config(cert, &key));
    let text = format!("https://127.0.0.1:{}/", server.address.port());
    let fetched = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request_for(&server, &text))).unwrap();
    assert_eq!(bytes(&fetched), b"secret");
}

#[test]
fn plain_http_on_a_tls_port_is_a_tls_failure_and_silence_a_time_out() {
    let issuer = authority();
    let plain = Server::start(|mut session: Session| {
        session.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        session.close();
    });
    let fault = on_runtime(https(TlsVerify::Record, &issuer).fetch(request_for(&plain, URL))).unwrap_err();
    assert_eq!(fault.failure, Failure::Tls, "{fault}");
    let silent = Server::start(|mut session: Session| session.until_closed());
    let mut request = request_for(&silent, URL);
    request.limits.timeouts.tls = Duration::from_millis(50);
    let fault = on_runtime(https(TlsVerify::Record, &issuer).fetch(request)).unwrap_err();
    assert_eq!(fault.failure, Failure::TlsTimeout, "{fault}");
}
