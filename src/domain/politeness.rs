//! politeness.
