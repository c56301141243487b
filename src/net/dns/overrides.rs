//! `dns.overrides`: host patterns to other addresses and ports, like curl's `--connect-to`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::domain::host::is_canonical_host;

use super::super::guard::HostPattern;

/// An override that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "dns override `{pattern}` = `{target}`: {part} is wrong; \
     write e.g. \"*.test\" = \"127.0.0.1:8500\", \"a.example\" = \"b.example\" or \"a.example\" = \"[::1]:80\""
)]
pub struct OverrideError {
    /// As configured.
    pub pattern: String,
    /// As configured.
    pub target: String,
    /// `the host pattern` or `the target`.
    part: &'static str,
}

/// Where an override leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Address(IpAddr),
    Name(String),
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: HostPattern,
    destination: Destination,
    port: Option<u16>,
}

/// All overrides, the most specific first.
#[derive(Clone, Debug)]
pub(super) struct Overrides {
    rules: Vec<Rule>,
}

impl Overrides {
    pub(super) fn parse(table: &BTreeMap<String, String>) -> Result<Self, OverrideError> {
        let mut rules = Vec::with_capacity(table.len());
        for (pattern, target) in table {
            let error = |part| OverrideError { pattern: pattern.clone(), target: target.clone(), part };
            let (destination, port) = parse_target(target).ok_or_else(|| error("the target"))?;
            let pattern = HostPattern::parse(pattern).map_err(|_| error("the host pattern"))?;
            rules.push(Rule { pattern, destination, port });
        }
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.pattern.weight()));
        Ok(Self { rules })
    }

    /// Where a host leads, and the port if it changes.
    pub(super) fn find(&self, host: &str) -> Option<(&Destination, Option<u16>)> {
        self.rules.iter().find(|rule| rule.pattern.matches(host)).map(|rule| (&rule.destination, rule.port))
    }
}

/// Whether a text can be the target of an override.
pub fn is_target(text: &str) -> bool {
    parse_target(text).is_some()
}

/// The address in the target of an override, if it is no name.
pub fn target_address(text: &str) -> Option<IpAddr> {
    match parse_target(text)? {
        (Destination::Address(ip), _) => Some(ip),
        (Destination::Name(_), _) => None,
    }
}

fn parse_target(text: &str) -> Option<(Destination, Option<u16>)> {
    let text = text.trim();
    if let Ok(address) = text.parse::<SocketAddr>() {
        return (address.port() > 0).then_some((Destination::Address(address.ip()), Some(address.port())));
    }
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some((Destination::Address(ip), None));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok().filter(|p| *p > 0)?)),
        None => (text, None),
    };
    let name = name.to_ascii_lowercase();
    (is_canonical_host(&name) && !name.starts_with('[')).then_some((Destination::Name(name), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str)]) -> Result<Overrides, OverrideError> {
        Overrides::parse(&rows.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect())
    }

    #[test]
    fn the_most_specific_pattern_wins_in_any_order() {
        let rows = [("*", "10.0.0.1"), ("*.b.test", "10.0.0.3:3"), ("*.test", "10.0.0.2:2"), ("a.b.test", "c.test:4")];
        for turn in 0..4 {
            let mut rows = rows;
            rows.rotate_left(turn);
            let overrides = table(&rows).unwrap();
            let at = |n| Destination::Address(IpAddr::from([10, 0, 0, n]));
            assert_eq!(overrides.find("a.b.test"), Some((&Destination::Name("c.test".into()), Some(4))));
            assert_eq!(overrides.find("x.b.test"), Some((&at(3), Some(3))));
            assert_eq!(overrides.find("b.test"), Some((&at(2), Some(2))));
            assert_eq!(overrides.find("example.org"), Some((&at(1), None)));
        }
        assert_eq!(table(&rows[2..]).unwrap().find("test"), None);
    }

    #[test]
    fn targets_are_addresses_or_names_with_or_without_a_port() {
        for (target, port) in [
            ("127.0.0.1:8500", Some(8500)),
            ("127.0.0.1", None),
            ("[::1]:80", Some(80)),
            ("::1", None),
            ("[::1]", None),
        ] {
            let (destination, found) = parse_target(target).unwrap();
            assert!(matches!(destination, Destination::Address(_)), "{target}");
            assert_eq!(found, port, "{target}");
        }
        for wrong in ["", ":80", "a b", "127.0.0.1:0", "127.0.0.1:99999", "host:", "http://x", "1.2.3.4.5"] {
            assert_eq!(parse_target(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_wrong_row_is_named_in_the_error() {
        let text = table(&[("*.test", "127.0.0.1:http")]).unwrap_err().to_string();
        assert!(text.contains("*.test") && text.contains("the target"), "{text}");
        let text = table(&[("te st", "127.0.0.1")]).unwrap_err().to_string();
        assert!(text.contains("te st") && text.contains("pattern"), "{text}");
    }
}
