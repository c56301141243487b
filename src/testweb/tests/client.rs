//! A tiny blocking HTTP/1.1 client on `std::net`, as naive as can be.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// An answer, its body decoded.
#[derive(Debug, Clone, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Without transfer and content coding.
    pub body: Vec<u8>,
    /// As received, behind the head.
    pub raw: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// `GET path` of a host over a connection of its own.
pub fn get(addr: SocketAddr, host: &str, path: &str) -> Response {
    ask(addr, "GET", host, path, "Accept-Encoding: gzip\r\n")
}

/// Any request over a connection of its own; `extra` are further header lines.
pub fn ask(addr: SocketAddr, method: &str, host: &str, path: &str, extra: &str) -> Response {
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: naive/1\r\nConnection: close\r\n{extra}\r\n");
    parse(&exchange(addr, head.as_bytes()))
}

/// Sends bytes and reads until the other side closes.
pub fn exchange(addr: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Splits an answer that ends with the input.
pub fn parse(bytes: &[u8]) -> Response {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").expect("a header line"));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let raw = bytes[end + 4..].to_vec();
    let mut response = Response { status, headers, body: raw.clone(), raw };
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunk(&response.raw);
    } else if let Some(length) = response.header("content-length") {
        assert!(response.raw.is_empty() || response.raw.len() == length.parse::<usize>().unwrap());
    }
    if response.header("content-encoding") == Some("gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(response.body.as_slice()).read_to_end(&mut plain).unwrap();
        response.body = plain;
    }
    response
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").expect("a chunk line");
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        rest = &rest[line + 2..];
        if length == 0 {
            assert_eq!(rest, b"\r\n");
            return body;
        }
        body.extend_from_slice(&rest[..length]);
        rest = rest[length..].strip_prefix(b"\r\n").expect("the end of a chunk");
    }
}
