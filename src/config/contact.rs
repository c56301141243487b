//! Who must be reachable: a crawl of public addresses needs a page or a mail address in its requests.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use super::error::ConfigError;
use super::settings::Settings;

/// Top-level names that never lead to a public address (RFC 6761, RFC 8375, RFC 9476 and ICANN's `.internal`).
const LOCAL_NAMES: [&str; 6] = ["localhost", "test", "invalid", "local", "internal", "home.arpa"];

impl Settings {
    /// Checks what a run needs beyond well-formed values: seeds, and a contact when any seed is public.
    ///
    /// # Errors
    /// [`ConfigError::NoSeeds`], [`ConfigError::NoContact`]; both say what to type.
    pub fn ready_to_run(&self) -> Result<(), ConfigError> {
        if self.crawl.seeds.is_empty() {
            return Err(ConfigError::NoSeeds);
        }
        self.contact_for(&self.crawl.seeds)
    }

    /// Checks that a contact is set when one of these seeds is on a public address.
    ///
    /// # Errors
    /// [`ConfigError::NoContact`] with the first such seed.
    pub fn contact_for(&self, seeds: &[String]) -> Result<(), ConfigError> {
        if self.agent.contact.is_some() {
            return Ok(());
        }
        match seeds.iter().find(|seed| self.is_public(seed)) {
            Some(seed) => Err(ConfigError::NoContact { seed: seed.clone() }),
            None => Ok(()),
        }
    }

    fn is_public(&self, seed: &str) -> bool {
        let Ok(url) = Url::parse(seed) else { return false };
        match url.host() {
            Some(Host::Ipv4(ip)) => is_public_address(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => is_public_address(IpAddr::V6(ip)),
            Some(Host::Domain(name)) => !self.is_own_name(&name.trim_end_matches('.').to_ascii_lowercase()),
            None => false,
        }
    }

    /// Names of the operator's own network: reserved ones, those allowed by name, those sent elsewhere by an override.
    fn is_own_name(&self, host: &str) -> bool {
        let local = LOCAL_NAMES.iter().any(|n| host == *n || host.strip_suffix(n).is_some_and(|h| h.ends_with('.')));
        let allowed = self.net.allow.iter().any(|rule| rule != "*" && host_matches(rule, host));
        let sent_home = |(pattern, target): (&String, &String)| {
            host_matches(pattern, host) && override_ip(target).is_some_and(|ip| !is_public_address(ip))
        };
        local || allowed || self.dns.overrides.iter().any(sent_home)
    }
}

/// Whether a pattern (`host`, `*.domain`, `*`) covers a host; `*.domain` does not cover `domain` itself.
#[must_use]
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

/// The address in `ADDRESS[:PORT]`, IPv6 with or without brackets.
pub(super) fn override_ip(target: &str) -> Option<IpAddr> {
    let bare = target.trim_start_matches('[').trim_end_matches(']');
    target.parse::<SocketAddr>().map(|a| a.ip()).or_else(|_| bare.parse()).ok()
}

/// A first guess, enough to decide whether somebody else may be asked for pages; the address policy proper is `net`'s.
fn is_public_address(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            !(ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || shared)
        }
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(v4) => is_public_address(IpAddr::V4(v4)),
            None => !(ip.is_loopback() || ip.is_unspecified() || is_local_v6(ip)),
        },
    }
}

fn is_local_v6(ip: Ipv6Addr) -> bool {
    let first = ip.segments()[0];
    first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    fn settings(sets: &[&str]) -> Settings {
        sets.iter().fold(Layers::new(), |l, s| l.set(s).unwrap()).load().unwrap()
    }

    #[test]
    fn a_public_seed_needs_a_contact_and_the_error_says_what_to_type() {
        let error = settings(&["crawl.seeds=https://example.org/"]).ready_to_run().unwrap_err().to_string();
        assert!(error.contains("https://example.org/") && error.contains("--contact"), "{error}");
        for contact in ["agent.email=me@example.org", "agent.url=https://example.org/bot"] {
            settings(&["crawl.seeds=https://example.org/", contact]).ready_to_run().unwrap();
        }
    }

    #[test]
    fn seeds_of_ones_own_network_need_none() {
        let own = [
            "http://localhost/",
            "http://h0.test/",
            "http://127.0.0.1:8000/",
            "http://10.1.2.3/",
            "http://[::1]/",
            "http://[fd00::1]/",
        ];
        for seed in own {
            settings(&[&format!("crawl.seeds={seed}")]).ready_to_run().unwrap();
        }
        for seed in ["http://93.184.215.14/", "http://[2606:4700::1]/", "http://latest/", "http://test.example.org/"] {
            settings(&[&format!("crawl.seeds={seed}")]).ready_to_run().unwrap_err();
        }
    }

    #[test]
    fn an_allowed_name_or_an_override_to_loopback_makes_a_name_ones_own() {
        let seed = "crawl.seeds=http://shop.corp.example/";
        settings(&[seed, "net.allow=*.corp.example"]).ready_to_run().unwrap();
        settings(&[seed, r#"dns.overrides={"*.corp.example" = "127.0.0.1:8500"}"#]).ready_to_run().unwrap();
        settings(&[seed, "net.allow=*"]).ready_to_run().unwrap_err();
        settings(&[seed, r#"dns.overrides={"*.corp.example" = "93.184.215.14"}"#]).ready_to_run().unwrap_err();
    }

    #[test]
    fn without_seeds_there_is_nothing_to_crawl() {
        assert!(matches!(settings(&[]).ready_to_run(), Err(ConfigError::NoSeeds)));
    }
}
