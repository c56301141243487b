//! The print of a text: what is compared of two pages, in a few numbers.
//!
//! Made of the visible text as it is decoded, so that a page has the same print in UTF-8, GBK and Big5. A *token* is a run of letters and
//! digits, lower case; of scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) each character. [`TextPrint`]
//! holds a digest of all tokens, one without those that hold a digit, a SimHash (Charikar, "Similarity estimation techniques from
//! rounding algorithms", 2002) over the distinct runs of three tokens, and a [sketch](TextPrint::sketch) of these runs.
//!
//! For traps there are two readings more ([`Told`]): what a page says beyond the words of its own URL, since a server that
//! answers 200 to everything repeats what was asked for.

mod planes;
mod sample;
mod token;

use smallvec::SmallVec;

use planes::Planes;
use sample::{PARTS, Sample};
use token::{Tokens, finished, mixed};

/// Tokens of a run that makes a feature.
const RUN: u64 = 3;
/// Distinct runs of words below which a text is too short to be told by a hash of them.
pub const FEATURES: u32 = 64;
/// The same of characters.
pub const LETTERS: u32 = 400;
/// SimHashes of texts that differ in little differ in so many bits at most.
const LITTLE: u32 = 3;
/// Distinct features are told apart by so many bits; one that collides is dropped, the same way each time.
const BITS: usize = 1 << 16;
/// Bytes of text that are cut into tokens together.
const MUCH: usize = 2_048;
/// Distinct words of a URL that are left out: all of one within the usual limit of its length.
const OF_URL: usize = 1_024;
/// Distinct words of a page that are told; of one with more nobody says which are new.
const VOCABULARY: usize = 2_048;
const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// The print of a text that has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextPrint {
    /// A digest of all tokens.
    pub whole: u64,
    /// The same without tokens that hold a digit.
    pub words: u64,
    /// SimHash over distinct runs of three tokens; a text of less than three is one run.
    pub sim: u64,
    /// Their number.
    pub features: u32,
    /// Characters of all tokens.
    pub letters: u32,
    /// A sample of the same runs, of a text with [`FEATURES`] and [`LETTERS`] at least: of two texts that have the share `j` of the runs of
    /// either in common, some `(1 - j) / 2` of its bits differ.
    pub sketch: Option<[u64; PARTS / 64]>,
}

impl TextPrint {
    /// Whether two long texts differ in little, by their SimHashes: the surer, the longer they are.
    pub fn is_little_else(&self, other: &Self) -> bool {
        self.features.min(other.features) >= FEATURES && (self.sim ^ other.sim).count_ones() <= LITTLE
    }
}

/// What a text says beyond the words of its page's URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Sum of the hashes of its other tokens, whatever their order; 0 when there are none.
    pub whole: u64,
    /// The same without tokens that hold a digit: rows that are sorted otherwise say nothing new.
    pub words: u64,
    /// Its distinct words, a part of the hash of each, in the order of the text; none when there are too many.
    pub vocabulary: Vec<u16>,
    /// The same of its tokens with digits.
    pub numbers: Vec<u16>,
    /// There are more words than are told.
    pub many: bool,
}

/// What a page shows: its text, and what else it names that is looked at or listened to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Of its text; none when there is none.
    pub print: Option<TextPrint>,
    /// What that says beyond the words of its URL.
    pub told: Told,
    /// Hashes of the addresses of its pictures, objects, sounds and films, sorted, each once.
    pub media: Vec<u32>,
}

/// Makes the print of a text that comes in pieces, cut anywhere between two characters.
#[derive(Debug)]
pub struct Printer {
    /// What waits to be cut into tokens: much is quicker than little.
    text: String,
    /// From so many bytes on.
    much: usize,
    tokens: Tokens,
    made: Made,
}

/// What the tokens so far have made.
#[derive(Debug, Default)]
struct Made {
    /// Sorted.
    of_url: SmallVec<[u64; 16]>,
    /// A bit for each of `of_url`, by its highest six.
    maybe: u64,
    count: u64,
    whole: u64,
    words: u64,
    told: [u64; 2],
    last: [u64; 2],
    features: Bits,
    planes: Planes,
    sample: Sample,
    met: Bits,
    vocabulary: Vec<u16>,
    numbers: Vec<u16>,
}

impl Printer {
    /// Of a page whose URL has these words, in path and query.
    pub fn new(of_url: &str) -> Self {
        let mut tokens = Tokens::default();
        tokens.find(&(percent_encoding::percent_decode_str(of_url).decode_utf8_lossy() + "\n"));
        tokens.letters = 0;
        let mut words: SmallVec<[u64; 16]> = tokens.found.iter().copied().collect();
        words.sort_unstable();
        words.dedup();
        words.truncate(OF_URL);
        Self { text: String::with_capacity(2 * MUCH), much: MUCH, tokens, made: Made::without(words) }
    }

    /// The next piece; a token at the joint grows together.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() >= self.much {
            self.take();
        }
    }

    /// What comes next is another token.
    pub fn part(&mut self) {
        self.text.push('\n');
    }

    /// Takes in the text that waits, but what may go on.
    fn take(&mut self) {
        let done = self.tokens.find(&self.text);
        self.made.take(&self.tokens.found);
        self.text.drain(..done);
        self.much = MUCH + 2 * self.text.len();
    }

    /// The text has ended. A text without a token has no print.
    pub fn finish(mut self) -> (Option<TextPrint>, Told) {
        self.part();
        self.take(); // the last token has ended
        self.made.finish(self.tokens.letters)
    }
}

impl Made {
    fn without(of_url: SmallVec<[u64; 16]>) -> Self {
        let maybe = of_url.iter().fold(0, |maybe, word| maybe | 1 << (word >> 58));
        Self { of_url, maybe, ..Self::default() }
    }

    fn take(&mut self, tokens: &[u64]) {
        let (mut whole, mut words, [mut first, mut second]) = (self.whole, self.words, self.last);
        let [mut told, mut told_words] = self.told;
        for token in tokens {
            let of_words = if is_word(*token) { *token } else { 0 };
            whole = mixed(whole, *token);
            words = if is_word(*token) { mixed(words, *token) } else { words };
            if self.maybe >> (token >> 58) & 1 == 0 || self.of_url.binary_search(token).is_err() {
                told = told.wrapping_add(*token);
                told_words = told_words.wrapping_add(of_words);
                self.meet(*token);
            }
            self.count += 1;
            if self.count >= RUN {
                self.feature(first, second, *token);
            }
            (first, second) = (second, *token);
        }
        (self.whole, self.words, self.last, self.told) = (whole, words, [first, second], [told, told_words]);
    }

    fn meet(&mut self, token: u64) {
        let part = (token >> 40) as u16;
        if self.met.set(part) {
            let list = if is_word(token) { &mut self.vocabulary } else { &mut self.numbers };
            if list.len() <= VOCABULARY {
                list.push(part);
            }
        }
    }

    fn feature(&mut self, first: u64, second: u64, third: u64) {
        let run = (first ^ second.rotate_left(21) ^ third.rotate_left(42)).wrapping_mul(PRIME);
        let run = (run ^ (run >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let run = run ^ (run >> 32);
        if self.features.set(run as u16) {
            self.planes.add(run);
            self.sample.add(run);
        }
    }

    fn finish(mut self, letters: u32) -> (Option<TextPrint>, Told) {
        if (1..RUN).contains(&self.count) {
            let [first, second] = self.last;
            self.feature(first, second, 0);
        }
        let many = self.vocabulary.len() > VOCABULARY;
        let (mut vocabulary, mut numbers) = (self.vocabulary, self.numbers);
        if many {
            vocabulary = Vec::new();
        }
        numbers.truncate(VOCABULARY);
        let [whole, words] = self.told;
        let told = Told { whole, words, vocabulary, numbers, many };
        let (sim, features) = self.planes.finish();
        let [whole, words] = [self.whole, self.words].map(|hash| finished(hash, false));
        let sketch = (features >= FEATURES && letters >= LETTERS).then(|| self.sample.finish());
        let print = TextPrint { whole, words, sim, features, letters, sketch };
        ((self.count > 0).then_some(print), told)
    }
}

fn is_word(token: u64) -> bool {
    token & 1 == 0
}

/// A set of numbers of sixteen bits.
#[derive(Debug)]
pub(super) struct Bits(Box<[u64; BITS / 64]>);

impl Default for Bits {
    fn default() -> Self {
        Self(Box::new([0; BITS / 64]))
    }
}

impl Bits {
    /// Puts a number in; whether it was not there.
    pub(super) fn set(&mut self, number: u16) -> bool {
        let (at, bit) = (usize::from(number) / 64, 1 << (number % 64));
        self.0.get_mut(at).is_some_and(|word| {
            let new = *word & bit == 0;
            *word |= bit;
            new
        })
    }
}

#[cfg(test)]
mod tests;
