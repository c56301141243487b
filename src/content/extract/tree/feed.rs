//! Feeds html5ever piece by piece, so that what its tokenizer does within one tag is bounded too.
//!
//! It looks for each attribute among those that its tag has already: a tag of 400,000 attributes takes it minutes. While a tag is
//! open no token comes. Where it begins only the tree builder knows, for scripts and comments have what looks like tags; but from any
//! `<` on what follows is divided into attributes in one way only. So the most that a tag can have is the most over all places where
//! one may have begun since the last token ([`Attributes`]); a long value in quotes is one, and a comment has few.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, TokenizerResult,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};
use markup5ever_rcdom::{Handle, RcDom};

use super::attributes::Attributes;
use super::sink::{Counting, stop};
use super::{MAX_ATTRIBUTES, TreeFault};
use crate::domain::text::cut_at;

/// Bytes given to the tokenizer at a time; few, for what went in with the last token may all be of one tag.
const PIECE: usize = 256;
/// Attributes gone through in the time of one step of work.
const LOOKS: usize = 8;
/// Steps for one attribute of a formatting element that is held against another.
const HELD: usize = 8;
/// Elements that are built anew where they were left open (HTML, 13.2.4.3); a second `a` ends the first, so that it is never one
/// of many.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// The tree of a page; ends by unwinding with a [`TreeFault`] where it is beyond the bounds.
pub(super) fn parse(html: &str) -> RcDom {
    run(html).finish()
}

/// The same with its counts.
pub(super) fn run(html: &str) -> Counting {
    let opts = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let sink = Watched { builder: TreeBuilder::new(Counting::default(), opts), tokens: 0, widest: 0 };
    let mut tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let mut input = BufferQueue::new();
    let mut silent = Silence::default();
    let mut rest = html;
    while !rest.is_empty() {
        let piece = cut_at(rest, PIECE);
        input.push_back(StrTendril::from_slice(piece));
        while let TokenizerResult::Script(_) = tokenizer.feed(&mut input) {}
        let steps = silent.after(piece, tokenizer.sink.tokens);
        tokenizer.sink.builder.sink.spend(steps);
        rest = rest.get(piece.len()..).unwrap_or_default();
    }
    while let TokenizerResult::Script(_) = tokenizer.feed(&mut input) {}
    tokenizer.end();
    tokenizer.sink.builder.sink
}

/// What went in since the last token.
#[derive(Default)]
struct Silence {
    open: Attributes,
    tokens: usize,
}

impl Silence {
    /// The steps that a piece may have taken for its attributes, when there have been so many tokens.
    fn after(&mut self, piece: &str, tokens: usize) -> usize {
        if self.tokens != tokens {
            (self.open, self.tokens) = (Attributes::default(), tokens); // a tag that is open now began in this piece
        }
        let before = self.open.most();
        let most = self.open.over(piece.as_bytes());
        let new = most.saturating_sub(before);
        (before * new + new * new / 2) / LOOKS
    }
}

/// The tree builder, and what it is given.
struct Watched {
    builder: TreeBuilder<Handle, Counting>,
    tokens: usize,
    /// Attributes of the formatting element that has most of them.
    widest: usize,
}

impl Watched {
    /// A formatting element is held against all that are open, attribute by attribute.
    fn weigh(&mut self, tag: &Tag) {
        if tag.attrs.len() > MAX_ATTRIBUTES {
            stop(TreeFault::TooLarge);
        }
        if tag.kind == StartTag && FORMATTING.contains(&&*tag.name) {
            self.widest = self.widest.max(tag.attrs.len());
            self.builder.sink.spend(HELD * self.widest * self.builder.sink.depth);
        }
    }
}

impl TokenSink for Watched {
    type Handle = Handle;

    fn process_token(&mut self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        match &token {
            Token::ParseError(_) => return TokenSinkResult::Continue, // not kept, and no sign that a tag has ended
            TagToken(tag) => self.weigh(tag),
            _ => {}
        }
        self.tokens += 1;
        self.builder.process_token(token, line)
    }

    fn end(&mut self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}
