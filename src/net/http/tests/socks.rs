//! Requests through a SOCKS proxy.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::proxied::{OK, hand_on, text};
use super::secure::{authority, https, params, server_config, signed};
use super::server::{Server, Session};
use super::*;

/// A SOCKS 5 proxy that wants a password, and leads every name to `names`; tells what it was asked for. `answer`: 0, or why not.
fn socks(names: SocketAddr, answer: u8) -> Server {
    Server::start(move |mut session: Session| {
        let Some(asked) = greet(&mut session.stream).then(|| place(&mut session.stream)) else { return };
        let far = TcpStream::connect(asked.parse().unwrap_or(names)).ok();
        session.tell(asked);
        let answer = if answer == 0 && far.is_none() { 5 } else { answer };
        session.write(&[5, answer, 0, 1, 0, 0, 0, 0, 0, 0]);
        match far {
            Some(far) if answer == 0 => hand_on(far, session.stream),
            _ => {}
        }
    })
}

fn take(stream: &mut TcpStream, n: u8) -> Vec<u8> {
    let mut bytes = vec![0; n.into()];
    // Nothing comes where the client refuses to go on, or the server is told to end.
    match stream.read_exact(&mut bytes) {
        Ok(()) => bytes,
        Err(_) => vec![0],
    }
}

/// Whether the client knows the password (RFC 1929).
fn greet(stream: &mut TcpStream) -> bool {
    let hello = take(stream, 2);
    let Some(methods) = hello.get(1) else { return false };
    if !take(stream, *methods).contains(&2) {
        let _ = stream.write_all(&[5, 0xff]);
        return false;
    }
    stream.write_all(&[5, 2]).unwrap();
    let user = take(stream, 2)[1];
    let user = take(stream, user);
    let password = take(stream, 1)[0];
    let good = user == b"me" && take(stream, password) == b"pass";
    stream.write_all(&[1, u8::from(!good)]).unwrap();
    good
}

/// Where the client wants to go.
fn place(stream: &mut TcpStream) -> String {
    if take(stream, 4)[3] == 1 {
        let ip: [u8; 4] = take(stream, 4).try_into().unwrap();
        return SocketAddr::from((ip, port(stream))).to_string();
    }
    let n = take(stream, 1)[0];
    let name = text(take(stream, n));
    format!("{name}:{}", port(stream))
}

fn port(stream: &mut TcpStream) -> u16 {
    u16::from_be_bytes(take(stream, 2).try_into().unwrap())
}

fn by(url: &str, proxy: &Server) -> Option<Arc<Proxy>> {
    Some(Arc::new(Proxy::parse(&format!("{url}@{}", proxy.address), false).unwrap()))
}

#[test]
fn a_socks_proxy_is_told_the_checked_address_or_the_name_and_never_reads_the_request() {
    let origin = Server::raw(OK);
    let proxy = socks(origin.address, 0);
    let request = FetchRequest { via: by("socks5://me:pass", &proxy), ..request(origin.address) };
    let fetched = on_runtime(client().fetch(request.clone())).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (Some(origin.address), b"ok".to_vec()));
    assert_eq!(text(proxy.requests.recv().unwrap()), origin.address.to_string());
    let named = FetchRequest { via: by("socks5h://me:pass", &proxy), addresses: Vec::new(), ..request };
    let fetched = on_runtime(client().fetch(named)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (None, b"ok".to_vec()));
    assert_eq!(text(proxy.requests.recv().unwrap()), "h0.test:80");
    for seen in [origin.requests.recv().unwrap(), origin.requests.recv().unwrap()] {
        let seen = text(seen);
        assert!(seen.starts_with("GET /a/b?q=1 HTTP/1.1\r\nHost: h0.test\r\n") && !seen.contains("Proxy-"), "{seen}");
    }
}

#[test]
fn tls_goes_through_a_socks_proxy_that_looks_the_name_up() {
    let issuer = authority();
    let (cert, key) = signed(&params("h0.test"), &issuer);
    let origin = super::secure::server(server_config(cert, &key));
    let proxy = socks(origin.address, 0);
    let via = by("socks5h://me:pass", &proxy);
    let request = FetchRequest { url: url("https://h0.test/"), via, addresses: Vec::new(), ..request(proxy.address) };
    let fetched = on_runtime(https(TlsVerify::Strict, &issuer).fetch(request)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (None, b"secret".to_vec()));
    assert_eq!(text(proxy.requests.recv().unwrap()), "h0.test:443");
}

#[test]
fn an_address_that_must_not_be_spoken_to_is_refused_through_a_socks_proxy_too() {
    let proxy = socks("127.0.0.1:9".parse().unwrap(), 0);
    let strict = || Http::new(HttpConfig { policy: Arc::default(), ..config() }).unwrap();
    let local = FetchRequest { via: by("socks5://me:pass", &proxy), ..request("10.0.0.1:80".parse().unwrap()) };
    assert_eq!(on_runtime(strict().fetch(local)).unwrap_err().failure, Failure::AddressRefused);
    for text in ["http://10.0.0.1/", "http://[::1]/", "https://localhost/"] {
        let via = by("socks5h://me:pass", &proxy);
        let named = FetchRequest { url: url(text), via, ..request(proxy.address) };
        assert_eq!(on_runtime(strict().fetch(named)).unwrap_err().failure, Failure::AddressRefused, "{text}");
    }
    assert!(proxy.requests.try_recv().is_err(), "the proxy was never asked");
}

#[test]
fn a_socks_proxy_that_refuses_is_a_failure_of_the_proxy_and_tells_no_password() {
    let origin = "127.0.0.1:9".parse().unwrap();
    for (url, answer, told) in [
        ("socks5://me:pass", 2, "not allowed"),
        ("socks5://me:pass", 5, "refused"),
        ("socks5://me:wrong", 0, "user and password"),
        ("socks5://", 0, "who asks"),
    ] {
        let proxy = socks(origin, answer);
        let text = format!("{url}{}{}", if url.ends_with('/') { "" } else { "@" }, proxy.address);
        let via = Some(Arc::new(Proxy::parse(&text, false).unwrap()));
        let fault = on_runtime(client().fetch(FetchRequest { via, ..request(origin) })).unwrap_err();
        assert_eq!(fault.failure, Failure::Proxy, "{fault}");
        assert!(fault.detail.contains(told) && !fault.detail.contains("me:"), "{fault}");
    }
    let http = Server::raw("HTTP/1.1 400 What\r\n\r\n");
    let via = Some(Arc::new(Proxy::parse(&format!("socks5://{}", http.address), false).unwrap()));
    let mut asked = FetchRequest { via, ..request(origin) };
    asked.limits.connect = Duration::from_millis(200);
    assert_eq!(on_runtime(client().fetch(asked)).unwrap_err().failure, Failure::Proxy);
}

#[test]
fn a_socks_proxy_that_cannot_reach_one_address_is_asked_for_the_next() {
    let origin = Server::raw(OK);
    let proxy = socks(origin.address, 0);
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let via = by("socks5://me:pass", &proxy);
    let both = FetchRequest { via, addresses: vec![dead, origin.address], ..request(dead) };
    let fetched = on_runtime(client().fetch(both)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (Some(origin.address), b"ok".to_vec()));
}
