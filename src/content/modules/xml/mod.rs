//! XML in pieces: compression, encoding, tokens; what is collected from it is `content::sitemap`'s and `content::feed`'s.

mod gunzip;
mod pump;
mod reader;
mod root;
#[cfg(test)]
mod tests;

pub(super) use reader::{Expected, XmlReader};
pub(super) use root::root_of;

/// How a gzip stream begins (RFC 1952, 2.3.1), with the only method there is.
pub(super) fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b, 8])
}
