//! Who may ask: the token, the Host header, the Origin header.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Shortest token taken, bytes.
const SHORTEST: usize = 16;
/// Longest token file read, bytes.
const LONGEST: u64 = 4_096;

/// A token file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It cannot be read.
    #[error("cannot read the admin token file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It holds no usable token.
    #[error(
        "the admin token file {} must hold 16 to 4096 printable characters without spaces; \
         make one with: head -c 24 /dev/urandom | base64", path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a token file; white space around the token is cut.
///
/// # Errors
/// The file cannot be read, or the token is shorter than 16 bytes or holds spaces or control characters.
pub fn read_token(path: &Path) -> Result<String, TokenError> {
    let unread = |source| TokenError::Read { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(unread)?.len();
    let text = if size > LONGEST { String::new() } else { std::fs::read_to_string(path).map_err(unread)? };
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(TokenError::Form { path: path.to_owned() });
    }
    Ok(token.to_owned())
}

/// Whether an address can be reached from this machine only.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback()),
    }
}

/// The token's digest: comparing digests takes the same time wherever they differ.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Keeps the digest only.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether an `Authorization` header carries the token.
    #[must_use]
    pub fn admits(&self, authorization: Option<&str>) -> bool {
        let given =
            authorization.and_then(|a| a.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, given)) = given else { return false };
        let digest: [u8; 32] = Sha256::digest(given.trim().as_bytes()).into();
        digest.iter().zip(self.0).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

/// Whether a Host header names this endpoint. A page of another name that resolves to loopback (DNS rebinding) does not.
///
/// On loopback: `localhost` or the address, with the port. Elsewhere the token decides and every name will do.
#[must_use]
pub fn is_own_host(host: Option<&str>, listening: SocketAddr) -> bool {
    if !is_loopback(listening) {
        return true;
    }
    let Some(host) = host else { return false };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (host, Some(80)),
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let own =
        name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| is_loopback((ip, 0).into()));
    own && port == Some(listening.port())
}

/// Whether a changing request comes from no web page (no Origin) or from one of this endpoint's own.
#[must_use]
pub fn is_own_origin(origin: Option<&str>, fetch_site: Option<&str>, host: Option<&str>) -> bool {
    let from_elsewhere = matches!(fetch_site, Some("cross-site" | "same-site"));
    match origin {
        _ if from_elsewhere => false,
        None => true,
        Some(origin) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority.is_some() && authority == host
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[test]
    fn only_names_of_loopback_with_the_right_port_are_the_endpoints_own() {
        let cases = [
            ("127.0.0.1:7700", true),
            ("localhost:7700", true),
            ("LOCALHOST:7700", true),
            ("[::1]:7700", true),
            ("127.0.0.1", false),
            ("localhost:80", false),
            ("evil.example:7700", false),
            ("127.0.0.1.evil.example:7700", false),
            ("localhost.evil.example:7700", false),
            ("10.0.0.1:7700", false),
            ("", false),
            ("[::1]", false),
            (":7700", false),
        ];
        for (host, own) in cases {
            assert_eq!(is_own_host(Some(host), at("127.0.0.1:7700")), own, "{host}");
        }
        assert!(!is_own_host(None, at("127.0.0.1:7700")));
        assert!(is_own_host(Some("127.0.0.1"), at("127.0.0.1:80")));
        assert!(is_own_host(Some("crawler.example"), at("0.0.0.0:7700")), "there the token decides");
    }

    #[test]
    fn a_request_from_another_page_is_refused() {
        let host = Some("127.0.0.1:7700");
        assert!(is_own_origin(None, None, host));
        assert!(is_own_origin(Some("http://127.0.0.1:7700"), Some("same-origin"), host));
        for origin in ["http://evil.example", "null", "", "http://127.0.0.1:7701", "http://127.0.0.1:7700.evil.example"]
        {
            assert!(!is_own_origin(Some(origin), None, host), "{origin}");
        }
        assert!(!is_own_origin(None, Some("cross-site"), host));
        assert!(!is_own_origin(Some("x"), None, None));
    }

    #[test]
    fn a_token_is_taken_from_a_bearer_header_only() {
        let token = Token::new("0123456789abcdef");
        assert!(token.admits(Some("Bearer 0123456789abcdef")));
        assert!(token.admits(Some("bearer  0123456789abcdef")));
        for header in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer 0123456789abcdeF"),
            Some("Basic 0123456789abcdef"),
            Some("Bearer "),
        ] {
            assert!(!token.admits(header), "{header:?}");
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn a_token_file_must_hold_a_long_printable_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "  0123456789abcdef\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "0123456789abcdef");
        for bad in ["short", "", "0123456789 abcdef", "0123456789abcdef\u{7}", &"x".repeat(5_000)] {
            std::fs::write(&path, bad).unwrap();
            assert!(matches!(read_token(&path), Err(TokenError::Form { .. })), "{bad:?}");
        }
        let error = read_token(&dir.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
    }
}
