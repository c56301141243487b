//! The sections of the configuration, each with its defaults. Field names are the keys.

mod access;
mod cluster;
mod crawl;
mod depth;
mod fetch;
mod index;
mod operate;
mod pages;
mod seed;
mod sink;
mod store;

use crate::base::section::section;

pub use access::*;
pub use cluster::*;
pub use crawl::*;
pub use depth::*;
pub use fetch::*;
pub use index::*;
pub use operate::*;
pub use pages::*;
pub use seed::*;
pub use sink::*;
pub use store::*;
