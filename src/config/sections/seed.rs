//! `crawl.seeds`: each a URL, or a table with what is said of it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::domain::priority::Weight;
use crate::domain::refresh::Cycle;

/// One of `crawl.seeds`. In the file a URL alone is a text; serde's own form (`remote`) is the one with braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct SeedSection {
    /// The URL.
    pub url: String,
    /// Its own place in the queue, in place of that of its depth: 0 comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u8>,
    /// By how much more important than others it is, with all pages that go back to it: 0.01 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Links that are followed from it in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u16>,
    /// What it is called in the lines of `crawl.jsonl` of pages that go back to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When pages that go back to it are visited again: as `refresh.cycle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// Its URL was written without a scheme: https, and http when https does not answer. Not part of the file form.
    #[serde(skip)]
    pub guessed: bool,
}

/// What is told of a seed without a scheme, by its URL with https.
pub fn without_scheme(https: &str) -> String {
    format!("a seed without a scheme is asked for as {https}, and by http when https does not answer")
}

impl AsRef<str> for SeedSection {
    fn as_ref(&self) -> &str {
        &self.url
    }
}

impl Serialize for SeedSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.rank.is_none()
            && self.weight.is_none()
            && self.max_depth.is_none()
            && self.tags.is_empty()
            && self.cycle.is_none()
        {
            return serializer.serialize_str(&self.url);
        }
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for SeedSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherForm)
    }
}

struct EitherForm;

impl<'de> Visitor<'de> for EitherForm {
    type Value = SeedSection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            r#"a URL, or a table such as {url = "https://example.org/", rank = 0, max_depth = 3, tags = ["news"]}"#,
        )
    }

    fn visit_str<E: de::Error>(self, url: &str) -> Result<SeedSection, E> {
        Ok(SeedSection { url: url.to_owned(), ..SeedSection::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SeedSection, A::Error> {
        SeedSection::deserialize(MapAccessDeserializer::new(map))
    }
}
