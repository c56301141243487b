//! The addresses of the pictures, objects, sounds and films that a page names, whether it shows them by markup, by a style, or by a
//! script: `src`, `srcset`, `data`, `poster`, `og:image`, and the names under which pages keep what a script shows later. They are no
//! links here; they tell a page of pictures from one that brings nothing new. So do files that nobody fetches by default, and links to
//! other sites, without their queries: in those stand the page's own address (to share it) and numbers of advertisements. What is said
//! to be a single pixel counts visits, under another address each time, and shows nothing.

use memchr::{memchr, memchr2, memchr3};
use xxhash_rust::xxh3::xxh3_64;

use super::element::Element;
use super::tag::Tag;
use crate::domain::host::registrable_domain;

/// Addresses that are gathered before repeats are left out, and those that are kept.
const GATHERED: usize = 2_048;
const KEPT: usize = 512;
/// Bytes of an attribute in which a picture's name is looked for, and the longest text in quotes that may be an address.
const LOOKED_AT: usize = 2_048;
const QUOTED: usize = 512;
/// How the names of pictures, sounds, films and files end.
#[rustfmt::skip]
const ENDINGS: [u64; 50] = packed([
    b"jpg", b"jpeg", b"png", b"webp", b"gif", b"avif", b"svg", b"tif", b"tiff", b"jp2", b"bmp", b"heic", b"pdf",
    b"mp4", b"webm", b"m3u8", b"mov", b"avi", b"mkv", b"wmv", b"ogv", b"mpg", b"mpeg", b"m4v", b"3gp", b"flv",
    b"mp3", b"ogg", b"wav", b"flac", b"m4a", b"opus", b"aac", b"mid", b"oga", b"wma",
    b"zip", b"gz", b"tgz", b"bz2", b"xz", b"7z", b"rar", b"exe", b"apk", b"iso", b"dmg", b"deb", b"rpm", b"msi",
]);
/// Parts of names of `data-` attributes that hold an address for a script.
#[rustfmt::skip]
const LAZY: [&[u8]; 19] = [
    b"src", b"orig", b"image", b"img", b"lazy", b"poster", b"video", b"audio", b"file", b"full", b"large", b"thumb",
    b"bg", b"background", b"photo", b"zoom", b"pic", b"hires", b"echo",
];
/// Parts of names of `<meta>` that hold one.
const METAS: [&[u8]; 5] = [b"image", b"video", b"audio", b"thumbnail", b"player"];

/// Takes note of them.
#[derive(Debug, Default)]
pub(super) struct Media {
    /// The page's host.
    host: String,
    found: Vec<u32>,
    /// What stands behind the last quote of a script.
    quoted: Vec<u8>,
    /// That is too long to be an address.
    long: bool,
}

impl Media {
    /// For a page of this host.
    pub(super) fn of_page(host: &str) -> Self {
        Self { host: host.to_owned(), ..Self::default() }
    }

    pub(super) fn of_tag(&mut self, tag: &Tag<'_>) {
        for (name, value) in tag.attributes() {
            if value.is_empty() {
                continue;
            }
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let (element, bytes) = (tag.element, value.as_bytes());
            let address = match name.len() {
                3 => is("src") && element != Element::Script && !is_pixel(tag),
                4 if is("href") => {
                    if matches!(element, Element::A | Element::Area) && self.leads_away(bytes) {
                        self.add(before_query(bytes));
                    }
                    is_named(bytes) || tag.foreign && element == Element::Image || is_preloaded(tag)
                }
                4 => is("data") && element == Element::Object,
                5 if is("style") => {
                    self.of_style(bytes);
                    false
                }
                6 => is("srcset") || is("poster"),
                7 if is("content") => element == Element::Meta && is_of_media(tag),
                10 if is("background") => true,
                10 if is("xlink:href") => element == Element::Image,
                11 if is("imagesrcset") => true,
                _ => is_lazy(name.as_bytes(), bytes),
            };
            if address {
                self.add(bytes);
            }
        }
    }

    fn of_style(&mut self, style: &[u8]) {
        for at in memchr::memchr_iter(b'(', style) {
            let (before, behind) = style.split_at_checked(at).unwrap_or_default();
            if before.last_chunk::<3>().is_some_and(|name| name.eq_ignore_ascii_case(b"url")) {
                self.add(behind.get(1..).and_then(|url| url.split(|byte| *byte == b')').next()).unwrap_or_default());
            }
        }
    }

    /// Whether a link leads to another site, and not to this page by way of it.
    fn leads_away(&self, address: &[u8]) -> bool {
        let address = address.trim_ascii_start();
        let begins =
            |name: &str| address.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()));
        if begins("ftp:") {
            return true;
        }
        let Some(scheme) = ["//", "http://", "https://"].into_iter().find(|scheme| begins(scheme)) else {
            return false;
        };
        let rest = address.get(scheme.len()..).unwrap_or_default();
        let end = rest.iter().position(|byte| b"/?#:\\".contains(byte)).unwrap_or(rest.len());
        let (named, path) = rest.split_at_checked(end).unwrap_or_default();
        let Ok(named) = std::str::from_utf8(named).map(str::to_ascii_lowercase) else { return true };
        // A name without a dot may be any word of a path.
        let names_own = || memchr::memmem::find(before_query(path), self.host.as_bytes()).is_some();
        registrable_domain(&named) != registrable_domain(&self.host) && !(self.host.contains('.') && names_own())
    }

    /// A piece of a script: what in quotes ends as a picture's name does.
    pub(super) fn script(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while let Some(at) = memchr3(b'"', b'\'', b'`', rest) {
            let (part, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
            self.end_quoted(part);
            rest = after.get(1..).unwrap_or_default();
        }
        if self.quoted.len() + rest.len() > QUOTED {
            self.long = true;
            self.quoted.clear();
        } else if !self.long {
            self.quoted.extend_from_slice(rest);
        }
    }

    /// The script has ended.
    pub(super) fn end_script(&mut self) {
        self.quoted.clear();
        self.long = false;
    }

    /// Each once, sorted.
    pub(super) fn finish(mut self) -> Vec<u32> {
        self.thin_out();
        self.found.truncate(KEPT);
        self.found
    }

    fn end_quoted(&mut self, part: &[u8]) {
        if self.quoted.is_empty() {
            if !self.long && part.len() <= QUOTED && is_named(part) {
                self.add(part);
            }
        } else if self.quoted.len() + part.len() <= QUOTED {
            let mut whole = std::mem::take(&mut self.quoted);
            whole.extend_from_slice(part);
            if is_named(&whole) {
                self.add(&whole);
            }
        }
        self.end_script();
    }

    fn add(&mut self, address: &[u8]) {
        if self.found.len() >= GATHERED {
            self.thin_out();
            self.found.truncate(KEPT);
        }
        self.found.push(xxh3_64(address.trim_ascii()) as u32);
    }

    fn thin_out(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
    }
}

/// Whether an address ends as the names of pictures and films do, its query left out.
fn is_named(address: &[u8]) -> bool {
    let name = before_query(address);
    let tail = name.get(name.len().saturating_sub(5)..).unwrap_or_default();
    let Some(dot) = memchr::memrchr(b'.', tail) else { return false };
    is_ending(tail.get(dot + 1..).unwrap_or_default())
}

fn before_query(address: &[u8]) -> &[u8] {
    memchr2(b'?', b'#', address).and_then(|end| address.get(..end)).unwrap_or(address)
}

/// Names of a few letters as numbers, so that comparing is one instruction.
const fn packed<const N: usize>(names: [&[u8]; N]) -> [u64; N] {
    let mut packed = [0; N];
    let mut i = 0;
    while i < N {
        let mut j = 0;
        while j < names[i].len() {
            packed[i] = packed[i] << 8 | names[i][j] as u64;
            j += 1;
        }
        i += 1;
    }
    packed
}

fn is_ending(name: &[u8]) -> bool {
    let packed = || name.iter().fold(0, |packed, b| packed << 8 | u64::from(b.to_ascii_lowercase()));
    name.len() <= 4 && ENDINGS.contains(&packed())
}

/// Whether the value of an attribute is an address for a script: by the attribute's name, or since a picture's name is in it.
fn is_lazy(name: &[u8], value: &[u8]) -> bool {
    let Some(name) = name.get(5..).filter(|_| name.get(..5).is_some_and(|of| of.eq_ignore_ascii_case(b"data-"))) else {
        return false;
    };
    if memchr2(b'/', b'.', value).is_none() {
        return name.eq_ignore_ascii_case(b"src") || name.eq_ignore_ascii_case(b"original");
    }
    has_any(name, &LAZY) || names_one(value)
}

/// Whether a picture's name is anywhere in it.
fn names_one(text: &[u8]) -> bool {
    let mut rest = text.get(..LOOKED_AT).unwrap_or(text);
    while let Some(dot) = memchr(b'.', rest) {
        rest = rest.get(dot + 1..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if is_ending(rest.get(..end).unwrap_or_default()) {
            return true;
        }
    }
    false
}

fn is_pixel(tag: &Tag<'_>) -> bool {
    let at_most_one = |name| tag.attr(name).is_some_and(|size| matches!(size.trim().trim_end_matches("px"), "0" | "1"));
    at_most_one("width") && at_most_one("height")
}

/// A picture that `<link>` names.
fn is_preloaded(tag: &Tag<'_>) -> bool {
    let is = |name, value: &str| tag.attr(name).is_some_and(|said| said.eq_ignore_ascii_case(value));
    tag.element == Element::Link && (is("rel", "image_src") || is("as", "image"))
}

fn is_of_media(meta: &Tag<'_>) -> bool {
    let of = |name| meta.attr(name).is_some_and(|value| has_any(value.as_bytes(), &METAS));
    of("property") || of("name") || of("itemprop")
}

fn has_any(name: &[u8], parts: &[&[u8]]) -> bool {
    let has = |part: &&[u8]| name.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part));
    parts.iter().any(has)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::{ExtractOptions, Extractor};
    use crate::domain::cases::{check, pieces};

    fn media(html: &str) -> Vec<u32> {
        let read = |piece: usize| {
            let mut reader = Extractor::new(&Url::parse("http://a.test/photo/2").unwrap(), ExtractOptions::default());
            pieces(html, &[piece]).for_each(|piece| reader.feed(piece));
            reader.finish().shown.media
        };
        let whole = read(usize::MAX);
        assert_eq!(whole, read(3), "{html}");
        whole
    }

    #[test]
    fn an_address_of_a_picture_an_object_a_sound_or_a_film_counts_wherever_it_stands_and_no_other() {
        check(include_str!("../../../tests/data/html/media.txt"), |[html]| {
            let [one, other] = ["17", "18"].map(|n| media(&html.replace("{n}", n)));
            [match (one.len(), other.len()) {
                (1, 1) if one != other => "one",
                (0, 0) => "-",
                _ => "unclear",
            }]
        });
    }

    #[test]
    fn what_shares_a_page_with_others_is_the_same_link_on_every_page() {
        let share = |n: u32| media(&format!("<a href='https://share.test/new?u=http://a.test/cal/{n}'>x</a>"));
        assert_eq!(share(1), share(2));
    }

    #[test]
    fn each_counts_once_and_their_number_is_bounded() {
        assert_eq!(media("<img src=/a.png><img src='/a.png'><img src=\"/b.png\">").len(), 2);
        assert_eq!(media("<i style='background: url(/a.png), url(/b.png)'></i>").len(), 2);
        let long = "x".repeat(3_000);
        assert_eq!(media(&format!("<img src=/{long}a.png><img src=/{long}b.png>")).len(), 2);
        let many: String = (0..10_000).map(|n| format!("<img src=/{n}.png>")).collect();
        assert!((1..=super::KEPT).contains(&media(&many).len()));
    }
}
