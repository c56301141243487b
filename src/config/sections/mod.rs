//! The sections of the configuration, each with its defaults. Field names are the keys.

mod access;
mod crawl;
mod depth;
mod extract;
mod fetch;
mod operate;
mod seed;
mod sitemaps;
mod store;
mod supervision;

pub use access::*;
pub use crawl::*;
pub use depth::*;
pub use extract::*;
pub use fetch::*;
pub use operate::*;
pub use seed::*;
pub use sitemaps::*;
pub use store::*;
pub use supervision::*;
