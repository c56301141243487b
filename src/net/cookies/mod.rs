//! Cookies as browsers keep them (draft-ietf-httpbis-rfc6265bis section 5), in memory and bounded; off by default (`[cookies]`).
//!
//! A crawler is nobody's browser: it keeps cookies for sites that show nothing without one, and forgets them with the
//! process. A domain that is a public suffix sets none for its subdomains.

mod date;
mod set_cookie;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use http::HeaderValue;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::host::is_ip_literal;
use crate::domain::url::{PageUrl, Scheme};

use set_cookie::SetCookie;

/// Bytes of one `Cookie` header; servers refuse much longer heads.
const MAX_HEADER: usize = 8 * 1024;

/// No cookie lives longer (5.5).
const MAX_AGE: Duration = Duration::from_secs(400 * 24 * 3_600);

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Cookies of one domain.
    pub per_host: usize,
    /// Bytes of one cookie, name and value; more than 4,096 are never kept.
    pub max_bytes: usize,
    /// Domains.
    pub max_hosts: usize,
}

/// The cookies of a node.
#[derive(Debug)]
pub struct Jar {
    limits: Limits,
    domains: Mutex<Domains>,
}

/// Cookies by their domain.
#[derive(Debug, Default)]
struct Domains {
    by_name: HashMap<String, Domain>,
    /// Grows by one at each use: who came first, and who was used last.
    turn: u64,
}

#[derive(Debug, Default)]
struct Domain {
    cookies: Vec<Cookie>,
    used: u64,
}

struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: String,
    host_only: bool,
    secure: bool,
    /// None: to the end of the process.
    until: Option<UnixMillis>,
    made: u64,
    used: u64,
}

impl std::fmt::Debug for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cookie").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Jar {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self { limits, domains: Mutex::default() }
    }

    /// Takes in what an answer for `url` sets with one `Set-Cookie` (section 5.7).
    pub fn take(&self, url: &PageUrl, line: &[u8], now: UnixMillis) {
        let Some(set) = set_cookie::parse(line) else { return };
        if !may_set(&set, url.scheme()) {
            return;
        }
        let Some((domain, host_only)) = domain_of(&set, url.host()) else { return };
        let path = set.path.clone().unwrap_or_else(|| default_path(url.path()).to_owned());
        if set.name.len() + set.value.len() > self.limits.max_bytes {
            return;
        }
        let until = until(&set, now);
        let SetCookie { name, value, secure, .. } = set;
        let mut domains = lock(&self.domains);
        if url.scheme() == Scheme::Http && domains.have_secure(&domain, &name, &path) {
            return;
        }
        let cookie = Cookie { name, value, path, host_only, secure, until, made: 0, used: 0 };
        domains.put(domain, cookie, self.limits, now);
    }

    /// The `Cookie` header for a request of `url` (section 5.8).
    pub fn header(&self, url: &PageUrl, now: UnixMillis) -> Option<HeaderValue> {
        let mut domains = lock(&self.domains);
        domains.turn += 1;
        let turn = domains.turn;
        let mut found = Vec::new();
        for (name, exact) in domains_of(url.host()) {
            let Some(domain) = domains.by_name.get_mut(name) else { continue };
            for cookie in domain.cookies.iter_mut().filter(|c| c.is_for(url, exact, now)) {
                (cookie.used, domain.used) = (turn, turn);
                found.push((std::cmp::Reverse(cookie.path.len()), cookie.made, cookie.pair()));
            }
        }
        drop(domains);
        found.sort();
        let mut header = Vec::new();
        for (_, _, pair) in found {
            if header.len() + pair.len() + 2 <= MAX_HEADER {
                header.extend_from_slice(if header.is_empty() { b"" } else { b"; " });
                header.extend_from_slice(&pair);
            }
        }
        let mut value = HeaderValue::from_bytes(&header).ok().filter(|value| !value.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        lock(&self.domains).by_name.values().map(|domain| domain.cookies.len()).sum()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Domains {
    /// Whether there is a cookie for https alone of this name and path, whose domain is above or below `domain`, or the same: over
    /// http it is let alone (RFC 6265bis, 5.7).
    fn have_secure(&self, domain: &str, name: &[u8], path: &str) -> bool {
        let same = |old: &Cookie| old.secure && old.name == name && path_matches(&old.path, path);
        let is_kin = |known: &str| is_within(known, domain) || is_within(domain, known);
        self.by_name.iter().any(|(known, kept)| is_kin(known) && kept.cookies.iter().any(same))
    }

    fn put(&mut self, name: String, mut cookie: Cookie, limits: Limits, now: UnixMillis) {
        self.turn += 1;
        let domain = self.by_name.entry(name.clone()).or_default();
        (cookie.made, cookie.used, domain.used) = (self.turn, self.turn, self.turn);
        let same = |old: &Cookie| old.name == cookie.name && old.path == cookie.path;
        if let Some(at) = domain.cookies.iter().position(same) {
            cookie.made = domain.cookies.remove(at).made;
        }
        domain.cookies.push(cookie);
        domain.cookies.retain(|cookie| !cookie.is_over(now));
        while domain.cookies.len() > limits.per_host {
            let longest_unused = domain.cookies.iter().enumerate().min_by_key(|(_, c)| c.used).map(|(at, _)| at);
            longest_unused.map(|at| domain.cookies.remove(at));
        }
        if domain.cookies.is_empty() {
            self.by_name.remove(&name);
        }
        while self.by_name.len() > limits.max_hosts {
            let longest_unused = self.by_name.iter().min_by_key(|(_, d)| d.used).map(|(name, _)| name.clone());
            longest_unused.map(|name| self.by_name.remove(&name));
        }
    }
}

impl Cookie {
    /// How it is sent: a value without a name stands alone.
    fn pair(&self) -> Vec<u8> {
        if self.name.is_empty() { self.value.clone() } else { [&*self.name, b"=", &self.value].concat() }
    }

    fn is_over(&self, now: UnixMillis) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    fn is_for(&self, url: &PageUrl, exact: bool, now: UnixMillis) -> bool {
        (exact || !self.host_only)
            && (!self.secure || url.scheme() == Scheme::Https)
            && !self.is_over(now)
            && path_matches(&self.path, url.path())
    }
}

/// Whether a cookie keeps what its name and `Secure` promise (RFC 6265bis, 5.7): `Secure` is for https to say, and so are names that
/// begin with `__Secure-`, or `__Host-`, which are for one host and all of its paths. A value without a name that begins so would be
/// taken for such a name by the server.
fn may_set(set: &SetCookie, scheme: Scheme) -> bool {
    let starts = |text: &[u8], prefix: &[u8]| text.get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix));
    let begins = |prefix| starts(&set.name, prefix);
    if set.name.is_empty() && [&b"__Secure-"[..], b"__Host-"].iter().any(|prefix| starts(&set.value, prefix)) {
        return false;
    }
    let secure = set.secure && scheme == Scheme::Https;
    if begins(b"__Host-") {
        return secure && set.domain.is_none() && set.path.as_deref() == Some("/");
    }
    secure || !set.secure && !begins(b"__Secure-")
}

/// The domain of a cookie that `host` sets, and whether it is for that host alone; none when it may not set it.
fn domain_of(set: &SetCookie, host: &str) -> Option<(String, bool)> {
    match &set.domain {
        None => Some((host.to_owned(), true)),
        Some(domain) if domain == host => Some((host.to_owned(), is_public_suffix(host) || is_ip_literal(host))),
        Some(domain) if is_ip_literal(host) || is_public_suffix(domain) => None,
        Some(domain) => is_within(host, domain).then(|| (domain.clone(), false)),
    }
}

/// Whether a name is that domain, or lies below it.
fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_public_suffix(name: &str) -> bool {
    psl::suffix_str(name) == Some(name)
}

/// The domains whose cookies a host may get: its own, and those above it.
fn domains_of(host: &str) -> impl Iterator<Item = (&str, bool)> {
    let above = usize::from(!is_ip_literal(host)) * host.len();
    let dots = host.bytes().take(above).enumerate().filter(|(_, b)| *b == b'.');
    let names = dots.filter_map(|(dot, _)| host.get(dot + 1..)).map(|name| (name, false));
    std::iter::once((host, true)).chain(names)
}

/// When a cookie ends: `Max-Age` goes before `Expires`.
fn until(set: &SetCookie, now: UnixMillis) -> Option<UnixMillis> {
    let until = match set.max_age {
        Some(seconds) => Some(match u64::try_from(seconds) {
            Ok(seconds) => now.plus(Duration::from_secs(seconds)),
            Err(_) => UnixMillis(0),
        }),
        None => set.expires,
    };
    until.map(|at| at.min(now.plus(MAX_AGE)))
}

/// The directory of a path (section 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(last) => path.get(..last).unwrap_or("/"),
    }
}

/// Whether a cookie's path covers that of a request, in whole segments (section 5.1.4).
fn path_matches(cookie: &str, request: &str) -> bool {
    let rest = request.strip_prefix(cookie);
    rest.is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
