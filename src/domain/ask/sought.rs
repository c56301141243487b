//! What of a typed text is looked for: tokens with their places, as those of pages.

use crate::domain::words::{Kind, Stops, cut, form, is_han, is_unspaced, says_nothing, tokens};

/// A word, a part of a run without spaces, or a phrase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// It, in its form.
    pub text: String,
    /// Its tokens, each with how far it is behind the first; they must stand so. At least one, the first at 0.
    pub terms: Vec<(u32, String)>,
    /// The last token may be the beginning of one.
    pub open: bool,
    /// It is one word by itself, with stems, or one of the dictionary.
    pub word: bool,
}

impl Sought {
    /// A phrase as it stands.
    pub(super) fn whole(text: &str) -> Option<Self> {
        let formed = form(text);
        let mut found = Collected::default();
        tokens(&formed, 0, |token| {
            found.add(token.kind, token.place, token.text);
            true
        });
        let (terms, open) = found.finish();
        (!terms.is_empty()).then(|| Self { text: formed.trim().to_owned(), terms, open, word: false })
    }

    /// Each word of a text without white space; of a run of Han each of the dictionary's.
    pub(super) fn words(text: &str) -> Vec<Self> {
        let formed = form(text);
        let (mut found, mut idle) = (Vec::new(), Vec::new());
        let mut rest = &*formed;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            match unspaced {
                true => pieces(run).for_each(|piece| {
                    let kind = if says_little(piece) { &mut idle } else { &mut found };
                    kind.extend(Self::whole(piece).map(|sought| Self { word: true, ..sought }));
                }),
                false => spaced(run, behind.is_empty(), &mut found),
            }
            rest = behind;
        }
        // What says nothing is looked for when there is nothing else.
        if found.is_empty() { idle } else { found }
    }
}

/// Words of a run of scripts with spaces.
fn spaced(run: &str, is_last: bool, found: &mut Vec<Sought>) {
    let from = found.len();
    let mut first = Vec::new();
    tokens(run, 0, |token| {
        if token.kind == Kind::Whole {
            // The parts that it is made of come before it.
            let at = first.iter().position(|place| *place >= token.place).unwrap_or_default();
            first.truncate(at + 1);
            let parts: Vec<_> = found.drain(from + at..).flat_map(|part: Sought| part.terms).collect();
            let terms = (0..).zip(parts).map(|(place, (_, part))| (place, part)).collect();
            found.push(Sought { text: token.text.into(), terms, open: false, word: true });
        } else {
            first.push(token.place);
            found.push(Sought {
                text: token.text.into(),
                terms: vec![(0, token.text.into())],
                open: false,
                word: true,
            });
        }
        true
    });
    if is_last
        && run.ends_with(['*', '＊'])
        && let Some(last) = found.get_mut(from..).and_then(<[_]>::last_mut)
    {
        (last.open, last.word) = (true, false);
    }
}

/// Han by the dictionary, other scripts without spaces as they stand.
fn pieces(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    let runs = std::iter::from_fn(move || {
        let row = row(rest.chars().next()?);
        let (piece, behind) = rest.split_at(rest.find(|c| self::row(c) != row).unwrap_or(rest.len()));
        rest = behind;
        Some(piece)
    });
    runs.flat_map(|run| {
        let (han, other) = if run.starts_with(is_han) { (run, None) } else { ("", Some(run)) };
        cut(han).chain(other)
    })
}

fn row(c: char) -> u8 {
    match c {
        '\u{3041}'..='\u{309f}' => 0,
        '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => 1,
        c if is_han(c) => 2,
        _ => 3,
    }
}

/// Grammar of Chinese and Japanese.
fn says_little(piece: &str) -> bool {
    says_nothing(piece) || Stops::of("zh").is_some_and(|stops| stops.holds(piece))
}

/// Tokens of a phrase: of overlapping pairs as many as say all.
#[derive(Default)]
struct Collected {
    terms: Vec<(u32, String)>,
    /// Pairs of the run so far.
    pairs: usize,
    /// What may turn out to be needed: every second pair, and the last character of a run of several.
    spare: Option<(u32, String)>,
    /// The last token is a run of one character.
    single: bool,
}

impl Collected {
    fn add(&mut self, kind: Kind, place: u32, text: &str) {
        let term = (place, text.to_owned());
        match kind {
            Kind::Whole => {}
            Kind::Word => {
                self.terms.extend(self.spare.take());
                self.terms.push(term);
                (self.pairs, self.single) = (0, false);
            }
            Kind::Pair => {
                if self.pairs == 0 {
                    self.terms.extend(self.spare.take());
                }
                self.pairs += 1;
                // The second of three is said by its neighbours.
                self.spare = None;
                if self.pairs % 2 == 1 {
                    self.terms.push(term)
                } else {
                    self.spare = Some(term)
                }
                self.single = false;
            }
            Kind::Last => {
                self.terms.extend(self.spare.take());
                self.single = self.pairs == 0;
                if self.single {
                    self.terms.push(term)
                } else {
                    self.spare = Some(term)
                }
                self.pairs = 0;
            }
        }
    }

    /// The last character of a run that ends the phrase is said by its last pair.
    fn finish(mut self) -> (Vec<(u32, String)>, bool) {
        let first = self.terms.first().map_or(0, |(place, _)| *place);
        self.terms.iter_mut().for_each(|(place, _)| *place -= first);
        (self.terms, self.single)
    }
}
