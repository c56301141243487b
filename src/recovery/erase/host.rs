//! Which host is meant: what is of it, and what only names it.

use memchr::memmem::Finder;

use super::{EraseError, Result};
use crate::domain::fingerprint::{Fingerprinter, HostKey};
use crate::domain::partition::Partition;
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};
use crate::storage::keys::{HostAt, Key};

/// The host that is erased.
pub struct Host {
    /// Its canonical name.
    pub name: String,
    /// Its key.
    pub at: HostAt,
    /// Its key as bytes, with which the keys of its records begin.
    pub prefix: Vec<u8>,
    canon: Canonicaliser,
    finder: Finder<'static>,
}

impl Host {
    /// The host of this name, in a folder with these keys.
    ///
    /// # Errors
    /// [`EraseError::Host`].
    pub fn named(text: &str, prints: &Fingerprinter) -> Result<Self> {
        let no_host = || EraseError::Host(text.to_owned());
        let canon = Canonicaliser::new(CleanRules::keep_all());
        let url = canon.parse(&format!("http://{text}/")).map_err(|_| no_host())?;
        if url.tail() != "/" || url.port() != 80 || text.contains(['/', '?', '#', '@', ' ']) {
            return Err(no_host());
        }
        let name = url.host().to_owned();
        let at = HostAt::of(prints, &name);
        let finder = Finder::new(&format!("//{name}")).into_owned();
        Ok(Self { prefix: at.encode(), at, name, canon, finder })
    }

    /// Whether a URL, in whatever spelling, is of the host.
    pub fn owns(&self, url: &str) -> bool {
        let url = PageUrl::from_canonical(url).or_else(|_| self.canon.parse(url));
        url.is_ok_and(|url| url.host() == self.name)
    }

    /// Whether the key of a record with these fields is of the host.
    pub fn is_at(&self, partition: Partition, host: HostKey) -> bool {
        self.at == HostAt { partition, host }
    }

    /// Whether a URL of the host stands in a text.
    pub fn is_named_in(&self, text: &[u8]) -> bool {
        self.finder.find_iter(text).any(|at| {
            let next = text.get(at + self.finder.needle().len());
            !next.is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'.' | b'-' | b'_'))
        })
    }

    /// Bytes of a text that are looked at again with those that follow.
    pub fn overlap(&self) -> usize {
        self.finder.needle().len()
    }

    /// The URLs that a text of the archive may name: itself, and the one asked for under this spelling.
    pub fn meant(&self, text: &str) -> impl Iterator<Item = PageUrl> + use<> {
        let itself = PageUrl::from_canonical(text).ok();
        let parsed = self.canon.parse(text).ok().filter(|parsed| itself.as_ref() != Some(parsed));
        itself.into_iter().chain(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Result<Host> {
        Host::named(text, &Fingerprinter::new(7))
    }

    #[test]
    fn a_host_owns_its_urls_in_every_spelling_and_no_others() {
        let host = host("WWW.Example.org").unwrap();
        assert_eq!(host.name, "www.example.org");
        for own in ["http://www.example.org/a?b", "https://WWW.EXAMPLE.ORG:8443/", "http://www.example.org./x"] {
            assert!(host.owns(own), "{own}");
        }
        for other in ["http://example.org/", "http://www.example.org.evil.test/", "no url", "http://x/www.example.org/"]
        {
            assert!(!host.owns(other), "{other}");
        }
        for named in ["<http://www.example.org/x>", "via: https://www.example.org", "//www.example.org:80"] {
            assert!(host.is_named_in(named.as_bytes()), "{named}");
        }
        for other in ["http://www.example.org.evil.test/", "http://a.www.example.org/", "www.example.org"] {
            assert!(!host.is_named_in(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "http://a.test/", "a.test/x", "a.test:8080", "u@a.test", "a test", "a.test?x"] {
            assert!(matches!(host(text), Err(EraseError::Host(_))), "{text:?}");
        }
    }
}
