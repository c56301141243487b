//! Tokens with their places, in one piece of memory.

/// Tokens with their places, as one text: an index takes millions of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenList {
    packed: String,
    last: u32,
    count: usize,
}

/// The longest token, in bytes: its length is a character.
const LONGEST: usize = 0xd7ff;
/// The longest steps that are told apart. Back: to the first part of a word from its last; on: as far as there are characters.
const BACK: i64 = 64;
const ON: i64 = 0xd7ff - NO_STEP;
/// A step is a character: this one is none.
const NO_STEP: i64 = ' ' as i64 + BACK;

impl TokenList {
    /// Makes room for so many bytes of tokens.
    pub fn reserve(&mut self, bytes: usize) {
        self.packed.reserve(bytes);
    }

    /// The next token. An empty one, or one of more than 55,295 bytes, is none.
    pub fn push(&mut self, token: &str, place: u32) {
        let length = u32::try_from(token.len()).ok().filter(|length| *length as usize <= LONGEST);
        let Some(length) = length.filter(|length| *length > 0).and_then(char::from_u32) else { return };
        let step = (i64::from(place) - i64::from(self.last)).clamp(-BACK, ON);
        let mark = u32::try_from(NO_STEP + step).ok().and_then(char::from_u32);
        self.packed.push(mark.unwrap_or(' '));
        self.packed.push(length);
        self.packed.push_str(token);
        self.last = moved(self.last, step);
        self.count += 1;
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// As one text, for [`unpacked`].
    pub fn packed(&self) -> &str {
        &self.packed
    }

    /// Each token with its place.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        unpacked(&self.packed)
    }
}

fn moved(place: u32, step: i64) -> u32 {
    u32::try_from(i64::from(place) + step).unwrap_or_default()
}

/// Each token of [`TokenList::packed`] with its place.
pub fn unpacked(packed: &str) -> Unpacked<'_> {
    Unpacked { rest: packed, place: 0 }
}

/// See [`unpacked`].
#[derive(Clone, Debug)]
pub struct Unpacked<'a> {
    rest: &'a str,
    place: u32,
}

impl<'a> Iterator for Unpacked<'a> {
    type Item = (&'a str, u32);

    fn next(&mut self) -> Option<(&'a str, u32)> {
        let mut chars = self.rest.chars();
        let (mark, length) = (chars.next()?, chars.next()?);
        let (token, rest) = chars.as_str().split_at_checked(u32::from(length) as usize)?;
        self.rest = rest;
        self.place = moved(self.place, i64::from(u32::from(mark)) - NO_STEP);
        Some((token, self.place))
    }
}

impl<'a> FromIterator<(&'a str, u32)> for TokenList {
    fn from_iter<T: IntoIterator<Item = (&'a str, u32)>>(tokens: T) -> Self {
        let mut list = Self::default();
        tokens.into_iter().for_each(|(token, place)| list.push(token, place));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_their_places() {
        let tokens = [
            ("狼蛛", 0),
            ("foo", 1),
            ("bar", 2),
            ("foo_bar", 1),
            ("索引", 11),
            ("ß", 60),
            ("far", 50_000),
            ("x", 49_936),
            (&*"long".repeat(100), 49_937),
            ("\0", 49_938),
        ];
        let list: TokenList = tokens.into_iter().collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), tokens);
        assert_eq!(list.len(), tokens.len());
    }

    #[test]
    fn what_is_no_token_is_left_out_and_no_step_is_too_long() {
        let long = "b".repeat(LONGEST + 1);
        let list: TokenList = [("a", 5), ("", 6), (&*long, 7), ("d", 100_000), ("e", 7)].into_iter().collect();
        let far = 5 + u32::try_from(ON).unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [("a", 5), ("d", far), ("e", far - 64)]);
    }
}
