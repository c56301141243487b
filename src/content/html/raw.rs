//! Elements whose content is not markup: where they end (WHATWG HTML, 13.2.5.9 to 13.2.5.31).

use memchr::{memchr, memchr2};

/// Where the content of a raw element ends in a piece of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// Its end tag begins at this byte.
    Ends(usize),
    /// It goes on; what comes before this byte is surely content, what comes after may be the start of the end tag.
    GoesOn(usize),
}

/// How `bytes` begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Yes,
    No,
    /// They are too few to say.
    Perhaps,
}

/// `bytes` begin with `prefix` + `name`, in any case, and then the name is over.
fn begins_tag(bytes: &[u8], prefix: &[u8], name: &[u8]) -> Begins {
    let wanted = prefix.iter().chain(name);
    for (i, want) in wanted.enumerate() {
        match bytes.get(i) {
            None => return Begins::Perhaps,
            Some(b) if b.eq_ignore_ascii_case(want) => {}
            Some(_) => return Begins::No,
        }
    }
    match bytes.get(prefix.len() + name.len()) {
        None => Begins::Perhaps,
        Some(b) if b.is_ascii_whitespace() || matches!(b, b'/' | b'>') => Begins::Yes,
        Some(_) => Begins::No,
    }
}

fn begins(bytes: &[u8], wanted: &[u8]) -> Begins {
    if bytes.starts_with(wanted) {
        Begins::Yes
    } else if wanted.starts_with(bytes) {
        Begins::Perhaps
    } else {
        Begins::No
    }
}

/// Looks from `pos` for the end of an element called `name` (13.2.5.9 to 13.2.5.14).
pub(super) fn find_end(bytes: &[u8], mut pos: usize, name: &[u8]) -> Raw {
    while let Some(at) = find(bytes, pos, |rest| memchr(b'<', rest)) {
        match begins_tag(from(bytes, at), b"</", name) {
            Begins::Yes => return Raw::Ends(at),
            Begins::Perhaps => return Raw::GoesOn(at),
            Begins::No => pos = at + 1,
        }
    }
    Raw::GoesOn(bytes.len())
}

/// The states of a script's text: in `<!-- <script>`, `</script>` does not end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Script {
    /// Ordinary.
    #[default]
    Plain,
    /// After `<!--`.
    Escaped,
    /// After `<!--` and `<script`.
    DoubleEscaped,
}

/// Looks from `pos` for the end of a script (13.2.5.15 to 13.2.5.31); `state` is carried from piece to piece.
pub(super) fn find_script_end(bytes: &[u8], mut pos: usize, state: &mut Script) -> Raw {
    loop {
        let plain = *state == Script::Plain;
        let found = find(bytes, pos, |rest| if plain { memchr(b'<', rest) } else { memchr2(b'<', b'-', rest) });
        let Some(at) = found else { return Raw::GoesOn(bytes.len()) };
        let rest = from(bytes, at);
        if rest.starts_with(b"<") && *state != Script::DoubleEscaped {
            match begins_tag(rest, b"</", b"script") {
                Begins::Yes => return Raw::Ends(at),
                Begins::Perhaps => return Raw::GoesOn(at),
                Begins::No => {}
            }
        }
        let (begins, next, width) = match (*state, rest.first()) {
            // The dashes are looked at again: `<!-->` is both start and end.
            (Script::Plain, _) => (begins(rest, b"<!--"), Script::Escaped, 2),
            (_, Some(b'-')) => (begins(rest, b"-->"), Script::Plain, 3),
            (Script::Escaped, _) => (begins_tag(rest, b"<", b"script"), Script::DoubleEscaped, 8),
            (Script::DoubleEscaped, _) => (begins_tag(rest, b"</", b"script"), Script::Escaped, 9),
        };
        match begins {
            Begins::Yes => {
                *state = next;
                pos = at + width;
            }
            Begins::No => pos = at + 1,
            Begins::Perhaps => return Raw::GoesOn(at),
        }
    }
}

/// Where a comment that `bytes` continue ends: the byte after its `>`. `whole` says that its start is the start of `bytes`;
/// otherwise `bytes` begin with the last bytes looked at before (13.2.5.43 to 13.2.5.52).
pub(super) fn find_comment_end(bytes: &[u8], pos: usize, whole: bool) -> Option<usize> {
    let mut from = pos;
    while let Some(at) = find(bytes, from, |rest| memchr(b'>', rest)) {
        let content = bytes.get(pos..at).unwrap_or_default();
        let closed = content.ends_with(b"--") || content.ends_with(b"--!") || whole && matches!(content, b"" | b"-");
        if closed {
            return Some(at + 1);
        }
        from = at + 1;
    }
    None
}

pub(super) fn find(bytes: &[u8], pos: usize, search: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    search(bytes.get(pos..)?).map(|n| pos + n)
}

/// Where `byte` is first. Mostly that is near, where a call of `memchr` costs more than it saves: the first 32 bytes are looked at here,
/// eight at a time.
pub(super) fn near(byte: u8, bytes: &[u8]) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let (eights, _) = bytes.as_chunks::<8>();
    let eights = eights.get(..4).unwrap_or(eights);
    for (nth, eight) in eights.iter().enumerate() {
        let zero_where_equal = u64::from_le_bytes(*eight) ^ (EACH * u64::from(byte));
        // The highest bit of each byte that is zero, and maybe of others above the lowest of them.
        let found = zero_where_equal.wrapping_sub(EACH) & !zero_where_equal & (EACH << 7);
        if found != 0 {
            return Some(8 * nth + found.trailing_zeros() as usize / 8);
        }
    }
    let past = 8 * eights.len();
    memchr(byte, from(bytes, past)).map(|n| n + past)
}

pub(super) fn from(bytes: &[u8], pos: usize) -> &[u8] {
    bytes.get(pos..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cases::check;

    proptest! {
        #[test]
        fn the_first_byte_is_found_near_and_far(bytes in prop::collection::vec(prop::sample::select(vec![0, 1, b'<', 0x80, 0xbc]), 0..70)) {
            for byte in [0, 1, b'<', 0x80, 0xff] {
                prop_assert_eq!(near(byte, &bytes), bytes.iter().position(|b| *b == byte));
            }
        }
    }

    #[test]
    fn scripts_and_comments_end_where_browsers_end_them() {
        check(include_str!("../../../tests/data/html/ends.txt"), |[what, text]| {
            let found = match (what, find_script_end(text.as_bytes(), 0, &mut Script::Plain)) {
                ("comment", _) => find_comment_end(text.as_bytes(), 0, true).and_then(|end| text.get(end..)),
                (_, Raw::Ends(at)) => text.get(..at),
                (_, Raw::GoesOn(_)) => None,
            };
            [found.unwrap_or("none")]
        });
    }
}
