//! The elements a crawler tells apart.

/// An element by its role here; all others are `Block`, `Inline` or `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    A,
    AnnotationXml,
    Area,
    Article,
    Aside,
    Audio,
    Base,
    Body,
    Br,
    Desc,
    Div,
    Embed,
    Font,
    Footer,
    ForeignObject,
    Form,
    Frame,
    Header,
    /// `h1` to `h6`.
    Heading,
    Html,
    Iframe,
    Image,
    Img,
    Input,
    Link,
    Main,
    Math,
    MathText,
    Meta,
    Nav,
    Noembed,
    Noframes,
    Noscript,
    Object,
    Plaintext,
    /// `rp`: for who shows no ruby.
    RubyBracket,
    /// `rt`, `rtc`: how what it stands beside is read.
    Reading,
    Ruby,
    Script,
    Source,
    Style,
    Svg,
    Template,
    Textarea,
    Title,
    Track,
    Use,
    Video,
    Xmp,
    /// Separates words, and ends SVG or MathML when it starts inside.
    Block,
    /// Separates words; inside SVG or MathML nothing special.
    Section,
    /// Separates no words, but ends SVG or MathML when it starts inside.
    Inline,
    /// Any other, known or not.
    Other,
}

use Element::*;

/// Names longer than this are `Other`.
const LONGEST: usize = 16;

#[rustfmt::skip]
const NAMES: &[(&str, Element)] = &[
    ("a", A), ("annotation-xml", AnnotationXml), ("area", Area), ("article", Article), ("aside", Aside), ("audio", Audio),
    ("base", Base), ("body", Body), ("br", Br), ("div", Div), ("footer", Footer), ("form", Form), ("h1", Heading), ("h2", Heading),
    ("h3", Heading), ("h4", Heading), ("h5", Heading), ("h6", Heading), ("header", Header), ("html", Html), ("main", Main), ("nav", Nav),
    ("desc", Desc), ("embed", Embed), ("font", Font), ("foreignobject", ForeignObject), ("frame", Frame),
    ("iframe", Iframe), ("image", Image), ("img", Img), ("input", Input), ("link", Link), ("math", Math), ("mi", MathText),
    ("mn", MathText), ("mo", MathText), ("ms", MathText), ("mtext", MathText), ("meta", Meta), ("noembed", Noembed),
    ("noframes", Noframes), ("noscript", Noscript), ("object", Object), ("plaintext", Plaintext), ("script", Script), ("source", Source),
    ("style", Style), ("svg", Svg), ("template", Template), ("textarea", Textarea), ("title", Title), ("track", Track),
    ("use", Use), ("video", Video), ("xmp", Xmp),
    ("blockquote", Block), ("center", Block), ("dd", Block), ("dl", Block), ("dt", Block), ("head", Block), ("hr", Block),
    ("li", Block), ("listing", Block), ("menu", Block), ("ol", Block), ("p", Block), ("pre", Block),
    ("table", Block), ("ul", Block),
    ("address", Section), ("button", Section), ("caption", Section),
    ("col", Section), ("colgroup", Section), ("details", Section), ("dialog", Section), ("dir", Section),
    ("fieldset", Section), ("figcaption", Section), ("figure", Section), ("frameset", Section), ("hgroup", Section), ("legend", Section),
    ("optgroup", Section), ("option", Section), ("search", Section),
    ("section", Section), ("select", Section), ("summary", Section), ("tbody", Section), ("td", Section),
    ("tfoot", Section), ("th", Section), ("thead", Section), ("tr", Section),
    ("b", Inline), ("big", Inline), ("code", Inline), ("em", Inline), ("i", Inline), ("nobr", Inline), ("ruby", Ruby),
    ("rp", RubyBracket), ("rt", Reading), ("rtc", Reading),
    ("s", Inline), ("small", Inline), ("span", Inline), ("strong", Inline), ("strike", Inline), ("sub", Inline),
    ("sup", Inline), ("tt", Inline), ("u", Inline), ("var", Inline),
];

/// Whether words before and after the tags of the element with this name are apart: blocks, lines, items of lists, cells.
pub(crate) fn separates_words(name: &str) -> bool {
    Element::named(name.as_bytes()).separates_words()
}

const SLOTS: usize = 512;
static TABLE: [(u128, Element); SLOTS] = table();

impl Element {
    /// The element with this name, in any case.
    pub(super) fn named(name: &[u8]) -> Self {
        if name.len() > LONGEST { Other } else { Self::of(key(name)) }
    }

    /// The element with whose name, in any case, the inside of a tag begins, and how long the name is.
    pub(super) fn begins(tag: &[u8]) -> (Self, usize) {
        let (mut key, mut length) = (0, 0);
        for b in tag {
            if b.is_ascii_whitespace() || matches!(b, b'/' | b'>') {
                break;
            }
            key = with(key, *b);
            length += 1;
        }
        (if length > LONGEST { Other } else { Self::of(key) }, length)
    }

    fn of(key: u128) -> Self {
        let mut slot = slot(key);
        loop {
            match TABLE.get(slot) {
                Some((k, element)) if *k == key => return *element,
                Some((0, _)) | None => return Other,
                Some(_) => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// The name to look for at the end of an element whose content is not markup; empty for all others.
    pub(super) fn raw_name(self) -> &'static [u8] {
        match self {
            Iframe => b"iframe",
            Noembed => b"noembed",
            Noframes => b"noframes",
            Plaintext => b"plaintext",
            Script => b"script",
            Style => b"style",
            Textarea => b"textarea",
            Title => b"title",
            Xmp => b"xmp",
            _ => b"",
        }
    }

    /// Words before and after its tags are apart.
    pub(super) fn separates_words(self) -> bool {
        matches!(
            self,
            Block
                | Section
                | Article
                | Aside
                | Audio
                | Body
                | Br
                | Div
                | Footer
                | Form
                | Frame
                | Header
                | Heading
                | Html
                | Iframe
                | Input
                | Main
                | Nav
                | Object
                | Plaintext
                | Textarea
                | Title
                | Video
                | Xmp
        )
    }

    /// Its start tag inside SVG or MathML ends that (13.2.6.5); `font` only with certain attributes, not counted here.
    pub(super) fn leaves_foreign(self) -> bool {
        matches!(self, Block | Inline | Ruby | Body | Br | Div | Embed | Heading | Img | Meta)
    }
}

/// The lower-case name as a number, so that comparing is one instruction.
const fn key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut i = 0;
    while i < name.len() {
        key = with(key, name[i]);
        i += 1;
    }
    key
}

/// A key with another letter. A NUL counts as 0xff: no name of ours has either.
const fn with(key: u128, letter: u8) -> u128 {
    let letter = if letter == 0 { 0xff } else { letter.to_ascii_lowercase() };
    key << 8 | letter as u128
}

const fn slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

const fn table() -> [(u128, Element); SLOTS] {
    let mut table = [(0, Other); SLOTS];
    let mut i = 0;
    while i < NAMES.len() {
        let key = key(NAMES[i].0.as_bytes());
        let mut at = slot(key);
        while table[at].0 != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = (key, NAMES[i].1);
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case_and_no_other() {
        for (name, element) in NAMES {
            assert_eq!(Element::named(name.as_bytes()), *element, "{name}");
            assert_eq!(Element::named(name.to_uppercase().as_bytes()), *element, "{name}");
            assert_eq!(Element::named(format!("{name}x-").as_bytes()), Other, "{name}x-");
            assert_eq!(Element::named(format!("{name}\0").as_bytes()), Other, "{name} with NUL");
            for end in [" a=b>", ">", "/>", "\n", ""] {
                assert_eq!(Element::begins(format!("{name}{end}").as_bytes()), (*element, name.len()), "{name}{end}");
            }
        }
        assert_eq!(Element::named(b""), Other);
        assert_eq!(Element::named(&[b'a'; 100]), Other);
        assert_eq!(Element::begins(&[b'a'; 100]), (Other, 100));
    }

    #[test]
    fn the_end_of_a_raw_element_has_the_elements_name() {
        for (name, element) in NAMES {
            let raw = element.raw_name();
            assert!(raw.is_empty() || raw == name.as_bytes(), "{name}");
        }
    }
}
