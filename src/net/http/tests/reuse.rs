//! Connections used again, and not.

use std::sync::mpsc::channel;

use super::server::{Server, Session};
use super::*;

/// Answers request after request on one connection; the body tells connection and request.
fn keeps_alive() -> Server {
    Server::start(|mut session: Session| {
        let mut n = 0;
        while session.read_request() {
            let body = format!("c{} r{n}", session.number);
            session.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
            n += 1;
        }
    })
}

#[test]
fn a_connection_is_used_again_for_the_same_host_and_address() {
    let server = keeps_alive();
    on_runtime(async {
        let http = client();
        for n in 0..3 {
            let fetched = http.fetch(request(server.address)).await.unwrap();
            assert_eq!(String::from_utf8(bytes(&fetched)).unwrap(), format!("c0 r{n}"));
            assert_eq!(fetched.reused, n > 0);
            assert_eq!(fetched.request_head.iter().filter(|b| **b == b'\n').count(), 6, "one request only");
            assert_eq!(fetched.response_head, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
            assert_eq!(http.pool.len(), 1);
        }
        drop(http);
    });
}

#[test]
fn another_host_at_the_same_address_gets_a_connection_of_its_own() {
    let server = Server::start(|mut session: Session| {
        std::thread::spawn(move || {
            while session.read_request() {
                session.write(OK)
            }
        });
    });
    on_runtime(async {
        let http = client();
        http.fetch(request(server.address)).await.unwrap();
        let other = FetchRequest { url: url("http://h1.test/"), ..request(server.address) };
        assert!(!http.fetch(other).await.unwrap().reused);
        assert_eq!(http.pool.len(), 2);
    });
}

#[test]
fn a_stale_connection_is_replaced_without_a_word() {
    // The server closes after each answer without saying so; the second time, only once the next request has come.
    let server = Server::start(|mut session: Session| {
        session.read_request();
        session.write(OK);
        if session.number == 1 {
            session.read_request();
        }
    });
    on_runtime(async {
        let http = client();
        for _ in 0..4 {
            let fetched = http.fetch(request(server.address)).await.unwrap();
            assert_eq!((fetched.status, fetched.reused), (200, false));
        }
    });
}

#[test]
fn a_fresh_connection_that_dies_is_not_tried_again() {
    let server = Server::start(|mut session: Session| {
        session.read_request();
    });
    let fault = on_runtime(client().fetch(request(server.address))).unwrap_err();
    assert_eq!(fault.failure, Failure::Reset);
    assert!(server.requests.recv().is_ok());
    assert!(server.requests.try_recv().is_err(), "one request only");
}

#[test]
fn a_used_connection_that_dies_within_the_answer_is_not_tried_again() {
    let server = Server::start(|mut session: Session| {
        session.read_request();
        session.write(OK);
        session.read_request();
        session.write(b"HTTP/1.1 200 O");
    });
    on_runtime(async {
        let http = client();
        http.fetch(request(server.address)).await.unwrap();
        assert_eq!(http.fetch(request(server.address)).await.unwrap_err().failure, Failure::Reset);
    });
}

#[test]
fn connections_that_cannot_be_trusted_are_not_kept() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ];
    for raw in answers {
        let server = Server::stalls(raw.as_bytes());
        on_runtime(async {
            let http = client();
            let fetched = http.fetch(request(server.address)).await.unwrap();
            assert_eq!((bytes(&fetched), http.pool.len()), (b"ok".to_vec(), 0), "{raw}");
        });
    }
}

#[test]
fn an_answer_nobody_asked_for_is_not_taken_for_the_next_one() {
    let (poisoned, when_poisoned) = channel();
    let (go, wait) = channel();
    let server = Server::start(move |mut session: Session| {
        session.read_request();
        session.write(OK);
        if session.number == 0 {
            wait.recv().unwrap();
            session.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
            poisoned.send(()).unwrap();
            session.until_closed();
        }
    });
    on_runtime(async {
        let http = client();
        http.fetch(request(server.address)).await.unwrap();
        assert_eq!(http.pool.len(), 1);
        go.send(()).unwrap();
        when_poisoned.recv().unwrap();
        // The bytes lie in the socket; the runtime learns of them when it next looks.
        tokio::task::yield_now().await;
        let fetched = http.fetch(request(server.address)).await.unwrap();
        assert_eq!((bytes(&fetched), fetched.reused), (b"ok".to_vec(), false));
    });
}

#[test]
fn an_idle_connection_is_closed_by_time() {
    let (closed, when_closed) = channel();
    let server = Server::start(move |mut session: Session| {
        session.read_request();
        session.write(OK);
        session.until_closed();
        let _ = closed.send(());
    });
    let (address, idle) = (server.address, Duration::from_millis(20));
    on_runtime(async {
        let http = Http::new(HttpConfig { idle, ..config() }).unwrap();
        http.fetch(request(address)).await.unwrap();
        let seen = tokio::task::spawn_blocking(move || when_closed.recv_timeout(HUNG));
        assert!(seen.await.unwrap().is_ok(), "closed with nobody asking");
        assert_eq!(http.pool.len(), 0);
    });
}
