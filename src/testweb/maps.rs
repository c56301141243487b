//! Sitemaps as sites write them: a namespace or none, white space, CDATA, text files.

use std::io::Write as _;

use super::page::About;
use super::place::{Map, Node, Place};
use super::shape::Shape;

/// Appends the sitemap at `node`, not compressed.
pub(super) fn write(shape: &Shape, node: Node, out: &mut Vec<u8>) -> About {
    let named = shape.links(node).into_iter().map(|link| link.to);
    // Writing to a Vec cannot fail.
    let content_type = match node.place {
        Place::Map(Map::Index) => {
            let _ = writeln!(out, "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex>");
            named.for_each(|to| {
                let _ = writeln!(out, "<sitemap><loc><![CDATA[{}]]></loc></sitemap>", to.url());
            });
            out.extend_from_slice(b"</sitemapindex>\n");
            "text/xml"
        }
        Place::Map(Map::Lines) => {
            named.for_each(|to| {
                let _ = writeln!(out, "{}", to.url());
            });
            "text/plain; charset=utf-8"
        }
        _ => {
            let _ = writeln!(out, "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">");
            for (i, to) in named.enumerate() {
                let url = to.url().replace('&', "&amp;");
                let _ = writeln!(out, "<url><loc>\n {url}\n</loc><priority>0.{}</priority></url>", i % 10);
            }
            out.extend_from_slice(b"</urlset>\n");
            "application/x-gzip"
        }
    };
    About { content_type, robots_tag: None }
}
