//! Values that are read and never shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::domain::secret_header::is_secret_header;

/// What stands in the place of a secret.
const LEFT_OUT: &str = "…";

/// A password or a token. Shown, logged or written anywhere it is `…`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LEFT_OUT)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(LEFT_OUT)
    }
}

/// The URL of a proxy; shown without user name and password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ProxyUrl(String);

impl ProxyUrl {
    /// The whole text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.rfind('@'), self.0.split_once("://")) {
            (Some(at), Some((scheme, _))) => write!(f, "{scheme}://{LEFT_OUT}{}", self.0.get(at..).unwrap_or_default()),
            (Some(_), None) => f.write_str(LEFT_OUT),
            (None, _) => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ProxyUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Headers as they are shown: without the values of those that are named like credentials.
#[must_use]
pub fn shown_headers(headers: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let shown =
        |(name, value)| (String::as_str(name), if is_secret_header(name) { LEFT_OUT } else { String::as_str(value) });
    headers.iter().map(shown).collect()
}

/// The same, written.
pub(super) fn headers<S: Serializer>(headers: &BTreeMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    shown_headers(headers).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_and_not_shown() {
        let secret: Secret = serde_json::from_str("\"hidden\"").unwrap();
        assert_eq!(secret.reveal(), "hidden");
        assert_eq!((format!("{secret:?}"), serde_json::to_string(&secret).unwrap()), ("…".into(), "\"…\"".into()));
    }

    #[test]
    fn a_proxy_is_shown_without_who_asks() {
        for (text, shown) in [
            ("http://p.test:1", "http://p.test:1"),
            ("http://me:pw@p.test:1", "http://…@p.test:1"),
            ("http://me:p@w@p.test:1", "http://…@p.test:1"),
            ("me:pw@p.test", "…"),
            ("none", "none"),
        ] {
            let url: ProxyUrl = serde_json::from_value(text.into()).unwrap();
            assert_eq!((url.reveal(), url.to_string().as_str()), (text, shown));
            assert_eq!(format!("{url:?} {}", serde_json::to_value(&url).unwrap()), format!("{shown} \"{shown}\""));
        }
    }
}
