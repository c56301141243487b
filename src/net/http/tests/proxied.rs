//! Requests through a proxy: what it is told, and what it may not do.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::secure::{authority, https, params, server_config, signed};
use super::server::{Server, Session};
use super::*;

/// The schemes of both kinds of proxy.
const KINDS: [&str; 2] = ["http", "socks5"];

pub(super) fn via(scheme: &str, server: &Server, resolves: bool) -> Option<Arc<Proxy>> {
    Some(Arc::new(Proxy::parse(&format!("{scheme}://me:pass@{}", server.address), resolves).unwrap()))
}

/// A proxy of this kind that leads to wherever it is asked for, and every name to `names`; tells what it was asked.
fn leads(scheme: &str, names: SocketAddr) -> Server {
    if scheme == "http" { tunnels(names) } else { super::socks::socks(names, 0) }
}

/// Gives a tunnel, and afterwards hands on what comes.
fn tunnels(names: SocketAddr) -> Server {
    Server::start(move |mut session: Session| {
        if !session.read_request() {
            return;
        }
        let place = session.last().split(' ').nth(1).unwrap().parse().unwrap_or(names);
        let Ok(far) = TcpStream::connect(place) else { return session.write(b"HTTP/1.1 502 No\r\n\r\n") };
        session.write(b"HTTP/1.1 200 Connection established\r\n\r\n");
        hand_on(far, session.stream);
    })
}

pub(super) fn hand_on(far: TcpStream, near: TcpStream) {
    let (mut up, mut down) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut up, &mut down);
        let _ = down.shutdown(std::net::Shutdown::Write);
    });
    let (mut far, mut near) = (far, near);
    let _ = std::io::copy(&mut far, &mut near);
    let _ = near.shutdown(std::net::Shutdown::Write);
}

pub(super) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_proxy_is_told_the_address_that_was_checked_for_http_too() {
    let (origin, proxy) = (Server::raw(OK), leads("http", "127.0.0.1:9".parse().unwrap()));
    let request = FetchRequest { via: via("http", &proxy, false), ..request(origin.address) };
    let fetched = on_runtime(client().fetch(request)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (Some(origin.address), b"ok".to_vec()));
    let asked = text(proxy.requests.recv().unwrap());
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", origin.address)), "{asked}");
    assert!(asked.contains("\r\nProxy-Authorization: Basic bWU6cGFzcw==\r\n"), "{asked}");
    let seen = text(origin.requests.recv().unwrap());
    assert!(seen.starts_with("GET /a/b?q=1 HTTP/1.1\r\nHost: h0.test\r\n") && !seen.contains("Proxy-"), "{seen}");
}

#[test]
fn tls_goes_through_any_proxy_with_the_name_of_the_host() {
    let issuer = authority();
    for (scheme, resolves) in KINDS.into_iter().flat_map(|scheme| [(scheme, false), (scheme, true)]) {
        let (cert, key) = signed(&params("h0.test"), &issuer);
        let origin = super::secure::server(server_config(cert, &key));
        let proxy = leads(scheme, origin.address);
        let url = url("https://h0.test/");
        let request = FetchRequest { url, via: via(scheme, &proxy, resolves), ..request(origin.address) };
        let fetched = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request)).unwrap();
        assert_eq!((fetched.peer, bytes(&fetched)), ((!resolves).then_some(origin.address), b"secret".to_vec()));
        let asked = text(proxy.requests.recv().unwrap());
        assert_eq!(asked.contains("h0.test:443"), resolves, "{scheme}: only who looks names up is told one: {asked}");
    }
}

#[test]
fn a_proxy_that_looks_names_up_gets_the_whole_url_and_its_answer_has_no_address() {
    let proxy = Server::raw(OK);
    let remote = FetchRequest { via: via("http", &proxy, true), addresses: Vec::new(), ..request(proxy.address) };
    let fetched = on_runtime(client().fetch(remote.clone())).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (None, b"ok".to_vec()));
    let asked = text(proxy.requests.recv().unwrap());
    assert!(asked.starts_with("GET http://h0.test/a/b?q=1 HTTP/1.1\r\nHost: h0.test\r\n"), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic bWU6cGFzcw=="), "{asked}");
    let https = FetchRequest { url: url("https://h0.test/"), ..remote };
    let _ = on_runtime(client().fetch(https)).unwrap_err();
    assert!(text(proxy.requests.recv().unwrap()).starts_with("CONNECT h0.test:443 HTTP/1.1\r\nHost: h0.test:443\r\n"));
}

#[test]
fn an_address_that_must_not_be_spoken_to_is_refused_through_any_proxy() {
    let strict = || Http::new(HttpConfig { policy: Arc::default(), ..config() }).unwrap();
    for scheme in KINDS {
        let proxy = leads(scheme, "127.0.0.1:9".parse().unwrap());
        let local = FetchRequest { via: via(scheme, &proxy, false), ..request("10.0.0.1:80".parse().unwrap()) };
        assert_eq!(on_runtime(strict().fetch(local)).unwrap_err().failure, Failure::AddressRefused);
        for text in ["http://10.0.0.1/", "http://[::1]/", "https://localhost/", "http://a.localhost/"] {
            let remote = FetchRequest { url: url(text), via: via(scheme, &proxy, true), ..request(proxy.address) };
            let fault = on_runtime(strict().fetch(remote)).unwrap_err();
            assert_eq!(fault.failure, Failure::AddressRefused, "{text}: {fault}");
        }
        assert!(proxy.requests.try_recv().is_err(), "the proxy was never asked");
    }
}

#[test]
fn our_own_listener_is_no_proxy() {
    let proxy = Server::raw(OK);
    let policy = AddressPolicy::new(vec![parse_allow("*").unwrap()], vec![proxy.address]);
    let http = Http::new(HttpConfig { policy: Arc::new(policy), ..config() }).unwrap();
    let request = FetchRequest { via: via("http", &proxy, true), ..request(proxy.address) };
    let fault = on_runtime(http.fetch(request)).unwrap_err();
    assert_eq!(fault.failure, Failure::Proxy);
    assert!(fault.detail.contains("own listener") && proxy.requests.try_recv().is_err(), "{fault}");
}

#[test]
fn a_proxy_that_refuses_or_is_dead_is_a_failure_of_the_proxy_and_not_of_the_host() {
    let origin = "127.0.0.1:9".parse().unwrap();
    for (answer, resolves, told) in [
        ("HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\n\r\n", false, "407"),
        ("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n", true, "407"),
        ("HTTP/1.1 403 No\r\n\r\n", false, "403"),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", false, "502"),
        ("", false, "closed"),
    ] {
        let proxy = Server::raw(answer);
        let fault = on_runtime(client().fetch(FetchRequest { via: via("http", &proxy, resolves), ..request(origin) }))
            .unwrap_err();
        assert_eq!(fault.failure, Failure::Proxy, "{fault}");
        assert!(fault.detail.contains(told) && !fault.detail.contains("me:"), "{fault}");
    }
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dead = Some(Arc::new(Proxy::parse(&format!("http://{dead}"), false).unwrap()));
    let fault = on_runtime(client().fetch(FetchRequest { via: dead, ..request(origin) })).unwrap_err();
    assert!(fault.failure == Failure::Proxy && fault.detail.contains("cannot be reached"), "{fault}");
    let silent = Server::start(|mut session: Session| session.until_closed());
    let mut hanging = FetchRequest { via: via("http", &silent, false), ..request(origin) };
    hanging.limits.timeouts.connect = Duration::from_millis(60);
    assert_eq!(on_runtime(client().fetch(hanging)).unwrap_err().failure, Failure::Proxy);
}

#[test]
fn a_proxy_that_cannot_reach_one_address_is_asked_for_the_next() {
    for scheme in KINDS {
        let origin = Server::raw(OK);
        let proxy = leads(scheme, origin.address);
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let addresses = vec![dead, origin.address];
        let both = FetchRequest { via: via(scheme, &proxy, false), addresses, ..request(dead) };
        let fetched = on_runtime(client().fetch(both)).unwrap();
        assert_eq!((fetched.peer, bytes(&fetched)), (Some(origin.address), b"ok".to_vec()), "{scheme}");
    }
}

#[test]
fn a_connection_through_a_proxy_is_used_again_for_the_same_way_only() {
    let origin = Server::start(|mut session: Session| {
        std::thread::spawn(move || {
            while session.read_request() {
                session.stream.write_all(OK).unwrap();
            }
        });
    });
    let proxy = leads("http", origin.address);
    on_runtime(async {
        let http = client();
        let proxied = FetchRequest { via: via("http", &proxy, false), ..request(origin.address) };
        assert!(!http.fetch(proxied.clone()).await.unwrap().reused);
        assert!(http.fetch(proxied).await.unwrap().reused);
        assert!(!http.fetch(request(origin.address)).await.unwrap().reused);
        drop(http);
    });
}
