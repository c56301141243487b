//! Tokens of a text that comes in pieces.

/// What a token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters alone.
    Word,
    /// At least one digit.
    Number,
}

/// The beginning of a token that may go on with the next piece.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// In lower case.
    held: Vec<u8>,
    digits: bool,
}

/// A longer token counts as several.
const LONGEST: usize = 256;
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
/// A byte of a character that is not ASCII.
const WIDE: u8 = 4;
/// What each byte is; 0 parts tokens.
static CLASSES: [u8; 256] = {
    let mut all = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        all[at] = if byte >= 0x80 {
            WIDE
        } else if byte.is_ascii_digit() {
            DIGIT
        } else if byte.is_ascii_alphabetic() {
            LETTER
        } else {
            0
        };
        at += 1;
    }
    all
};

impl Tokens {
    /// The next piece; `take` is told the hash and the kind of each token that ends in it.
    pub(super) fn push(&mut self, text: &str, take: &mut impl FnMut(u64, Kind)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (run, classes, stop) = run(rest.as_bytes());
            let (token, after) = rest.split_at_checked(run).unwrap_or((rest, ""));
            let ends = stop == 0 && !after.is_empty() || token.len() >= LONGEST;
            if ends && self.held.is_empty() {
                if !token.is_empty() {
                    take(hash_of(token.as_bytes(), true), kind(classes & DIGIT != 0));
                }
            } else {
                self.hold(token, classes & DIGIT != 0, take);
                if ends {
                    self.end(take);
                }
            }
            rest = match after.as_bytes().first() {
                Some(byte) if class(*byte) == WIDE => self.wide(after, take),
                Some(byte) if class(*byte) == 0 => after.get(1..).unwrap_or_default(),
                _ => after,
            };
        }
    }

    /// The token ends here.
    pub(super) fn end(&mut self, take: &mut impl FnMut(u64, Kind)) {
        if !self.held.is_empty() {
            take(hash_of(&self.held, false), kind(self.digits));
            self.held.clear();
        }
        self.digits = false;
    }

    fn hold(&mut self, ascii: &str, digits: bool, take: &mut impl FnMut(u64, Kind)) {
        if self.held.len() + ascii.len() > LONGEST {
            self.end(take);
        }
        self.held.extend(ascii.bytes().map(|byte| byte | 0x20)); // digits have that bit
        self.digits |= digits;
    }

    /// Characters that are not ASCII, up to the next that is.
    fn wide<'t>(&mut self, text: &'t str, take: &mut impl FnMut(u64, Kind)) -> &'t str {
        let mut chars = text.chars();
        loop {
            let rest = chars.as_str();
            let Some(c) = chars.next().filter(|c| !c.is_ascii()) else { return rest };
            if stands_alone(c) {
                self.end(take);
                self.add(c);
                self.end(take);
            } else if c.is_alphanumeric() {
                if self.held.len() + 16 > LONGEST {
                    self.end(take);
                }
                self.add(c);
            } else {
                self.end(take);
            }
        }
    }

    fn add(&mut self, c: char) {
        self.digits |= c.is_numeric();
        let mut bytes = [0; 4];
        c.to_lowercase().for_each(|c| self.held.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes()));
    }
}

/// Letters and digits of ASCII at the start: how many, of which classes, and of which class the byte is that ends them.
fn run(bytes: &[u8]) -> (usize, u8, u8) {
    let mut classes = 0;
    for (at, byte) in bytes.iter().enumerate().take(LONGEST) {
        let class = class(*byte);
        if class == 0 || class == WIDE {
            return (at, classes, class);
        }
        classes |= class;
    }
    (bytes.len().min(LONGEST), classes, LETTER)
}

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

fn kind(digits: bool) -> Kind {
    if digits { Kind::Number } else { Kind::Word }
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

/// Eight bytes at a time; `ascii` letters are made lower case.
pub(super) fn hash_of(token: &[u8], ascii: bool) -> u64 {
    let case = if ascii { 0x2020_2020_2020_2020 } else { 0 };
    let hash = token.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash: u64, chunk| {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        let lower = case >> (8 * (8 - chunk.len().clamp(1, 8)));
        (hash ^ (u64::from_le_bytes(bytes) | lower)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
