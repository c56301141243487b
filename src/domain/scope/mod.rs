//! Which URLs a crawl wants: by host, domain or prefix, by pattern, by file type and by depth.
//!
//! A URL is asked, in this order: `deny_hosts`; the mode (or `allow_hosts`, or a host that joined); `exclude`;
//! `include`; `skip_extensions`; `max_depth`. The first that says no decides.

mod error;
mod extensions;
mod hosts;
mod judge;
mod prefixes;
mod rule;
mod rules;

pub use error::ScopeError;
pub use extensions::{SKIPPED_FILES, SKIPPED_PARTS};
pub use judge::Scope;
pub use rules::{ScopeMode, ScopeRules};

#[cfg(test)]
mod tests;
