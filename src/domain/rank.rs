//! rank.
