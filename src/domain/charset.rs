//! charset.
