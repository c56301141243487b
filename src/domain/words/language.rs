//! The language of a text.

use whatlang::{Lang, detect};

use super::han::is_han;
use crate::domain::text::cut_at;

/// Bytes of a text that are looked at.
const SAMPLE: usize = 2 * 1024;
/// What is guessed of fewer letters, a Han character counting two, does not stand against what a page declares.
const SURE: usize = 200;

/// The language of a page, as ISO 639-1 has it, or else ISO 639-3: what it declares (BCP 47: `zh-Hant-TW` is `zh`), unless its `text`
/// is surely in another; without a declaration what the text is in, when that is clear. Of the text 2 KiB count.
pub fn language(text: &str, declared: Option<&str>) -> Option<String> {
    let sample = cut_at(text, SAMPLE);
    let declared = declared.and_then(subtag);
    let seen = detect(sample).filter(|info| info.is_reliable()).map(|info| info.lang());
    match (declared, seen) {
        (Some(declared), Some(seen)) if contradicts(&declared, seen, sample) => Some(short(seen).to_owned()),
        (Some(declared), _) => Some(declared),
        (None, seen) => seen.map(|seen| short(seen).to_owned()),
    }
}

/// A language that the detector does not know cannot be contradicted by it.
fn contradicts(declared: &str, seen: Lang, sample: &str) -> bool {
    let known = Lang::all().iter().any(|lang| short(*lang) == declared);
    let letters = |c: char| if is_han(c) { 2 } else { usize::from(c.is_alphabetic()) };
    known && short(seen) != declared && sample.chars().map(letters).sum::<usize>() >= SURE
}

/// The first part of a language tag, in lower case; three letters become two where there are two, and countries that are written in place
/// of their language become that.
fn subtag(tag: &str) -> Option<String> {
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

/// ISO 639-1, or else 639-3.
fn short(lang: Lang) -> &'static str {
    let code = lang.code();
    SHORT.iter().find(|(long, _)| *long == code).map_or(code, |(_, short)| short)
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
