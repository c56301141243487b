use encoding_rs::{BIG5, GB18030, GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1251};
use proptest::prelude::*;

use super::*;
use crate::domain::cases::{check, given, unescaped};

fn of(content_type: &str, head: &[u8]) -> (&'static str, CharsetSource) {
    let (encoding, source) = detect_in_domain(Some(content_type).filter(|c| !c.is_empty()), head, None);
    (encoding.name(), source)
}

#[test]
fn the_encoding_is_that_of_the_table() {
    check(include_str!("../../../tests/data/charset.txt"), |[content_type, head]| {
        let (found, told) = detect_in_domain(given(content_type), &unescaped(given(head).unwrap_or_default()), None);
        [found.name(), told.as_str()]
    });
}

/// The bytes of a row of `charset_pages.txt`: pieces in encodings of their own.
fn in_pieces(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, piece)) = rest.split_once("{{") {
        let (piece, after) = piece.split_once("}}").unwrap();
        let (label, piece) = piece.split_once(':').unwrap();
        let (label, times) = label.split_once('*').unwrap_or((label, "1"));
        out.extend(before.as_bytes());
        let bytes = match label {
            "hex" => data_encoding::HEXLOWER.decode(piece.as_bytes()).unwrap(),
            _ => Encoding::for_label(label.as_bytes()).unwrap().encode(piece).0.into_owned(),
        };
        out.extend(bytes.repeat(times.parse().unwrap()));
        rest = after;
    }
    out.extend(rest.as_bytes());
    out
}

#[test]
fn pages_of_many_languages_have_the_encoding_of_the_table() {
    check(include_str!("../../../tests/data/charset_pages.txt"), |[content_type, top_level, page]| {
        [detect_in_domain(given(content_type), &in_pieces(page), given(top_level)).0.name()]
    });
}

#[test]
fn a_value_cut_by_the_end_of_what_is_in_hand_is_dropped() {
    // Of `euc-kr2` only `euc-kr` lies within; the tag ends beyond.
    let cut = |label: &str| format!("{}<meta charset={label}2>", " ".repeat(HEAD - 14 - label.len()));
    assert_eq!(of("", cut("euc-kr").as_bytes()).1, CharsetSource::Guess);
    let whole = format!("{}<meta charset=euc-kr>", " ".repeat(HEAD - 21));
    assert_eq!(of("", whole.as_bytes()), ("EUC-KR", CharsetSource::Meta));
}

#[test]
fn a_page_labelled_gb2312_that_is_gb18030_is_read_as_such() {
    let text = "<meta charset=gb2312><title>\u{3400}\u{20000}汉</title>";
    let (bytes, _, faulty) = GB18030.encode(text);
    assert!(!faulty && bytes.windows(4).any(|w| w[1].is_ascii_digit() && w[3].is_ascii_digit()));
    let (encoding, source) = of("text/html", &bytes);
    assert_eq!((encoding, source), ("GBK", CharsetSource::Meta));
    for piece in 1..6 {
        assert_eq!(decode_in_pieces(GBK, &bytes, piece), text, "pieces of {piece}");
    }
}

#[test]
fn a_late_meta_counts_to_the_end_of_the_head_and_not_behind_it() {
    let (comment, script) = (format!("<!-- {} -->", "c ".repeat(3000)), "if (a<b) { x = '<body>'; }".repeat(200));
    for (before, counts) in [
        (" ".repeat(5000), true),
        (comment.clone(), true),
        (format!("<script>{script}</script>"), true),
        (format!("<SCRIPT src=x />{comment}"), true), // closed in the manner of XML
        (
            format!(
                "<html><head><style>a{{}}</style><title>{}</title><link><base><noscript><p></noscript>",
                "x".repeat(5000)
            ),
            true,
        ),
        (format!("<p>{}<b>", " ".repeat(3000)), true), // browsers look at so much whatever stands there
        (format!("{comment}<p>"), false),
        (format!("{comment}<body>"), false),
        (format!("<script>{script}<meta charset=euc-jp></script>{comment}"), true),
        (" ".repeat(HEAD), false),
    ] {
        let page = format!("{before}<meta charset=big5>");
        let wanted = if counts { ("Big5", CharsetSource::Meta) } else { ("UTF-8", CharsetSource::Guess) };
        assert_eq!(of("", page.as_bytes()), wanted, "{}", before.get(..60).unwrap_or(&before));
    }
}

#[test]
fn what_never_ends_is_looked_through_once() {
    let bytes = "<script><style></x><title>".repeat(HEAD / 26);
    assert_eq!(of("", bytes.as_bytes()), ("UTF-8", CharsetSource::Guess));
}

#[test]
fn undeclared_utf16_is_known_by_its_zeros() {
    let units: Vec<u16> = "<html><title>漢字仮名交じり文</title>".encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
    assert_eq!(of("text/html", &little), ("UTF-16LE", CharsetSource::Guess));
    assert_eq!(of("text/html", &big), ("UTF-16BE", CharsetSource::Guess));
    assert_eq!(of("text/html", b"a\0b\0\0c<p>some text").0, "UTF-8");
}

#[test]
fn any_top_level_domain_may_be_given() {
    for top_level in ["cn", "10", "", "COM", "é", "a.b", "xn--fiqs8s"] {
        let (encoding, source) = detect_in_domain(None, b"\xc4\xe3\xba\xc3", Some(top_level));
        assert!(encoding != REPLACEMENT && source == CharsetSource::Guess, "{top_level}");
    }
}

fn decode_in_pieces(encoding: &'static Encoding, bytes: &[u8], piece: usize) -> String {
    let mut decoder = Decoder::new(encoding);
    let mut out = String::new();
    for chunk in bytes.chunks(piece.max(1)) {
        decoder.decode(chunk, false, |text| out.push_str(text));
    }
    decoder.decode(&[], true, |text| out.push_str(text));
    out
}

#[test]
fn a_cut_character_at_the_end_is_one_replacement_character() {
    assert_eq!(decode_in_pieces(UTF_8, b"a\xe6\xbc", 1), "a\u{fffd}");
    assert_eq!(decode_in_pieces(UTF_8, b"\xef\xbb\xbfa", 1), "a");
}

proptest! {
    #[test]
    fn decoding_does_not_depend_on_the_pieces(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        which in 0usize..8,
        piece in 1usize..40,
    ) {
        let encoding = [UTF_8, GBK, GB18030, BIG5, SHIFT_JIS, ISO_2022_JP, UTF_16LE, WINDOWS_1251][which];
        let (whole, _) = encoding.decode_with_bom_removal(&bytes);
        prop_assert_eq!(decode_in_pieces(encoding, &bytes, piece), whole.into_owned());
    }

    #[test]
    fn any_bytes_have_an_encoding(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        header in prop::option::of(".{0,40}"),
    ) {
        prop_assert_ne!(detect_in_domain(header.as_deref(), &bytes, None).0, REPLACEMENT);
        let meta = [b"<meta ", &bytes[..], b"<?xml encoding='"].concat();
        prop_assert_ne!(detect_in_domain(header.as_deref(), &meta, None).0, REPLACEMENT);
    }
}
