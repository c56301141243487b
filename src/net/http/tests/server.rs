//! The server of these tests: a thread that runs a script on every connection it accepts.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// What the server read as requests, one message a request.
    pub(super) requests: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    done: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

/// One connection of the server, the `number`th since its start (from 0).
pub(super) struct Session {
    pub(super) number: usize,
    pub(super) stream: TcpStream,
    requests: std::sync::mpsc::Sender<Vec<u8>>,
    last: Vec<u8>,
}

/// A request head; none when the client has closed.
pub(super) fn read_head(stream: &mut impl Read) -> Option<Vec<u8>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(head)
}

impl Session {
    /// The last request read.
    pub(super) fn last(&self) -> String {
        String::from_utf8_lossy(&self.last).into_owned()
    }

    /// Reads a request head; false when the client has closed.
    pub(super) fn read_request(&mut self) -> bool {
        let Some(head) = read_head(&mut self.stream) else { return false };
        self.last.clone_from(&head);
        self.requests.send(head).is_ok()
    }

    /// Tells the test of a request in words of its own.
    pub(super) fn tell(&self, what: String) {
        let _ = self.requests.send(what.into_bytes());
    }

    /// Writes; a client that has gone is no fault of the test.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Waits until the client closes.
    pub(super) fn until_closed(&mut self) {
        let _ = std::io::copy(&mut self.stream, &mut std::io::sink());
    }

    /// Ends by a reset.
    pub(super) fn reset(self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _entered = runtime.enter();
        self.stream.set_nonblocking(true).unwrap();
        tokio::net::TcpStream::from_std(self.stream).unwrap().set_zero_linger().unwrap();
    }

    /// Ends the answer by closing, without a reset.
    pub(super) fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.until_closed();
    }
}

impl Server {
    /// Runs `script` on every connection, one after the other, until the server is dropped.
    pub(super) fn start(mut script: impl FnMut(Session) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = channel();
        let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stop = std::sync::Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if stop.load(std::sync::atomic::Ordering::SeqCst) {
                    return;
                }
                script(Session { number, stream: stream.unwrap(), requests: sender.clone(), last: Vec::new() });
            }
        });
        Self { address, requests, thread: Some(thread), done }
    }

    /// Answers every connection's first request with `raw` and then nothing, and leaves the connection open.
    pub(super) fn stalls(raw: &'static [u8]) -> Self {
        Self::start(move |mut session| {
            session.read_request();
            session.write(raw);
            session.until_closed();
        })
    }

    /// Answers every connection's first request with `raw`, then closes.
    pub(super) fn raw(raw: impl Into<Vec<u8>>) -> Self {
        let raw = raw.into();
        Self::start(move |mut session| {
            session.read_request();
            session.write(&raw);
            session.close();
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.done.store(true, std::sync::atomic::Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        let result = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(result, Some(Ok(()))), "the server's script failed");
        }
    }
}
