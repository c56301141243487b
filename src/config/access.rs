//! `[proxy]`, `[cookies]`, `[[credentials]]` and what of `[fetch]` belongs to connections, as the net room takes them.

use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use super::secrets::{ProxyUrl, Secret};
use super::sections::{CredentialSection, ProxyDns};
use super::settings::Settings;
use crate::base::clock::Clock;
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};
use crate::net::cookies::{Jar, Limits};
use crate::net::credentials::{CredentialError, Credentials, Identity};
use crate::net::guard::HostPattern;
use crate::net::http::{Access, Source};
use crate::net::proxy::{Proxy, Routes, Way};
use crate::net::throttle::Throttle;

/// A file with a password or a token is read to here.
const MAX_SECRET: u64 = 4 * 1024;

/// Credentials that cannot be used; never with what they are.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum AccessError {
    #[error("credentials[{at}]: cannot read {}: {source}", file.display())]
    File { at: usize, file: std::path::PathBuf, source: std::io::Error },
    #[error("credentials[{at}]: the first line of {} is empty; it must hold the secret", file.display())]
    Empty { at: usize, file: std::path::PathBuf },
    /// The prefix, which the checks have found before.
    #[error("credentials[{at}].url: is no http or https URL that credentials can be for")]
    Url { at: usize },
    /// What is to be sent.
    #[error("credentials[{at}]: what it says {source}")]
    Unsendable { at: usize, source: CredentialError },
}

impl Settings {
    /// Which URLs go through which proxy.
    pub fn routes(&self) -> Routes {
        let resolves = self.proxy.dns == ProxyDns::Remote;
        let proxy = |url: &ProxyUrl| Proxy::parse(url.reveal(), resolves).ok().map(Arc::new);
        let way = |url: &Option<ProxyUrl>| match url {
            None => Some(Way::General),
            Some(url) if url.reveal() == DIRECT => Some(Way::Direct),
            Some(url) => proxy(url).map(Way::Via),
        };
        // Without any proxy of a host's own there is nothing to look for.
        let any = self.host.iter().any(|host| host.proxy.is_some());
        let hosts = self.host.iter().filter(|_| any);
        Routes {
            http: self.proxy.http.as_ref().and_then(proxy),
            https: self.proxy.https.as_ref().and_then(proxy),
            except: self.proxy.except.iter().filter_map(|text| HostPattern::parse(text).ok()).collect(),
            hosts: hosts.filter_map(|h| Some((HostPattern::parse(&h.pattern).ok()?, way(&h.proxy)?))).collect(),
        }
    }

    /// Where connections come from.
    pub fn source(&self) -> Source {
        self.fetch.source_address.iter().fold(Source::default(), |source, address| match address {
            IpAddr::V4(v4) => Source { v4: Some(*v4), ..source },
            IpAddr::V6(v6) => Source { v6: Some(*v6), ..source },
        })
    }

    /// The bandwidth of all fetches together.
    pub fn throttle(&self) -> Option<Arc<Throttle>> {
        Some(self.fetch.max_bandwidth).filter(|rate| *rate > 0).map(|rate| Arc::new(Throttle::new(rate)))
    }

    /// Credentials and an empty jar for cookies. Reads the files of secrets.
    ///
    /// # Errors
    /// A file that cannot be read, or a secret that cannot be sent.
    pub fn access(&self, clock: &Clock) -> Result<Access, AccessError> {
        let with = |all: Credentials, (at, section): (usize, &CredentialSection)| {
            let prefix = prefix(&section.url).ok_or(AccessError::Url { at })?;
            all.with(&prefix, &identity(at, section)?).map_err(|source| AccessError::Unsendable { at, source })
        };
        let credentials = self.credentials.iter().enumerate().try_fold(Credentials::default(), with)?;
        let c = &self.cookies;
        let limits = Limits { per_host: c.per_host, max_bytes: c.max_bytes, max_hosts: c.max_hosts };
        let cookies = c.enabled.then(|| (Arc::new(Jar::new(limits)), clock.clone()));
        Ok(Access { credentials: Arc::new(credentials), cookies })
    }

    /// The headers of a request to a host: those of all, with what its `[[host]]` says laid over them.
    pub fn headers_for(&self, all: &[(String, String)], host: &str) -> Vec<(String, String)> {
        let mut headers = all.to_vec();
        for (name, value) in self.host_rules(host).into_iter().flat_map(|own| &own.headers) {
            lay_over(&mut headers, name, value);
        }
        headers
    }
}

/// A `[[host]]` that goes through no proxy.
pub(super) const DIRECT: &str = "none";

/// A header in place of the one of its name, or after all.
pub(super) fn lay_over(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    match headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, known)) => value.clone_into(known),
        None => headers.push((name.to_owned(), value.to_owned())),
    }
}

/// A URL that credentials can be for: nothing in it is left out by its canonical form.
pub(super) fn prefix(text: &str) -> Option<PageUrl> {
    let url = url::Url::parse(text).ok()?;
    let bare =
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    bare.then(|| Canonicaliser::new(CleanRules::keep_all()).parse(text).ok()).flatten()
}

fn identity(at: usize, section: &CredentialSection) -> Result<Identity, AccessError> {
    let said = |secret: &Option<Secret>, file: &Option<std::path::PathBuf>| match (secret, file) {
        (_, Some(file)) => first_line(at, file),
        (secret, None) => Ok(secret.as_ref().map_or("", Secret::reveal).to_owned()),
    };
    Ok(match &section.user {
        Some(user) => Identity::Basic(user.clone(), said(&section.password, &section.password_file)?),
        None => Identity::Bearer(said(&section.token, &section.token_file)?),
    })
}

fn first_line(at: usize, file: &Path) -> Result<String, AccessError> {
    let unread = |source| AccessError::File { at, file: file.to_owned(), source };
    let mut text = String::new();
    std::fs::File::open(file).and_then(|f| f.take(MAX_SECRET).read_to_string(&mut text)).map_err(unread)?;
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() { Err(AccessError::Empty { at, file: file.to_owned() }) } else { Ok(line.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::config::Layers;
    use crate::config::tests::settings;
    use crate::net::testing::url;

    #[test]
    fn a_host_of_its_own_has_its_own_proxy_and_headers() {
        let s = settings(&[
            "proxy.http=http://one.test:1",
            "proxy.except=near.test",
            "fetch.headers={X-All=\"a\", Accept=\"*/*\"}",
            r#"host=[{match="*.own.test", proxy="http://two.test:2", headers={x-all="b", X-More="c"}}, {match="x.test", proxy="none"}]"#,
        ]);
        let routes = s.routes();
        let way = |text: &str| routes.of(&url(text)).map_or("-".to_owned(), |proxy| proxy.to_string());
        let ways = ["http://a.test/", "https://a.test/", "http://near.test/", "http://a.own.test/", "http://x.test/"];
        assert_eq!(ways.map(way), ["one.test:1", "-", "-", "two.test:2", "-"]);
        let all = s.request_headers();
        let of = |host: &str, name: &str| {
            s.headers_for(&all, host).into_iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).collect::<Vec<_>>()
        };
        assert_eq!(of("a.test", "x-all"), [("X-All".into(), "a".into())]);
        assert_eq!(of("a.own.test", "x-all"), [("X-All".into(), "b".into())]);
        assert_eq!(of("a.own.test", "x-more").len(), 1);
        assert_eq!(of("a.test", "accept"), [("Accept".into(), "*/*".into())]);
    }

    #[test]
    fn secrets_come_from_the_settings_or_from_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "from file\nmore\n").unwrap();
        let with = |what: &str| settings(&[&format!("credentials=[{{url=\"https://a.test/x\", {what}}}]")]);
        let path = file.path().display();
        let sent = |s: &Settings| {
            let access = s.access(&Clock::manual(UnixMillis(0))).unwrap();
            access.credentials.of(&url("https://a.test/x/y")).map(|v| v.to_str().unwrap().to_owned()).unwrap()
        };
        assert_eq!(sent(&with("token=\"abc\"")), "Bearer abc");
        assert_eq!(sent(&with("user=\"me\", password=\"pw\"")), "Basic bWU6cHc=");
        assert_eq!(sent(&with(&format!("user=\"me\", password_file=\"{path}\""))), "Basic bWU6ZnJvbSBmaWxl");
        let error = |s: Settings| s.access(&Clock::manual(UnixMillis(0))).unwrap_err().to_string();
        assert!(error(with(&format!("token_file=\"{path}\""))).contains("no spaces"));
        assert!(error(with("token_file=\"/nonexistent\"")).contains("/nonexistent"));
        std::fs::write(file.path(), "\n").unwrap();
        assert!(error(with(&format!("token_file=\"{path}\""))).contains("empty"));
    }

    #[test]
    fn no_secret_is_shown_by_settings_or_their_layers() {
        let layers = [
            r#"credentials=[{url="https://a.test/", user="me", password="hidden"}, {url="https://b.test/", token="hidden"}]"#,
            "proxy.https=http://me:hidden@p.test:1",
            r#"host=[{match="a.test", proxy="http://me:hidden@p.test:1"}]"#,
        ];
        let layers = layers.iter().fold(Layers::new(), |l, s| l.set(s).unwrap());
        let s = layers.load().unwrap();
        let shown = layers.show().unwrap();
        let access = s.access(&Clock::manual(UnixMillis(0))).unwrap();
        let all = format!("{shown:?} {s:?} {layers:?} {access:?} {:?} {:?}", layers.form().unwrap(), s.routes());
        assert!(all.contains("p.test") && !all.contains("hidden") && !all.contains("aGlkZG"), "{all}");
    }

    #[test]
    fn a_source_address_is_one_of_each_family() {
        let s = settings(&["fetch.source_address=127.0.0.2,::1"]);
        assert_eq!(s.source(), Source { v4: Some("127.0.0.2".parse().unwrap()), v6: Some("::1".parse().unwrap()) });
        assert!(s.source().check().is_ok());
        let foreign = settings(&["fetch.source_address=192.0.2.77"]).source().check().unwrap_err();
        assert_eq!(foreign.0.to_string(), "192.0.2.77");
    }
}
