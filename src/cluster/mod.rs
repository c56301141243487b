//! One crawl on several machines: what its members say to each other, and the lease by which each of them works.

pub mod engine;
