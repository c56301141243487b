//! Words of a text: how they are told apart, compared, and which of them say nothing; and which language it is in.
//!
//! Scripts with spaces by UAX 29 (Unicode Text Segmentation); Han by jieba's dictionary, which is loaded when the first such text
//! comes and stays. All is a function of the text alone, and of the words that a process adds to the dictionary once at its start.

mod dictionary;
mod fold;
mod forms;
mod han;
mod language;
mod packed;
mod split;
mod stem;
mod stop;
mod tokens;

pub use dictionary::{BadEntry, Dictionary, is_taught, own_words};
pub use fold::fold;
pub use forms::{Mapped, form};
pub use han::{cut, is_han, rarity};
pub use language::{language, ranges, subtag, tag, three_letters};
pub use packed::{TokenList, Unpacked, unpacked};
pub use split::{Han, Joint, Word, words};
pub use stem::Stem;
pub use stop::{Stops, is_number, says_nothing};
pub use tokens::{BLOCK_GAP, Kind, LONGEST_TOKEN, Token, is_unspaced, ranked, tokens};

#[cfg(test)]
mod tests;
