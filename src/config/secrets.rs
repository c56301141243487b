//! What is left out when settings are shown, logged or complained about: passwords and tokens, user names and passwords in URLs,
//! and of a webhook or a sink all but its server, for the path of such an address is often what lets a caller in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use super::layers::Shown;
use crate::domain::secret_header::is_secret_header;

/// What stands in the place of what is left out.
const LEFT_OUT: &str = "…";

/// A password or a token. Shown, logged or written anywhere it is `…`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
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
pub fn shown_headers(headers: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let shown =
        |(name, value)| (String::as_str(name), if is_secret_header(name) { LEFT_OUT } else { String::as_str(value) });
    headers.iter().map(shown).collect()
}

/// The same, written.
pub(super) fn headers<S: Serializer>(headers: &BTreeMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    shown_headers(headers).serialize(serializer)
}

impl Shown {
    /// The same without secrets, for whoever looks.
    #[must_use]
    pub fn without_secrets(self) -> Self {
        let hide = if is_secret(&self.key) { server_only } else { without_credentials };
        let value = self.value.map(|text| hide(&text));
        Self { value, json: in_texts(self.json, hide), ..self }
    }
}

/// Whether the URLs of a key are secrets themselves.
fn is_secret(key: &str) -> bool {
    matches!(key.split(['.', '[']).next(), Some("webhook" | "sink"))
}

/// What is told of a value of this key that cannot be used.
pub(super) fn told(key: &str, problem: &str) -> String {
    match key.split(['.', '[']).next() {
        Some("credentials") => without_quoted(problem),
        _ if is_secret(key) => server_only(problem),
        _ => without_credentials(problem),
    }
}

/// A complaint without the value that it is about.
fn without_quoted(problem: &str) -> String {
    match (problem.split_once('"'), problem.rsplit_once('"')) {
        (Some((before, _)), Some((_, after))) => format!("{before}{LEFT_OUT}{after}"),
        _ => problem.to_owned(),
    }
}

fn in_texts(value: Json, hide: fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => Json::String(hide(&text)),
        Json::Array(items) => Json::Array(items.into_iter().map(|item| in_texts(item, hide)).collect()),
        Json::Object(fields) => Json::Object(fields.into_iter().map(|(k, v)| (k, in_texts(v, hide))).collect()),
        other => other,
    }
}

/// A text whose URLs have no user name and password any more.
pub fn without_credentials(text: &str) -> String {
    in_urls(text, |url| {
        let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
        let user = url.get(..authority).and_then(|a| a.rfind('@'));
        user.map_or_else(|| url.to_owned(), |at| format!("{LEFT_OUT}{}", url.get(at..).unwrap_or_default()))
    })
}

/// A text whose URLs end with their server: `https://hooks.example.org/…`.
pub fn server_only(text: &str) -> String {
    in_urls(text, |url| {
        let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
        let server = authority.rsplit('@').next().unwrap_or_default();
        format!("{server}/{LEFT_OUT}")
    })
}

/// Applies `hide` to what follows each `://`, as far as a URL in a text may go.
fn in_urls(text: &str, hide: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("://");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || "\"'`<>\\".contains(c)).unwrap_or(part.len());
        let (url, rest) = part.split_at(end);
        told.push_str("://");
        told.push_str(&hide(url));
        told.push_str(rest);
    }
    told
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::Layers;

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

    #[test]
    fn credentials_are_left_out_of_every_url_of_a_text() {
        for (text, shown) in [
            ("https://me:secret@a.test/x@y", "https://…@a.test/x@y"),
            ("http://a.test/?q=b@c", "http://a.test/?q=b@c"),
            ("no@url", "no@url"),
            ("\"http://u:p@a.test/\" and 'http://v@b.test'", "\"http://…@a.test/\" and 'http://…@b.test'"),
            ("http://u:p@@a.test#x", "http://…@a.test#x"),
            ("://", "://"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn of_a_webhook_only_the_server_is_shown_whoever_asks() {
        let file = "[[webhook]]\nurl = \"https://me:pw@hooks.test:8443/T0/secret?x=y\"\n";
        let layers = Layers::new().text(Path::new("a.toml"), file).unwrap();
        let shown = layers.show().unwrap().into_iter().find(|s| s.key == "webhook").unwrap().without_secrets();
        let text = shown.value.unwrap();
        assert!(text.contains("\"https://hooks.test:8443/…\"") && !text.contains("secret"), "{text}");
        assert_eq!(shown.json[0]["url"], json!("https://hooks.test:8443/…"));
    }

    #[test]
    fn an_error_does_not_tell_what_it_is_about_to_keep() {
        let wrong = ["webhook=https://hooks.test/T0/secret", r#"webhook=[{url="https://hooks.test/T0/secret", at=1}]"#];
        for set in wrong {
            let error = Layers::new().set(set).unwrap_err().to_string();
            assert!(!error.contains("T0"), "{error}");
        }
        for set in [r#"credentials=secret"#, r#"credentials=[{url="http://a.test/", user=["secret"]}]"#] {
            let error = Layers::new().set(set).unwrap_err().to_string();
            assert!(error.starts_with("--set: credentials") && !error.contains("secret"), "{error}");
        }
        let file = "webhook = \"https://hooks.test/T0/secret\"\n";
        let error = Layers::new().text(Path::new("a.toml"), file).unwrap_err().to_string();
        assert!(error.starts_with("a.toml:1: webhook") && !error.contains("secret"), "{error}");
        let seed = Layers::new().set("crawl.seeds=https://me:secret@a b/").unwrap().load().unwrap_err().to_string();
        assert!(seed.contains("crawl.seeds") && !seed.contains("secret"), "{seed}");
    }
}
