//! What a `Set-Cookie` header says (RFC 6265 section 5.2).

use crate::domain::time::UnixMillis;

use super::date;

/// One cookie as the server wishes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SetCookie {
    pub name: Vec<u8>,
    pub value: Vec<u8>,
    /// The moment named by `Expires`.
    pub expires: Option<UnixMillis>,
    /// The seconds named by `Max-Age`; none or fewer mean at once.
    pub max_age: Option<i64>,
    /// The value of `Domain` in lower case, without its first dot.
    pub domain: Option<String>,
    /// The value of `Path`; none where the default holds.
    pub path: Option<String>,
    pub secure: bool,
}

/// Reads a header's value. None for what is to be ignored: no name, no `=`, or characters that no header can carry.
pub(super) fn parse(line: &[u8]) -> Option<SetCookie> {
    let mut parts = line.split(|b| *b == b';');
    let (name, value) = pair(parts.next()?);
    let (name, value) = (name.to_vec(), value?.to_vec());
    if name.is_empty() || [&name, &value].iter().any(|part| part.iter().any(u8::is_ascii_control)) {
        return None;
    }
    let mut cookie = SetCookie { name, value, ..SetCookie::default() };
    for part in parts {
        let (name, value) = pair(part);
        cookie.attribute(&name.to_ascii_lowercase(), value.unwrap_or_default());
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
            b"domain" => self.domain = domain(value).or(self.domain.take()),
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

/// An empty domain counts as none. What is no domain stays as it is: it matches no host.
fn domain(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value.strip_prefix(b".").unwrap_or(value)).to_lowercase();
    let ascii = url::Host::parse(&text).map(|host| host.to_string());
    (!text.is_empty()).then(|| ascii.unwrap_or(text))
}
