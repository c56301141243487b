//! A server that plays a fault of its own at each of its hosts.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

/// Answers one request for a path; the connection is closed afterwards.
pub type Play = Arc<dyn Fn(&mut TcpStream, &str) + Send + Sync>;

/// A running server; ended when dropped.
pub struct Server {
    pub address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `play_of` gives a host's fault. Its robots.txt is missing, unless the fault is about that (`robots-…`).
    pub fn start(play_of: impl Fn(&str) -> Option<Play> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let (end, play_of) = (ended.clone(), Arc::new(play_of));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::Acquire) {
                    return;
                }
                let play_of = play_of.clone();
                std::thread::spawn(move || serve(stream, &*play_of));
            }
        });
        Self { address, ended, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes it
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(mut stream: TcpStream, play_of: &dyn Fn(&str) -> Option<Play>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/");
    let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default();
    match play_of(host).filter(|_| path != "/robots.txt" || host.starts_with("robots-")) {
        Some(play) => play(&mut stream, path),
        None => {
            send(&mut stream, &answer("404 Not Found", "text/plain", b"none"));
        }
    }
    if SockRef::from(&stream).linger().is_ok_and(|linger| linger.is_some()) {
        return; // closed with a reset
    }
    // Until the other side has gone: a close with unread bytes would reset what was sent.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Writes what the other side still takes; false once it takes no more.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}

/// Has the connection end with a reset.
pub fn reset(stream: &TcpStream) {
    SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// A whole answer; `status` may go on with further header lines.
pub fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}
