//! A body by the MIME module that takes it, whole or in pieces.

use std::sync::LazyLock;

use super::content::html::Page;
use super::content::modules::{Body, MimeModules, ParseRules};

static MODULES: LazyLock<MimeModules> = LazyLock::new(MimeModules::default);

/// What the module for this body makes of it in pieces of `size` bytes; none if no module takes it.
pub fn page(body: &Body<'_>, rules: &ParseRules, size: usize) -> Option<Page> {
    let mut sink = MODULES.of(body)?.open(body, rules);
    let _ = body.head.chunks(size).all(|piece| sink.push(piece));
    Some(sink.finish())
}

/// The page, which is the same in pieces of `size` bytes.
pub fn same_page(body: &Body<'_>, rules: &ParseRules, size: usize) -> Option<Page> {
    let (whole, cut) = (page(body, rules, body.head.len().max(1))?, page(body, rules, size)?);
    assert_eq!((whole.charset, whole.charset_source), (cut.charset, cut.charset_source));
    assert_eq!(whole.facts, cut.facts, "in pieces of {size}");
    Some(whole)
}
