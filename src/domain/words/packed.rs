//! Tokens with their places, in one piece of memory.

/// Tokens with their places, as one text: an index takes millions of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenList {
    packed: String,
    last: u32,
    count: usize,
}

/// What ends a token; none holds it.
const END: char = '\0';
/// The longest steps that are told apart. Back: to the first part of a word from its last; on: as far as there are characters.
const BACK: i64 = 64;
const ON: i64 = 0xd7ff - NO_STEP;
/// A step is a character: this one is none.
const NO_STEP: i64 = ' ' as i64 + BACK;

impl TokenList {
    /// The next token. An empty one, or one with U+0000, is none.
    pub fn push(&mut self, token: &str, place: u32) {
        if token.is_empty() || token.contains(END) {
            return;
        }
        let step = (i64::from(place) - i64::from(self.last)).clamp(-BACK, ON);
        let mark = u32::try_from(NO_STEP + step).ok().and_then(char::from_u32);
        self.packed.push(mark.unwrap_or(' '));
        self.packed.push_str(token);
        self.packed.push(END);
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
pub fn unpacked(packed: &str) -> impl Iterator<Item = (&str, u32)> {
    let mut place = 0;
    packed.split_terminator(END).filter_map(move |token| {
        let mark = token.chars().next()?;
        place = moved(place, i64::from(u32::from(mark)) - NO_STEP);
        Some((token.get(mark.len_utf8()..)?, place))
    })
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
        ];
        let list: TokenList = tokens.into_iter().collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), tokens);
        assert_eq!(list.len(), tokens.len());
    }

    #[test]
    fn what_is_no_token_is_left_out_and_no_step_is_too_long() {
        let list: TokenList = [("a", 5), ("", 6), ("b\0c", 7), ("d", 100_000), ("e", 7)].into_iter().collect();
        let far = 5 + u32::try_from(ON).unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [("a", 5), ("d", far), ("e", far - 64)]);
    }
}
