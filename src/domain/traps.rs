//! traps.
