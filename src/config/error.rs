//! What can be wrong with a configuration.

use std::path::PathBuf;

/// A configuration that cannot be used. `Display` is one line: where, which key, what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}; give the path of a TOML file, or make one with `lycosa config init`", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A value has the wrong form, or a key is unknown.
    #[error("{place}: {key}: {problem}")]
    Value {
        /// Where it was set: `FILE:LINE`, `environment variable NAME`, `--set`, `default`.
        place: String,
        /// The dotted key, such as `fetch.timeouts.connect`.
        key: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// A key that is read at the start only.
    #[error("{key} cannot change while the crawl runs: set it in the configuration; a restart is needed")]
    NeedsRestart {
        /// The dotted key.
        key: String,
    },
    /// The text is no TOML.
    #[error("{place}: {problem}")]
    Syntax {
        /// Where, with the line.
        place: String,
        /// What the parser expected.
        problem: String,
    },
    /// A folder inside another that must be left alone.
    #[error("{key}: {} is, or lies in, {within}; name a folder of its own", path.display())]
    Place {
        /// The dotted key.
        key: &'static str,
        /// The folder, without links.
        path: PathBuf,
        /// What it lies in.
        within: String,
    },
    /// Nothing to crawl.
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
    NoContact {
        /// The first seed that needs it.
        seed: String,
    },
}
