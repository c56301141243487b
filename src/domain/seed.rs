//! Seeds as people write them: lists of lines, and what may be said of one.

use super::frontier::RANKS;

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

/// The lines of a list that hold something, each with its number from 1 on: empty ones and those that begin with `#` do not.
/// One that is no UTF-8 text comes as `Err`, as it may be shown.
pub fn seed_lines(list: &[u8]) -> impl Iterator<Item = (usize, Result<&str, String>)> {
    let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
    let lines = list.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let held = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"));
    held.map(|(i, line)| (i + 1, std::str::from_utf8(line).map(str::trim).map_err(|_| shown(line))))
}

/// The beginning of a line that is no text.
fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(200).collect()
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
