//! Whose requests they are: the Host header against DNS rebinding, the Origin header against other web pages.

use std::net::{IpAddr, SocketAddr};

/// Whether an address can be reached from this machine only.
pub fn is_loopback(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback()),
    }
}

/// Whether a Host header names this endpoint. A page of another name that resolves to loopback (DNS rebinding) does not.
///
/// On loopback: `localhost` or the address, with the port. Elsewhere the token decides and every name will do.
pub fn is_own_host(host: Option<&str>, listening: SocketAddr) -> bool {
    if !is_loopback(listening) {
        return true;
    }
    let Some(host) = host else { return false };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (host, Some(80)),
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let own =
        name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| is_loopback((ip, 0).into()));
    own && port == Some(listening.port())
}

/// Whether a changing request comes from no web page (no Origin) or from one of this endpoint's own.
pub fn is_own_origin(origin: Option<&str>, fetch_site: Option<&str>, host: Option<&str>) -> bool {
    let from_elsewhere = matches!(fetch_site, Some("cross-site" | "same-site"));
    match origin {
        _ if from_elsewhere => false,
        None => true,
        Some(origin) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority.is_some() && authority == host
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::rows;

    #[test]
    fn only_names_of_loopback_with_the_right_port_and_its_own_pages_are_the_endpoints_own() {
        for row in rows(include_str!("../../tests/data/admin/own.txt"), 4) {
            let text = |n: usize| Some(row.cells[n]).filter(|cell| *cell != "-").map(|cell| cell.trim_matches('\''));
            let own = match row.cells[0] {
                "host" => is_own_host(text(1), row.cells[2].parse().unwrap()),
                _ => is_own_origin(text(1), text(2), Some("127.0.0.1:7700")),
            };
            assert_eq!(if own { "own" } else { "not" }, row.cells[3], "{}", row.text);
        }
        assert!(!is_own_origin(Some("x"), None, None));
    }
}
