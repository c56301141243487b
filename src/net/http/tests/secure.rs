//! TLS with good and bad certificates, under each value of `tls.verify`.

use std::io::Write;
use std::sync::Arc;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::server::{Server, Session};
use super::*;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Issuer {
    authority_named("one")
}

fn authority_named(name: &str) -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn key_der(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

/// A certificate for a name, signed by the authority.
fn signed(params: &CertificateParams, issuer: &Issuer) -> (CertificateDer<'static>, KeyPair) {
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

fn server_config(cert: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(key_der(key)).unwrap();
    let shows = Shows(Arc::new(CertifiedKey::new(vec![cert], key)));
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(shows)))
}

/// Answers one request a connection, its body to the end, and closes without the alert that should end TLS.
fn server(config: Arc<ServerConfig>) -> Server {
    Server::start(move |session: Session| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(tls, session.stream);
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nsecret");
        let _ = stream.flush();
        let _ = stream.sock.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
    })
}

fn https(verify: TlsVerify, issuer: &Issuer) -> Http {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    Http::with_tls(config(), TlsClient::with_roots(verify, roots).unwrap())
}

fn request_for(server: &Server, text: &str) -> FetchRequest {
    FetchRequest { url: url(text), ..request(server.address) }
}

const URL: &str = "https://h0.test/";

#[test]
fn a_bad_certificate_is_noted_refused_or_let_pass_as_configured() {
    let issuer = authority();
    let mut expired = params("h0.test");
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    let own_key = KeyPair::generate().unwrap();
    let own = params("h0.test").self_signed(&own_key).unwrap().der().clone();
    let cases = [
        ("good", signed(&params("h0.test"), &issuer), None),
        ("expired", signed(&expired, &issuer), Some("expired")),
        ("another name", signed(&params("h1.test"), &issuer), Some("another name")),
        ("self-signed", (own, own_key), Some("")),
        ("unknown issuer", signed(&params("h0.test"), &authority_named("two")), Some("unknown issuer")),
    ];
    for (name, (cert, key), fault) in cases {
        let server = server(server_config(cert, &key));
        for verify in [TlsVerify::Record, TlsVerify::Strict, TlsVerify::Off] {
            let http = https(verify, &issuer);
            let result = on_runtime(http.fetch(request_for(&server, URL)));
            match (verify, fault) {
                (TlsVerify::Strict, Some(_)) => {
                    assert_eq!(result.unwrap_err().failure, Failure::Tls, "{name}");
                }
                (TlsVerify::Record, Some(text)) => {
                    let noted = result.unwrap().tls_fault.unwrap_or_else(|| panic!("{name}: nothing noted"));
                    assert!(noted.contains(text), "{name}: {noted}");
                }
                _ => {
                    let fetched = result.unwrap_or_else(|e| panic!("{name} {verify:?}: {e}"));
                    assert_eq!((fetched.tls_fault.as_deref(), bytes(&fetched)), (None, b"secret".to_vec()), "{name}");
                    assert!(fetched.timings.tls > Duration::ZERO && fetched.cut.is_none());
                }
            }
        }
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
    }
}

#[test]
fn a_certificate_that_cannot_be_read_is_noted_as_a_fault() {
    let issuer = authority();
    let (_, key) = signed(&params("h0.test"), &issuer);
    let server = server(server_config(CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x01]), &key));
    let result = on_runtime(https(TlsVerify::Record, &issuer).fetch(request_for(&server, URL)));
    assert!(result.unwrap().tls_fault.is_some());
    let result = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request_for(&server, URL)));
    assert_eq!(result.unwrap_err().failure, Failure::Tls);
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
    request.limits.tls = Duration::from_millis(50);
    let fault = on_runtime(https(TlsVerify::Record, &issuer).fetch(request)).unwrap_err();
    assert_eq!(fault.failure, Failure::TlsTimeout, "{fault}");
}
