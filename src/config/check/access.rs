//! Checks of `[proxy]`, `[cookies]`, `[[credentials]]`, and of the headers that the operator adds.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};

use super::{Checked, accepted, ensure, within};
use crate::config::access::{DIRECT, prefix};
use crate::config::secrets::{ProxyUrl, Secret};
use crate::config::sections::{CookiesSection, CredentialSection, FetchSection, HostSection, ProxySection};
use crate::net::credentials::Identity;
use crate::net::guard::HostPattern;
use crate::net::proxy::Proxy;

/// Bytes of cookies in memory at most.
const MOST_COOKIES: usize = 512 << 20;

/// Headers of the crawler's own, and the key that sets each, if there is one.
const OWN: [(&str, &str); 21] = [
    ("host", ""),
    ("connection", ""),
    ("keep-alive", ""),
    ("proxy-connection", ""),
    ("transfer-encoding", ""),
    ("content-length", ""),
    ("te", ""),
    ("trailer", ""),
    ("upgrade", ""),
    ("expect", ""),
    ("range", ""),
    ("cookie", "[cookies]"),
    ("authorization", "[[credentials]]"),
    ("proxy-authorization", "[proxy]"),
    ("if-none-match", ""),
    ("if-modified-since", ""),
    ("if-range", ""),
    ("accept-encoding", "fetch.accept_encoding"),
    ("accept-language", "fetch.accept_language"),
    ("user-agent", "[agent]"),
    ("from", "agent.email"),
];

/// Headers of one list at most.
const MOST_HEADERS: usize = 32;

pub(super) fn check_headers(key: &str, headers: &BTreeMap<String, String>) -> Checked {
    ensure(headers.len() <= MOST_HEADERS, key, || format!("at most {MOST_HEADERS} of them"))?;
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let own = OWN.iter().find(|(own, _)| *own == lower || (lower.starts_with("if-") && own.starts_with("if-")));
        ensure(own.is_none(), key, || match own {
            Some((_, by)) if !by.is_empty() => format!("{name} is set by {by}"),
            _ => format!("{name} is the crawler's own"),
        })?;
        let good = HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok();
        ensure(good && value.len() <= 4_096, key, || format!("{name} is no header: a token, and a value of one line"))?;
    }
    Ok(())
}

pub(super) fn check_connections(fetch: &FetchSection) -> Checked {
    check_headers("fetch.headers", &fetch.headers)?;
    let languages = fetch.accept_language.as_deref().unwrap_or("en");
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-*,;=. ".contains(&b);
    ensure(
        !languages.is_empty() && languages.len() <= 256 && languages.bytes().all(good),
        "fetch.accept_language",
        || "must be a list of languages such as en, de;q=0.5".into(),
    )?;
    let count = |v4: bool| fetch.source_address.iter().filter(|ip| ip.is_ipv4() == v4).count();
    ensure(count(true) <= 1 && count(false) <= 1, "fetch.source_address", || {
        "at most one address of IPv4 and one of IPv6".into()
    })?;
    ensure(fetch.max_bandwidth == 0 || fetch.max_bandwidth >= 1_024, "fetch.max_bandwidth", || {
        "must be 1KiB (a second) or more, or 0 for no limit".into()
    })
}

pub(super) fn check_proxy(proxy: &ProxySection) -> Checked {
    for (key, url) in [("proxy.http", &proxy.http), ("proxy.https", &proxy.https)] {
        url.as_ref().map_or(Ok(()), |url| check_proxy_url(key, url))?;
    }
    proxy.except.iter().try_for_each(|text| {
        ensure(HostPattern::parse(text).is_ok(), "proxy.except", || format!("{text:?} is no host name or *.domain"))
    })
}

fn check_proxy_url(key: &str, url: &ProxyUrl) -> Checked {
    accepted(key, Proxy::parse(url.reveal(), false).map_err(|error| format!("{url} {error}")))
}

/// What a `[[host]]` says of the way to it.
pub(super) fn check_host(i: usize, host: &HostSection) -> Checked {
    if let Some(url) = host.proxy.as_ref().filter(|url| url.reveal() != DIRECT) {
        check_proxy_url(&format!("host[{i}].proxy"), url)?;
    }
    check_headers(&format!("host[{i}].headers"), &host.headers)
}

pub(super) fn check_cookies(cookies: &CookiesSection) -> Checked {
    within("cookies.per_host", cookies.per_host, 1, 1_000)?;
    within("cookies.max_bytes", cookies.max_bytes, 64, 65_536)?;
    within("cookies.max_hosts", cookies.max_hosts, 1, 1_000_000)?;
    let most = cookies.per_host.saturating_mul(cookies.max_bytes).saturating_mul(cookies.max_hosts);
    ensure(most <= MOST_COOKIES, "cookies.max_hosts", || {
        format!("with per_host and max_bytes this is {most} bytes of cookies in memory; at most {MOST_COOKIES}")
    })
}

pub(super) fn check_credentials(all: &[CredentialSection]) -> Checked {
    ensure(all.len() <= 1_000, "credentials", || "at most 1000 of them".into())?;
    for (i, section) in all.iter().enumerate() {
        ensure(prefix(&section.url).is_some(), &format!("credentials[{i}].url"), || {
            "must be an http or https URL without user name, query and fragment, such as https://example.org/docs"
                .into()
        })?;
        let passwords = [section.password.is_some(), section.password_file.is_some()];
        let tokens = [section.token.is_some(), section.token_file.is_some()];
        let one = |given: &[bool; 2]| given[0] != given[1];
        let basic = section.user.is_some() && one(&passwords) && tokens == [false; 2];
        let bearer = section.user.is_none() && passwords == [false; 2] && one(&tokens);
        ensure(basic || bearer, &format!("credentials[{i}]"), || {
            "must have a user with a password or a password_file, or else a token or a token_file".into()
        })?;
        let sent = said(section).map(|identity| identity.header()).transpose();
        accepted(&format!("credentials[{i}]"), sent.map_err(|why| format!("what it says {why}")))?;
    }
    Ok(())
}

/// What stands in the section itself; of a secret in a file only a run can tell.
fn said(section: &CredentialSection) -> Option<Identity> {
    match (&section.user, &section.password, &section.token) {
        (Some(user), password, _) => {
            let password = password.as_ref().map_or("", Secret::reveal);
            Some(Identity::Basic(user.clone(), password.to_owned()))
        }
        (None, _, Some(token)) => Some(Identity::Bearer(token.reveal().to_owned())),
        (None, _, None) => None,
    }
}
