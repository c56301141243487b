//! How hyper is set up for the open web; apart from the connections, so that tests and fuzzers speak with the same
//! settings.

use hyper::client::conn::http1::Builder;

use super::head::{MAX_HEAD, MAX_HEADERS};

/// hyper in its most lenient setting. An answer without a status line stays an error: taken for HTTP/0.9, every SSH
/// banner would be a page.
#[must_use]
pub fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .http09_responses(false)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .title_case_headers(true)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD);
    builder
}
