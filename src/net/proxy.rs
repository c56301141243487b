//! Proxies between the crawler and the web: which one a URL goes through.
//!
//! By default the name is looked up and checked here, and the proxy is told the address: were it to look the name up again,
//! the address policy (I7) would be void. Where the proxy is to look names up (`proxy.dns = "remote"`), it is the proxy's
//! part to keep us out of where we must not go.

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64;
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::domain::url::{PageUrl, Scheme};

use super::guard::HostPattern;

/// One proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its host: a name, or an address, that of IPv6 in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    speech: Speech,
    /// Whether it looks names up, so that we do not know the address that answers.
    pub resolves: bool,
}

/// What it is spoken to in, and who we say we are.
#[derive(Clone, PartialEq, Eq)]
enum Speech {
    /// HTTP, with the value of `Proxy-Authorization`.
    Http(Option<HeaderValue>),
    /// SOCKS 5, with user name and password.
    Socks(Option<(String, String)>),
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resolves = self.resolves;
        f.debug_struct("Proxy").field("at", &self.to_string()).field("resolves", &resolves).finish_non_exhaustive()
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A text that names no proxy; it is not repeated, for it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "is no proxy: write http://, socks5:// or socks5h:// (which looks names up) and then HOST:PORT or USER:PASSWORD@HOST:PORT, \
     with what is no letter or digit percent-encoded"
)]
pub struct ProxyError;

/// Where a SOCKS proxy listens when nothing else is said.
const SOCKS_PORT: u16 = 1080;

impl Proxy {
    /// Reads `http://[USER:PASSWORD@]HOST:PORT`, the same with `socks5`, or with `socks5h`, which looks names up. `resolves`: so
    /// do all others.
    pub fn parse(text: &str, resolves: bool) -> Result<Self, ProxyError> {
        let url = Url::parse(text.trim()).map_err(|_| ProxyError)?;
        let bare = matches!(url.path(), "/" | "") && url.query().is_none() && url.fragment().is_none();
        let host = url.host_str().filter(|host| bare && !host.is_empty()).ok_or(ProxyError)?;
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some((decoded(user), decoded(password.unwrap_or_default()))),
        };
        let (speech, port) = match (url.scheme(), login) {
            ("http", None) => (Speech::Http(None), 80),
            ("http", Some((user, password))) => (Speech::Http(Some(basic(&user, &password).ok_or(ProxyError)?)), 80),
            ("socks5" | "socks5h", login) => (Speech::Socks(login.map(socks_login).transpose()?), SOCKS_PORT),
            _ => return Err(ProxyError),
        };
        let resolves = resolves || url.scheme() == "socks5h";
        Ok(Self { host: host.to_owned(), port: url.port().unwrap_or(port), speech, resolves })
    }

    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        match &self.speech {
            Speech::Http(authorization) => authorization.as_ref(),
            Speech::Socks(_) => None,
        }
    }

    /// Whether it speaks SOCKS.
    pub fn is_socks(&self) -> bool {
        matches!(self.speech, Speech::Socks(_))
    }

    /// User name and password for a SOCKS proxy.
    pub fn socks_login(&self) -> Option<(&str, &str)> {
        match &self.speech {
            Speech::Socks(Some((user, password))) => Some((user, password)),
            Speech::Socks(None) | Speech::Http(_) => None,
        }
    }
}

fn decoded(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

/// User name and password as RFC 1929 takes them: 1 to 255 bytes each.
fn socks_login((user, password): (Vec<u8>, Vec<u8>)) -> Result<(String, String), ProxyError> {
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).ok().filter(|text| (1..=255).contains(&text.len()));
        text.ok_or(ProxyError)
    };
    Ok((text(user)?, text(password)?))
}

/// The value of a header with basic credentials (RFC 7617); none where the user name holds a colon.
pub(super) fn basic(user: &[u8], password: &[u8]) -> Option<HeaderValue> {
    if user.contains(&b':') {
        return None;
    }
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64.encode(&[user, b":", password].concat()))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// How a host's URLs go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As all others.
    General,
    /// Without a proxy.
    Direct,
    /// Through this one.
    Via(Arc<Proxy>),
}

/// Which URLs go through which proxy.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// For http.
    pub http: Option<Arc<Proxy>>,
    /// For https.
    pub https: Option<Arc<Proxy>>,
    /// Hosts that need none.
    pub except: Vec<HostPattern>,
    /// What was said of hosts; the first that matches counts.
    pub hosts: Vec<(HostPattern, Way)>,
}

impl Routes {
    /// The proxy for a URL.
    pub fn of(&self, url: &PageUrl) -> Option<Arc<Proxy>> {
        match self.hosts.iter().find(|(pattern, _)| pattern.matches(url.host())) {
            Some((_, Way::Direct)) => return None,
            Some((_, Way::Via(proxy))) => return Some(proxy.clone()),
            Some((_, Way::General)) | None => {}
        }
        let general = match url.scheme() {
            Scheme::Http => &self.http,
            Scheme::Https => &self.https,
        };
        general.clone().filter(|_| !self.except.iter().any(|pattern| pattern.matches(url.host())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{rows, unescaped};
    use crate::net::testing::url;

    #[test]
    fn a_proxy_is_a_scheme_a_host_and_a_port_with_or_without_a_password() {
        for row in rows(include_str!("../../tests/data/http/proxies.txt"), 3) {
            let [text, dns, want] = [0, 1, 2].map(|n| row.cells[n]);
            let proxy = Proxy::parse(&String::from_utf8(unescaped(text)).unwrap(), dns == "remote");
            let told = proxy.as_ref().map_or("-".to_owned(), |proxy| {
                let speech = if proxy.is_socks() { "socks" } else { "http" };
                format!("{proxy} {speech} {}", if proxy.resolves { "remote" } else { "local" })
            });
            assert_eq!(told, want, "line {}: {}", row.line, row.text);
            let shown = format!("{proxy:?}");
            assert!(!shown.contains("ss@") && !shown.contains("p@ss") && !shown.contains("Basic"), "{shown}");
            let login = proxy.ok().map(|proxy| proxy.socks_login().is_some() || proxy.authorization().is_some());
            assert_eq!(login.unwrap_or_default(), text.contains('@') && want != "-", "line {}", row.line);
        }
        let http = Proxy::parse("http://me:p%40ss@proxy.test:3128", false).unwrap();
        assert_eq!(http.authorization().unwrap(), &format!("Basic {}", BASE64.encode(b"me:p@ss")));
        let socks = Proxy::parse("socks5://me:p%40ss@[::1]:9050", false).unwrap();
        assert_eq!((socks.host.as_str(), socks.socks_login()), ("[::1]", Some(("me", "p@ss"))));
    }

    #[test]
    fn a_host_of_its_own_goes_before_the_exceptions_and_these_before_the_scheme() {
        let proxy = |text: &str| Arc::new(Proxy::parse(text, false).unwrap());
        let pattern = |text: &str| HostPattern::parse(text).unwrap();
        let routes = Routes {
            http: Some(proxy("http://one:1")),
            https: Some(proxy("http://two:2")),
            except: vec![pattern("*.near.test")],
            hosts: vec![
                (pattern("own.near.test"), Way::Via(proxy("http://three:3"))),
                (pattern("direct.test"), Way::Direct),
                (pattern("*.slow.test"), Way::General),
            ],
        };
        for (text, way) in [
            ("http://a.test/", "one:1"),
            ("https://a.test/", "two:2"),
            ("http://x.slow.test/", "one:1"),
            ("http://b.near.test/", "-"),
            ("https://own.near.test/", "three:3"),
            ("https://direct.test/", "-"),
        ] {
            let found = routes.of(&url(text));
            assert_eq!(found.map_or("-".to_owned(), |p| p.to_string()), way, "{text}");
        }
        assert!(Routes::default().of(&url("http://a.test/")).is_none());
    }
}
