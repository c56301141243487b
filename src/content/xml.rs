//! What a reader of XML tells those who collect from it, and where in the document they are.
//!
//! Names are local names in lower case: sitemaps and feeds with a wrong namespace, or none, are common.

/// Open elements that are remembered; deeper ones are only counted.
const DEEPEST: usize = 32;

/// Takes a document in events.
pub trait Collect {
    /// An element begins; `attribute` gives the value of one of its attributes, by the name as written.
    fn open(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>);

    /// Text of the innermost element, in pieces.
    fn text(&mut self, text: &str);

    /// A reference in the text to an entity that nobody knows, as written: `&name;`. Where `&` may be meant for itself it is text.
    fn unknown(&mut self, reference: &str) {
        self.text(reference);
    }

    /// An element ends; it may be one that never began.
    fn close(&mut self, name: &str);

    /// Nothing more is wanted.
    fn is_full(&self) -> bool;
}

/// The open elements.
#[derive(Debug, Default)]
pub(super) struct Path {
    names: Vec<Box<str>>,
    deeper: usize,
}

impl Path {
    /// The innermost open element; none inside what is too deep.
    pub fn parent(&self) -> Option<&str> {
        if self.deeper > 0 { None } else { self.names.last().map(|name| &**name) }
    }

    /// How many are open.
    pub fn depth(&self) -> usize {
        self.names.len() + self.deeper
    }

    /// An element begins.
    pub fn open(&mut self, name: &str) {
        if self.names.len() < DEEPEST && self.deeper == 0 { self.names.push(name.into()) } else { self.deeper += 1 }
    }

    /// An element ends, and with it those inside it that were never closed. False when no such element is open.
    pub fn close(&mut self, name: &str) -> bool {
        if self.deeper > 0 {
            self.deeper -= 1;
            return false; // what lies that deep has no name
        }
        match self.names.iter().rposition(|open| **open == *name) {
            Some(at) => {
                self.names.truncate(at);
                true
            }
            None => false,
        }
    }
}

/// Text of one element, bounded.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    cut: bool,
}

impl Text {
    /// Appends, up to `max` bytes in all.
    pub fn push(&mut self, text: &str, max: usize) {
        if self.text.len() + text.len() <= max && !self.cut { self.text.push_str(text) } else { self.cut = true }
    }

    /// A reference to an entity that nobody knows, in what is to be an address. In a query it is a parameter whose `&` somebody
    /// forgot to escape; elsewhere nobody can tell what the address is, and there is none.
    pub fn push_unknown(&mut self, reference: &str, max: usize) {
        if self.text.contains('?') { self.push(reference, max) } else { self.cut = true }
    }

    /// The text without white space around it; `None` when there is none, too much, or some that nobody knows.
    pub fn take(&mut self) -> Option<String> {
        let whole = !std::mem::take(&mut self.cut);
        let text = std::mem::take(&mut self.text);
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        (whole && !trimmed.is_empty()).then(|| trimmed.to_owned())
    }
}

/// Where in the document a collector is, and the text of the element that it wants to know.
#[derive(Debug)]
pub(super) struct Fields<F> {
    /// The open elements.
    pub path: Path,
    /// Whose text is being read.
    pub field: Option<F>,
    text: Text,
    /// The longest text, in bytes.
    max: usize,
}

/// A field at its end, with its text if it has one.
pub(super) type Field<F> = (F, Option<String>);

impl<F: Copy + PartialEq> Fields<F> {
    /// At the start of a document, for texts of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { path: Path::default(), field: None, text: Text::default(), max }
    }

    /// An element begins whose text is that of this field, or of none.
    pub fn open(&mut self, name: &str, field: Option<F>) {
        self.read(field);
        self.path.open(name);
    }

    /// What comes next is the text of this field, or of none.
    pub fn read(&mut self, field: Option<F>) {
        self.field = field;
        self.text = Text::default();
    }

    /// More text.
    pub fn text(&mut self, text: &str) {
        if self.field.is_some() {
            self.text.push(text, self.max);
        }
    }

    /// A reference that nobody knows; `address`: the field is to be one.
    pub fn unknown(&mut self, reference: &str, address: bool) {
        if address { self.text.push_unknown(reference, self.max) } else { self.text(reference) }
    }

    /// An element ends. `None` when no such element is open.
    pub fn close(&mut self, name: &str) -> Option<Option<Field<F>>> {
        self.path.close(name).then(|| self.take())
    }

    /// The field that is being read, at its end.
    pub fn take(&mut self) -> Option<Field<F>> {
        Some((self.field.take()?, self.text.take()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_closes_what_was_left_open_inside_and_a_stray_one_closes_nothing() {
        let mut path = Path::default();
        ["urlset", "url", "loc"].iter().for_each(|name| path.open(name));
        assert!(!path.close("sitemap"));
        assert_eq!((path.parent(), path.depth()), (Some("loc"), 3));
        assert!(path.close("url"));
        assert_eq!((path.parent(), path.depth()), (Some("urlset"), 1));
    }

    #[test]
    fn a_million_open_elements_take_the_room_of_a_few() {
        let mut path = Path::default();
        (0..1_000_000).for_each(|_| path.open("a"));
        assert_eq!((path.parent(), path.depth(), path.names.len()), (None, 1_000_000, DEEPEST));
        (0..1_000_000 - DEEPEST).for_each(|_| assert!(!path.close("a")));
        assert_eq!(path.parent(), Some("a"));
        assert!(path.close("a"));
    }

    #[test]
    fn text_that_is_too_long_is_none() {
        let mut text = Text::default();
        text.push(" ab", 4);
        text.push("c\n", 4);
        assert_eq!(text.take(), None);
        text.push(" ab ", 4);
        assert_eq!(text.take().as_deref(), Some("ab"));
    }

    #[test]
    fn an_unknown_entity_is_a_parameter_in_a_query_and_spoils_an_address_elsewhere() {
        let mut text = Text::default();
        text.push("/x?a=1", 99);
        text.push_unknown("&b;", 99);
        assert_eq!(text.take().as_deref(), Some("/x?a=1&b;"));
        text.push("/x", 99);
        text.push_unknown("&b;", 99);
        text.push("?a", 99);
        assert_eq!(text.take(), None);
    }
}
