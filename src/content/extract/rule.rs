//! One rule and all of them: which pages, which elements, what of them.

use std::collections::BTreeMap;

use select::document::Document;
use select::node::{Data, Node};
use serde::{Deserialize, Serialize};

use super::selector::{Within, Work};
use super::{Selector, SelectorError};
use crate::content::html::{Fold, separates_words};
use crate::domain::text::cut_at;
use crate::domain::url::{PatternError, UrlPatterns};

/// Values of one rule and page at most.
const MAX_VALUES: usize = 100;
/// Bytes of one value at most; it is cut there.
const MAX_VALUE: usize = 8 * 1024;
/// Bytes of all values of a page.
const MAX_PAGE: usize = 64 * 1024;
/// Steps of work for all rules of a page: a test of an element, an ancestor or neighbour looked at, a byte of text or of an
/// attribute's value. Under a second.
const MAX_WORK: usize = 20_000_000;

/// What of an element is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// Its text and that of all within, white space folded; blocks, lines, items and cells stand apart.
    Text,
    /// The value of an attribute, as written.
    Attribute(String),
    /// Its markup.
    Html,
}

impl std::str::FromStr for Take {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        match (text, text.strip_prefix("attr:")) {
            ("text", _) => Ok(Self::Text),
            ("html", _) => Ok(Self::Html),
            (_, Some(name)) if !name.trim().is_empty() => Ok(Self::Attribute(name.trim().to_ascii_lowercase())),
            _ => Err(RuleError::Take(text.to_owned())),
        }
    }
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Not one of the three.
    #[error("{0:?} is none of text, html, attr:NAME")]
    Take(String),
    /// Not understood.
    #[error("the selector is not understood {0}")]
    Selector(#[from] SelectorError),
    /// A pattern that cannot be used.
    #[error(transparent)]
    Urls(#[from] PatternError),
}

/// One rule.
#[derive(Clone, Debug)]
pub struct ExtractRule {
    name: String,
    selector: Selector,
    take: Take,
    many: bool,
    urls: UrlPatterns,
}

impl ExtractRule {
    /// `name`: the key of its value; `many`: a list of all, not the first only; `urls`: patterns of the pages it is meant for, all
    /// when there are none.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn new(name: &str, selector: &str, take: &str, many: bool, urls: &[String]) -> Result<Self, RuleError> {
        Ok(Self {
            name: name.to_owned(),
            selector: selector.parse()?,
            take: take.parse()?,
            many,
            urls: UrlPatterns::new(urls)?,
        })
    }

    fn is_meant(&self, url: &str) -> bool {
        self.urls.is_empty() || self.urls.is_match(url)
    }

    /// `None` when nothing is found.
    fn on(&self, page: &Document, room: &mut usize, work: &Work) -> Option<Extracted> {
        let most = if self.many { MAX_VALUES } else { 1 };
        let mut found = Vec::new();
        for value in page.find(Within(&self.selector, work)).filter_map(|node| self.value(&node, work)).take(most) {
            let Some(left) = room.checked_sub(value.len()) else {
                *room = 0;
                break;
            };
            *room = left;
            found.push(value);
        }
        if self.many {
            return (!found.is_empty()).then_some(Extracted::Many(found));
        }
        found.into_iter().next().map(Extracted::One)
    }

    /// An element that has no such attribute, or no text, has no value.
    fn value(&self, node: &Node<'_>, work: &Work) -> Option<String> {
        let value = match &self.take {
            Take::Text => text_of(node, work),
            Take::Attribute(name) => begin_of(node.attr(name)?, work)?.to_owned(),
            Take::Html => html_of(node, work),
        };
        Some(cut_at(value.trim(), MAX_VALUE)).filter(|value| !value.is_empty()).map(str::to_owned)
    }
}

/// As much of a text as is kept, from its first character that is no white space.
fn begin_of<'t>(text: &'t str, work: &Work) -> Option<&'t str> {
    let begin = text.trim_start();
    let kept = cut_at(begin, MAX_VALUE);
    work.spend(text.len() - begin.len() + kept.len()).then_some(kept)
}

/// Goes through an element and all within in the order of the page; no further than it is asked.
struct Walk<'a>(Vec<Step<'a>>);

/// What comes next.
enum Step<'a> {
    /// A node, and what stands behind it.
    Into(Node<'a>),
    /// The end of the element of this name, which was to be told.
    OutOf(&'a str),
}

impl<'a> Walk<'a> {
    /// All within a node.
    fn within(node: &Node<'a>) -> Self {
        Self(node.first_child().map(Step::Into).into_iter().collect())
    }

    /// The next step; what is within a node comes after [`Self::enter`].
    fn next(&mut self) -> Option<Step<'a>> {
        let step = self.0.pop()?;
        if let Step::Into(node) = &step {
            self.0.extend(node.next().map(Step::Into));
        }
        Some(step)
    }

    /// `end`: its end is to be told.
    fn enter(&mut self, node: &Node<'a>, end: bool) {
        self.0.extend(end.then(|| Step::OutOf(node.name().unwrap_or_default())));
        self.0.extend(node.first_child().map(Step::Into));
    }
}

/// The text within, in the order of the page; scripts and styles have none. What a reader sees apart is apart: blocks, lines, items
/// of lists and cells, as in the text of a page; what stands in a line is joined.
fn text_of(node: &Node<'_>, work: &Work) -> String {
    let mut out = Fold::new(MAX_VALUE);
    let mut walk = Walk::within(node);
    while let Some(step) = walk.next() {
        if out.full || !work.spend(1) {
            break;
        }
        let Step::Into(node) = step else {
            out.part();
            continue;
        };
        match node.data() {
            Data::Text(text) if work.spend(text.len()) => out.push(text),
            Data::Text(_) => break,
            Data::Element(..) => {
                let name = node.name().unwrap_or_default();
                if matches!(name, "script" | "style" | "template") {
                    continue;
                }
                let apart = separates_words(name);
                if apart {
                    out.part();
                }
                walk.enter(&node, apart);
            }
            Data::Comment(_) => {}
        }
    }
    out.finish().0
}

/// The markup as far as it is kept: written anew from the tree, for `select` would write all of it.
fn html_of(node: &Node<'_>, work: &Work) -> String {
    let mut out = String::new();
    let mut walk = Walk(Vec::new());
    if work.spend(1) {
        push_start(node, &mut walk, work, &mut out);
    }
    while let Some(step) = walk.next() {
        if out.len() > MAX_VALUE || !work.spend(1) {
            break;
        }
        match step {
            Step::OutOf(name) => out.extend(["</", name, ">"]),
            Step::Into(node) => push_start(&node, &mut walk, work, &mut out),
        }
    }
    out
}

/// Writes a node as far as what is within.
fn push_start<'a>(node: &Node<'a>, walk: &mut Walk<'a>, work: &Work, out: &mut String) {
    match node.data() {
        Data::Text(text) => push_text(node, kept(text, work), out),
        Data::Comment(text) => out.extend(["<!--", kept(text, work), "-->"]),
        Data::Element(name, attrs) => {
            out.extend(["<", &*name.local]);
            for (name, value) in attrs {
                let value = kept(value, work).replace('&', "&amp;").replace('\u{a0}', "&nbsp;");
                out.extend([" ", &*name.local, "=\"", &value.replace('"', "&quot;"), "\""]);
            }
            out.push('>');
            if !VOID.contains(&&*name.local) {
                walk.enter(node, true);
            }
        }
    }
}

/// As much of a text as is kept; nothing when there is no work left for it.
fn kept<'t>(text: &'t str, work: &Work) -> &'t str {
    let kept = cut_at(text, MAX_VALUE);
    if work.spend(kept.len()) { kept } else { "" }
}

/// Elements without an end tag (HTML, 13.1.2).
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// What is in scripts and styles is written as it stands (HTML, 13.3).
fn push_text(node: &Node<'_>, text: &str, out: &mut String) {
    let raw = node.parent().and_then(|parent| parent.name()).is_some_and(|name| matches!(name, "script" | "style"));
    if raw {
        out.push_str(text);
    } else {
        let text = text.replace('&', "&amp;").replace('\u{a0}', "&nbsp;");
        out.push_str(&text.replace('<', "&lt;").replace('>', "&gt;"));
    }
}

/// What one rule found on one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Extracted {
    /// The first value.
    One(String),
    /// All of them.
    Many(Vec<String>),
}

/// What all rules found on one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By name.
    pub values: BTreeMap<String, Extracted>,
    /// False when the page has used up what there is for one.
    pub whole: bool,
}

/// All rules.
#[derive(Clone, Debug, Default)]
pub struct ExtractRules(Vec<ExtractRule>);

impl ExtractRules {
    /// In the order given; of two with one name the first that finds something counts.
    pub fn new(rules: Vec<ExtractRule>) -> Self {
        Self(rules)
    }

    /// Whether any rule is meant for the page at this URL, in canonical form.
    pub fn are_meant_for(&self, url: &str) -> bool {
        self.0.iter().any(|rule| rule.is_meant(url))
    }

    /// What they find on a page, by name.
    pub fn on(&self, url: &str, page: &Document) -> Found {
        let (mut room, work) = (MAX_PAGE, Work::new(MAX_WORK));
        let mut found = BTreeMap::new();
        for rule in self.0.iter().filter(|rule| rule.is_meant(url)) {
            if !found.contains_key(&rule.name)
                && let Some(value) = rule.on(page, &mut room, &work)
            {
                found.insert(rule.name.clone(), value);
            }
        }
        Found { values: found, whole: room > 0 && !work.is_over() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;
    use crate::domain::cases::check;

    fn on(rule: &ExtractRule, html: &str) -> Option<Extracted> {
        rule.on(&tree(html).unwrap(), &mut { MAX_PAGE }, &Work::new(MAX_WORK))
    }

    /// The value of each row of `tests/data/extract.tsv`, as JSON.
    fn found(selector: &str, take: &str, many: bool, html: &str) -> String {
        match ExtractRule::new("x", selector, take, many, &[]) {
            Err(e) => format!("error {e}"),
            Ok(rule) => serde_json::to_string(&on(&rule, html)).unwrap(),
        }
    }

    #[test]
    fn every_row_of_the_table_gives_what_it_says() {
        let rows = check(include_str!("../../../tests/data/extract.tsv"), |[_name, selector, take, html]| {
            let (take, many) = take.strip_suffix(" many").map_or((take, false), |take| (take, true));
            [found(selector, take, many, html)]
        });
        assert!(rows > 40, "{rows} rows");
    }

    #[test]
    fn rules_are_meant_for_the_pages_of_their_patterns() {
        let rule = |name, selector, urls: &[&str]| {
            let urls: Vec<String> = urls.iter().map(ToString::to_string).collect();
            ExtractRule::new(name, selector, "text", false, &urls).unwrap()
        };
        let rules = ExtractRules::new(vec![
            rule("a", "h1", &["/news/"]),
            rule("b", "h2", &["/news/", "/blog/"]),
            rule("b", "h1", &["/blog/"]),
        ]);
        let page = tree("<h1>one</h1>").unwrap();
        assert!(rules.are_meant_for("http://a.test/blog/1") && !rules.are_meant_for("http://a.test/"));
        for (url, name) in [("http://a.test/news/1", "a"), ("http://a.test/blog/1", "b")] {
            assert_eq!(rules.on(url, &page).values, BTreeMap::from([(name.into(), Extracted::One("one".into()))]));
        }
        assert!(ExtractRule::new("a", "h1", "text", false, &["(".into()]).is_err());
    }

    #[test]
    fn values_are_bounded_in_number_and_length() {
        let lengths = |tag: &str, html: &str| match on(&ExtractRule::new("x", tag, "text", true, &[]).unwrap(), html) {
            Some(Extracted::Many(values)) => values.iter().map(String::len).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let long = lengths("p", &format!("<p>{}</p>", "é".repeat(MAX_VALUE)).repeat(2));
        assert!(long.len() == 2 && long.iter().all(|len| (MAX_VALUE - 3..=MAX_VALUE).contains(len)));
        assert_eq!(lengths("i", &"<i>x</i>".repeat(1_000)), [1; MAX_VALUES]);
    }

    #[test]
    fn what_all_rules_may_take_of_a_page_and_do_for_it_is_bounded() {
        let rules = |n: usize, selector: &str, take: &str| {
            let rule = |i: usize| ExtractRule::new(&format!("r{i}"), selector, take, true, &[]).unwrap();
            ExtractRules::new((0..n).map(rule).collect())
        };
        let deep = tree(&format!("{}{}", "<div class=a>".repeat(100), "word ".repeat(2_000))).unwrap();
        let found = rules(10, ".a", "text").on("http://a.test/", &deep);
        let size: usize = serde_json::to_string(&found.values).unwrap().len();
        assert!(!found.whole && size < 2 * MAX_PAGE, "{size}");
        let spaces = tree(&format!("{}{}", "<div class=a>".repeat(490), " ".repeat(1_900_000))).unwrap();
        for take in ["html", "text"] {
            assert!(!rules(64, ".a", take).on("http://a.test/", &spaces).whole, "{take}");
        }
        let long = "a".repeat(800_000);
        let wide = tree(&format!("<div class='{long}' data-x='{long}'>{}", "<b></b>".repeat(20_000))).unwrap();
        let blank = tree(&format!("<b title='{}x'></b>", " ".repeat(1_000_000)).repeat(2)).unwrap();
        for (selector, take, page) in [
            (".x b", "text", &wide),
            ("[data-x~=x] > b", "text", &wide),
            ("[data-x*=aaab] b", "text", &wide),
            (":not(.x) b", "text", &wide),
            ("b", "attr:title", &blank),
        ] {
            assert!(!rules(64, selector, take).on("http://a.test/", page).whole, "{selector} {take}");
        }
        let plain = tree("<h1>one</h1>").unwrap();
        assert!(rules(64, "h1", "text").on("http://a.test/", &plain).whole);
    }

    #[test]
    fn markup_is_written_as_select_writes_it() {
        for html in [
            "<p a='1&quot;&amp;'>x &lt; y<br><!-- c --><b>z</b></p>",
            "<p><script>a < b</script><style>i>j</style></p>",
        ] {
            let page = tree(html).unwrap();
            let node = page.find(select::predicate::Name("p")).next().unwrap();
            assert_eq!(html_of(&node, &Work::new(MAX_WORK)), node.html());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_a_panic_as_a_selector(text in "[a-z#.\\[\\]=~^$*:>+, ()'\"-]{0,24}") {
            if let Ok(selector) = text.parse::<Selector>() {
                let page = tree("<div class=a><p id=b>x</p></div>").unwrap();
                let _ = page.find(Within(&selector, &Work::new(MAX_WORK))).count();
            }
        }

        /// Steps found by going up from the element agree with trying all chains of ancestors.
        #[test]
        fn steps_are_found_as_by_trying_all_ways(
            tags in proptest::collection::vec(0_usize..3, 1..7),
            steps in proptest::collection::vec((0_usize..3, proptest::bool::ANY), 1..4),
        ) {
            const NAMES: [&str; 3] = ["div", "section", "main"];
            let html: String = tags.iter().map(|tag| format!("<{}>", NAMES[*tag])).collect();
            let text: String = steps.iter().enumerate().map(|(at, (tag, child))| {
                let join = match (at, child) { (0, _) => "", (_, true) => " > ", (_, false) => " " };
                format!("{join}{}", NAMES[*tag])
            }).collect();
            let page = tree(&html).unwrap();
            let selector: Selector = text.parse().unwrap();
            let mut quick: Vec<usize> = page.find(Within(&selector, &Work::new(MAX_WORK))).map(|node| depth(&node)).collect();
            quick.sort_unstable();
            let plain: Vec<usize> = (0..tags.len()).filter(|at| fits(&tags, &steps, *at, steps.len() - 1)).map(|at| at + 2).collect();
            proptest::prop_assert_eq!(quick, plain, "{} in {}", text, html);
        }
    }

    /// Elements above it: html, body, then the tags.
    fn depth(node: &Node<'_>) -> usize {
        std::iter::successors(node.parent(), Node::parent).count()
    }

    fn fits(tags: &[usize], steps: &[(usize, bool)], at: usize, step: usize) -> bool {
        tags[at] == steps[step].0
            && (step == 0
                || if steps[step].1 {
                    at > 0 && fits(tags, steps, at - 1, step - 1)
                } else {
                    (0..at).any(|a| fits(tags, steps, a, step - 1))
                })
    }
}
