//! Time-outs and caps, and the address policy (I7).

use std::net::TcpListener;

use super::server::{Server, Session};
use super::*;
use crate::domain::cut::Cut;
use crate::domain::note::Note;

const SOON: Duration = Duration::from_millis(80);

fn fails(request: FetchRequest) -> FetchFault {
    on_runtime(client().fetch(request)).unwrap_err()
}

#[test]
fn an_address_outside_the_policy_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let http = Http::new(HttpConfig { policy: Arc::default(), ..config() }).unwrap();
    let fault = on_runtime(http.fetch(request(listener.local_addr().unwrap()))).unwrap_err();
    assert_eq!(fault.failure, Failure::AddressRefused);
    assert!(fault.detail.contains("--allow-net 127.0.0.1/32"), "{fault}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn nobody_listening_is_connect_refused() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(fails(request(address)).failure, Failure::ConnectRefused);
}

#[test]
fn the_next_address_is_tried_when_one_does_not_accept() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::stalls(OK);
    let forbidden = "192.0.2.1:80".parse().unwrap();
    let several = FetchRequest { addresses: vec![forbidden, dead, server.address], ..request(dead) };
    let fetched = on_runtime(client().fetch(several)).unwrap();
    assert_eq!((fetched.peer, bytes(&fetched)), (Some(server.address), b"ok".to_vec()));
}

#[test]
fn a_connection_that_is_not_accepted_ends_in_a_connect_time_out() {
    // A listener that accepts nothing, its queue of one filled: further connects get no answer.
    let (listener, address) = on_runtime(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap().into_std().unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    });
    let mut fillers = Vec::new();
    while let Ok(filler) = std::net::TcpStream::connect_timeout(&address, SOON) {
        fillers.push(filler);
        assert!(fillers.len() < 10_000);
    }
    let mut request = request(address);
    request.limits.timeouts.connect = SOON;
    let fault = fails(request);
    assert_eq!(fault.failure, Failure::ConnectTimeout);
    assert!(fault.timings.connect >= SOON && fault.timings.total >= SOON);
    drop(listener);
}

#[test]
fn no_head_within_its_time_is_a_first_byte_time_out() {
    for raw in [&b""[..], b"HTTP/1.1 200 OK\r\nX: y", b"HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let server = Server::stalls(raw);
        let mut request = request(server.address);
        request.limits.timeouts.first_byte = SOON;
        let fault = fails(request);
        assert_eq!(fault.failure, Failure::FirstByteTimeout, "{fault}");
    }
}

#[test]
fn a_stalled_body_is_kept_and_marked_if_some_of_it_came() {
    let (some, none) = (
        &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"[..],
        &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"[..],
    );
    type Change = fn(&mut FetchLimits);
    let limits: [(Change, Failure, Note); 2] = [
        (|l| l.timeouts.body = SOON, Failure::BodyTimeout, Note::BodyTimeout),
        (|l| (l.timeouts.min_rate, l.timeouts.min_rate_window) = (1000, SOON), Failure::TooSlow, Note::TooSlow),
    ];
    for (change, reason, note) in limits {
        let server = Server::stalls(some);
        let mut slow = request(server.address);
        change(&mut slow.limits);
        let fetched = on_runtime(client().fetch(slow)).unwrap();
        assert_eq!((fetched.cut, bytes(&fetched)), (Some(Cut::Time), b"half".to_vec()));
        assert_eq!(fetched.notes, [note]);
        let server = Server::stalls(none);
        let mut slow = request(server.address);
        change(&mut slow.limits);
        assert_eq!(fails(slow).failure, reason);
    }
}

#[test]
fn a_body_that_drips_in_is_cut_and_marked() {
    let server = Server::start(|mut session: Session| {
        use std::io::Write;
        session.read_request();
        session.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while session.stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100)); // the drip itself, not a wait for something
        }
    });
    let mut slow = request(server.address);
    (slow.limits.timeouts.min_rate, slow.limits.timeouts.min_rate_window) = (1_000, Duration::from_millis(350));
    let fetched = on_runtime(client().fetch(slow)).unwrap();
    let kept = bytes(&fetched);
    assert!(!kept.is_empty() && kept.len() < 350 && kept.iter().all(|b| *b == b'x'), "{kept:?}");
    assert_eq!((fetched.cut, fetched.notes), (Some(Cut::Time), vec![Note::TooSlow]));
}

#[test]
fn a_connection_reset_within_the_body_is_told_from_one_that_ended() {
    let server = Server::start(|mut session: Session| {
        session.read_request();
        session.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        session.reset();
    });
    let fetched = on_runtime(client().fetch(request(server.address))).unwrap();
    assert_eq!((fetched.cut, fetched.notes), (Some(Cut::Disconnect), vec![Note::Reset]));
}

#[test]
fn all_fetches_share_the_bandwidth_and_a_pause_of_ours_is_not_the_servers() {
    let body = "x".repeat(60_000);
    let server = Server::raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let throttle = Some(Arc::new(Throttle::new(200_000)));
    let http = Http::new(HttpConfig { throttle, ..config() }).unwrap();
    let mut request = request(server.address);
    // Far less than the pauses take, and more than the server needs.
    (request.limits.timeouts.min_rate, request.limits.timeouts.min_rate_window) = (100_000, Duration::from_millis(200));
    let begun = std::time::Instant::now();
    let received = on_runtime(async {
        let (one, two) = tokio::join!(http.fetch(request.clone()), http.fetch(request));
        [one.unwrap(), two.unwrap()].map(|fetched| (fetched.cut, fetched.body.len()))
    });
    assert_eq!(received, [(None, 60_000); 2]);
    // 120 kB at 200 kB a second, less what is given on credit: no machine is too slow for this.
    assert!(begun.elapsed() > Duration::from_millis(450), "{:?}", begun.elapsed());
}

#[test]
fn connections_come_from_the_source_address() {
    let (seen, from) = std::sync::mpsc::channel();
    let server = Server::start(move |mut session: Session| {
        if session.read_request() {
            seen.send(session.stream.peer_addr().unwrap().ip()).unwrap();
            session.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let source = Source { v4: Some("127.0.0.77".parse().unwrap()), v6: None };
    let http = Http::new(HttpConfig { source, ..config() }).unwrap();
    on_runtime(http.fetch(request(server.address))).unwrap();
    assert_eq!(from.recv_timeout(HUNG).unwrap().to_string(), "127.0.0.77");
}

#[test]
fn a_body_is_cut_at_the_cap_and_one_of_that_very_size_is_whole() {
    for (cap, kept, cut) in [(10, 10, None), (9, 9, Some(Cut::Length)), (0, 0, Some(Cut::Length)), (11, 10, None)] {
        for head in ["Content-Length: 10\r\n", ""] {
            let server = Server::raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n0123456789"));
            let mut request = request(server.address);
            request.limits.max_body = cap;
            let fetched = on_runtime(client().fetch(request)).unwrap();
            assert_eq!((bytes(&fetched).len(), fetched.cut), (kept, cut), "{cap} {head}");
        }
    }
}

#[test]
fn an_endless_body_ends_at_the_cap_and_the_connection_closes() {
    let (closed, when_closed) = std::sync::mpsc::channel();
    let server = Server::start(move |mut session: Session| {
        session.read_request();
        session.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        use std::io::Write;
        let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
        while session.stream.write_all(&chunk).is_ok() {}
        let _ = closed.send(());
    });
    let mut request = request(server.address);
    request.limits.max_body = 3_000_000;
    let (fetched, idle) = on_runtime(async {
        let http = client();
        let fetched = http.fetch(request).await.unwrap();
        (fetched, http.pool.len())
    });
    assert_eq!((fetched.cut, fetched.body.len(), idle), (Some(Cut::Length), 3_000_000, 0));
    assert!(fetched.body.is_spilled() && bytes(&fetched).iter().all(|b| *b == b'x'));
    assert!(when_closed.recv_timeout(HUNG).is_ok());
}

#[test]
fn a_large_body_goes_through_a_spill_file_unchanged() {
    let body: Vec<u8> = (0..5_000_000u32).map(|i| (i % 251) as u8).collect();
    let raw = [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let server = Server::raw(raw);
    let fetched = on_runtime(client().fetch(request(server.address))).unwrap();
    assert!(fetched.cut.is_none() && fetched.body.is_spilled());
    assert!(bytes(&fetched) == body);
}

#[test]
fn a_body_the_disk_refuses_is_a_spill_failure() {
    let server = Server::raw(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(300_000)));
    let spill = SpillConfig { budget: SpillBudget::new(100_000), ..config().spill };
    let http = Http::new(HttpConfig { spill: spill.clone(), ..config() }).unwrap();
    let fault = on_runtime(http.fetch(request(server.address))).unwrap_err();
    assert_eq!(fault.failure, Failure::Spill);
    assert_eq!(spill.budget.used(), 0);
}

#[test]
fn dropping_the_fetch_closes_the_connection() {
    let (closed, when_closed) = std::sync::mpsc::channel();
    let server = Server::start(move |mut session: Session| {
        session.read_request();
        session.until_closed();
        let _ = closed.send(());
    });
    on_runtime(async {
        let http = client();
        let mut fetch = Box::pin(http.fetch(request(server.address)));
        while server.requests.try_recv().is_err() {
            let _ = tokio::time::timeout(Duration::from_millis(1), &mut fetch).await;
        }
        drop(fetch);
        assert!(when_closed.recv_timeout(HUNG).is_ok());
    });
}
