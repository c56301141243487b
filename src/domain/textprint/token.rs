//! Tokens of a text.
//!
//! First the runs of letters, digits and bytes beyond ASCII are found, 64 bytes at a time and without a branch for each: most time
//! would go to branches that are guessed wrong. Then each run is hashed, eight bytes at a time.

/// A run of more bytes is several.
pub(super) const LONGEST: usize = 16 * 1_024;
const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * EACH;

/// Cuts texts into tokens; its room is used again.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Hashes: odd ones of tokens with a digit, even ones of words.
    pub found: Vec<u64>,
    /// Characters of tokens so far: of very long texts as many as can be counted.
    pub letters: u32,
    /// Where runs begin and end, in turns.
    edges: Vec<usize>,
}

impl Tokens {
    /// Finds the tokens of a text; not yet those of a run at its end, which may go on. How many bytes were looked at.
    pub(super) fn find(&mut self, text: &str) -> usize {
        self.find_edges(text.as_bytes());
        self.found.clear();
        let (runs, last) = self.edges.as_chunks::<2>();
        let mut letters = 0;
        for [start, end] in runs {
            let rest = hash_parts(text, *start, *end, &mut self.found, &mut letters);
            letters += hash_run(text, rest, *end, &mut self.found);
        }
        let found = &mut self.found;
        let done = last.first().map_or(text.len(), |start| hash_parts(text, *start, text.len(), found, &mut letters));
        self.letters = self.letters.saturating_add(u32::try_from(letters).unwrap_or(u32::MAX));
        done
    }

    fn find_edges(&mut self, bytes: &[u8]) {
        self.edges.clear();
        let mut within = 0;
        for (nth, block) in bytes.chunks(64).enumerate() {
            let runs = block.chunks(8).rev().fold(0, |bits, eight| bits << 8 | runs_of(eight_of(eight)));
            self.edges.reserve(64);
            let mut edges = runs ^ (runs << 1 | within);
            within = runs >> 63;
            while edges != 0 {
                self.edges.push(64 * nth + edges.trailing_zeros() as usize);
                edges &= edges - 1;
            }
        }
        self.edges.pop_if(|edge| *edge == bytes.len()); // a run at the end has not ended
    }
}

/// A bit for each of eight bytes, set for letters, digits and what is not ASCII.
fn runs_of(eight: u64) -> u64 {
    let low = eight & !HIGH; // of seven bits each, so that no sum reaches the next
    let lower = low | (0x20 * EACH);
    let letters = (lower + (0x80 - 0x61) * EACH) & !(lower + (0x80 - 0x7b) * EACH); // a..z
    let high = (letters | digits_of(low) | eight) & HIGH;
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The highest bit of each byte that is a digit, and others below.
fn digits_of(low: u64) -> u64 {
    (low + (0x80 - 0x30) * EACH) & !(low + (0x80 - 0x3a) * EACH)
}

/// The first parts of a very long run; where the last begins.
fn hash_parts(text: &str, mut start: usize, end: usize, found: &mut Vec<u64>, letters: &mut usize) -> usize {
    while end - start > LONGEST {
        let cut = (start..start + LONGEST).rev().find(|at| text.is_char_boundary(at + 1));
        let next = cut.map_or(end, |at| at + 1);
        *letters += hash_run(text, start, next, found);
        start = next;
    }
    start
}

/// The tokens of a run: one, when it is ASCII. Gives how many characters they have.
fn hash_run(text: &str, start: usize, end: usize, found: &mut Vec<u64>) -> usize {
    let (mut hash, mut digits, mut at) = (0, 0, start);
    loop {
        let left = end - at;
        let within = if left < 8 { !(u64::MAX << (8 * left)) } else { u64::MAX };
        let eight = eight_of(text.as_bytes().get(at..).unwrap_or_default()) & within;
        if eight & HIGH != 0 {
            return hash_wide(text.get(start..end).unwrap_or_default(), found);
        }
        digits |= digits_of(eight) & HIGH;
        hash = mixed(hash, lower_of(eight));
        if left <= 8 {
            found.push(finished(hash, digits != 0));
            return end - start;
        }
        at += 8;
    }
}

/// Letters in lower case; digits have the bit that letters get, and zeros stay.
fn lower_of(eight: u64) -> u64 {
    eight | ((eight & (0x40 * EACH)) >> 1)
}

/// The tokens of a run with characters that are not ASCII.
#[inline(never)]
fn hash_wide(run: &str, found: &mut Vec<u64>) -> usize {
    let (mut token, mut digits, mut letters) = (String::new(), false, 0);
    for c in run.chars() {
        let (alone, belongs) = (stands_alone(c), c.is_alphanumeric());
        if alone || !belongs {
            end(&mut token, &mut digits, found);
        }
        if belongs {
            letters += 1;
            token.extend(c.to_lowercase());
            digits |= c.is_numeric();
        }
        if alone {
            end(&mut token, &mut digits, found);
        }
    }
    end(&mut token, &mut digits, found);
    letters
}

fn end(token: &mut String, digits: &mut bool, found: &mut Vec<u64>) {
    if !token.is_empty() {
        found.push(finished(token.as_bytes().chunks(8).map(eight_of).fold(0, mixed), *digits));
    }
    token.clear();
    *digits = false;
}

/// The first eight bytes, the first one lowest; zeros beyond the end.
fn eight_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

/// Whether a character is a token by itself: its script is written without spaces.
pub(super) fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// A hash with eight bytes more.
pub(super) fn mixed(hash: u64, eight: u64) -> u64 {
    (hash ^ eight).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Every bit of it but the last hangs on all that was mixed; that says whether there are digits.
pub(super) fn finished(hash: u64, digits: bool) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash ^ (hash >> 32)) & !1 | u64::from(digits)
}
