//! Credentials and cookies reach the server they are for, and nobody else.

use super::secure::{authority, https, params, server_config, signed};
use super::server::{Server, Session};
use super::*;
use crate::base::clock::Clock;
use crate::net::cookies::{Jar, Limits};
use crate::net::credentials::{Credentials, Identity};

pub(super) fn access(prefix: &str) -> Access {
    let credentials = Credentials::default().with(&url(prefix), &Identity::Bearer("hidden".to_owned())).unwrap();
    let jar = Jar::new(Limits { per_host: 50, max_bytes: 4_096, max_hosts: 100 });
    Access { credentials: Arc::new(credentials), cookies: Some((Arc::new(jar), Clock::real())) }
}

pub(super) fn with_access(mut http: Http, access: &Access) -> Http {
    http.config.access = access.clone();
    http
}

/// Sets a cookie with every answer.
fn sets_cookies() -> Server {
    Server::start(|mut session: Session| {
        while session.read_request() {
            session.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=hidden-too; Path=/\r\nContent-Length: 0\r\n\r\n");
        }
    })
}

#[test]
fn only_the_prefix_gets_credentials_and_only_the_host_its_cookies() {
    let server = sets_cookies();
    let port = server.address.port();
    let http =
        Http::new(HttpConfig { access: access(&format!("http://h0.test:{port}/a")), idle: Duration::ZERO, ..config() });
    let http = http.unwrap();
    for (text, bearer, cookie) in [
        (format!("http://h0.test:{port}/a/b"), true, false),
        (format!("http://h0.test:{port}/a"), true, true),
        (format!("http://h0.test:{port}/robots.txt"), false, true),
        (format!("http://h0.test:{port}/ab"), false, true),
        (format!("http://h1.test:{port}/a/b"), false, false),
        (format!("http://sub.h0.test:{port}/a/b"), false, false),
        ("http://h0.test/a/b".to_owned(), false, true),
    ] {
        on_runtime(http.fetch(FetchRequest { url: url(&text), ..request(server.address) })).unwrap();
        let seen = String::from_utf8(server.requests.recv().unwrap()).unwrap();
        assert_eq!(seen.contains("\r\nAuthorization: Bearer hidden\r\n"), bearer, "{text}: {seen}");
        assert_eq!(seen.contains("\r\nCookie: sid=hidden-too\r\n"), cookie, "{text}: {seen}");
    }
}

#[test]
fn a_request_that_somebody_else_named_sends_nothing_and_teaches_nothing() {
    let server = sets_cookies();
    let http = Http::new(HttpConfig { access: access("http://h0.test/"), idle: Duration::ZERO, ..config() }).unwrap();
    for (anonymous, bearer, cookie) in
        [(true, false, false), (false, true, false), (true, false, false), (false, true, true)]
    {
        on_runtime(http.fetch(FetchRequest { anonymous, ..request(server.address) })).unwrap();
        let seen = String::from_utf8(server.requests.recv().unwrap()).unwrap();
        let told = (seen.contains("\r\nAuthorization: "), seen.contains("\r\nCookie: "));
        assert_eq!(told, (bearer, cookie), "{anonymous}: {seen}");
    }
}

#[test]
fn a_server_whose_certificate_has_a_fault_gets_nothing_and_sets_nothing() {
    let issuer = authority();
    for (name, told) in [("h0.test", true), ("other.test", false)] {
        let (cert, key) = signed(&params(name), &issuer);
        let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=1\r\nContent-Length: 0\r\n\r\n";
        let (server, heard) = super::secure::serves(server_config(cert, &key), answer, true);
        let access = access("https://h0.test/");
        let http = with_access(https(TlsVerify::Record, &issuer), &access);
        let fetched =
            on_runtime(http.fetch(FetchRequest { url: url("https://h0.test/"), ..request(server.address) })).unwrap();
        assert_eq!(fetched.tls_fault.is_none(), told);
        assert_eq!(heard.recv().unwrap().contains("hidden"), told);
        assert_eq!(access.cookies.unwrap().0.len(), usize::from(told));
    }
}
