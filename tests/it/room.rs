//! Bodies that take more room than they should: of robots.txt, and of pages while others have taken all there is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::cockpit::in_front_of;
use crate::site::{Site, html, none};

type Respond = Arc<dyn Fn(&str, &mut TcpStream) + Send + Sync>;

/// A server that writes what it likes to each request's connection, and then closes it.
fn serve(respond: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let respond: Respond = Arc::new(respond);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, respond) = (stream.unwrap(), respond.clone());
            std::thread::spawn(move || {
                let mut head = [0; 4_096];
                let n = stream.read(&mut head).unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..n]).into_owned();
                respond(head.split(' ').nth(1).unwrap_or("/"), &mut stream);
            });
        }
    });
    address
}

#[test]
fn of_an_endless_robots_txt_no_more_is_taken_than_counts() {
    let sent = Arc::new(AtomicU64::new(0));
    let counted = sent.clone();
    let address = serve(move |path, stream| {
        if path != "/robots.txt" {
            let _ = stream.write_all(html("<a href=/private/x>x</a><a href=/open>o</a>").as_bytes());
            return;
        }
        let _ =
            stream.write_all(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /private\n");
        let piece = "# and so on\n".repeat(1_000);
        while stream.write_all(piece.as_bytes()).is_ok() && counted.load(Ordering::Acquire) < 200 << 20 {
            counted.fetch_add(piece.len() as u64, Ordering::AcqRel);
        }
    });
    let sandbox = in_front_of(&Site::http(|_, _| none()))
        .set(&format!("dns.overrides={{\"*.test\"=\"{address}\"}}"))
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set("crawl.until_done=true");
    let ended = sandbox.crawl();
    assert_eq!((ended.status.pages_stored, ended.status.rejected), (2, 1), "{}", ended.report());
    let sent = sent.load(Ordering::Acquire);
    assert!(sent < 32 << 20, "{sent} bytes: more than fits the buffers between");
}

#[test]
fn a_page_for_which_there_is_no_room_is_not_asked_for_again_before_there_is() {
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let asked = Arc::new(AtomicU64::new(0));
    let counted = asked.clone();
    let address = serve(move |path, stream| {
        let head =
            |length: usize| format!("HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n");
        match path {
            "/hog" => {
                let body = vec![b'h'; 1_000_000];
                let _ = stream.write_all(head(body.len() + 1).as_bytes());
                let _ = stream.write_all(&body);
                let _ = gate.lock().unwrap().recv(); // the last byte comes when the test says so
                let _ = stream.write_all(b"h");
            }
            "/page" => {
                counted.fetch_add(1, Ordering::AcqRel);
                let body = vec![b'p'; 300_000];
                let _ = stream.write_all(head(body.len()).as_bytes());
                let _ = stream.write_all(&body);
            }
            _ => drop(stream.write_all(none().as_bytes())),
        }
    });
    let sandbox = in_front_of(&Site::http(|_, _| none()))
        .set(&format!("dns.overrides={{\"*.test\"=\"{address}\"}}"))
        .set("scope.mode=any")
        .set("fetch.max_body=1MiB")
        .set("fetch.body_memory=0")
        .set("fetch.max_spill=1MiB");
    let live = sandbox.start();
    live.seed(&["http://hog.test/hog"]);
    live.until("the room to be taken", |_| live.node.permits.spill.is_short());
    let page = live.node.prints.url(&live.node.crawl.rules.canon.parse("http://a.test/page").unwrap());
    live.seed(&["http://a.test/page"]);
    live.until("the page to fail", |s| s.waiting == 1 && live.node.spilled(&page) == 1);
    let commits = |live: &crate::support::Live<'_>| *live.node.crawl.progress.committed.borrow();
    let before = commits(&live);
    live.until("it to be put off again and again", |_| commits(&live) > before + 8);
    assert_eq!((asked.load(Ordering::Acquire), live.node.spilled(&page)), (1, 1));
    open.send(()).unwrap();
    live.until("both", |s| s.done == 2);
    assert_eq!(asked.load(Ordering::Acquire), 2);
    live.end();
}
