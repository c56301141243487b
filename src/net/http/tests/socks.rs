//! Requests through a SOCKS proxy.

use std::io::Write;
use std::net::TcpStream;

use super::proxied::{hand_on, text, via};
use super::server::{Server, Session};
use super::*;

/// A SOCKS 5 proxy that wants a password, and leads every name to `names`; tells what it was asked for. `answer`: 0, or why not.
pub(super) fn socks(names: SocketAddr, answer: u8) -> Server {
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

#[test]
fn a_socks_proxy_is_told_the_checked_address_or_the_name_and_never_reads_the_request() {
    let origin = Server::raw(OK);
    let proxy = socks(origin.address, 0);
    let request = FetchRequest { via: via("socks5", &proxy, false), ..request(origin.address) };
    let fetched = on_runtime(client().fetch(request.clone())).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (Some(origin.address), b"ok".to_vec()));
    assert_eq!(text(proxy.requests.recv().unwrap()), origin.address.to_string());
    let named = FetchRequest { via: via("socks5h", &proxy, false), addresses: Vec::new(), ..request };
    let fetched = on_runtime(client().fetch(named)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (None, b"ok".to_vec()));
    assert_eq!(text(proxy.requests.recv().unwrap()), "h0.test:80");
    for seen in [origin.requests.recv().unwrap(), origin.requests.recv().unwrap()] {
        let seen = text(seen);
        assert!(seen.starts_with("GET /a/b?q=1 HTTP/1.1\r\nHost: h0.test\r\n") && !seen.contains("Proxy-"), "{seen}");
    }
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
    asked.limits.timeouts.connect = Duration::from_millis(200);
    assert_eq!(on_runtime(client().fetch(asked)).unwrap_err().failure, Failure::Proxy);
}
