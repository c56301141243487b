//! Who must be reachable: a crawl of public addresses needs a page or a mail address in its requests.

use std::net::IpAddr;

use url::Host;

use super::error::ConfigError;
use super::secrets::without_credentials;
use super::settings::Settings;
use crate::domain::host::host_matches;
use crate::domain::url::{parse_any, without_stand_in};
use crate::net::dns::target_address;
use crate::net::guard::is_public;

/// Top-level names that never lead to a public address (RFC 6761, RFC 8375, RFC 9476 and ICANN's `.internal`).
const LOCAL_NAMES: [&str; 6] = ["localhost", "test", "invalid", "local", "internal", "home.arpa"];

impl Settings {
    /// Checks what a run needs beyond well-formed values: something to crawl, and a contact when any seed is public.
    ///
    /// Without seeds there is something to crawl when the data folder holds a crawl already, or when this is a daemon
    /// set up by a file (`daemon`) that may be given seeds later through its admin endpoint.
    ///
    /// # Errors
    /// [`ConfigError::NoSeeds`], [`ConfigError::NoContact`]; both say what to type.
    pub fn ready_to_run(&self, daemon: bool) -> Result<(), ConfigError> {
        let fed_later = daemon && !self.crawl.until_done && self.admin_listen.is_some();
        if self.crawl.seeds.is_empty() && !fed_later && !self.has_data() {
            return Err(ConfigError::NoSeeds);
        }
        self.contact_for(&self.crawl.seeds)
    }

    fn has_data(&self) -> bool {
        std::fs::read_dir(&self.store.data_dir).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Checks that a contact is set when one of these seeds is on a public address.
    ///
    /// # Errors
    /// [`ConfigError::NoContact`] with the first such seed.
    pub fn contact_for<S: AsRef<str>>(&self, seeds: &[S]) -> Result<(), ConfigError> {
        if self.agent.contact.is_some() {
            return Ok(());
        }
        match seeds.iter().map(AsRef::as_ref).find(|seed| self.is_public_seed(seed)) {
            Some(seed) => Err(ConfigError::NoContact { seed: without_credentials(seed) }),
            None => Ok(()),
        }
    }

    fn is_public_seed(&self, seed: &str) -> bool {
        let Some(url) = parse_any(seed) else { return false };
        match url.host() {
            Some(Host::Ipv4(ip)) => is_public(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => is_public(IpAddr::V6(ip)),
            Some(Host::Domain(name)) => {
                !self.is_own_name(&without_stand_in(name).trim_end_matches('.').to_ascii_lowercase())
            }
            None => false,
        }
    }

    /// Names of the operator's own network: reserved ones, those allowed by name, those sent elsewhere by an override.
    fn is_own_name(&self, host: &str) -> bool {
        let local = LOCAL_NAMES.iter().any(|n| host == *n || host.strip_suffix(n).is_some_and(|h| h.ends_with('.')));
        let allowed =
            self.net.allow.iter().map(|rule| without_port(rule)).any(|rule| rule != "*" && host_matches(rule, host));
        let sent_home = |(pattern, target): (&String, &String)| {
            host_matches(pattern, host) && target_address(target).is_some_and(|ip| !is_public(ip))
        };
        local || allowed || self.dns.overrides.iter().any(sent_home)
    }
}

/// `*.intranet.example:8080` without its port.
fn without_port(rule: &str) -> &str {
    rule.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(rule, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::settings;

    #[test]
    fn a_public_seed_needs_a_contact_and_the_error_says_what_to_type() {
        let error = settings(&["crawl.seeds=https://example.org/"]).ready_to_run(false).unwrap_err().to_string();
        assert!(error.contains("https://example.org/") && error.contains("--contact"), "{error}");
        for contact in ["agent.email=me@example.org", "agent.url=https://example.org/bot"] {
            settings(&["crawl.seeds=https://example.org/", contact]).ready_to_run(false).unwrap();
        }
    }

    #[test]
    fn seeds_of_ones_own_network_need_none() {
        for own in ["localhost", "h0.test", "127.0.0.1:8000", "10.1.2.3", "[::1]", "[fd00::1]"] {
            settings(&[&format!("crawl.seeds=http://{own}/")]).ready_to_run(false).unwrap();
        }
        for public in ["93.184.215.14", "[2606:4700::1]", "latest", "test.example.org"] {
            settings(&[&format!("crawl.seeds=http://{public}/")]).ready_to_run(false).unwrap_err();
        }
    }

    #[test]
    fn an_allowed_name_or_an_override_to_loopback_makes_a_name_ones_own() {
        let seed = "crawl.seeds=http://shop.corp.example/";
        settings(&[seed, "net.allow=*.corp.example"]).ready_to_run(false).unwrap();
        settings(&[seed, r#"dns.overrides={"*.corp.example" = "127.0.0.1:8500"}"#]).ready_to_run(false).unwrap();
        settings(&[seed, "net.allow=*.corp.example:80"]).ready_to_run(false).unwrap();
        settings(&[seed, "net.allow=*"]).ready_to_run(false).unwrap_err();
        settings(&[seed, r#"dns.overrides={"*.corp.example" = "93.184.215.14"}"#]).ready_to_run(false).unwrap_err();
    }

    #[test]
    fn without_seeds_a_crawl_needs_a_data_folder_or_an_endpoint_to_be_fed_through() {
        let dir = tempfile::tempdir().unwrap();
        let data = format!("store.data_dir={}", dir.path().join("data").display());
        assert!(matches!(settings(&[&data]).ready_to_run(false), Err(ConfigError::NoSeeds)));
        settings(&[&data]).ready_to_run(true).unwrap();
        assert!(settings(&[&data, "crawl.until_done=true"]).ready_to_run(true).is_err());
        assert!(settings(&[&data, "admin.listen=off"]).ready_to_run(true).is_err());
        std::fs::create_dir_all(dir.path().join("data/db")).unwrap();
        settings(&[&data, "crawl.until_done=true"]).ready_to_run(false).unwrap();
    }
}
