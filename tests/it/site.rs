//! A web server of a few lines on loopback, http or https, that answers as a test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A whole answer to a request with this head, for `host` (without port) and `path`.
type Respond = Arc<dyn Fn(&str, &str, &str) -> Vec<u8> + Send + Sync>;

/// A running server; ended when dropped.
pub struct Site {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// Speaks http.
    pub fn http<B: Into<Vec<u8>>>(respond: impl Fn(&str, &str) -> B + Send + Sync + 'static) -> Self {
        Self::http_at("127.0.0.1:0".parse().unwrap(), respond)
    }

    /// Speaks http, by what the head of the request says.
    pub fn of_heads(respond: impl Fn(&str, &str, &str) -> String + Send + Sync + 'static) -> Self {
        let respond = move |head: &str, host: &str, path: &str| respond(head, host, path).into_bytes();
        Self::start("127.0.0.1:0".parse().unwrap(), Arc::new(respond), None)
    }

    /// Speaks http at this address.
    pub fn http_at<B: Into<Vec<u8>>>(
        address: SocketAddr,
        respond: impl Fn(&str, &str) -> B + Send + Sync + 'static,
    ) -> Self {
        Self::start(address, Arc::new(move |_: &str, host: &str, path: &str| respond(host, path).into()), None)
    }

    /// Speaks https with a certificate signed by itself.
    pub fn https(respond: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["self.test".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let respond = move |_: &str, host: &str, path: &str| respond(host, path).into_bytes();
        Self::start("127.0.0.1:0".parse().unwrap(), Arc::new(respond), Some(Arc::new(config)))
    }

    fn start(address: SocketAddr, respond: Respond, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (heads, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, end) = (heads.clone(), ended.clone());
        let peers = Arc::new(Mutex::new(Vec::new()));
        let seen = peers.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(stream), tls, log, respond) = (stream, tls.clone(), log.clone(), respond.clone()) else {
                    continue;
                };
                seen.lock().unwrap().extend(stream.peer_addr().ok());
                std::thread::spawn(move || match tls {
                    None => answer(stream, &respond, &log),
                    Some(config) => {
                        answer(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), &respond, &log);
                    }
                });
            }
        });
        Self { address, heads, peers, ended, thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// `host path` of each request so far.
    pub fn asked(&self) -> Vec<String> {
        self.heads().iter().map(|head| host_and_path(head)).map(|(host, path)| format!("{host} {path}")).collect()
    }

    /// Where each connection so far came from.
    pub fn peers(&self) -> Vec<SocketAddr> {
        self.peers.lock().unwrap().clone()
    }

    /// The head of each request so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes it
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: impl Read + Write, respond: &Respond, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut piece = [0; 4_096];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 && head.is_empty() && piece[0] == 0x16 => {
                let _ = stream.write_all(page(400, "text/plain", "", "TLS spoken to a plain port").as_bytes());
                return;
            }
            Ok(n) if n > 0 => head.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    log.lock().unwrap().push(head.clone());
    let (host, path) = host_and_path(&head);
    let _ = stream.write_all(&respond(&head, host, path));
    let _ = stream.flush();
}

/// The host without port, and the path, of a request.
fn host_and_path(head: &str) -> (&str, &str) {
    let path = head.split(' ').nth(1).unwrap_or("/");
    let host = head.lines().find_map(|l| l.strip_prefix("Host: ").or(l.strip_prefix("host: "))).unwrap_or("");
    (host.split(':').next().unwrap_or(""), path)
}

/// An answer with a body.
pub fn page(status: u16, kind: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n{body}"
    )
}

/// An HTML page.
pub fn html(body: &str) -> String {
    page(200, "text/html", "", body)
}

/// 404.
pub fn none() -> String {
    page(404, "text/plain", "", "none")
}
