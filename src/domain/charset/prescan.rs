//! The look for a declaration in the first bytes of a page, before it can be decoded (WHATWG HTML, 13.2.3.2, "prescan").

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::{CharsetSource, for_label_in_page};

/// Browsers must look at 1,024 bytes and may look on; long comments before the `<meta>` are common.
const PRESCAN: usize = 4096;

/// UTF-16 without a mark, known by the `<?x` of an XML declaration.
pub(super) fn utf16(head: &[u8]) -> Option<(&'static Encoding, CharsetSource)> {
    match head.get(..6)? {
        b"<\0?\0x\0" => Some((UTF_16LE, CharsetSource::Xml)),
        b"\0<\0?\0x" => Some((UTF_16BE, CharsetSource::Xml)),
        _ => None,
    }
}

/// What the XML declaration at the very start says.
pub(super) fn xml(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.get(..PRESCAN).unwrap_or(head).strip_prefix(b"<?xml")?;
    let mut scan = Scan { bytes: rest.get(..memchr::memchr(b'>', rest)?)? };
    scan.skip_past(b"encoding")?;
    scan.skip_spaces();
    scan.take_one(b'=')?;
    scan.skip_spaces();
    let quote = scan.first().filter(|b| matches!(b, b'"' | b'\''))?;
    let label = scan.bytes.get(1..)?;
    for_label_in_page(as_label(label.get(..memchr::memchr(quote, label)?)?)?)
}

/// What the first usable `<meta>` says.
pub(super) fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes: head.get(..PRESCAN).unwrap_or(head) };
    loop {
        scan.bytes = scan.bytes.get(memchr::memchr(b'<', scan.bytes)?..)?;
        if scan.bytes.starts_with(b"<!--") {
            scan.advance(2); // the dashes may also be those of `-->`
            scan.skip_past(b"-->")?;
        } else if let Some(after) = after_meta(scan.bytes) {
            scan.bytes = after;
            if let Some(encoding) = declared(&mut scan) {
                return Some(encoding);
            }
        } else {
            skip_other(&mut scan)?;
        }
    }
}

/// What follows `<meta` and a separator.
fn after_meta(bytes: &[u8]) -> Option<&[u8]> {
    let (word, rest) = bytes.split_at_checked(5)?;
    let separated = rest.first().is_some_and(|b| is_space(*b) || *b == b'/');
    (word.eq_ignore_ascii_case(b"<meta") && separated).then_some(rest)
}

/// A tag, a declaration or a lone `<`.
fn skip_other(scan: &mut Scan<'_>) -> Option<()> {
    let end_tag = scan.bytes.get(1) == Some(&b'/');
    match scan.bytes.get(1 + usize::from(end_tag)) {
        Some(b) if b.is_ascii_alphabetic() => {
            let end = scan.bytes.iter().position(|b| is_space(*b) || *b == b'>')?;
            scan.advance(end);
            while scan.attribute().is_some() {}
            Some(())
        }
        _ if matches!(scan.bytes.get(1), Some(b'!' | b'/' | b'?')) => scan.skip_past(b">"),
        _ => {
            scan.advance(1);
            Some(())
        }
    }
}

/// The encoding that the attributes of one `<meta>` declare.
fn declared(scan: &mut Scan<'_>) -> Option<&'static Encoding> {
    let mut pragma = false;
    let mut from_charset = None;
    let mut from_content = None;
    let mut seen = [false; 3];
    while let Some((name, value)) = scan.attribute() {
        let which = [&b"http-equiv"[..], b"charset", b"content"].iter().position(|n| n.eq_ignore_ascii_case(name));
        let Some(first) = which.and_then(|w| seen.get_mut(w)).filter(|s| !**s) else { continue };
        *first = true;
        match which {
            Some(0) => pragma = value.eq_ignore_ascii_case(b"content-type"),
            Some(1) => from_charset = Some(as_label(value).and_then(for_label_in_page)),
            _ => from_content = label_in_content(value).and_then(as_label).and_then(for_label_in_page),
        }
    }
    scan.first()?; // else the bytes ended within the tag: what was read may be half of what stands there
    // A `charset` attribute decides, even a bad one; `content` needs the pragma.
    from_charset.unwrap_or(if pragma { from_content } else { None })
}

/// The label after `charset=` in `text/html; charset=x` (WHATWG HTML, 2.5.5).
fn label_in_content(value: &[u8]) -> Option<&[u8]> {
    let mut scan = Scan { bytes: value };
    loop {
        scan.skip_past(b"charset")?;
        scan.skip_spaces();
        if scan.take_one(b'=').is_some() {
            break;
        }
    }
    scan.skip_spaces();
    match scan.first()? {
        quote @ (b'"' | b'\'') => {
            let label = scan.bytes.get(1..)?;
            label.get(..memchr::memchr(quote, label)?)
        }
        _ => scan.bytes.split(|b| is_space(*b) || *b == b';').next(),
    }
}

fn as_label(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\t' | b'\r' | 0x0c)
}

struct Scan<'a> {
    bytes: &'a [u8],
}

impl<'a> Scan<'a> {
    fn advance(&mut self, n: usize) {
        self.bytes = self.bytes.get(n..).unwrap_or_default();
    }

    fn first(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    fn take_one(&mut self, b: u8) -> Option<()> {
        self.bytes = self.bytes.strip_prefix(&[b])?;
        Some(())
    }

    fn take_until(&mut self, stop: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.bytes.iter().position(|b| stop(*b)).unwrap_or(self.bytes.len());
        let (taken, rest) = self.bytes.split_at_checked(end).unwrap_or_default();
        self.bytes = rest;
        taken
    }

    fn skip_spaces(&mut self) {
        self.take_until(|b| !is_space(b));
    }

    /// To after the next `word`, in any case.
    fn skip_past(&mut self, word: &[u8]) -> Option<()> {
        let at = self.bytes.windows(word.len()).position(|w| w.eq_ignore_ascii_case(word))?;
        self.advance(at + word.len());
        Some(())
    }

    /// The next attribute of the tag; none at its end.
    fn attribute(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.take_until(|b| !is_space(b) && b != b'/');
        if matches!(self.first(), None | Some(b'>')) {
            return None;
        }
        let whole = self.bytes;
        self.advance(1); // a name may begin with `=`
        let rest = self.take_until(|b| is_space(b) || matches!(b, b'=' | b'/' | b'>'));
        let name = whole.get(..rest.len() + 1)?;
        self.skip_spaces();
        if self.take_one(b'=').is_none() {
            return Some((name, b""));
        }
        self.skip_spaces();
        match self.first() {
            Some(quote @ (b'"' | b'\'')) => {
                self.advance(1);
                let value = self.take_until(|b| b == quote);
                self.take_one(quote)?; // an unfinished value is none
                Some((name, value))
            }
            _ => Some((name, self.take_until(|b| is_space(b) || b == b'>'))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_in_content_are_found_as_browsers_find_them() {
        for (content, label) in [
            ("text/html; charset=gbk", Some("gbk")),
            ("text/html;charset = 'gbk' x", Some("gbk")),
            ("charset charset=gbk;x", Some("gbk")),
            ("text/html; CHARSET=\"gbk", None),
            ("text/html", None),
        ] {
            assert_eq!(label_in_content(content.as_bytes()), label.map(str::as_bytes), "{content}");
        }
    }
}
