//! How far links are followed.

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// How an unlimited depth is written.
const NONE: &str = "none";

/// `crawl.max_depth`, when it is set: a number of links, or `"none"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthLimit {
    /// So many.
    Links(u16),
    /// Without end.
    None,
}

impl DepthLimit {
    /// The number, if there is one.
    pub fn links(self) -> Option<u16> {
        match self {
            Self::Links(links) => Some(links),
            Self::None => None,
        }
    }
}

impl Serialize for DepthLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Links(links) => serializer.serialize_u16(*links),
            Self::None => serializer.serialize_str(NONE),
        }
    }
}

impl<'de> Deserialize<'de> for DepthLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

struct Form;

impl Visitor<'_> for Form {
    type Value = DepthLimit;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of links from 0 to 65535, or \"none\" for no limit")
    }

    fn visit_u64<E: de::Error>(self, links: u64) -> Result<DepthLimit, E> {
        let fits = u16::try_from(links).map(DepthLimit::Links);
        fits.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(links), &self))
    }

    fn visit_i64<E: de::Error>(self, links: i64) -> Result<DepthLimit, E> {
        let fits = u16::try_from(links).map(DepthLimit::Links);
        fits.map_err(|_| E::invalid_value(de::Unexpected::Signed(links), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DepthLimit, E> {
        if text == NONE { Ok(DepthLimit::None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
    }
}
