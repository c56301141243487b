//! What is new on a page: runs of its text, and pictures, that no other page of its host has shown.
//!
//! Pages of a calendar, of a shop's filters, or under ever new session numbers differ in numbers, order and addresses, seldom in
//! anything a reader would call new. So a run of text between two tags counts without the words that stand in the page's own URL,
//! and in the strictest reading without those that hold a digit; of markup nothing counts but pictures (`src`, a background) and the
//! words in their place (`alt`). Lines with a clock or a counter, in which only numbers differ, on pages of all kinds, are no news. (BUbiNG
//! digests pages without numbers and attributes for the same purpose: Boldi et al., "BUbiNG: Massive Crawling for the Masses",
//! 2018.) The whole runs are kept as well: a page of which they all are known is a duplicate to the eye.

use smallvec::SmallVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::domain::url::PageUrl;

/// Runs of a page that are kept. What a page with more shows is not known.
const KEPT: usize = 1_024;
/// Runs that are gathered before repeats are left out.
const GATHERED: usize = 4_096;
/// Bytes of a page that are looked at, beside scripts and styles. What a longer one shows is not known.
const LOOKED: usize = 256 << 10;
/// Words of a URL that are left out.
const OF_URL: usize = 64;
/// Bytes of an attribute's value that are looked at.
const LONGEST_VALUE: usize = 1_024;
/// How the name of a picture ends.
const PICTURES: [&[u8]; 6] = [b".jpg", b".jpeg", b".png", b".webp", b".gif", b".avif"];
/// A longer word counts as several.
const LONGEST_WORD: usize = 256;
/// FNV-1a.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;
/// What a byte of a text is: [`LETTER`], [`DIGIT`], or neither.
const CLASSES: [u8; 256] = classes();
/// Of a word; all that is no ASCII is.
const LETTER: u8 = 1;
const DIGIT: u8 = 2;

/// A run of text or a picture, as hashes of three readings; 0 is an empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// As it stands.
    pub whole: u32,
    /// Without words of the URL.
    pub told: u32,
    /// Without those, and without words that hold a digit.
    pub words: u32,
}

/// What a page shows: its runs, each once.
pub type Shown = Vec<Run>;

/// Takes in a page's bytes, decoded, piece by piece.
pub struct PageRuns {
    of_url: Vec<u64>,
    shown: Shown,
    left: usize,
    /// There is more than was looked at.
    cut: bool,
    at: At,
    /// The beginning of a word that goes on with the next piece, and the classes of all its bytes.
    held: SmallVec<[u8; 64]>,
    classes: u8,
    /// A script or style as it stands, and whether there is any of it.
    script: Box<Xxh3>,
    scripted: bool,
    /// A value that is being gathered.
    value: SmallVec<[u8; 128]>,
    /// The run so far: whole, told, words.
    run: [u64; 3],
    tag: Tag,
    raw: Option<Name>,
}

/// The beginning of an element's name.
type Name = [u8; 7];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Text,
    Tag,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tag {
    name: Name,
    length: usize,
    named: bool,
    /// The last bytes outside of values, in lower case.
    last: u32,
    quote: Option<u8>,
    /// Of what attribute the value is that is gathered, while it lasts.
    shows: Option<Shows>,
}

/// What a value of an attribute shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// `src`, `srcset`.
    Picture,
    /// `alt`, `content`, `value`.
    Words,
    /// `style`.
    Style,
    /// `href`: a picture by its ending.
    Link,
}

impl PageRuns {
    /// Of the page at this URL.
    #[must_use]
    pub fn new(url: &PageUrl) -> Self {
        let words = url.tail().split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).take(OF_URL);
        Self {
            of_url: words.map(|word| hash_of(word.as_bytes())).collect(),
            shown: Shown::default(),
            left: LOOKED,
            cut: false,
            at: At::Text,
            held: SmallVec::new(),
            classes: 0,
            script: Box::default(),
            scripted: false,
            value: SmallVec::new(),
            run: [0; 3],
            tag: Tag::default(),
            raw: None,
        }
    }

    /// The next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((byte, after)) = rest.split_first() {
            let (before, raw) = (rest.len(), self.raw.is_some());
            if self.left == 0 || self.cut {
                self.cut = true;
                return;
            }
            rest = match (self.at, self.tag.quote) {
                (At::Text, _) if self.raw.is_some() => self.raw_text(rest),
                (At::Text, _) => self.text(rest),
                // Most of markup are addresses and styles.
                (At::Tag, Some(quote)) if *byte != quote => {
                    let end = memchr::memchr(quote, rest).unwrap_or(rest.len());
                    let (value, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
                    self.gather(value);
                    after
                }
                (At::Tag, _) => {
                    self.markup(*byte);
                    after
                }
            };
            if !raw {
                self.left = self.left.saturating_sub(before - rest.len());
            }
        }
    }

    /// What was found; none when there was more than can be told.
    #[must_use]
    pub fn finish(mut self) -> Option<Shown> {
        self.end_run();
        thin_out(&mut self.shown);
        (!self.cut && self.shown.len() <= KEPT).then_some(self.shown)
    }

    /// A word, or what is left of it, and what stands behind it; gives the rest.
    fn text<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let room = LONGEST_WORD.saturating_sub(self.held.len());
        let mut classes = 0;
        let end = piece.iter().take(room).position(|byte| {
            let class = class_of(*byte);
            classes |= class;
            class == 0
        });
        self.classes |= classes;
        let (word, after) = piece.split_at_checked(end.unwrap_or(room)).unwrap_or((piece, &[]));
        if end.is_none() && word.len() < room {
            self.held.extend_from_slice(word); // it may go on
            return after;
        }
        self.end_word(word);
        let next = after.iter().position(|byte| *byte == b'<' || class_of(*byte) != 0);
        match after.split_at_checked(next.unwrap_or(after.len())) {
            Some((_, [b'<', rest @ ..])) => {
                self.begin_tag();
                rest
            }
            Some((_, rest)) => rest,
            None => &[],
        }
    }

    /// A script or style, up to the next tag or what looks like one.
    fn raw_text<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let end = memchr::memchr(b'<', piece).unwrap_or(piece.len());
        let (script, after) = piece.split_at_checked(end).unwrap_or((piece, &[]));
        self.scripted |= !script.is_empty();
        self.script.update(script);
        let Some((_, rest)) = after.split_first() else { return after };
        self.begin_tag();
        rest
    }

    fn begin_tag(&mut self) {
        self.end_run();
        (self.at, self.tag) = (At::Tag, Tag::default());
    }

    /// `word` ends one, together with what is held of it.
    fn end_word(&mut self, word: &[u8]) {
        let classes = std::mem::take(&mut self.classes);
        let word = if self.held.is_empty() {
            hash_of(word)
        } else {
            self.held.extend_from_slice(word);
            let held = std::mem::take(&mut self.held);
            hash_of(&held)
        };
        if classes == 0 {
            return;
        }
        let told = !self.of_url.contains(&word);
        for (run, counts) in self.run.iter_mut().zip([true, told, told && classes & DIGIT == 0]) {
            *run = if counts { mixed(*run, word) } else { *run };
        }
    }

    fn end_run(&mut self) {
        self.end_word(&[]);
        if std::mem::take(&mut self.scripted) {
            self.run[0] = mixed(self.run[0], self.script.digest());
            self.script.reset();
        }
        let run = std::mem::take(&mut self.run);
        self.keep(run);
    }

    fn keep(&mut self, run: [u64; 3]) {
        let [whole, told, words] = run.map(|run| if run == 0 { 0 } else { xxh3_64(&run.to_le_bytes()) as u32 });
        if whole == 0 || self.cut {
            return;
        }
        if self.shown.len() >= GATHERED {
            thin_out(&mut self.shown);
            self.cut = self.shown.len() > KEPT;
            if self.cut {
                return;
            }
        }
        self.shown.push(Run { whole, told, words });
    }

    fn markup(&mut self, byte: u8) {
        let tag = &mut self.tag;
        if let Some(quote) = tag.quote {
            return if byte == quote { self.end_value() } else { self.gather(&[byte]) };
        }
        if byte == b'>' {
            return self.end_tag();
        }
        if !tag.named {
            tag.named = byte.is_ascii_whitespace();
            if let Some(place) = tag.name.get_mut(tag.length).filter(|_| !tag.named) {
                *place = byte.to_ascii_lowercase();
                tag.length += 1;
            }
            return;
        }
        if byte.is_ascii_whitespace() {
            return self.end_value();
        }
        let after = tag.last as u8 == b'=';
        if after && matches!(byte, b'"' | b'\'') && tag.name.first() != Some(&b'!') {
            tag.quote = Some(byte);
        }
        if after {
            tag.shows = match &tag.last.to_be_bytes() {
                b"src=" => Some(Shows::Picture),
                b"alt=" => Some(Shows::Words),
                b"yle=" => Some(Shows::Style),
                b"set=" => Some(Shows::Picture),         // srcset
                b"ent=" | b"lue=" => Some(Shows::Words), // content, value
                b"ref=" => Some(Shows::Link),
                _ => None,
            };
        }
        tag.last = tag.last << 8 | u32::from(byte.to_ascii_lowercase());
        if tag.quote.is_none() {
            self.gather(&[byte]);
        }
    }

    fn gather(&mut self, value: &[u8]) {
        if self.tag.shows.is_some() {
            let room = LONGEST_VALUE.saturating_sub(self.value.len());
            self.value.extend_from_slice(value.get(..room).unwrap_or(value));
        }
    }

    fn end_value(&mut self) {
        self.tag.quote = None;
        let Some(shows) = self.tag.shows.take() else { return };
        let value = std::mem::take(&mut self.value);
        match shows {
            _ if self.raw.is_some() => {}
            Shows::Link if !is_picture(&value) => {}
            Shows::Picture | Shows::Link => self.keep([xxh3_64(&value); 3]),
            Shows::Words => self.words(&value),
            Shows::Style => {
                let url = memchr::memmem::find(&value, b"url(").and_then(|at| value.get(at + 4..));
                let url = url.and_then(|url| url.split(|byte| *byte == b')').next());
                url.into_iter().for_each(|url| self.keep([xxh3_64(url); 3]));
            }
        }
    }

    /// A run of its own, outside of the text.
    fn words(&mut self, text: &[u8]) {
        for word in text.split(|byte| class_of(*byte) == 0) {
            self.classes = word.iter().fold(0, |classes, byte| classes | class_of(*byte));
            self.end_word(word);
        }
        self.end_run();
    }

    /// In a script nothing counts until its own end.
    fn end_tag(&mut self) {
        self.end_value();
        self.at = At::Text;
        let name = self.tag.name;
        match self.raw {
            Some(raw) if name.first() == Some(&b'/') && name.get(1..) == raw.get(..6) => self.raw = None,
            Some(_) => {}
            None if matches!(&name, b"script\0" | b"style\0\0") => self.raw = Some(name),
            None => {}
        }
    }
}

fn thin_out(runs: &mut Shown) {
    runs.sort_unstable();
    runs.dedup();
}

fn mixed(run: u64, word: u64) -> u64 {
    (run.rotate_left(7) ^ word).wrapping_mul(PRIME).max(1)
}

const fn classes() -> [u8; 256] {
    let mut all = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        if byte.is_ascii_digit() {
            all[at] = DIGIT;
        } else if byte.is_ascii_alphabetic() || byte >= 0x80 {
            all[at] = LETTER;
        }
        at += 1;
    }
    all
}

fn is_picture(link: &[u8]) -> bool {
    PICTURES.iter().any(|ending| {
        let end = link.len().checked_sub(ending.len()).and_then(|at| link.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending))
    })
}

fn class_of(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Of a word, whatever its case; eight bytes at a time.
fn hash_of(word: &[u8]) -> u64 {
    let hash = word.chunks(8).fold(BASIS, |hash, chunk| {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        let lower = u64::from_le_bytes(bytes) | 0x2020_2020_2020_2020;
        ((hash ^ lower).wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29)
    });
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::super::known::{KnownRuns, News, Recent, SETS};
    use super::*;
    use crate::domain::url::Canonicaliser;

    fn shown(tail: &str, body: &str) -> Shown {
        let url = Canonicaliser::default().parse(&format!("http://a.test{tail}")).unwrap();
        let mut whole = PageRuns::new(&url);
        whole.push(body.as_bytes());
        let mut cut = PageRuns::new(&url);
        body.as_bytes().chunks(3).for_each(|piece| cut.push(piece));
        let whole = whole.finish();
        assert_eq!(whole, cut.finish(), "{body}");
        whole.unwrap()
    }

    #[test]
    fn numbers_addresses_order_and_the_words_of_the_url_bring_nothing_new() {
        let page = "<title>May 2024</title><p>No events</p><a href=/c/2024/06>next</a>";
        for (tail, body) in [
            ("/", "<title>May 2031</title><p>No events</p><a href=/c/2031/06>next</a>"),
            ("/", "<p class=x id='a>b'>no  EVENTS</p><a href=\"/s/9f\">next</a><title>7 May</title>"),
            ("/", "<p>No events<script>var a = '</p>new'; </script><p>next<p>May"),
            ("/x/no?q=events", "<p>no events<p>next<p>May"),
            ("/not/there", "<p>No events<p>Not there 404<p>There"),
            ("/", "<style>b > i</style><!-- don't --><p>May</p>"),
        ] {
            let mut known = KnownRuns::default();
            assert!(known.learn(7, &shown("/", page)).words);
            assert!(!known.learn(7, &shown(tail, body)).words, "{body}");
        }
    }

    #[test]
    fn a_sentence_a_title_or_a_picture_is_news() {
        let mut known = KnownRuns::default();
        known.learn(7, &shown("/", "<title>Strip 1</title><img src='/i/1.png' alt=Strip><p>next</p>"));
        for body in [
            "<title>Strip 2: The cat</title>",
            "<img alt=Strip src=/i/2.png>",
            "<IMG SRC=\"/i/3.png\">",
            "<p>next</p><p>上海</p>",
            "<iframe title=x src='/v/4'></iframe>",
        ] {
            assert!(known.learn(7, &shown("/strip/2", body)).words, "{body}");
            assert_eq!(known.learn(7, &shown("/strip/2", body)), News::default(), "{body}");
        }
    }

    #[test]
    fn words_in_place_of_a_picture_and_backgrounds_are_news() {
        let mut known = KnownRuns::default();
        let mut learn = |body: &str| known.learn(7, &shown("/photo/2", body)).words;
        learn("<img src=/spacer.gif alt='A cat'><div style=\"background: url('/i/1.jpg') #fff\"></div>");
        assert!(learn("<img src=/spacer.gif alt='A dog'>"));
        assert!(learn("<div style=\"background: url('/i/2.jpg') #fff\">"));
        assert!(learn("<a href=/full/1.JPG>"));
        assert!(!learn("<a href='/full/1.JPG'>") && !learn("<a href=/full/2.jpg.html>"));
        assert!(!learn(
            "<img alt=\"a CAT\" src=/spacer.gif><i style='color:red'></i><b style=\"background:url('/i/2.jpg')\">"
        ));
    }

    #[test]
    fn a_clock_on_pages_of_all_kinds_is_no_news_and_a_price_on_those_of_one_is() {
        let mut known = KnownRuns::default();
        let page = |n: u32| format!("<p>Login</p><i>Visitor {n}, 28 November 2026 13:20:{n}</i>");
        for n in 0..6 {
            known.learn(u64::from(n % 3), &shown("/", &page(n)));
        }
        assert_eq!(known.learn(9, &shown("/", &page(77))), News::default());
        for n in 0..50 {
            let news = known.learn(5, &shown("/", &format!("<p>Login</p><b>{} EUR</b>", n + 100)));
            assert!(news.whole && news.told, "{n}");
        }
    }

    #[test]
    fn each_reading_leaves_out_more() {
        let mut known = KnownRuns::default();
        let mut learn = |tail: &str, body: &str| known.learn(7, &shown(tail, body));
        learn("/p/7", "<h1>Part 7</h1><p>3 EUR</p><a href=/s/1>on</a>");
        let news = |whole, told, words| News { whole, told, words };
        assert_eq!(learn("/s/7", "<h1>Part 7</h1><a href=/s/2>on</a><p>3 EUR</p>"), News::default(), "another order");
        assert_eq!(learn("/p/8", "<h1>Part 8</h1><p>3 EUR</p>"), news(true, false, false), "its own number");
        assert_eq!(learn("/p/9", "<h1>Part 9</h1><p>4 EUR</p>"), news(true, true, false), "another number");
        assert_eq!(learn("/p/10", "<h1>Wheel 10</h1>"), news(true, true, true), "a word");
        assert_eq!(learn("/p/11", "<p>EUR 12<script>var data = 1</script>"), news(true, true, false));
        assert_eq!(learn("/p/11", "<p>EUR 12<script>var data = 2</script>"), news(true, false, false), "by a script");
    }

    #[test]
    fn the_room_is_bounded() {
        let url = Canonicaliser::default().parse("http://a.test/").unwrap();
        let told = |body: &str| {
            let mut runs = PageRuns::new(&url);
            body.as_bytes().chunks(10_000).for_each(|piece| runs.push(piece));
            assert!(runs.shown.len() <= GATHERED);
            runs.finish().map(|shown| shown.len())
        };
        let words = |n: u32| -> String { (0..n).map(|n| format!("<i>{}", letters(n))).collect() };
        assert_eq!((told(&words(1_000)), told(&words(60_000))), (Some(1_000), None), "too many");
        let head = format!("<style>{}</style><script>{}</script>", "a{b}".repeat(100_000), "f();".repeat(100_000));
        assert_eq!(told(&format!("{head}<p>text")), Some(3), "scripts and styles take no room");
        assert_eq!(told(&format!("{}<p>text", "<b class=x></b>".repeat(20_000))), None, "too long");
        let mut known = Recent::default();
        (0..100_000_u32).for_each(|n| assert!(known.is_new(n.wrapping_mul(0x9e37_79b9)) || n % 1_000 < 9));
        assert_eq!(known.0.len(), SETS);
    }

    #[test]
    fn a_thousand_runs_are_known_at_a_time() {
        let mut known = Recent::default();
        let run = |n: u32| xxh3_64(&n.to_le_bytes()) as u32;
        assert!((0..1_000).all(|n| known.is_new(run(n))));
        assert!((0..1_000).filter(|n| known.is_new(run(*n))).count() < 50);
    }

    fn letters(n: u32) -> String {
        n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_taken_in_pieces_as_in_one(body in "[<>/='\"!a-c0-2 src-]{0,60}") {
            shown("/a", &body);
        }
    }
}
