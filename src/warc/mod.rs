//! warc.
