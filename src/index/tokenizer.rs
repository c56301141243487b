//! Hands tokens that were cut before to the library.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::domain::words::{Unpacked, unpacked};

/// Its name in the schema.
pub(super) const PACKED: &str = "packed";

/// Reads [`TokenList::packed`](crate::domain::words::TokenList::packed).
#[derive(Clone, Debug, Default)]
pub(super) struct Packed;

pub(super) struct Words<'a> {
    words: Unpacked<'a>,
    token: Token,
}

impl Tokenizer for Packed {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        Words { words: unpacked(text), token: Token::default() }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        let Some((word, place)) = self.words.next() else { return false };
        self.token.text.clear();
        self.token.text.push_str(word);
        self.token.position = place as usize;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
