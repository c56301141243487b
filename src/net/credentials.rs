//! Credentials of the operator by URL prefix, `[[credentials]]`: basic (RFC 7617) and bearer (RFC 6750).

use http::HeaderValue;
use percent_encoding::percent_decode;

use crate::domain::url::{PageUrl, Scheme};

use super::proxy::basic;

/// A path that is encoded more often than this is nobody's.
const MOST_DECODED: usize = 4;

/// Who is asked for.
#[derive(Clone, PartialEq, Eq)]
pub enum Identity {
    /// A user name and a password.
    Basic(String, String),
    /// A token.
    Bearer(String),
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Basic(..) => "Basic(…)",
            Self::Bearer(_) => "Bearer(…)",
        })
    }
}

impl Identity {
    /// The value of `Authorization`, marked as sensitive.
    pub fn header(&self) -> Result<HeaderValue, CredentialError> {
        let value = match self {
            Self::Basic(user, password) if !(user.clone() + password).contains(char::is_control) => {
                basic(user.as_bytes(), password.as_bytes())
            }
            Self::Bearer(token) if !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()) => {
                HeaderValue::try_from(format!("Bearer {token}")).ok()
            }
            Self::Basic(..) | Self::Bearer(_) => None,
        };
        let mut value = value.ok_or(CredentialError)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// An identity that cannot be sent in a header; it is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "holds characters that cannot be sent: a user name has no colon, a token no spaces, and neither has control characters"
)]
pub struct CredentialError;

/// Credentials by prefix.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The longest path first.
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    scheme: Scheme,
    host: String,
    port: u16,
    path: String,
    /// Marked as sensitive, so that it is not shown.
    value: HeaderValue,
}

impl Credentials {
    /// Adds credentials for the URLs of `prefix`'s scheme, host and port whose path begins with its path, in whole segments.
    pub fn with(mut self, prefix: &PageUrl, identity: &Identity) -> Result<Self, CredentialError> {
        let value = identity.header()?;
        let (host, path) = (prefix.host().to_owned(), prefix.path().to_owned());
        self.rules.push(Rule { scheme: prefix.scheme(), host, port: prefix.port(), path, value });
        self.rules.sort_by_key(|rule| std::cmp::Reverse(rule.path.len()));
        Ok(self)
    }

    /// The value of `Authorization` for a URL: that of the longest prefix.
    pub fn of(&self, url: &PageUrl) -> Option<&HeaderValue> {
        self.rules.iter().find(|rule| rule.covers(url)).map(|rule| &rule.value)
    }
}

impl Rule {
    fn covers(&self, url: &PageUrl) -> bool {
        let rest = || url.path().strip_prefix(self.path.as_str());
        self.scheme == url.scheme()
            && self.port == url.port()
            && self.host == url.host()
            && rest().is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'))
            && (self.path == "/" || !may_lead_up(url.path()))
    }
}

/// Whether a server may read the path as one that leads up: `..%2F`, `%2e%2e%5c`, `..;x`, also encoded twice. To the URL standard
/// these are names like others, to many servers behind a proxy they are not.
fn may_lead_up(path: &str) -> bool {
    let mut path = path.as_bytes().to_vec();
    for _ in 0..MOST_DECODED {
        let is_up = |segment: &[u8]| {
            let name = segment.split(|b| *b == b';' || b.is_ascii_control()).next().unwrap_or_default();
            name.trim_ascii() == b".."
        };
        if path.split(|b| matches!(b, b'/' | b'\\')).any(is_up) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode(&path).collect();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::rows;
    use crate::net::testing::url;

    #[test]
    fn only_the_very_prefix_gets_them_and_the_longest_wins() {
        let token = |text: &str| Identity::Bearer(text.to_owned());
        let all = Credentials::default().with(&url("https://a.test/docs"), &token("one")).unwrap();
        let all = all.with(&url("https://a.test/docs/inner/"), &token("two")).unwrap();
        let all = all.with(&url("http://b.test:8080/"), &Identity::Basic("me".into(), "pw:x".into())).unwrap();
        for row in rows(include_str!("../../tests/data/http/credentials.txt"), 2) {
            let found = all.of(&url(row.cells[0])).map_or("-", |value| value.to_str().unwrap());
            assert_eq!(found, row.cells[1], "line {}: {}", row.line, row.text);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_and_nothing_is_shown() {
        let prefix = url("https://a.test/");
        let wrong = [
            Identity::Basic("a:b".into(), "c".into()),
            Identity::Basic("a".into(), "c\r\nX: y".into()),
            Identity::Bearer("a b".into()),
            Identity::Bearer(String::new()),
        ];
        for identity in wrong {
            assert_eq!(Credentials::default().with(&prefix, &identity).map(drop), Err(CredentialError), "{identity:?}");
        }
        let identity = Identity::Basic("somebody".into(), "hidden".into());
        let shown = format!("{identity:?} {:?}", Credentials::default().with(&prefix, &identity).unwrap());
        assert!(!shown.contains("hidden") && !shown.contains("somebody") && !shown.contains("c29t"), "{shown}");
    }
}
