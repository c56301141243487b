//! Extraction rules (`[[extract]]`): named values taken from pages by CSS selectors.
//!
//! Only pages that a rule is meant for are read into a tree. [`tree`] builds it with html5ever within bounds, because hostile markup
//! makes trees that are far larger and deeper than itself; `selector` is the subset of CSS that is understood, on `select`'s nodes.

mod rule;
mod selector;
mod tree;

pub use rule::{ExtractRule, ExtractRules, Extracted, Found, RuleError, Take};
pub use selector::{Selector, SelectorError};
pub use tree::{TreeFault, tree};
