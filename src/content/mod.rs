//! What bodies say: charset, MIME type, markup, links, feeds, sitemaps, extraction, and the modules that read them by their type.
//!
//! Pure as `domain` is: no IO, no clock. A body comes as bytes or text, in pieces; what comes out is data.

pub mod challenge;
pub mod charset;
pub mod css;
pub mod extract;
pub mod feed;
pub mod html;
pub mod json_feed;
pub mod link_header;
pub mod mime;
pub mod modules;
pub mod sitemap;
pub mod xml;
