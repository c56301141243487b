//! Tests of canonical URLs.
