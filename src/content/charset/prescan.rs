//! The look for a declaration in the first bytes of a page, before it can be decoded (WHATWG HTML, 13.2.3.2, "prescan").

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::{CharsetSource, for_label_in_page};

/// So many bytes are looked at whatever stands there; behind them the end of the head ends the look. Browsers must look at 1,024,
/// and look on to the end of the head: long scripts and comments before the `<meta>` are common.
const WHATEVER: usize = 4096;

/// Elements that stand in a head (WHATWG HTML, 13.2.6.4.4); the start of another ends it.
const OF_HEAD: [&[u8]; 11] =
    [b"html", b"head", b"title", b"base", b"link", b"meta", b"style", b"script", b"noscript", b"template", b"object"];
/// Elements whose content is no markup; that of `<noscript>` is none to browsers.
const RAW: [&[u8]; 4] = [b"script", b"style", b"title", b"noscript"];

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
    let start = head.get(..WHATEVER).unwrap_or(head).trim_ascii_start(); // XML has none there, the field has
    let rest = start.strip_prefix(b"<?xml")?;
    let mut scan = Scan { bytes: rest.get(..memchr::memchr(b'>', rest)?)? };
    scan.skip_past(b"encoding")?;
    scan.skip_spaces();
    scan.take_one(b'=')?;
    scan.skip_spaces();
    let quote = scan.first().filter(|b| matches!(b, b'"' | b'\''))?;
    let label = scan.bytes.get(1..)?;
    for_label_in_page(as_label(label.get(..memchr::memchr(quote, label)?)?)?)
}

/// What the first usable `<meta>` of the head says.
pub(super) fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes: head };
    let mut unclosed = [false; RAW.len()];
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
            let late = head.len() - scan.bytes.len() >= WHATEVER;
            skip_other(&mut scan, late, &mut unclosed)?;
        }
    }
}

/// What follows `<meta` and a separator.
fn after_meta(bytes: &[u8]) -> Option<&[u8]> {
    let (word, rest) = bytes.split_at_checked(5)?;
    let separated = rest.first().is_some_and(|b| b.is_ascii_whitespace() || *b == b'/');
    (word.eq_ignore_ascii_case(b"<meta") && separated).then_some(rest)
}

/// A tag, a declaration or a lone `<`; none when the head is at its end and that counts.
fn skip_other(scan: &mut Scan<'_>, late: bool, unclosed: &mut [bool]) -> Option<()> {
    let end_tag = scan.bytes.get(1) == Some(&b'/');
    let inner = scan.bytes.get(1 + usize::from(end_tag)..).unwrap_or_default();
    match inner.first() {
        Some(b) if b.is_ascii_alphabetic() => {
            let end = inner.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))?;
            let name = inner.get(..end).unwrap_or_default();
            let is = |known: &&[u8]| known.eq_ignore_ascii_case(name);
            if late && !OF_HEAD.iter().any(is) {
                return None;
            }
            scan.bytes = inner.get(end..).unwrap_or_default();
            while scan.attribute().is_some() {}
            if let Some((raw, unclosed)) = RAW.iter().zip(unclosed).find(|(known, _)| !end_tag && is(known)) {
                *unclosed = *unclosed || skip_raw(scan, raw).is_none(); // one look to the end is enough
            }
            Some(())
        }
        _ if matches!(scan.bytes.get(1), Some(b'!' | b'/' | b'?')) => scan.skip_past(b">"),
        _ => {
            scan.advance(1);
            Some(())
        }
    }
}

/// To the end tag; where there is none the tag was closed in the manner of XML, and nothing is passed over.
fn skip_raw(scan: &mut Scan<'_>, name: &[u8]) -> Option<()> {
    let is_end = |at: &usize| {
        let tag = scan.bytes.get(at + 2..).unwrap_or_default();
        let named = tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        named && tag.get(name.len()).is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))
    };
    scan.advance(memchr::memmem::find_iter(scan.bytes, b"</").find(is_end)?);
    Some(())
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
        _ => scan.bytes.split(|b| b.is_ascii_whitespace() || *b == b';').next(),
    }
}

fn as_label(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
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
        self.take_until(|b| !b.is_ascii_whitespace());
    }

    /// To after the next `word`, in any case.
    fn skip_past(&mut self, word: &[u8]) -> Option<()> {
        let at = self.bytes.windows(word.len()).position(|w| w.eq_ignore_ascii_case(word))?;
        self.advance(at + word.len());
        Some(())
    }

    /// The next attribute of the tag; none at its end.
    fn attribute(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.take_until(|b| !b.is_ascii_whitespace() && b != b'/');
        if matches!(self.first(), None | Some(b'>')) {
            return None;
        }
        let whole = self.bytes;
        self.advance(1); // a name may begin with `=`
        let rest = self.take_until(|b| b.is_ascii_whitespace() || matches!(b, b'=' | b'/' | b'>'));
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
            _ => Some((name, self.take_until(|b| b.is_ascii_whitespace() || b == b'>'))),
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
