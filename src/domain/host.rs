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
        [b'[', inner @ .., b']'] => std::str::from_utf8(inner).is_ok_and(is_canonical_ipv6),
        bytes if bytes.len() > MAX_HOST_LENGTH => false,
        bytes => bytes.split(|b| *b == b'.').all(is_label) && has_plain_end(host),
    }
}

/// WHATWG and RFC 5952 differ in nothing but the IPv4 tail, which WHATWG never writes.
fn is_canonical_ipv6(inner: &str) -> bool {
    let host = url::Host::parse(&format!("[{inner}]"));
    matches!(host, Ok(url::Host::Ipv6(_))) && host.is_ok_and(|h| h.to_string().get(1..) == Some(&format!("{inner}]")))
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

    #[test]
    fn the_registrable_domain_is_one_label_more_than_the_public_suffix() {
        for (host, domain) in [
            ("example.org", "example.org"),
            ("a.b.example.org", "example.org"),
            ("www.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("org", "org"),
            ("a.b.github.io", "b.github.io"),
            ("localhost", "localhost"),
            ("h0.test", "h0.test"),
            ("a.h0.test", "h0.test"),
            ("192.168.0.1", "192.168.0.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }

    #[test]
    fn www_goes_unless_a_suffix_or_a_single_label_is_left() {
        for (host, bare) in [
            ("www.example.org", "example.org"),
            ("www.www.example.org", "www.example.org"),
            ("www.h0.test", "h0.test"),
            ("www.co.uk", "www.co.uk"),
            ("www.org", "www.org"),
            ("www2.example.org", "www2.example.org"),
            ("www", "www"),
            ("example.org", "example.org"),
        ] {
            assert_eq!(without_www(host), bare, "{host}");
        }
    }

    #[test]
    fn a_host_as_a_user_writes_it_is_read_as_in_a_url() {
        for (text, host) in [
            ("Example.ORG", Some("example.org")),
            ("中文.test", Some("xn--fiq228c.test")),
            ("127.1", Some("127.0.0.1")),
            ("[0:0::1]", Some("[::1]")),
            ("XN--Board-ngr.palungjit.org", Some("xn--board-ngr.palungjit.org")),
            ("a b.test", None),
            ("*", None),
            ("*a.test", None),
            (".a.test", None),
            ("a.test:80", None),
            ("xn--a b.test", None),
            ("http://a.test/", None),
            ("", None),
        ] {
            assert_eq!(parse_host(text).as_deref(), host, "{text}");
        }
    }

    #[test]
    fn an_address_is_told_from_a_name() {
        for address in ["127.0.0.1", "[::1]", "[2001:db8::1]"] {
            assert!(is_ip_literal(address), "{address}");
        }
        for name in ["", "a", "1.example.org", "127.0.0.1.example", "127.1", "127.0.0.256", "::1", "7"] {
            assert!(!is_ip_literal(name), "{name}");
        }
    }
}
