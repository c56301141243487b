//! url.
