//! Seeds as people write them: lists of lines, and what may be said of one.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::frontier::RANKS;
use super::text::lines;

/// Tags of one seed.
pub const TAGS: usize = 16;
/// Characters of a tag.
const TAG: usize = 64;

/// What is said of a seed makes sense.
///
/// # Errors
/// A sentence: what does not, and what is expected.
pub fn check_said(rank: Option<u8>, tags: &[String]) -> Result<(), String> {
    if let Some(rank) = rank.filter(|rank| usize::from(*rank) >= RANKS) {
        return Err(format!("rank {rank}; expected 0 to {}", RANKS - 1));
    }
    if tags.len() > TAGS {
        return Err(format!("{} tags; at most {TAGS}", tags.len()));
    }
    let good = |tag: &String| (1..=TAG).contains(&tag.chars().count()) && !tag.chars().any(char::is_control);
    let bad = tags.iter().find(|tag| !good(tag));
    bad.map_or(Ok(()), |tag| {
        Err(format!("the tag {tag:?}; expected 1 to {TAG} characters, none of them a control character"))
    })
}

/// A list as UTF-8: one in UTF-16, as editors of Windows write it, is decoded, with a byte order mark or without.
pub fn in_utf8(list: &[u8]) -> Cow<'_, [u8]> {
    let marked = Encoding::for_bom(list).map(|(encoding, _)| encoding);
    let unmarked = || match list {
        [b, 0, ..] if *b != 0 => UTF_16LE,
        [0, b, ..] if *b != 0 => UTF_16BE,
        _ => UTF_8,
    };
    let encoding = marked.unwrap_or_else(unmarked);
    if encoding == UTF_8 { Cow::Borrowed(list) } else { Cow::Owned(encoding.decode(list).0.into_owned().into_bytes()) }
}

/// The lines of a list in UTF-8 that hold something, each with its number from 1 on: empty ones and those that begin with `#` do
/// not; what stands behind white space and `#` is a remark. A line ends with LF, CR or both. One that is no UTF-8 text comes as
/// `Err`, as it may be shown.
pub fn seed_lines(list: &[u8]) -> impl Iterator<Item = (usize, Result<&str, String>)> {
    let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
    let lines = lines(list).map(without_remark).map(<[u8]>::trim_ascii).enumerate();
    let held = lines.filter(|(_, line)| !line.is_empty());
    let shown = |line: &[u8]| -> String { String::from_utf8_lossy(line).chars().take(200).collect() };
    held.map(move |(i, line)| (i + 1, std::str::from_utf8(line).map(str::trim).map_err(|_| shown(line))))
}

/// A `#` within a URL begins its fragment; one at the beginning of a line, or after white space, a remark.
fn without_remark(line: &[u8]) -> &[u8] {
    let begins = |i: &usize| {
        line.get(*i) == Some(&b'#') && i.checked_sub(1).is_none_or(|before| line[before].is_ascii_whitespace())
    };
    (0..line.len()).find(begins).map_or(line, |at| line.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_one_that_is_no_text_does_not_cost_the_others() {
        let list = b"\xef\xbb\xbf# mine\r\nhttp://a.test/\r\n\n  http://b\xc3.test/ \nhttp://c.test/";
        let lines: Vec<_> = seed_lines(list).map(|(n, line)| (n, line.map_err(|shown| shown.len()))).collect();
        assert_eq!(lines, [(2, Ok("http://a.test/")), (4, Err(17)), (5, Ok("http://c.test/"))]);
        assert_eq!(seed_lines(b"").count(), 0);
    }

    #[test]
    fn any_line_ends_part_lines_and_remarks_are_left_out() {
        for list in
            ["a\n\nb#x\n# c\nd # e", "a\r\rb#x\r# c\rd\t#e", "a\r\n\r\nb#x\r\n  # c\r\nd\r\n", "a\n\rb#x\r\n#\nd"]
        {
            let lines: Vec<_> = seed_lines(list.as_bytes()).map(|(n, line)| (n, line.unwrap())).collect();
            assert_eq!(lines, [(1, "a"), (3, "b#x"), (5, "d")], "{list:?}");
        }
    }

    #[test]
    fn a_list_in_utf_16_is_read_with_a_byte_order_mark_and_without() {
        let text = "http://a.test/\r\nhttp://b.test/ü\r\n";
        for (bom, little) in [(true, true), (true, false), (false, true), (false, false)] {
            let units = bom.then_some(0xfeff_u16).into_iter().chain(text.encode_utf16());
            let list: Vec<u8> =
                units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect();
            let list = in_utf8(&list);
            let lines: Vec<_> = seed_lines(&list).map(|(n, line)| (n, line.unwrap())).collect();
            assert_eq!(lines, [(1, "http://a.test/"), (2, "http://b.test/ü")], "{bom} {little}");
        }
        assert_eq!(in_utf8(b"\xef\xbb\xbfa"), b"\xef\xbb\xbfa".as_slice());
    }

    #[test]
    fn what_is_said_of_a_seed_has_bounds() {
        let tags = |tag: &str, n| vec![tag.to_owned(); n];
        for (rank, tags) in [(Some(7), tags("news", 16)), (None, tags(&"é".repeat(64), 1)), (Some(0), Vec::new())] {
            assert_eq!(check_said(rank, &tags), Ok(()));
        }
        for (rank, tags, part) in [
            (Some(8), Vec::new(), "0 to 7"),
            (None, tags("x", 17), "at most 16"),
            (None, tags("", 1), "1 to 64"),
            (None, tags("a\nb", 1), "control"),
        ] {
            assert!(check_said(rank, &tags).unwrap_err().contains(part), "{part}");
        }
    }
}
