//! What a document of the index has: its fields, and up to where the whole index is true.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::{RawTokenizer, TokenizerManager};
use tantivy::{Index, IndexSettings};

use super::error::IndexError;
use super::tokenizer::{PACKED, Packed};
use crate::domain::words::own_words;

/// Number of this schema: one more whenever a field is added, goes, or means something else.
pub const SCHEMA: u32 = 3;
/// Number of the rules by which tokens are made: one more whenever a text gives others.
pub const WORDS: u32 = 3;

/// Declares the fields by name, each with how it is kept.
macro_rules! declared {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// The fields of a document.
        #[derive(Clone, Copy, Debug)]
        pub struct Fields { $($(#[$doc])* pub $name: Field,)* }

        impl Fields {
            /// The schema, and the fields in it.
            pub fn declare() -> (Schema, Self) {
                let mut schema = Schema::builder();
                let fields = Self { $($name: kinds::$kind(&mut schema, stringify!($name)),)* };
                (schema.build(), fields)
            }
        }
    };
}

declared! {
    /// Key of host (8) and URL (12): that of the feed. One document has it.
    id: key,
    /// The host's name, whole.
    host: name,
    /// Its registrable domain, whole; the host's name when it has none.
    site: name,
    /// Words of the title.
    title: text,
    /// Words of headings.
    heads: text,
    /// Words of keywords.
    keys: text,
    /// Words of the URL.
    url: text,
    /// Words of the description.
    descr: text,
    /// Words of all that the page shows, and bigrams of scripts without spaces.
    text: text,
    /// Words of scripts without spaces, as a dictionary cuts them.
    words: bag,
    /// Stems, with the language before them.
    stems: bag,
    /// Where it links to without nofollow, each once: the first 8 bytes of the key of the URL.
    links: target,
    /// Those of another registrable domain.
    links_ext: target,
    /// Of itself what `links` has of targets.
    own: column,
    /// Number of the feed's entry.
    seq: column,
    /// When it was captured, milliseconds since 1970.
    captured: column,
    /// Since when it has this content, as far as captures tell.
    changed: column,
    /// Links on it.
    out_links: column,
    /// Links from the nearest seed.
    depth: column,
    /// The first 8 bytes of the digest of its content.
    content: column,
    /// What pages of the same title share that are near to one text; none of others.
    near: column,
    /// What its text is like; none of a short one.
    simhash: column,
    /// The status of the answer.
    status: column,
    /// 1 when it could not be fetched the last time.
    stale: column,
    /// ISO 639, and with each part of the tag that the page declares it by: `zh`, `zh-hant`, `zh-tw`.
    lang: name,
    /// Media type.
    mime: name,
    /// JSON of the card, at most 4 KiB.
    card: kept,
}

mod kinds {
    use super::*;

    type Builder = tantivy::schema::SchemaBuilder;

    fn words(how: IndexRecordOption) -> TextOptions {
        TextOptions::default()
            .set_indexing_options(TextFieldIndexing::default().set_tokenizer(PACKED).set_index_option(how))
    }

    pub(super) fn key(schema: &mut Builder, name: &str) -> Field {
        schema.add_bytes_field(name, BytesOptions::default().set_indexed().set_stored())
    }

    pub(super) fn name(schema: &mut Builder, name: &str) -> Field {
        let whole = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        schema.add_text_field(name, TextOptions::default().set_indexing_options(whole).set_fast("raw"))
    }

    pub(super) fn text(schema: &mut Builder, name: &str) -> Field {
        schema.add_text_field(name, words(IndexRecordOption::WithFreqsAndPositions))
    }

    pub(super) fn bag(schema: &mut Builder, name: &str) -> Field {
        schema.add_text_field(name, words(IndexRecordOption::WithFreqs))
    }

    pub(super) fn target(schema: &mut Builder, name: &str) -> Field {
        schema.add_u64_field(name, INDEXED)
    }

    pub(super) fn column(schema: &mut Builder, name: &str) -> Field {
        schema.add_u64_field(name, FAST)
    }

    pub(super) fn kept(schema: &mut Builder, name: &str) -> Field {
        schema.add_text_field(name, STORED)
    }
}

/// Up to where an index is true: the payload of its last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stand {
    /// Which feed, 16 digits.
    pub log: String,
    /// The last entry that it holds.
    pub seq: u64,
    /// Which rules its words were made by.
    pub words: u32,
    /// Which words were added to the dictionary (`index.dictionary`); 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dictionary: u64,
    /// How keywords of cards were found (`index.keywords`).
    #[serde(default)]
    pub keywords: String,
    /// [`SCHEMA`].
    pub schema: u32,
    /// The newest capture in it, milliseconds since 1970.
    pub captured: u64,
    /// The entries before that number are gone: all pages are gone through, up to behind this key (hexadecimal digits). None when that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanned: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
fn is_none(dictionary: &u64) -> bool {
    *dictionary == 0
}

impl Stand {
    /// Where an index begins that this process makes of a feed.
    pub fn begin(log: &str) -> Self {
        Self { log: log.to_owned(), schema: SCHEMA, words: WORDS, dictionary: own_words(), ..Self::default() }
    }

    /// Whether this process makes words as those of the index were made.
    pub fn has_same_words(&self) -> bool {
        (self.words, self.dictionary) == (WORDS, own_words())
    }
}

/// Opens the index in a folder, or makes an empty one there.
///
/// # Errors
/// [`IndexError`]: it does not open, or has other fields.
pub(super) fn opened(dir: &Path) -> Result<(Index, Fields), IndexError> {
    let (schema, fields) = Fields::declare();
    let failed = IndexError::library("open", dir);
    let folder = tantivy::directory::MmapDirectory::open(dir).map_err(IndexError::library("open", dir))?;
    let new = !Index::exists(&folder).map_err(IndexError::library("open", dir))?;
    let mut index = match new {
        true => {
            let settings = IndexSettings {
                docstore_compression: Compressor::Lz4,
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            };
            Index::create(folder, schema.clone(), settings).map_err(failed)?
        }
        false => Index::open(folder).map_err(failed)?,
    };
    if index.schema() != schema {
        return Err(IndexError::Other { dir: dir.to_owned(), what: "fields" });
    }
    let tokenizers = TokenizerManager::new();
    tokenizers.register(PACKED, Packed);
    // The second is asked for by fields without text.
    ["raw", "default"].iter().for_each(|name| tokenizers.register(name, RawTokenizer::default()));
    index.set_tokenizers(tokenizers);
    Ok((index, fields))
}

/// The payload of the last commit; none of an empty index.
pub(super) fn stand(index: &Index, dir: &Path) -> Result<Option<Stand>, IndexError> {
    let metas = index.load_metas().map_err(IndexError::library("read", dir))?;
    let other = |_| IndexError::Other { dir: dir.to_owned(), what: "payload" };
    metas.payload.map(|text| serde_json::from_str(&text).map_err(other)).transpose()
}

/// The payload of the index in a folder, as far as there is one; nothing else is read.
pub(super) fn stand_in(dir: &Path) -> Option<Stand> {
    let folder = tantivy::directory::MmapDirectory::open(dir).ok()?;
    stand(&Index::open(folder).ok()?, dir).ok()?
}
