//! The address policy (I7): which addresses may be connected to. Pure; asked after every resolution and again before
//! every connect, whatever a redirect, a robots.txt, a sitemap or DNS said.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use crate::domain::host::parse_host;

/// What may be connected to: public addresses, and what `allow` adds; never the daemon's own listeners.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    /// Exceptions from "public addresses only".
    pub allow: Vec<AllowRule>,
    /// The daemon's own listeners (admin and others), as bound; refused whatever `allow` says. One bound to an
    /// unspecified address (`0.0.0.0`, `::`) stands for its port on every address that is not public.
    pub own: Vec<SocketAddr>,
}

/// One exception: networks or hosts, and a port or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowRule {
    target: Target,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    All,
    Net(IpNet),
    Host(HostPattern),
}

/// A host name, or all names under one (`*.test`: `h0.test`, `a.b.test`, not `test`), or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    suffix: String,
    wild: bool,
}

impl HostPattern {
    /// Parses `name`, `*.name` or `*`.
    pub fn parse(text: &str) -> Result<Self, AllowError> {
        let lower = text.trim().to_ascii_lowercase();
        if lower == "*" {
            return Ok(Self { suffix: String::new(), wild: true });
        }
        let (wild, name) = lower.strip_prefix("*.").map_or((false, lower.as_str()), |name| (true, name));
        match parse_host(name.strip_suffix('.').unwrap_or(name)) {
            Some(name) if wild => Ok(Self { suffix: format!(".{name}"), wild }),
            Some(name) => Ok(Self { suffix: name, wild }),
            None => Err(AllowError { text: text.to_owned() }),
        }
    }

    /// How specific it is: a whole name before any pattern, then the longer one.
    pub(super) fn weight(&self) -> (bool, usize) {
        (!self.wild, self.suffix.len())
    }

    /// Whether a host (lower-case ASCII) is meant.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        if self.wild { host.len() > self.suffix.len() && host.ends_with(&self.suffix) } else { host == self.suffix }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.wild { "*" } else { "" }, self.suffix)
    }
}

/// A text that is no allow rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no address rule: write CIDR[:PORT] (127.0.0.0/8:8500, [fd00::/8]:80), an address (10.0.0.1), \
     a host pattern (intranet.example, *.test:8500) or *"
)]
pub struct AllowError {
    text: String,
}

/// Parses one rule of `net.allow` or `--allow-net`: `CIDR[:PORT]`, `ADDRESS[:PORT]`, `HOST-PATTERN[:PORT]` or `*`.
/// IPv6 with a port stands in brackets, with its prefix length inside or after them: `[fd00::/8]:80`, `[fd00::]/8:80`.
pub fn parse_allow(text: &str) -> Result<AllowRule, AllowError> {
    let error = || AllowError { text: text.to_owned() };
    let trimmed = text.trim();
    if let Some(net) = parse_net(trimmed) {
        return Ok(AllowRule { target: Target::Net(net), port: None });
    }
    let (rest, port) = match trimmed.rsplit_once(':') {
        Some((rest, "*")) => (rest, None),
        Some((rest, port)) if !port.contains(']') => (rest, Some(parse_port(port).ok_or_else(error)?)),
        _ => (trimmed, None),
    };
    let target = if rest == "*" {
        Target::All
    } else if let Some(net) = unbracket(rest).map_or_else(|| parse_net(rest), |bare| parse_net(&bare)) {
        // Without brackets the port would be part of the address.
        if matches!(net, IpNet::V6(_)) != rest.starts_with('[') {
            return Err(error());
        }
        Target::Net(net)
    } else if looks_like_address(rest) {
        return Err(error());
    } else {
        Target::Host(HostPattern::parse(rest).map_err(|_| error())?)
    };
    Ok(AllowRule { target, port })
}

fn parse_port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// `[a]` and `[a]/n` and `[a/n]` without the brackets.
fn unbracket(text: &str) -> Option<String> {
    let (inner, after) = text.strip_prefix('[')?.split_once(']')?;
    (after.is_empty() || after.starts_with('/')).then(|| format!("{inner}{after}"))
}

fn parse_net(text: &str) -> Option<IpNet> {
    let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))?;
    Some(net.trunc())
}

/// A slip in an address must not become a host pattern that matches nothing.
fn looks_like_address(text: &str) -> bool {
    text.contains(['/', '[', ':']) || text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

impl AllowRule {
    fn permits(&self, host: &str, address: SocketAddr) -> bool {
        self.port.is_none_or(|port| port == address.port())
            && match &self.target {
                Target::All => true,
                Target::Net(net) => net.contains(&address.ip().to_canonical()) || net.contains(&address.ip()),
                Target::Host(pattern) => pattern.matches(host),
            }
    }
}

impl fmt::Display for AllowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.target, self.port) {
            (Target::All, _) => f.write_str("*")?,
            (Target::Net(net @ IpNet::V6(_)), Some(_)) => write!(f, "[{net}]")?,
            (Target::Net(net), _) => write!(f, "{net}")?,
            (Target::Host(pattern), _) => write!(f, "{pattern}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// An address that may not be connected to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host it belongs to.
    pub host: String,
    /// The address.
    pub address: SocketAddr,
    /// Its class, as a phrase: `a loopback address`.
    pub class: &'static str,
    /// Whether it is a listener of this daemon, which nothing can allow.
    pub own: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address, class, own } = self;
        write!(f, "{host} is at {address}, {class}, ")?;
        if *own {
            return f.write_str("and that is never crawled");
        }
        f.write_str("and only public addresses are crawled: allow it with --allow-net ")?;
        let port = address.port();
        match IpNet::from(address.ip()) {
            IpNet::V4(net) => write!(f, "{net}:{port}"),
            IpNet::V6(net) => write!(f, "'[{net}]:{port}'"),
        }
    }
}

impl std::error::Error for Refused {}

impl AddressPolicy {
    /// Public addresses only, but for `allow`.
    pub fn new(allow: Vec<AllowRule>, own: Vec<SocketAddr>) -> Self {
        Self { allow, own }
    }

    /// Whether `address`, which `host` resolved to, may be connected to.
    ///
    /// # Errors
    /// It may not; the error's text says what to type to allow it.
    pub fn check(&self, host: &str, address: SocketAddr) -> Result<(), Refused> {
        let refused = |class, own| Refused { host: host.to_owned(), address, class, own };
        if self.own.iter().any(|own| is_same_listener(*own, address)) {
            return Err(refused("this daemon's own listener", true));
        }
        match class_of(address.ip()) {
            None => Ok(()),
            Some(_) if self.allow.iter().any(|rule| rule.permits(host, address)) => Ok(()),
            Some(class) => Err(refused(class, false)),
        }
    }
}

/// Whether connecting to `address` reaches the listener bound at `own`.
fn is_same_listener(own: SocketAddr, address: SocketAddr) -> bool {
    if own.port() != address.port() {
        return false;
    }
    let (own, ip) = (own.ip().to_canonical(), address.ip().to_canonical());
    // A connect to the unspecified address goes to this machine.
    let ip_here = ip.is_unspecified() && (own.is_loopback() || own.is_unspecified());
    own == ip || ip_here || (own.is_unspecified() && class_of(ip).is_some())
}

/// Whether an address is a public one.
pub fn is_public(ip: IpAddr) -> bool {
    class_of(ip).is_none()
}

/// Why an address is not public, as a phrase; none for a public one. IANA special-purpose registries (RFC 6890).
pub fn class_of(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => class_of_v4(ip),
        IpAddr::V6(ip) => class_of_v6(ip),
    }
}

fn class_of_v4(ip: Ipv4Addr) -> Option<&'static str> {
    Some(match ip.octets() {
        [0, ..] => "an address of \"this network\" (0.0.0.0/8)",
        [127, ..] => "a loopback address",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private address",
        [169, 254, ..] => "a link-local address",
        [100, 64..=127, ..] => "a shared carrier address (100.64.0.0/10)",
        [192, 0, 0, 9 | 10] => return None, // globally reachable anycast, RFC 7723 and RFC 8155
        [192, 0, 0, _] => "an address of IETF protocol assignments (192.0.0.0/24)",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "a documentation address",
        [192, 88, 99, _] => "a 6to4 relay address",
        [198, 18 | 19, ..] => "a benchmarking address",
        [224..=239, ..] => "a multicast address",
        [255, 255, 255, 255] => "the broadcast address",
        [240..=255, ..] => "a reserved address (240.0.0.0/4)",
        _ => return None,
    })
}

fn class_of_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let segments = ip.segments();
    if let Some(inner) = embedded_v4(segments) {
        return class_of_v4(inner);
    }
    Some(match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => "the unspecified address",
        [0, 0, 0, 0, 0, 0, 0, 1] => "a loopback address",
        [0, 0, 0, 0, ..] => "an IPv4-compatible or reserved address (::/64)",
        [0x64, 0xff9b, 1, ..] => "a local translation address (64:ff9b:1::/48)",
        [0x100, 0, 0, 0 | 1, ..] => "a discard address (100::/64)",
        [0x2001, 0x2, 0, ..] => "a benchmarking address",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "a documentation address",
        [0x2001, 0x10..=0x2f, ..] => "an ORCHID (2001:10::/27)",
        [0x2001, 0..=0x1ff, ..] if !is_reachable_assignment(segments) => {
            "an address of IETF protocol assignments (2001::/23)"
        }
        [0x5f00, ..] => "a segment routing address (5f00::/16)",
        [0xfc00..=0xfdff, ..] => "a unique local address",
        [0xfe80..=0xfebf, ..] => "a link-local address",
        [0xfec0..=0xfeff, ..] => "a site-local address",
        [0xff00..=0xffff, ..] => "a multicast address",
        // Global unicast is 2000::/3 (RFC 4291); all else is unassigned.
        [0x2000..=0x3fff, ..] => return None,
        _ => "an unassigned address",
    })
}

/// Parts of 2001::/23 that the registry calls globally reachable.
fn is_reachable_assignment(segments: [u16; 8]) -> bool {
    matches!(
        segments,
        [0x2001, 1, 0, 0, 0, 0, 0, 1..=3] | [0x2001, 3, ..] | [0x2001, 4, 0x112, ..] | [0x2001, 0x30..=0x3f, ..]
    )
}

/// The IPv4 address that packets to this one end at: mapped, NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380).
fn embedded_v4(segments: [u16; 8]) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x2002, high, low, ..] => Some(join(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
