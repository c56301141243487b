//! fingerprint.
