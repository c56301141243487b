//! Fixed-width keys of hosts, URLs and contents.
//!
//! Host and URL keys are XXH3 with the seed of the data folder, so that nobody outside can prepare collisions; two
//! hosts with one key are noticed when the host's record is loaded. Content digests are cryptographic (BLAKE3, three
//! times as fast as SHA-256 with its instructions), because a page taken for a duplicate loses its body.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use super::url::PageUrl;

/// Declares a key of fixed width, printed in hexadecimal.
macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $width:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $width]);

        impl $name {
            /// Its width in bytes.
            pub const WIDTH: usize = $width;

            /// Its bytes, as they stand in storage keys.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }

            /// The key in the first bytes of `bytes`, when there are enough.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk::<$width>().copied().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&HEXLOWER.encode(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

key! {
    /// A host: 8 bytes of the seeded hash of its canonical name.
    HostKey, 8
}

key! {
    /// A URL: 12 bytes of the seeded hash of its canonical text.
    UrlKey, 12
}

key! {
    /// A content: the first 16 bytes of BLAKE3 of the decoded payload.
    ContentDigest, 16
}

/// Hasher of maps whose keys are keys of this module, or begin with one: such keys are hashes already, seeded, so that
/// nobody outside can choose them; mixing their words is enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl std::hash::Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // The table takes its place from the low bits and its tag from the high ones.
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// A map by keys of this module.
pub type KeyMap<K, V> = std::collections::HashMap<K, V, std::hash::BuildHasherDefault<KeyHasher>>;
/// A set of keys of this module.
pub type KeySet<K> = std::collections::HashSet<K, std::hash::BuildHasherDefault<KeyHasher>>;

/// A crawl within a data folder; crawls share the hosts' politeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CrawlId(pub u16);

impl Default for CrawlId {
    fn default() -> Self {
        Self(1)
    }
}

impl fmt::Display for CrawlId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Makes the keys of one data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprinter {
    seed: u64,
}

impl Fingerprinter {
    /// `seed` is drawn once per data folder and kept in it.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The key of a canonical host name.
    pub fn host(&self, host: &str) -> HostKey {
        HostKey(xxh3_64_with_seed(host.as_bytes(), self.seed).to_be_bytes())
    }

    /// The hash of a text that stands beside a key.
    pub fn text(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.seed)
    }

    /// The key of a canonical URL.
    pub fn url(&self, url: &PageUrl) -> UrlKey {
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] =
            xxh3_128_with_seed(url.as_str().as_bytes(), self.seed).to_be_bytes();
        UrlKey([a, b, c, d, e, f, g, h, i, j, k, l])
    }
}

impl ContentDigest {
    /// The digest of a whole content.
    pub fn of(content: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.update(content);
        hasher.finish()
    }
}

/// Makes a [`ContentDigest`] of a content that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// A hasher that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    pub fn finish(self) -> ContentDigest {
        let mut digest = [0; 16];
        self.0.finalize_xof().fill(&mut digest);
        ContentDigest(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::Canonicaliser;

    fn url(text: &str) -> PageUrl {
        Canonicaliser::default().parse(text).unwrap()
    }

    #[test]
    fn keys_stay_what_they_are_on_disk() {
        // Computed with another implementation of XXH3 (xxhash for Python).
        let keys = Fingerprinter::new(42);
        assert_eq!(keys.host("example.org").to_string(), "86ca0f035e8741bd");
        assert_eq!(keys.url(&url("http://example.org/")).to_string(), "6a39ce39d6cdd8ba90256b95");
    }

    #[test]
    fn another_seed_gives_other_keys() {
        let (one, other) = (Fingerprinter::new(1), Fingerprinter::new(2));
        assert_ne!(one.host("example.org"), other.host("example.org"));
        assert_ne!(one.url(&url("http://example.org/")), other.url(&url("http://example.org/")));
    }

    #[test]
    fn a_digest_is_the_beginning_of_blake3() {
        // The test vectors of its authors: the empty message, and one of 1,025 bytes 0 to 250 in turn, in pieces.
        assert_eq!(ContentDigest::of(b"").to_string(), "af1349b9f5f9a1a6a0404dea36dcc949");
        let message: Vec<u8> = (0..1_025).map(|n| (n % 251) as u8).collect();
        let mut hasher = ContentHasher::new();
        message.chunks(100).for_each(|piece| hasher.update(piece));
        assert_eq!(hasher.finish().to_string(), "d00278ae47eb27b34faecf67b4fe263f");
    }

    #[test]
    fn a_key_is_read_from_the_beginning_of_its_bytes_or_not_at_all() {
        assert_eq!(HostKey::from_slice(&[7; 9]), Some(HostKey([7; 8])));
        assert_eq!(UrlKey::from_slice(&[7; 11]), None);
        assert_eq!(HostKey([1; 8]).as_bytes().len(), HostKey::WIDTH);
    }

    proptest::proptest! {
        #[test]
        fn pieces_give_the_digest_of_the_whole(content in proptest::collection::vec(proptest::num::u8::ANY, 0..300), cut in 0_usize..300) {
            let (one, other) = content.split_at(cut.min(content.len()));
            let mut hasher = ContentHasher::new();
            hasher.update(one);
            hasher.update(other);
            proptest::prop_assert_eq!(hasher.finish(), ContentDigest::of(&content));
        }
    }
}
