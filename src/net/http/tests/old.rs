//! Servers of old TLS, under each value of `tls.old`.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use boring::pkey::PKey;
use boring::rsa::Rsa;
use boring::ssl::{Ssl, SslContext, SslMethod, SslVersion};
use boring::x509::X509;
use rcgen::KeyPair;
use rustls::pki_types::CertificateDer;

use super::secrets::{access, with_access};
use super::secure::{Issuer, authority, https, params, server_config};
use super::server::{Server, Session, read_head};
use super::*;
use crate::domain::cut::Cut;
use crate::domain::note::Note;
use crate::net::TlsOld;

const URL: &str = "https://h0.test/";
const ANSWER: &str = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=1\r\nContent-Length: 6\r\n\r\nsecret";

/// A certificate with a key of RSA, which the old key exchange needs.
fn rsa(name: &str, issuer: &Issuer) -> (CertificateDer<'static>, KeyPair) {
    let key = PKey::from_rsa(Rsa::generate(2_048).unwrap()).unwrap();
    let key = KeyPair::try_from(key.private_key_to_der_pkcs8().unwrap()).unwrap();
    (params(name).signed_by(&key, issuer).unwrap().der().clone(), key)
}

/// What a server of that version and those suites accepts with.
fn old((cert, key): &(CertificateDer<'static>, KeyPair), version: SslVersion, suites: &str) -> SslContext {
    let mut context = SslContext::builder(SslMethod::tls()).unwrap();
    context.set_min_proto_version(Some(version)).unwrap();
    context.set_max_proto_version(Some(version)).unwrap();
    context.set_cipher_list(suites).unwrap();
    context.set_certificate(&X509::from_der(cert).unwrap()).unwrap();
    context.set_private_key(&PKey::private_key_from_der(&key.serialize_der()).unwrap()).unwrap();
    context.build()
}

/// One request over an old connection; tells what it was asked.
fn converse(context: &SslContext, session: Session, answer: &str, goodbye: bool, heard: &Sender<String>) {
    let Ok(mut stream) = Ssl::new(context).unwrap().accept(session.stream) else { return };
    let Some(head) = read_head(&mut stream) else { return };
    let _ = heard.send(format!("{} {}", session.number, String::from_utf8_lossy(&head)));
    let _ = stream.write_all(answer.as_bytes());
    if goodbye {
        let _ = stream.shutdown();
    }
    let _ = stream.get_ref().shutdown(std::net::Shutdown::Write);
    let _ = std::io::copy(stream.get_mut(), &mut std::io::sink());
}

fn serves(context: SslContext, answer: &'static str, goodbye: bool) -> (Server, Receiver<String>) {
    let (heard, hears) = channel();
    (Server::start(move |session| converse(&context, session, answer, goodbye, &heard)), hears)
}

#[expect(clippy::result_large_err, reason = "the fault is as large as fetches have it")]
fn ask(http: &Http, server: &Server) -> Result<Fetched, FetchFault> {
    on_runtime(http.fetch(FetchRequest { url: url(URL), ..request(server.address) }))
}

fn with_old(http: Http, old: TlsOld) -> Http {
    Http { tls: http.tls.clone().with_old(old), ..http }
}

#[test]
fn what_browsers_and_older_clients_speak_is_fetched_and_noted_and_certificates_are_judged_as_ever() {
    let issuer = authority();
    let (good, other) = (rsa("h0.test", &issuer), rsa("h1.test", &issuer));
    for (version, suites) in [
        (SslVersion::TLS1_2, "ECDHE-RSA-AES128-SHA"),
        (SslVersion::TLS1_2, "ECDHE-RSA-AES128-SHA256"),
        (SslVersion::TLS1_2, "AES128-GCM-SHA256"),
        (SslVersion::TLS1_2, "AES256-GCM-SHA384"),
        (SslVersion::TLS1_2, "AES128-SHA"),
        (SslVersion::TLS1_2, "AES256-SHA"),
        (SslVersion::TLS1_2, "DES-CBC3-SHA"),
        (SslVersion::TLS1_1, "AES128-SHA"),
        (SslVersion::TLS1, "ECDHE-RSA-AES256-SHA"),
        (SslVersion::TLS1, "AES256-SHA"),
    ] {
        let (server, _) = serves(old(&good, version, suites), ANSWER, true);
        for verify in [TlsVerify::Record, TlsVerify::Strict, TlsVerify::Off] {
            let fetched = ask(&https(verify, &issuer), &server).unwrap_or_else(|e| panic!("{suites}: {e}"));
            assert_eq!(
                (fetched.notes.as_slice(), bytes(&fetched)),
                (&[Note::TlsOld][..], b"secret".to_vec()),
                "{suites}"
            );
        }
        let (server, _) = serves(old(&other, version, suites), ANSWER, true);
        let fetched = ask(&https(TlsVerify::Record, &issuer), &server).unwrap();
        assert_eq!(fetched.notes, [Note::TlsName, Note::TlsOld], "{suites}");
        assert_eq!(ask(&https(TlsVerify::Off, &issuer), &server).unwrap().notes, [Note::TlsOld], "{suites}");
        let fault = ask(&https(TlsVerify::Strict, &issuer), &server).unwrap_err();
        assert_eq!(fault.failure, Failure::TlsName, "{suites}: {fault}");
        assert!(fault.detail.ends_with(crate::net::tls::STRICT), "{fault}");
    }
}

#[test]
fn a_server_of_old_tls_that_is_refused_has_a_reason_of_its_own_that_says_what_to_do() {
    let issuer = authority();
    let cert = rsa("h0.test", &issuer);
    for (version, suites) in [(SslVersion::TLS1_2, "AES128-SHA"), (SslVersion::TLS1, "AES128-SHA")] {
        let (server, _) = serves(old(&cert, version, suites), ANSWER, true);
        let fault = ask(&with_old(https(TlsVerify::Record, &issuer), TlsOld::Strict), &server).unwrap_err();
        assert!(fault.failure == Failure::TlsOld && fault.detail.contains("tls.old"), "{fault}");
    }
}

#[test]
fn credentials_and_cookies_go_over_old_tls_only_when_it_is_not_looked_at() {
    let issuer = authority();
    for (stance, told) in [(TlsOld::Record, false), (TlsOld::Off, true)] {
        let (server, hears) = serves(old(&rsa("h0.test", &issuer), SslVersion::TLS1_2, "AES128-SHA"), ANSWER, true);
        let access = access(URL);
        let http = with_access(with_old(https(TlsVerify::Record, &issuer), stance), &access);
        assert_eq!(ask(&http, &server).unwrap().notes, [Note::TlsOld]);
        assert_eq!(hears.recv().unwrap().contains("hidden"), told);
        assert_eq!(access.cookies.unwrap().0.len(), usize::from(told));
    }
}

#[test]
fn the_old_server_is_known_the_next_time() {
    let issuer = authority();
    let (server, hears) = serves(old(&rsa("h0.test", &issuer), SslVersion::TLS1_2, "AES128-SHA"), ANSWER, true);
    let http = https(TlsVerify::Record, &issuer);
    let connection = || {
        ask(&http, &server).unwrap();
        hears.recv().unwrap().split(' ').next().unwrap().to_owned()
    };
    assert_eq!([connection(), connection(), connection()], ["1", "2", "3"], "the first was lost on rustls");
}

#[test]
fn who_breaks_our_first_handshake_cannot_push_a_modern_server_down() {
    let issuer = authority();
    let (cert, key) = super::secure::signed(&params("h0.test"), &issuer);
    let config = server_config(cert, &key);
    const HANDSHAKE_FAILURE: &[u8] = &[21, 3, 3, 0, 2, 2, 40];
    let (heard, hears) = channel();
    let server = Server::start(move |mut session: Session| {
        if session.number == 0 {
            let _ = session.stream.read(&mut [0; 16_384]);
            session.write(HANDSHAKE_FAILURE);
            return session.until_closed();
        }
        super::secure::converse(Arc::clone(&config), session, ANSWER, true, &heard);
    });
    let http = with_access(https(TlsVerify::Strict, &issuer), &access(URL));
    assert_eq!(ask(&http, &server).unwrap().notes, []);
    assert!(hears.recv().unwrap().contains("hidden"));
}

#[test]
fn a_server_that_resets_in_place_of_an_alert_is_asked_with_old_tls_too() {
    let issuer = authority();
    let context = old(&rsa("h0.test", &issuer), SslVersion::TLS1, "DES-CBC3-SHA");
    let (heard, _hears) = channel();
    let breaks = |mut session: Session| {
        let _ = session.stream.read(&mut [0; 16_384]);
        session.reset();
    };
    let server = Server::start(move |session: Session| match session.number {
        0 => breaks(session),
        1 => converse(&context, session, ANSWER, true, &heard),
        _ => {}
    });
    assert_eq!(ask(&https(TlsVerify::Record, &issuer), &server).unwrap().notes, [Note::TlsOld]);
    let always = Server::start(breaks);
    let fault = ask(&https(TlsVerify::Record, &issuer), &always).unwrap_err();
    assert!(fault.failure == Failure::Tls && fault.detail.contains("old TLS too"), "{fault}");
}

#[test]
fn an_end_without_goodbye_is_seen_over_old_tls_too() {
    let issuer = authority();
    let to_the_end = "HTTP/1.1 200 OK\r\n\r\nsecret";
    let cert = rsa("h0.test", &issuer);
    let fetched = |goodbye| {
        let (server, _) = serves(old(&cert, SslVersion::TLS1_2, "AES128-SHA"), to_the_end, goodbye);
        ask(&https(TlsVerify::Record, &issuer), &server).unwrap()
    };
    let (whole, unclosed) = (fetched(true), fetched(false));
    assert_eq!((whole.notes.as_slice(), whole.cut, bytes(&whole)), (&[Note::TlsOld][..], None, b"secret".to_vec()));
    assert!(unclosed.notes.contains(&Note::TlsUnclosed) && bytes(&unclosed) == b"secret", "{:?}", unclosed.notes);
    assert!(matches!(unclosed.cut, None | Some(Cut::Disconnect)));
}
