//! Configuration: the file form (strict serde) becomes checked [`Settings`].
//!
//! Precedence, lowest first: built-in defaults, the file, environment variables `LYCOSA_SECTION__KEY`, flags.
//! Over all of them lies what was changed over HTTP while the crawl ran ([`Layers::admin`]), of those keys that may change so.
//! [`Layers`] collects the sources, [`Layers::load`] merges and checks them; every error names where the value came
//! from, its key and what is allowed.
//!
//! A new key: field and default in `sections/`, its bounds in `check/`, a line in `config/lycosa.toml` (a test asks for it), handed on in
//! `rules.rs`; also `changeable.rs` if it may change while a crawl runs.

mod access;
mod changeable;
mod check;
mod contact;
mod dictionary;
mod error;
mod file;
mod layers;
mod places;
mod rules;
mod secrets;
mod sections;
mod settings;
mod shape;
mod source;
mod variables;

#[cfg(test)]
mod tests;

pub use crate::domain::scope::ScopeMode;
pub use crate::net::dns::Family;
pub use crate::net::tls::{TlsOld, TlsVerify};
pub use access::AccessError;
pub use changeable::{CHANGEABLE, check_changeable, is_changeable};
pub use check::{is_seed, is_web_url};
pub use error::ConfigError;
pub use file::FileForm;
pub use layers::{Layers, Origin, Shown};
pub use secrets::{ProxyUrl, Secret, server_only, shown_headers, without_credentials};
pub use sections::*;
pub use settings::{Agent, Settings};
