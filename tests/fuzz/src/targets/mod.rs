//! One module a target: `check` takes any bytes and asserts what must hold for them.
//!
//! The fuzzer calls them one by one (`fuzz_targets/`), the program's tests call all of them with the corpus. The rooms of
//! the program come from the module above, so that the same files are built in both places.

use super::{base, content, document, domain, net, warc};

pub mod ask;
pub mod blocks;
pub mod card;
pub mod charset;
pub mod chunked_body;
pub mod content_coding;
pub mod cookies;
pub mod extract;
pub mod feed;
pub mod headers;
pub mod html;
pub mod http_answer;
pub mod http_head;
pub mod mime;
pub mod mirror_name;
pub mod robots;
pub mod sitemap;
pub mod url;
pub mod warc_reader;
pub mod words;

mod input;
mod pages;

/// What a target is: it returns, or panics.
pub type Check = fn(&[u8]);

/// Every target by the name of its corpus folder.
pub const ALL: &[(&str, Check)] = &[
    ("ask", ask::check),
    ("blocks", blocks::check),
    ("card", card::check),
    ("charset", charset::check),
    ("chunked_body", chunked_body::check),
    ("content_coding", content_coding::check),
    ("cookies", cookies::check),
    ("extract", extract::check),
    ("feed", feed::check),
    ("headers", headers::check),
    ("html", html::check),
    ("http_answer", http_answer::check),
    ("http_head", http_head::check),
    ("mime", mime::check),
    ("mirror_name", mirror_name::check),
    ("robots", robots::check),
    ("sitemap", sitemap::check),
    ("url", url::check),
    ("warc_reader", warc_reader::check),
    ("words", words::check),
];
