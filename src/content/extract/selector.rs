//! The subset of CSS selectors that is understood.
//!
//! `tag`, `*`, `#id`, `.class`, `[a]`, `[a=b]`, `[a~=b]`, `[a^=b]`, `[a$=b]`, `[a*=b]`, `:not(…)` of one of these, `:first-child`,
//! `:last-child`; joined by white space (within) or `>` (directly within); several separated by commas. Names of elements and attributes
//! are compared without regard to case, values with it.

use std::cell::Cell;

use select::node::{Data, Node};
use select::predicate::{Any, Element, Name, Predicate};

/// Steps of one selector at most.
const MAX_STEPS: usize = 16;

/// A selector that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(Vec<Path>);

/// What is wrong with a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {what}")]
pub struct SelectorError {
    /// Characters before the fault, and one.
    pub at: usize,
    /// What was found there, and what is understood.
    pub what: String,
}

/// Steps from the outermost to the element itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path(Vec<(Join, Vec<Test>)>);

/// How a step hangs on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    /// Anywhere within it; the first step hangs on the page.
    Within,
    /// Its child.
    Child,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Any,
    Tag(String),
    Id(String),
    Class(String),
    Attribute(String, Compare, String),
    First,
    Last,
    Not(Box<Test>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Present,
    Equal,
    Word,
    Start,
    End,
    Part,
}

impl Test {
    /// Spends what it looks at: a value may have megabytes, and stand at an ancestor of every element of the page. What there is
    /// no work left for does not fit.
    fn fits(&self, node: &Node<'_>, work: &Work) -> bool {
        match self {
            Self::Any => Any.matches(node),
            Self::Tag(name) => Name(name.as_str()).matches(node),
            Self::Id(id) => self.value(node, "id", work).is_some_and(|value| value == id),
            Self::Class(class) => self.value(node, "class", work).is_some_and(|value| has_word(value, class)),
            Self::First => has_none(node, Node::prev, work),
            Self::Last => has_none(node, Node::next, work),
            Self::Not(inner) => !inner.fits(node, work) && !work.is_over(),
            Self::Attribute(name, compare, wanted) => {
                self.value(node, name, work).is_some_and(|value| compare.fits(value, wanted))
            }
        }
    }

    /// The value of an attribute, paid for as far as it is gone through.
    fn value<'a>(&self, node: &Node<'a>, name: &str, work: &Work) -> Option<&'a str> {
        let Data::Element(_, attrs) = node.data() else { return None };
        if !work.spend(attrs.len()) {
            return None;
        }
        let value = node.attr(name)?;
        let gone_through = match self {
            Self::Class(_) | Self::Attribute(_, Compare::Word | Compare::Part, _) => value.len(),
            _ => 0, // no more than the selector's own value is
        };
        work.spend(gone_through).then_some(value)
    }
}

impl Compare {
    fn fits(self, value: &str, wanted: &str) -> bool {
        match self {
            Self::Present => true,
            Self::Equal => value == wanted,
            Self::Word => has_word(value, wanted),
            Self::Start => !wanted.is_empty() && value.starts_with(wanted),
            Self::End => !wanted.is_empty() && value.ends_with(wanted),
            Self::Part => !wanted.is_empty() && value.contains(wanted),
        }
    }
}

fn has_word(value: &str, wanted: &str) -> bool {
    value.split_ascii_whitespace().any(|word| word == wanted)
}

/// Whether no element stands on that side; text and comments are passed over.
fn has_none<'a>(node: &Node<'a>, step: impl Fn(&Node<'a>) -> Option<Node<'a>>, work: &Work) -> bool {
    let mut at = step(node);
    while let Some(other) = at {
        if !work.spend(1) || Element.matches(&other) {
            return false;
        }
        at = step(&other);
    }
    true
}

impl Path {
    /// Goes up from the element; each step keeps all places among its ancestors where what is below it fits, so that the work is
    /// the depth times the steps whatever the page looks like.
    fn fits(&self, node: &Node<'_>, work: &Work) -> bool {
        let fits = |tests: &[Test], node: &Node<'_>| tests.iter().all(|test| test.fits(node, work));
        let Some(((join, own), above)) = self.0.split_last() else { return false };
        if !work.spend(own.len()) || !fits(own, node) {
            return false;
        }
        if above.is_empty() {
            return true;
        }
        let ancestors: Vec<Node<'_>> = std::iter::successors(node.parent(), Node::parent).collect();
        let tests: usize = above.iter().map(|(_, tests)| tests.len()).sum();
        if !work.spend(ancestors.len() * (self.0.len() + tests)) {
            return false;
        }
        // Place n is ancestors[n - 1]; 0 is the element itself. They are in order.
        let mut places = vec![0_usize];
        let mut join = *join;
        for (next_join, tests) in above.iter().rev() {
            let lowest = places.first().copied().unwrap_or(usize::MAX);
            let reached = |n: usize| match join {
                Join::Within => n > lowest,
                Join::Child => places.binary_search(&(n - 1)).is_ok(),
            };
            let here = (1..).zip(&ancestors).filter(|(n, ancestor)| reached(*n) && fits(tests, ancestor));
            places = here.map(|(n, _)| n).collect();
            if places.is_empty() {
                return false;
            }
            join = *next_join;
        }
        true
    }
}

/// How much may still be done for a page.
#[derive(Debug)]
pub(super) struct Work(Cell<usize>);

impl Work {
    pub(super) fn new(steps: usize) -> Self {
        Self(Cell::new(steps))
    }

    /// Takes from what is left; false when it does not suffice.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(steps);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}

/// A selector with what its search may still do; what it has no work left for does not match.
pub(super) struct Within<'s>(pub &'s Selector, pub &'s Work);

impl Predicate for Within<'_> {
    fn matches(&self, node: &Node<'_>) -> bool {
        let Self(selector, work) = self;
        work.spend(selector.0.len()) && Element.matches(node) && selector.0.iter().any(|path| path.fits(node, work))
    }
}

impl std::str::FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut input = Input { text, rest: text };
        let mut paths = Vec::new();
        loop {
            paths.push(input.path()?);
            match input.next() {
                Some(',') => {}
                None => return Ok(Self(paths)),
                Some(c) => return Err(input.wrong(&format!("{c:?} is not understood here"))),
            }
        }
    }
}

/// What is left to read.
struct Input<'t> {
    text: &'t str,
    rest: &'t str,
}

impl Input<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    fn eat(&mut self, wanted: &str) -> bool {
        self.rest.strip_prefix(wanted).map(|rest| self.rest = rest).is_some()
    }

    fn space(&mut self) -> bool {
        let trimmed = self.rest.trim_start();
        std::mem::replace(&mut self.rest, trimmed).len() > trimmed.len()
    }

    fn wrong(&self, what: &str) -> SelectorError {
        let before = self.text.len() - self.rest.len();
        let at = self.text.get(..before).map_or(0, |read| read.chars().count()).max(1);
        SelectorError { at, what: what.to_owned() }
    }

    /// The fault is what comes next.
    fn wrong_next(&mut self, what: &str) -> SelectorError {
        self.next();
        self.wrong(what)
    }

    fn path(&mut self) -> Result<Path, SelectorError> {
        self.space();
        let mut steps = vec![(Join::Within, self.tests()?)];
        loop {
            let space = self.space();
            let join = match self.peek() {
                None | Some(',') => return Ok(Path(steps)),
                Some('>') => {
                    self.next();
                    self.space();
                    Join::Child
                }
                Some('+' | '~') => {
                    return Err(self.wrong_next("siblings (+ and ~) are not understood; use white space or >"));
                }
                Some(_) if space => Join::Within,
                Some(c) => return Err(self.wrong_next(&format!("{c:?} is not understood here"))),
            };
            if steps.len() == MAX_STEPS {
                return Err(self.wrong(&format!("more than {MAX_STEPS} steps")));
            }
            steps.push((join, self.tests()?));
        }
    }

    fn tests(&mut self) -> Result<Vec<Test>, SelectorError> {
        let mut tests = Vec::new();
        while let Some(test) = self.test(tests.is_empty())? {
            tests.push(test);
        }
        if tests.is_empty() {
            return Err(self.wrong_next("an element, .class, #id or [attribute] is expected"));
        }
        Ok(tests)
    }

    fn test(&mut self, first: bool) -> Result<Option<Test>, SelectorError> {
        Ok(Some(if first && self.eat("*") {
            Test::Any
        } else if self.eat("#") {
            Test::Id(self.name()?)
        } else if self.eat(".") {
            Test::Class(self.name()?)
        } else if self.eat("[") {
            self.attribute()?
        } else if self.eat(":") {
            self.pseudo()?
        } else if first && self.peek().is_some_and(is_name) {
            Test::Tag(self.name()?.to_ascii_lowercase())
        } else {
            return Ok(None);
        }))
    }

    fn name(&mut self) -> Result<String, SelectorError> {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(self.wrong_next("a name is expected"));
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn attribute(&mut self) -> Result<Test, SelectorError> {
        self.space();
        let name = self.name()?.to_ascii_lowercase();
        self.space();
        let compare = [
            ("]", Compare::Present),
            ("=", Compare::Equal),
            ("~=", Compare::Word),
            ("^=", Compare::Start),
            ("$=", Compare::End),
            ("*=", Compare::Part),
        ];
        let Some((_, compare)) = compare.into_iter().find(|(sign, _)| self.eat(sign)) else {
            return Err(self.wrong_next("one of = ~= ^= $= *= ] is expected"));
        };
        if compare == Compare::Present {
            return Ok(Test::Attribute(name, compare, String::new()));
        }
        self.space();
        let value = self.value()?;
        self.space();
        if self.eat("]") { Ok(Test::Attribute(name, compare, value)) } else { Err(self.wrong_next("] is expected")) }
    }

    fn value(&mut self) -> Result<String, SelectorError> {
        let quote = self.peek().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else { return self.name() };
        self.next();
        let Some((value, rest)) = self.rest.split_once(quote) else {
            return Err(self.wrong("the quote is not closed"));
        };
        self.rest = rest;
        Ok(value.to_owned())
    }

    fn pseudo(&mut self) -> Result<Test, SelectorError> {
        if self.eat("first-child") {
            return Ok(Test::First);
        }
        if self.eat("last-child") {
            return Ok(Test::Last);
        }
        if !self.eat("not(") {
            return Err(self.wrong("of : only :not(…), :first-child and :last-child are understood"));
        }
        self.space();
        let inner = self.test(true)?;
        self.space();
        match inner {
            Some(inner) if self.eat(")") => Ok(Test::Not(Box::new(inner))),
            _ => Err(self.wrong_next(":not(…) takes one element, .class, #id or [attribute]")),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}
