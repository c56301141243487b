//! How a link is written into a page: tidy, or as badly as browsers still understand; and decoys, where no link is.

use super::dice::{Salt, pick};
use super::href::Writer;
use super::shape::{Link, Tag};
use super::words;

/// Appends a link of the body; `broken` allows bad markup.
pub(super) fn link(out: &mut Vec<u8>, page: &Writer<'_>, link: &Link, index: u32, broken: bool) {
    let rel = if link.nofollow { " rel=\"noopener nofollow\"" } else { "" };
    let (before, after) = match link.tag {
        Tag::Area => {
            (format!("<map name=\"m{index}\"><area shape=\"default\"{rel} href=\""), "\" alt=\"\"></map>".to_owned())
        }
        Tag::Iframe => ("<iframe src=\"".to_owned(), "\"></iframe>".to_owned()),
        _ if broken => return bad_anchor(out, page, &href(page, link, index), rel, index),
        _ => (format!("<a{rel} href=\""), format!("\">link {index}</a>")),
    };
    around(out, page, &before, &href(page, link, index), &after);
}

/// Appends a link of the head.
pub(super) fn head_link(out: &mut Vec<u8>, page: &Writer<'_>, link: &Link, index: u32) {
    let before = match link.tag {
        Tag::LinkNext => "<link rel=\"next\" href=\"",
        Tag::Refresh => "<meta http-equiv=\"refresh\" content=\"30; url=",
        _ => "<link rel=\"canonical\" href=\"",
    };
    around(out, page, before, &href(page, link, index), "\">\n");
}

fn href(page: &Writer<'_>, link: &Link, index: u32) -> String {
    let mut href = String::with_capacity(64);
    page.href(&mut href, link.to, index);
    href
}

/// Appends an attribute value between double quotes, in the page's charset, and the markup around it.
fn around(out: &mut Vec<u8>, page: &Writer<'_>, before: &str, value: &str, after: &str) {
    out.extend_from_slice(before.as_bytes());
    let escaped = if value.contains('&') { &value.replace('&', "&amp;") } else { value };
    words::write(out, page.charset, escaped);
    out.extend_from_slice(after.as_bytes());
}

/// An anchor that breaks the rules, yet is a link to every browser.
fn bad_anchor(out: &mut Vec<u8>, page: &Writer<'_>, href: &str, rel: &str, index: u32) {
    let escaped = href.replace('&', "&amp;");
    let split = escaped.char_indices().nth(2).map_or(escaped.len(), |(at, _)| at);
    let (first, rest) = escaped.split_at_checked(split).unwrap_or((&escaped, ""));
    let text = match page.shape.dice.draw(Salt::Markup, page.host, page.content, index) % 13 {
        0 => format!("<A{rel} HREF='{escaped}'>upper case</A>"),
        1 => format!("<a{rel} href={escaped} >no quotes</a>"),
        2 => format!("<a{rel} href=\" \n\t{escaped}\r\n \">white space</a>"),
        3 => format!("<a{rel} class=\"x\"href=\"{escaped}\">no space</a>"),
        4 => format!("<a{rel} href=\"{escaped}\" href=\"/never/1\">twice</a>"),
        5 => format!("<a{rel} href=\"{}\">entities</a>", with_entities(href)),
        6 => format!("<a/{rel}/href=\"{escaped}\"/>closes itself"),
        7 => format!("<a{rel} href=\"{first}\n\t{rest}\">a line break inside</a>"),
        8 => format!("<a{rel} href=\"{escaped}\">never closed <b><i>"),
        9 => format!("<a title=\"a > b\"{rel} href=\"{escaped}\">greater</b></i></a>"),
        10 => format!("<a{rel} href=\"{escaped}\" <b>less in a tag</a>"),
        11 => format!("<a{rel}\n\thref\n=\n'{escaped}'\n>on many lines</a\n>"),
        _ => format!("<table><tr><a{rel} href=\"{escaped}\">in a table row</table>"),
    };
    words::write(out, page.charset, &text);
}

/// Escapes, and writes slashes and the letter p as numeric entities, decimal and hexadecimal.
fn with_entities(href: &str) -> String {
    let mut out = String::with_capacity(href.len() * 3);
    for letter in href.chars() {
        match letter {
            '/' => out.push_str("&#47;"),
            'p' => out.push_str("&#x70;"),
            '&' => out.push_str("&AMP;"),
            other => out.push(other),
        }
    }
    out
}

/// Things that look like links and are none; `{}` stands for `/never/N`. Each leaves the parser where it was.
const DECOYS: [&str; 25] = [
    "<!-- <a href=\"{}\">commented out</a> -->",
    "<!-- dashes -- > inside <a href=\"{}\">x</a> --!>",
    "<!-->",
    "<!--->",
    "<script>var s = '<a href=\"{}\">'; if (a < b && c > d) { s += \"</a>\"; }</script>",
    "<script><!-- <script> <a href=\"{}\"> </script> <a href=\"{}\"> --></script>",
    "<SCRIPT type=text/x-template><a href=\"{}\">x</a></SCRIPT >",
    "<style>a:after { content: '<a href=\"{}\">' }</style>",
    "<textarea><a href=\"{}\">x</a></textarea>",
    "<title><a href=\"{}\">x</a></title>",
    "<xmp><a href=\"{}\">x</a></xmp>",
    "<noembed><a href=\"{}\">x</a></noembed>",
    "<iframe><a href=\"{}\">x</a></iframe>",
    "<p title=\"unclosed <a href={}>text</a> <b class=\"x\">",
    "<p <a href=\"{}\">",
    "<a name=\"here\" data-href=\"{}\">no href</a>",
    "<div href=\"{}\" src='{}'></div>",
    "</a href=\"{}\">",
    "<?php echo '<a href={}' ?>",
    "<![CDATA[ <b> ]]>",
    "<input value='<a href=\"{}\">'>",
    "<a href=\"javascript:go('{}')\">x</a><a href=\"mailto:a@h0.test?subject={}\">x</a>",
    "<a href=\"data:text/html,<a href={}>\">x</a><a href=\"ftp://h0.test{}\">x</a><a href=\"http://\">x</a>",
    "<img src=\"{}\" srcset=\"{} 2x\" alt='<a href=\"{}\">'>",
    "<link rel=\"stylesheet\" href=\"{}\"><script src=\"{}\"></script>",
];

/// Ends of a page that swallow what follows.
const TAILS: [&str; 5] = [
    "<a href=\"{}",
    "<!-- <a href=\"{}\">never closed",
    "<script>'<a href=\"{}\">'",
    "<plaintext><a href=\"{}\">",
    "<a href='{}\">wrong quote</a> <a href=\"{}\">",
];

/// Appends decoy number `index` of the page.
pub(super) fn decoy(out: &mut Vec<u8>, page: &Writer<'_>, index: u32) {
    let draw = page.shape.dice.draw(Salt::Decoy, page.host, page.content, index);
    let text = pick(draw, &DECOYS, "");
    out.extend_from_slice(never(text, draw).as_bytes());
}

/// Appends an end that leaves something open.
pub(super) fn tail(out: &mut Vec<u8>, page: &Writer<'_>) {
    let draw = page.shape.dice.draw(Salt::Decoy, page.host, page.content, u32::MAX);
    out.extend_from_slice(never(pick(draw, &TAILS, ""), draw).as_bytes());
}

fn never(text: &str, draw: u64) -> String {
    text.replace("{}", &format!("/never/{}", draw % 1_000))
}
