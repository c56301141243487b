//! The language of a text.

use whatlang::{Lang, detect};

use super::han::is_han;
use crate::domain::text::cut_at;

/// Bytes of a text that are looked at.
const SAMPLE: usize = 2 * 1024;
/// What is guessed of fewer letters, a Han character counting two, does not stand against what a page declares.
const SURE: usize = 200;
/// The same where the script alone tells: a text of Han is not English, however short.
const SURE_BY_SCRIPT: usize = 40;

/// Words that only English has, and that no English text is without.
const ENGLISH: [&str; 18] = [
    "the", "of", "and", "this", "that", "with", "which", "from", "were", "have", "you", "they", "there", "been",
    "would", "their", "what", "these",
];
/// Of how many words one is to be of these, and how many there are to be at least: then the detector says English too.
const OF_ENGLISH: (usize, usize) = (12, 16);

/// The language of a page, as ISO 639-1 has it, or else ISO 639-3: what it declares (BCP 47: `zh-Hant-TW` is `zh`), unless its `text`
/// is surely in another; without a declaration what the text is in, when that is clear. Of the text 2 KiB count.
///
/// Kana tell Japanese and Han Chinese, also between words of other scripts: pages about programs are mixed. What else there is tells
/// the detector `whatlang` by its trigrams, unless so many words are English that it need not be asked: that takes a hundred
/// times as long.
pub fn language(text: &str, declared: Option<&str>) -> Option<String> {
    let sample = cut_at(text, SAMPLE);
    let declared = declared.and_then(subtag);
    let scripts = Scripts::of(sample);
    let seen = scripts.language().or_else(|| is_english(sample).then_some(("en", true))).or_else(|| {
        let seen = detect(sample).filter(|info| info.is_reliable());
        seen.map(|info| (short(info.lang()), true))
    });
    match (declared, seen) {
        (Some(declared), Some((seen, true)))
            if scripts.letters() >= sure(&declared, seen) && contradicts(&declared, seen) =>
        {
            Some(seen.into())
        }
        (Some(declared), _) => Some(declared),
        (None, seen) => seen.map(|(seen, _)| seen.into()),
    }
}

/// Whether a text is surely English.
fn is_english(sample: &str) -> bool {
    let (mut words, mut english) = (0, 0);
    for word in sample.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        english += usize::from(ENGLISH.iter().any(|known| known.eq_ignore_ascii_case(word)));
    }
    let (one_of, least) = OF_ENGLISH;
    english >= least && english * one_of >= words
}

/// Letters from which on a guess stands against a declaration.
fn sure(declared: &str, seen: &str) -> usize {
    let han = ["zh", "ja", "ko", "yue", "lzh", "wuu"];
    if matches!(seen, "zh" | "ja") && !han.contains(&declared) { SURE_BY_SCRIPT } else { SURE }
}

/// A language that the detector does not know cannot be contradicted by it.
fn contradicts(declared: &str, seen: &str) -> bool {
    declared != seen && Lang::all().iter().any(|lang| short(*lang) == declared)
}

/// Letters of a sample by script.
struct Scripts {
    all: usize,
    han: usize,
    kana: usize,
}

impl Scripts {
    fn of(sample: &str) -> Self {
        let mut scripts = Self { all: 0, han: 0, kana: 0 };
        for c in sample.chars().filter(|c| c.is_alphabetic()) {
            scripts.all += 1;
            scripts.han += usize::from(is_han(c));
            scripts.kana += usize::from(matches!(c, '\u{3041}'..='\u{30ff}'));
        }
        scripts
    }

    /// A Han character counts two.
    fn letters(&self) -> usize {
        self.all + self.han
    }

    /// The language that the script tells, and whether surely. A Han character is about as much text as four Latin letters.
    fn language(&self) -> Option<(&'static str, bool)> {
        if self.kana * 10 > self.all {
            Some(("ja", self.kana * 4 > self.all))
        } else {
            (self.han * 5 > self.all).then_some(("zh", self.han * 2 > self.all))
        }
    }
}

/// The first part of a language tag, in lower case; three letters become two where there are two, and countries that are written in place
/// of their language become that.
pub fn subtag(tag: &str) -> Option<String> {
    let first = tag.trim().split(['-', '_', ',', ';', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    if !matches!(first.len(), 2 | 3) || !first.bytes().all(|b| b.is_ascii_lowercase()) {
        return None;
    }
    Some(match first.as_str() {
        "cn" | "chi" | "zho" => "zh".into(),
        "jp" => "ja".into(),
        "ger" => "de".into(),
        "fre" => "fr".into(),
        "und" | "mul" | "zxx" => return None,
        _ => Lang::from_code(first.as_str()).map_or(first, |lang| short(lang).into()),
    })
}

/// Parts of a tag that are kept behind the language.
const PARTS: usize = 4;

/// A language with what else its tag says (BCP 47), script and region, in lower case: `zh_Hant-TW` is `zh-hant-tw`.
pub fn tag(text: &str) -> Option<String> {
    let mut tag = subtag(text)?;
    let first = text.trim().split([',', ';', ' ']).next().unwrap_or_default();
    let is_part = |part: &&str| matches!(part.len(), 2..=8) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    for part in first.split(['-', '_']).skip(1).take_while(is_part).take(PARTS) {
        tag.push('-');
        tag.push_str(&part.to_ascii_lowercase());
    }
    Some(tag)
}

/// The language of a tag that [`tag`] gave, then the language with each other part by itself: what a page in `zh-hant-tw` is found by. All
/// those of a narrower tag must be among them (RFC 4647, extended filtering).
pub fn ranges(tag: &str) -> impl Iterator<Item = String> {
    let (language, rest) = tag.split_once('-').unwrap_or((tag, ""));
    let parts = rest.split('-').filter(|part| !part.is_empty());
    std::iter::once(language.to_owned()).chain(parts.map(move |part| format!("{language}-{part}")))
}

/// ISO 639-1, or else 639-3.
fn short(lang: Lang) -> &'static str {
    let code = lang.code();
    SHORT.iter().find(|(long, _)| *long == code).map_or(code, |(_, short)| short)
}

/// ISO 639-3 of a language that [`language`] told: what Common Crawl writes. One of two letters that the detector does not know stays.
pub fn three_letters(language: &str) -> &str {
    match language {
        "zh" => "zho", // whatever the page declares: `cmn` is one of its languages
        "fa" => "fas",
        _ => SHORT.iter().find(|(_, short)| *short == language).map_or(language, |(long, _)| long),
    }
}

/// ISO 639-3 and 639-1 of what the detector knows.
#[rustfmt::skip]
const SHORT: &[(&str, &str)] = &[
    ("epo", "eo"), ("eng", "en"), ("rus", "ru"), ("cmn", "zh"), ("spa", "es"), ("por", "pt"), ("ita", "it"), ("ben", "bn"),
    ("fra", "fr"), ("deu", "de"), ("ukr", "uk"), ("kat", "ka"), ("ara", "ar"), ("hin", "hi"), ("jpn", "ja"), ("heb", "he"),
    ("yid", "yi"), ("pol", "pl"), ("amh", "am"), ("jav", "jv"), ("kor", "ko"), ("nob", "nb"), ("dan", "da"), ("swe", "sv"),
    ("fin", "fi"), ("tur", "tr"), ("nld", "nl"), ("hun", "hu"), ("ces", "cs"), ("ell", "el"), ("bul", "bg"), ("bel", "be"),
    ("mar", "mr"), ("kan", "kn"), ("ron", "ro"), ("slv", "sl"), ("hrv", "hr"), ("srp", "sr"), ("mkd", "mk"), ("lit", "lt"),
    ("lav", "lv"), ("est", "et"), ("tam", "ta"), ("vie", "vi"), ("urd", "ur"), ("tha", "th"), ("guj", "gu"), ("uzb", "uz"),
    ("pan", "pa"), ("aze", "az"), ("ind", "id"), ("tel", "te"), ("pes", "fa"), ("mal", "ml"), ("ori", "or"), ("mya", "my"),
    ("nep", "ne"), ("sin", "si"), ("khm", "km"), ("tuk", "tk"), ("aka", "ak"), ("zul", "zu"), ("sna", "sn"), ("afr", "af"),
    ("lat", "la"), ("slk", "sk"), ("cat", "ca"), ("tgl", "tl"), ("hye", "hy"), ("cym", "cy"),
];
