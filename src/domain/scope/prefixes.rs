//! Prefixes of URLs in SURT form (Sort-friendly URI Reordering Transform, known from Heritrix): the host's labels turned
//! round, so that one prefix covers a host and what lies below it.
//!
//! Inside, `http://www.example.org:8080/a` is `org,example,www,)/a`: neither scheme nor port.

use crate::domain::host::{is_ip_literal, without_www};
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};

/// A set of prefixes, none of them a prefix of another, sorted: so one look decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes(Vec<Prefix>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Prefix {
    surt: String,
    /// As the user wrote it.
    text: String,
}

impl Prefixes {
    /// # Errors
    /// The first text that is no prefix.
    pub(super) fn new(texts: &[String]) -> Result<Self, String> {
        let prefix = |text: &String| match normal(text.trim()) {
            Some(surt) => Ok(Prefix { surt, text: text.clone() }),
            None => Err(text.clone()),
        };
        let mut all = texts.iter().map(prefix).collect::<Result<Vec<_>, _>>()?;
        all.sort();
        all.dedup_by(|longer, shorter| longer.surt.starts_with(&shorter.surt));
        Ok(Self(all))
    }

    /// The prefix, as the user wrote it, that covers `url`.
    pub(super) fn find(&self, url: &PageUrl) -> Option<&str> {
        let bare = without_www(url.host());
        self.covering(&surt(url.host(), url.tail()))
            .or_else(|| if bare == url.host() { None } else { self.covering(&surt(bare, url.tail())) })
    }

    fn covering(&self, surt: &str) -> Option<&str> {
        let after = self.0.partition_point(|prefix| prefix.surt.as_str() <= surt);
        let last = self.0.get(after.checked_sub(1)?)?;
        surt.starts_with(&last.surt).then_some(last.text.as_str())
    }
}

/// `org,example,www,)/a` for the host `www.example.org` and the tail `/a`; an address keeps its order.
fn surt(host: &str, tail: &str) -> String {
    let mut out = String::with_capacity(host.len() + tail.len() + 2);
    push_labels(host, &mut out);
    out.push(')');
    out.push_str(tail);
    out
}

fn push_labels(host: &str, out: &mut String) {
    if is_ip_literal(host) {
        out.push_str(host);
        return;
    }
    for label in host.rsplit('.') {
        out.push_str(label);
        out.push(',');
    }
}

/// What the user wrote, in the form it is compared in; none when it is no prefix.
fn normal(text: &str) -> Option<String> {
    let scheme = |name: &str| text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    let rest = scheme("http://").or_else(|| scheme("https://")).and_then(|scheme| text.get(scheme.len()..));
    match rest.unwrap_or(text).strip_prefix('(') {
        Some(surt) => normal_surt(surt),
        None if rest.is_none() && text.contains(',') => normal_surt(text),
        None => normal_url(text, rest.is_some()),
    }
}

/// A SURT prefix without scheme and opening bracket: the port goes, a closed host gets its last comma (`org,example)/` is what CDX
/// files write for `(org,example,)/`), and letters beyond ASCII, spaces and encodings become those of canonical URLs.
fn normal_surt(surt: &str) -> Option<String> {
    let (host, rest) = surt.find(')').map_or((surt, ""), |at| surt.split_at(at));
    let host =
        host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(h, _)| h);
    let labels = host.to_lowercase();
    let mut host = labels.split(',').map(ascii_label).collect::<Option<Vec<_>>>()?.join(",");
    if host.trim_matches(',').is_empty() {
        return None;
    }
    if !rest.is_empty() && !host.ends_with(',') && !is_ip_literal(&host) {
        host.push(',');
    }
    match rest.strip_prefix(')').filter(|tail| tail.starts_with(['/', '?'])) {
        Some(tail) => Some(format!("{host}){}", canonical(&format!("http://a{tail}"))?.tail())),
        None => Some(host + rest),
    }
}

/// A label beyond ASCII in the form of DNS.
fn ascii_label(label: &str) -> Option<String> {
    if label.is_ascii() {
        return Some(label.to_owned());
    }
    url::Host::parse(label).ok().map(|host| host.to_string())
}

fn canonical(url: &str) -> Option<PageUrl> {
    Canonicaliser::new(CleanRules::keep_all()).parse(url).ok()
}

/// A URL prefix; a missing scheme is http.
fn normal_url(text: &str, has_scheme: bool) -> Option<String> {
    let whole = if has_scheme { text.to_owned() } else { format!("http://{text}") };
    let url = canonical(&whole)?;
    let host = without_www(url.host());
    let after_scheme = whole.split_once("://").map_or("", |(_, rest)| rest);
    if after_scheme.contains(['/', '\\', '?']) {
        return Some(surt(host, url.tail()));
    }
    let mut out = String::with_capacity(host.len() + 1);
    push_labels(host, &mut out);
    if is_ip_literal(host) {
        out.push(')');
    }
    Some(out)
}
