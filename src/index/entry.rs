//! A page as it goes into the index.

use tantivy::TantivyDocument;
use tantivy::schema::document::Document;

use super::room::Taken;
use super::schema::Fields;
use crate::domain::words::TokenList;

/// Bytes of a document's id.
pub use crate::storage::newest::ID;

/// A page as it goes into the index: plain values, made by whoever read the page.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are told in `schema`")]
pub struct Entry {
    pub id: [u8; ID],
    pub host: String,
    pub site: String,
    pub title: TokenList,
    pub heads: TokenList,
    pub keys: TokenList,
    pub url: TokenList,
    pub descr: TokenList,
    pub text: TokenList,
    pub words: TokenList,
    pub stems: TokenList,
    pub links: Vec<u64>,
    pub links_ext: Vec<u64>,
    pub own: u64,
    pub seq: u64,
    pub captured: u64,
    pub changed: u64,
    pub out_links: u32,
    pub depth: u16,
    pub content: u64,
    pub near: u64,
    pub simhash: Option<u64>,
    pub status: u16,
    pub stale: bool,
    pub lang: Option<String>,
    /// As which of its kinds the page declares it.
    pub lang_kinds: Vec<String>,
    pub mime: String,
    pub card: String,
}

impl Entry {
    /// Bytes that it takes on its way, about.
    pub(super) fn bytes(&self) -> usize {
        let words = self.tokens().map(|list| list.packed().len()).iter().sum::<usize>();
        words + 8 * (self.links.len() + self.links_ext.len()) + self.card.len() + 512
    }

    fn tokens(&self) -> [&TokenList; 8] {
        [&self.title, &self.heads, &self.keys, &self.url, &self.descr, &self.text, &self.words, &self.stems]
    }

    pub(super) fn document(&self, fields: &Fields) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_bytes(fields.id, &self.id);
        document.add_text(fields.host, &self.host);
        document.add_text(fields.site, &self.site);
        let of_words = [
            fields.title,
            fields.heads,
            fields.keys,
            fields.url,
            fields.descr,
            fields.text,
            fields.words,
            fields.stems,
        ];
        for (field, tokens) in of_words.into_iter().zip(self.tokens()).filter(|(_, tokens)| !tokens.is_empty()) {
            document.add_text(field, tokens.packed());
        }
        self.links.iter().for_each(|target| document.add_u64(fields.links, *target));
        self.links_ext.iter().for_each(|target| document.add_u64(fields.links_ext, *target));
        for (field, value) in [
            (fields.own, self.own),
            (fields.seq, self.seq),
            (fields.captured, self.captured),
            (fields.changed, self.changed),
            (fields.out_links, u64::from(self.out_links)),
            (fields.depth, u64::from(self.depth)),
            (fields.content, self.content),
            (fields.near, self.near),
            (fields.status, u64::from(self.status)),
            (fields.stale, u64::from(self.stale)),
        ] {
            document.add_u64(field, value);
        }
        self.simhash.iter().for_each(|print| document.add_u64(fields.simhash, *print));
        self.lang.iter().chain(&self.lang_kinds).for_each(|lang| document.add_text(fields.lang, lang));
        document.add_text(fields.mime, &self.mime);
        document.add_text(fields.card, &self.card);
        document
    }
}

/// A document with its room, which it gives back once it is in the arena.
pub(super) struct Held {
    pub document: TantivyDocument,
    pub _room: Taken,
}

impl Document for Held {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.document.iter_fields_and_values()
    }
}
