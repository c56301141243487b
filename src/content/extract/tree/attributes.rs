//! How many attributes a tag may have of which nobody knows where it began.

/// The states of a tag (HTML, 13.2.5.6, 7, 8 and 13.2.5.32 to 40); what comes behind a quoted value is as before a name.
#[derive(Clone, Copy)]
enum At {
    /// Behind `<`.
    Open,
    /// Behind `</`.
    End,
    TagName,
    Before,
    Name,
    AfterName,
    BeforeValue,
    Unquoted,
    Double,
    Single,
}

use At::{AfterName, Before, BeforeValue, Double, End, Name, Open, Single, TagName, Unquoted};

const ALL: [At; 10] = [Open, End, TagName, Before, Name, AfterName, BeforeValue, Unquoted, Double, Single];

impl At {
    /// The state behind this byte, and whether an attribute begins with it; none when it is no tag, or at its end.
    fn after(self, b: u8) -> Option<(Self, bool)> {
        let space = b.is_ascii_whitespace();
        let next = match (self, b) {
            (Open, b'/') => End,
            (Open | End, _) if b.is_ascii_alphabetic() => TagName,
            (Open | End, _) => return None,
            (Double, b'"') | (Single, b'\'') => Before,
            (Double | Single, _) => self,
            (_, b'>') => return None,
            (TagName | Unquoted, _) if space => Before,
            (TagName, b'/') => Before,
            (TagName | Unquoted, _) => self,
            (Before, b'/') => Before,
            (Before | AfterName | BeforeValue, _) if space => self,
            (Name | AfterName, b'/') => Before,
            (Name | AfterName, b'=') => BeforeValue,
            (Name, _) if space => AfterName,
            (Name, _) => Name,
            (Before | AfterName, _) => return Some((Name, true)),
            (BeforeValue, b'"') => Double,
            (BeforeValue, b'\'') => Single,
            (BeforeValue, _) => Unquoted,
        };
        Some((next, false))
    }
}

/// For each state the most attributes that a tag may have which is in it now, wherever it began: two in one state go on alike.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes([Option<usize>; ALL.len()]);

impl Attributes {
    /// The most that a tag may have that is open now.
    pub(super) fn most(&self) -> usize {
        self.0.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Goes on over these bytes; the most that a tag may have had on the way.
    pub(super) fn over(&mut self, bytes: &[u8]) -> usize {
        let (mut at, mut most) = (0, self.most());
        while let Some(b) = bytes.get(at) {
            if *b != b'<' && self.0.iter().all(Option::is_none) {
                let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'<', rest)) else { break };
                at += next;
                continue;
            }
            self.step(*b);
            most = most.max(self.most());
            at += 1;
        }
        most
    }

    fn step(&mut self, b: u8) {
        let mut next = Self::default();
        for (state, count) in ALL.into_iter().zip(self.0) {
            if let (Some(count), Some((state, more))) = (count, state.after(b)) {
                next.raise(state, count + usize::from(more));
            }
        }
        if b == b'<' {
            next.raise(Open, 0);
        }
        *self = next;
    }

    fn raise(&mut self, state: At, count: usize) {
        if let Some(known) = self.0.get_mut(state as usize) {
            *known = (*known).max(Some(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    fn most(html: &str) -> usize {
        Attributes::default().over(html.as_bytes())
    }

    #[test]
    fn attributes_are_counted_and_words_in_quotes_and_texts_are_not() {
        check(include_str!("../../../../tests/data/html/attributes_most.txt"), |[html]| [most(html).to_string()]);
    }

    #[test]
    fn pieces_make_no_difference() {
        let html = "<p a b='<q c d e' f><x y z";
        let mut apart = Attributes::default();
        let by_piece = html.as_bytes().chunks(3).map(|piece| apart.over(piece)).max();
        assert_eq!((by_piece, apart.most()), (Some(most(html)), 2));
    }
}
