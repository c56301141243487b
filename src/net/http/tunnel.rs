//! A tunnel through a proxy: `CONNECT` (RFC 9110 section 9.3.6).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::head::{final_head, parse_head};
use super::super::proxy::Proxy;

/// Bytes of the proxy's answer that are read at most.
const MAX_ANSWER: usize = 16 * 1024;

/// Why there is no tunnel.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(super) struct Refused {
    why: String,
    /// The proxy tried and failed: another address of the host may do.
    pub(super) elsewhere: bool,
}

impl Refused {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), elsewhere: false }
    }

    /// The proxy tried and failed.
    pub(super) fn of_the_far_end(why: impl Into<String>) -> Self {
        Self { why: why.into(), elsewhere: true }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Asks the proxy at the other end of `stream` for a tunnel to `place`.
pub(super) async fn dig<S>(stream: &mut S, proxy: &Proxy, place: &str) -> Result<(), Refused>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n").into_bytes();
    if let Some(authorization) = proxy.authorization() {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(authorization.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream.write_all(&request).await?;
    stream.flush().await?;
    let answer = answer(stream).await?;
    let head = final_head(&answer).unwrap_or_default();
    match parse_head(head).map(|parsed| parsed.status) {
        // Nobody at the far end speaks before we do: what follows the head would be the proxy's own.
        Some(200..=299) if head.len() < answer.len() => Err(Refused::new("it speaks into the tunnel")),
        Some(200..=299) => Ok(()),
        Some(407) => Err(Refused::new("407, it wants to know who asks: set user and password in its URL")),
        Some(status) => Err(Refused { why: format!("it answered {status}"), elsewhere: status >= 500 }),
        None => Err(Refused::new("it does not answer in HTTP")),
    }
}

/// The bytes up to the end of the head at least.
async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Refused> {
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while final_head(&answer).is_none() {
        if answer.len() > MAX_ANSWER {
            return Err(Refused::new("its answer has no end"));
        }
        match stream.read(&mut piece).await? {
            0 => return Err(Refused::new("it closed the connection")),
            n => answer.extend_from_slice(piece.get(..n).unwrap_or_default()),
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::on_runtime;

    /// What becomes of a proxy's answer, and what it was asked.
    fn asked(answer: &[u8], proxy: &str) -> (Result<(), (String, bool)>, String) {
        on_runtime(async {
            let (mut near, mut far) = tokio::io::duplex(64 * 1024);
            far.write_all(answer).await.unwrap();
            far.shutdown().await.unwrap();
            let proxy = Proxy::parse(proxy, false).unwrap();
            let dug = dig(&mut near, &proxy, "192.0.2.1:80").await;
            drop(near);
            let mut request = String::new();
            far.read_to_string(&mut request).await.unwrap();
            (dug.map_err(|refused| (refused.to_string(), refused.elsewhere)), request)
        })
    }

    #[test]
    fn an_answer_of_success_whatever_its_headers_opens_the_tunnel() {
        for good in ["HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\r\nContent-Length: 5\r\n\r\n"] {
            let (dug, request) = asked(good.as_bytes(), "http://p.test:1");
            assert_eq!(dug, Ok(()));
            assert_eq!(request, "CONNECT 192.0.2.1:80 HTTP/1.1\r\nHost: 192.0.2.1:80\r\n\r\n");
        }
        let (_, request) = asked(b"HTTP/1.1 200 OK\r\n\r\n", "http://me:secret@p.test:1");
        assert!(request.contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n"), "{request}");
    }

    #[test]
    fn every_other_answer_is_a_refusal_and_one_of_the_far_end_can_be_helped() {
        let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 40_000]].concat();
        let cases: [(&[u8], &str, bool); 7] = [
            (b"HTTP/1.1 407 Who\r\n\r\n", "407", false),
            (b"HTTP/1.1 403 No\r\n\r\n", "403", false),
            (b"HTTP/1.1 502 Bad\r\nContent-Length: 3\r\n\r\nbad", "502", true),
            (b"HTTP/1.1 200 OK\r\n\r\n<html>", "speaks into", false),
            (b"SSH-2.0-OpenSSH\r\n\r\n", "not answer in HTTP", false),
            (b"", "closed", false),
            (&endless, "no end", false),
        ];
        for (answer, why, elsewhere) in cases {
            let (told, helped) = asked(answer, "http://p.test:1").0.unwrap_err();
            assert!(told.contains(why) && helped == elsewhere, "{told}");
        }
    }
}
