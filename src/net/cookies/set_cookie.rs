//! What a `Set-Cookie` header says (draft-ietf-httpbis-rfc6265bis section 5.6).

use crate::base::time::UnixMillis;

use super::date;

/// A longer name and value are no cookie, and a longer value of an attribute is as if it were not there.
const MAX_PAIR: usize = 4_096;
const MAX_ATTRIBUTE: usize = 1_024;

/// One cookie as the server wishes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SetCookie {
    /// Empty for a cookie that is a value alone.
    pub name: Vec<u8>,
    pub value: Vec<u8>,
    /// The moment named by `Expires`.
    pub expires: Option<UnixMillis>,
    /// The seconds named by `Max-Age`; none or fewer mean at once.
    pub max_age: Option<i64>,
    /// The value of `Domain` in lower case, without its first dot; none when it is empty.
    pub domain: Option<String>,
    /// The value of `Path`; none where the default holds.
    pub path: Option<String>,
    pub secure: bool,
}

/// Reads a header's value. None for what is to be ignored: control characters anywhere but tabs, nothing at all, or too much.
pub(super) fn parse(line: &[u8]) -> Option<SetCookie> {
    if line.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
        return None;
    }
    let mut parts = line.split(|b| *b == b';');
    let (name, value) = match pair(parts.next()?) {
        (name, Some(value)) => (name, value),
        (value, None) => (&b""[..], value),
    };
    if !(1..=MAX_PAIR).contains(&(name.len() + value.len())) {
        return None;
    }
    let mut cookie = SetCookie { name: name.to_vec(), value: value.to_vec(), ..SetCookie::default() };
    for part in parts {
        let (name, value) = pair(part);
        let value = value.unwrap_or_default();
        if value.len() <= MAX_ATTRIBUTE {
            cookie.attribute(&name.to_ascii_lowercase(), value);
        }
    }
    Some(cookie)
}

/// What stands before and after the first `=`.
fn pair(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|b| *b == b'=') {
        Some(at) => (part.get(..at).unwrap_or_default().trim_ascii(), part.get(at + 1..).map(<[u8]>::trim_ascii)),
        None => (part.trim_ascii(), None),
    }
}

impl SetCookie {
    /// The last one of a name counts; one that cannot be read is as if it were not there.
    fn attribute(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"expires" => self.expires = date::parse(value).or(self.expires),
            b"max-age" => self.max_age = seconds(value).or(self.max_age),
            b"domain" => self.domain = domain(value),
            b"path" => self.path = std::str::from_utf8(value).ok().filter(|p| p.starts_with('/')).map(str::to_owned),
            b"secure" => self.secure = true,
            _ => {}
        }
    }
}

/// Digits, with or without a minus; a number too large for us is as good as the largest.
fn seconds(value: &[u8]) -> Option<i64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let text =
        std::str::from_utf8(value).ok().filter(|_| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))?;
    Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// What is no domain stays as it is, what is not ASCII above all: it matches no host, so the cookie is ignored.
fn domain(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value.strip_prefix(b".").unwrap_or(value)).to_ascii_lowercase();
    Some(text).filter(|text| !text.is_empty())
}
