//! How a link's address is written: absolute, relative, or in one of the many other spellings of the same URL.

use super::dice::{Salt, below, unit};
use super::place::{Node, Place};
use super::shape::{GbkHow, Shape};
use super::words::{self, Charset};

/// The page a link is written in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer<'a> {
    pub shape: &'a Shape,
    pub host: u32,
    /// The page whose body it is.
    pub content: u32,
    /// Path of the folder relative links start from: ends with a slash.
    pub folder: &'a str,
    pub charset: Charset,
    /// Whether the page says how it is encoded.
    pub charset_known: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(shape: &'a Shape, host: u32, content: u32, folder: &'a str) -> Self {
        let charset = shape.charset(host, content);
        let charset_known = charset != Charset::Gbk || shape.gbk_how(host, content) != GbkHow::Nowhere;
        Self { shape, host, content, folder, charset, charset_known }
    }

    /// Appends the address of link number `index`, not yet escaped for HTML.
    pub(super) fn href(&self, out: &mut String, to: Node, index: u32) {
        let draw = |salt| self.shape.dice.draw(salt, self.host, self.content, index);
        if matches!(to.place, Place::Find { .. } | Place::Word(_)) {
            return self.with_chinese(out, to, draw(Salt::Spelling));
        }
        let path = to.place.to_string();
        if unit(draw(Salt::Spelling)) < self.shape.config.spellings {
            return self.spelled(out, to, &path, draw(Salt::SpellingKind));
        }
        match draw(Salt::SpellingKind) % 4 {
            0 => absolute(out, self.scheme(), to.host, "", &path),
            3 if to.host == self.host => relative(out, self.folder, &path),
            _ => self.rooted(out, to, &path),
        }
    }

    /// `/p/7` on the page's own host, else absolute.
    fn rooted(&self, out: &mut String, to: Node, path: &str) {
        if to.host == self.host {
            out.push_str(path);
        } else {
            absolute(out, self.scheme(), to.host, "", path);
        }
    }

    fn scheme(&self) -> &'static str {
        if self.shape.config.no_scheme { "//" } else { "http://" }
    }

    fn with_chinese(&self, out: &mut String, to: Node, draw: u64) {
        let raw = self.charset_known && draw.is_multiple_of(2);
        let path = match to.place {
            Place::Word(number) if raw => format!("{}{number}", words::PATH_WRITTEN),
            Place::Find { number, .. } if raw => format!("/p/find?n={number}&word={}", words::chinese(number)),
            other => other.to_string(),
        };
        self.rooted(out, to, &path);
    }

    /// Spellings that the WHATWG URL standard, RFC 3986 6.2.2 or the removal of tracking and session parameters
    /// bring back to the one canonical form.
    fn spelled(&self, out: &mut String, to: Node, path: &str, draw: u64) {
        let joint = if path.contains('?') { '&' } else { '?' };
        let letter = path.as_bytes().get(1).copied().filter(u8::is_ascii_alphabetic);
        match (below(draw, 12), letter) {
            (0, _) => absolute(out, "http://", to.host, ":80", path),
            (1, _) => {
                absolute(out, "HTTP://", to.host, "", "");
                out.make_ascii_uppercase();
                out.push_str(path);
            }
            (2, _) => absolute(out, "http://", to.host, "", &format!("/x/.././y/%2e%2e{path}")),
            (3, Some(letter)) => {
                let rest = path.get(2..).unwrap_or_default();
                absolute(out, "http://", to.host, "", &format!("/%{letter:02x}{rest}"));
            }
            (4, _) => {
                self.rooted(out, to, path);
                out.push(joint);
                out.push_str("utm_source=practice&utm_medium=web");
            }
            (5, _) => absolute(out, "//", to.host, "", path),
            (6, _) => {
                self.rooted(out, to, path);
                out.push(joint);
                out.push_str(&format!("PHPSESSID={draw:016x}"));
            }
            (7, _) if joint == '?' => {
                self.rooted(out, to, path);
                out.push('?');
            }
            (8, _) => absolute(out, "http://", to.host, ".", path),
            (9, _) => absolute(out, "http:\\\\", to.host, "", &path.replace('/', "\\")),
            _ => {
                self.rooted(out, to, path);
                out.push_str("#part-3");
            }
        }
    }
}

fn absolute(out: &mut String, scheme: &str, host: u32, after_host: &str, path: &str) {
    out.push_str(&format!("{scheme}h{host}.test{after_host}{path}"));
}

/// `7`, `./7`, `../x/7`: the way from one folder to a path of the same host.
pub(super) fn relative(out: &mut String, folder: &str, path: &str) {
    let same_folder = path.strip_prefix(folder).filter(|rest| !rest.is_empty() && !rest.contains('/'));
    if let Some(name) = same_folder {
        out.push_str("./");
        out.push_str(name);
        return;
    }
    for _ in 1..folder.bytes().filter(|byte| *byte == b'/').count() {
        out.push_str("../");
    }
    match path.get(1..) {
        Some("") | None => out.push_str("./"),
        Some(rest) => out.push_str(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_ways_lead_where_they_should() {
        let places =
            [Place::HOME, Place::Page { number: 7, query: true }, Place::Secret(3), Place::Open(2), Place::Text(1)];
        for folder in ["/", "/p/", "/base/dir/", "/private/open/"] {
            let base = url::Url::parse(&format!("http://h0.test{folder}any")).unwrap();
            for place in places {
                let mut out = String::new();
                relative(&mut out, folder, &place.to_string());
                assert_eq!(base.join(&out).unwrap().as_str(), Node { host: 0, place }.url(), "{folder} {out}");
            }
        }
    }
}
