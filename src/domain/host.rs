//! Host names: the registrable domain, `www.`, addresses.

/// The longest host name of DNS, in bytes (RFC 1035 section 2.3.4, without the final dot).
pub const MAX_HOST_LENGTH: usize = 253;

/// The longest label of a host name, in bytes (RFC 1035 section 2.3.4).
const MAX_LABEL_LENGTH: usize = 63;

/// The domain that somebody registered: one label more than the public suffix (Public Suffix List, with its private
/// section: `a.b.github.io` gives `b.github.io`).
///
/// An IP address, a single label and a public suffix are their own. `host` is canonical (lower-case ASCII).
pub fn registrable_domain(host: &str) -> &str {
    if is_ip_literal(host) {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// Whether a host is an address, or such a domain: no suffix under which others register theirs, and nothing below one.
pub fn is_registrable(host: &str) -> bool {
    is_ip_literal(host) || psl::domain_str(host) == Some(host)
}

/// Whether a pattern (`host`, `*.domain`, `*`) covers a host; `*.domain` does not cover `domain` itself.
pub fn host_matches(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    if pattern == "*" {
        return true;
    }
    match pattern.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|h| h.len() > 1 && h.ends_with('.')),
        None => pattern == host,
    }
}

/// The public suffixes of a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suffixes<'h> {
    /// The one of a registry: `com` of `a.b.s3.amazonaws.com`.
    pub registry: &'h str,
    /// The longest, of whoever gives names to others: `s3.amazonaws.com`. The same where there is no other.
    pub private: &'h str,
}

impl<'h> Suffixes<'h> {
    /// Those of a canonical host; none of an address. Where the list has no rule the prevailing one is `*`: the last label.
    pub fn of(host: &'h str) -> Option<Self> {
        let mut labels = Some(host).filter(|host| !is_ip_literal(host));
        let mut private = None;
        while let Some(name) = labels {
            let found = psl::suffix(name.as_bytes())?;
            let suffix = name.get(name.len().checked_sub(found.as_bytes().len())?..)?;
            let private = *private.get_or_insert(suffix);
            if !found.is_known() || found.typ() == Some(psl::Type::Icann) {
                return Some(Self { registry: suffix, private });
            }
            labels = suffix.split_once('.').map(|(_, rest)| rest);
        }
        None
    }
}

/// What is left of `host` from one label above `suffix` on; none when it is that suffix.
pub fn domain_under<'h>(host: &'h str, suffix: &str) -> Option<&'h str> {
    let above = host.strip_suffix(suffix)?.strip_suffix('.')?;
    host.get(above.rfind('.').map_or(0, |dot| dot + 1)..)
}

/// The host without a leading `www.`, unless only a public suffix or a single label would be left (`www.co.uk`).
pub fn without_www(host: &str) -> &str {
    match host.strip_prefix("www.") {
        Some(rest) if rest.contains('.') && !is_ip_literal(rest) && psl::domain_str(rest).is_some() => rest,
        _ => host,
    }
}

/// A host as a user writes it, as it stands in a canonical URL: letters beyond ASCII in the form of DNS, addresses as the standards
/// write them. A name whose label `xn--…` is no Punycode stands for itself. None for what is no host.
pub fn parse_host(text: &str) -> Option<String> {
    let itself = || {
        let name = text.to_ascii_lowercase();
        name.split('.').any(|label| label.starts_with("xn--")).then_some(name)
    };
    let host = url::Host::parse(text).map(|host| host.to_string()).ok().or_else(itself);
    host.filter(|host| is_canonical_host(host.strip_suffix('.').unwrap_or(host)))
}

/// A host as a user writes it, perhaps with `*.` before it, with letters beyond ASCII in the form of DNS (`xn--`); unchanged where
/// there are none, or no such form.
pub fn ascii_pattern(text: &str) -> String {
    let (wild, name) = text.strip_prefix("*.").map_or(("", text), |name| ("*.", name));
    match url::Host::parse(name) {
        Ok(host) if !name.is_ascii() => format!("{wild}{host}"),
        _ => text.to_owned(),
    }
}

/// Whether the host of a canonical URL is an address: IPv4 in four decimal parts, or IPv6 in brackets.
pub fn is_ip_literal(host: &str) -> bool {
    match host.as_bytes() {
        [b'[', .., b']'] => true,
        [.., last] if last.is_ascii_digit() => host.parse::<std::net::Ipv4Addr>().is_ok(),
        _ => false,
    }
}

/// Whether `host` is a host as it stands in a canonical URL: an address as the standards write it, or a DNS name of
/// lower-case letters, digits, `-`, `_` and `.` without empty or over-long labels.
///
/// WHATWG admits more characters in a host; none of them resolves, and `Host` headers and file names are safer without.
pub fn is_canonical_host(host: &str) -> bool {
    match host.as_bytes() {
        // WHATWG and RFC 5952 differ in nothing but the IPv4 tail, which WHATWG never writes.
        [b'[', .., b']'] => url::Host::parse(host).is_ok_and(|parsed| parsed.to_string() == host),
        bytes if bytes.len() > MAX_HOST_LENGTH => false,
        bytes => bytes.split(|b| *b == b'.').all(is_label) && has_plain_end(host),
    }
}

fn is_label(label: &[u8]) -> bool {
    (1..=MAX_LABEL_LENGTH).contains(&label.len())
        && label.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

/// A name whose last label reads as a number must be an IPv4 address (WHATWG, "ends in a number"); one with Punycode must be as
/// UTS 46 writes it, and where it is no Punycode it stands for itself.
fn has_plain_end(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let number = hex || last.bytes().all(|b| b.is_ascii_digit());
    let ipv4 = || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.to_string() == host);
    let punycode = host.split('.').any(|label| label.starts_with("xn--"));
    (!number || ipv4()) && (!punycode || url::Host::parse(host).map_or(true, |parsed| parsed.to_string() == host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    #[test]
    fn names_are_read_and_their_domains_found_as_the_table_says() {
        check(include_str!("../../tests/data/hosts.txt"), |[what, host]| {
            [match what {
                "domain" => registrable_domain(host).to_owned(),
                "bare" => without_www(host).to_owned(),
                "address" => if is_ip_literal(host) { "yes" } else { "no" }.to_owned(),
                "site" => if is_registrable(host) { "yes" } else { "no" }.to_owned(),
                "typed" => parse_host(host).unwrap_or("-".into()),
                "suffixes" => Suffixes::of(host).map_or("-".into(), |of| {
                    let under = |suffix| domain_under(host, suffix).unwrap_or("-");
                    [of.registry, under(of.registry), of.private, under(of.private)].join(" ")
                }),
                other => panic!("{other}"),
            }]
        });
        assert_eq!((parse_host(""), is_ip_literal("")), (None, false));
    }
}
