//! What can be wrong with a configuration.

use std::path::PathBuf;

/// A configuration that cannot be used. `Display` is one line: where, which key, what is allowed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
#[non_exhaustive]
pub enum ConfigError {
    #[error("cannot read the configuration {}: {source}; give the path of a TOML file, or make one with `lycosa config init`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// A value has the wrong form, or a key is unknown.
    #[error("{place}: {key}: {problem}")]
    Value { place: String, key: String, problem: String },
    /// A key that is read at the start only.
    #[error("{key} cannot change while the crawl runs: set it in the configuration; a restart is needed")]
    NeedsRestart { key: String },
    /// The text is no TOML.
    #[error("{place}: {problem}")]
    Syntax { place: String, problem: String },
    /// A folder inside another that must be left alone.
    #[error("{key}: {} is, or lies in, {within}; name a folder of its own", path.display())]
    Place { key: &'static str, path: PathBuf, within: String },
    #[error(
        "nothing to crawl: no seed is set; add `--seed https://example.org/`, or set crawl.seeds in the configuration; a \
         daemon that waits for seeds is set up by a file: `lycosa config init crawl.toml`, `lycosa run crawl.toml`"
    )]
    NoSeeds,
    /// Public addresses are to be crawled by a crawler nobody could write to.
    #[error(
        "the URL {seed} is on a public address, so the sites must be able to reach you: add `--contact you@example.org` \
         (or --contact https://example.org/about-my-crawler), or set agent.email or agent.url"
    )]
    NoContact { seed: String },
}
