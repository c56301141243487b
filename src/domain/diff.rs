//! Two texts compared, block by block (Myers' difference, by `similar`).

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Blocks of each text, behind what both begin and before what both end with, that are compared: of more the rest counts as
/// changed. What is dearest (the same blocks in another order) takes 5 ms (ADR 29).
const MOST: usize = 2_000;

/// A piece of a comparison, in order. Numbers are those of blocks in the old text, or in the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A block of the new text that is in the old one too, shown beside a change.
    Same(usize),
    /// So many blocks that are in both.
    Skipped(usize),
    /// A block of the old text alone.
    Removed(usize),
    /// A block of the new text alone.
    Added(usize),
}

/// What two texts have in common, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The changes, each with a block before and behind it.
    pub pieces: Vec<Piece>,
    /// Blocks of the old text alone.
    pub removed: usize,
    /// Blocks of the new text alone.
    pub added: usize,
    /// Blocks of both.
    pub same: usize,
    /// There was more than is compared.
    pub cut: bool,
}

/// Compares the blocks of two texts.
pub fn compare(old: &[&str], new: &[&str]) -> Compared {
    let begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |all: &[&str]| begin..all.len() - end;
    let (mut numbers, mut number) = (HashMap::new(), Vec::new());
    for text in [&old[middle(old)], &new[middle(new)]] {
        let next = text.iter().take(MOST).map(|block| {
            let known = numbers.len();
            *numbers.entry(*block).or_insert(known)
        });
        number.push(next.collect::<Vec<usize>>());
    }
    let rest = |all: &[&str]| middle(all).len().saturating_sub(MOST);
    let (old_cut, new_cut) = (rest(old), rest(new));
    let mut told = Told::default();
    told.same(0, begin);
    for op in capture_diff_slices(Algorithm::Myers, &number[0], &number[1]) {
        match op {
            DiffOp::Equal { new_index, len, .. } => told.same(begin + new_index, len),
            DiffOp::Delete { old_index, old_len, .. } => told.removed(begin + old_index, old_len),
            DiffOp::Insert { new_index, new_len, .. } => told.added(begin + new_index, new_len),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                told.removed(begin + old_index, old_len);
                told.added(begin + new_index, new_len);
            }
        }
    }
    told.removed(old.len() - end - old_cut, old_cut);
    told.added(new.len() - end - new_cut, new_cut);
    told.same(new.len() - end, end);
    Compared { cut: old_cut + new_cut > 0, ..told.done() }
}

/// Pieces on their way. Each is given by the first block and how many.
#[derive(Default)]
struct Told {
    done: Compared,
    /// Blocks in common since the last change.
    common: Option<(usize, usize)>,
}

impl Told {
    fn same(&mut self, at: usize, len: usize) {
        self.done.same += len;
        let (first, before) = self.common.unwrap_or((at, 0));
        self.common = Some((first, before + len)).filter(|(_, len)| *len > 0);
    }

    fn removed(&mut self, at: usize, len: usize) {
        self.done.removed += len;
        self.changed((at..at + len).map(Piece::Removed));
    }

    fn added(&mut self, at: usize, len: usize) {
        self.done.added += len;
        self.changed((at..at + len).map(Piece::Added));
    }

    fn changed(&mut self, pieces: impl ExactSizeIterator<Item = Piece>) {
        if pieces.len() > 0 {
            self.flush(true);
            self.done.pieces.extend(pieces);
        }
    }

    /// Tells of what is in common: one block behind the last change, one before the next, where there are such.
    fn flush(&mut self, change_follows: bool) {
        let Some((first, len)) = self.common.take() else { return };
        let behind = usize::from(!self.done.pieces.is_empty());
        let before = usize::from(change_follows && len > behind);
        let (pieces, skipped) = (&mut self.done.pieces, len - behind - before);
        pieces.extend((first..first + behind).map(Piece::Same));
        pieces.extend(Some(Piece::Skipped(skipped)).filter(|_| skipped > 0));
        pieces.extend((first + len - before..first + len).map(Piece::Same));
    }

    fn done(mut self) -> Compared {
        self.flush(false);
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces as text: one a block, the words of the texts are blocks.
    fn told(old: &str, new: &str) -> String {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split_whitespace().collect(), new.split_whitespace().collect());
        let compared = compare(&old, &new);
        let sides = (compared.removed + compared.same, compared.added + compared.same, compared.cut);
        assert_eq!(sides, (old.len(), new.len(), false));
        let piece = |piece: &Piece| match *piece {
            Piece::Same(n) => new[n].to_owned(),
            Piece::Skipped(n) => format!("..{n}"),
            Piece::Removed(n) => format!("-{}", old[n]),
            Piece::Added(n) => format!("+{}", new[n]),
        };
        compared.pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn changes_are_told_with_the_block_before_and_the_block_behind() {
        for (old, new, pieces) in [
            ("", "", ""),
            ("a", "a", "..1"),
            ("a b c", "a b c", "..3"),
            ("", "a b", "+a +b"),
            ("a b", "", "-a -b"),
            ("a b c", "a x c", "a -b +x c"),
            ("a b c d e f g h", "a b c x e f g h", "..2 c -d +x e ..3"),
            ("a b c d e f g h", "x b c d e f g y", "-a +x b ..4 g -h +y"),
            ("a b c d", "x b c y", "-a +x b c -d +y"),
            ("a b c", "x b y", "-a +x b -c +y"),
            ("a a b", "a b", "a -a b"),
            ("a b", "b a", "+b a -b"),
        ] {
            assert_eq!(told(old, new), pieces, "{old} | {new}");
        }
    }

    #[test]
    fn of_texts_with_very_many_blocks_the_first_are_compared_and_the_rest_counts_as_changed() {
        let of = |name: &str, n: usize| (0..n).map(|i| format!("{name}{i}")).collect::<Vec<_>>();
        let all = |begin: &[String], middle: &[String]| [begin, middle, begin].concat();
        let (begin, old, new) = (of("s", 5_000), of("a", MOST + 7), of("b", MOST + 1));
        let (old, new) = (all(&begin, &old), all(&begin, &new));
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        let compared = compare(&old, &new);
        assert_eq!((compared.removed, compared.added, compared.same), (MOST + 7, MOST + 1, 10_000));
        assert!(compared.cut);
        // What both begin and end with is no part of the bound.
        assert!(!compare(&old, &old).cut);
    }
}
