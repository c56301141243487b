//! Pages that stand in an attribute: `<iframe srcdoc>` (WHATWG HTML, 4.8.5). Their links count like those of the page around them;
//! what else such a page says, it says of itself.

use url::Url;

use super::extract::{ExtractOptions, Extractor};
use super::facts::Link;
use crate::domain::url::join_any;

/// Frames within each other at most.
pub(super) const DEEPEST: u8 = 4;

/// What the page in a frame leads to.
#[derive(Debug, Default)]
pub(super) struct Framed {
    /// Its links, relative to its base.
    pub links: Vec<Link>,
    /// There were more.
    pub cut: bool,
    /// Its own `<base>`, relative to that of the page around it.
    pub base: Option<String>,
    /// It says that its links are not to be followed.
    pub nofollow: bool,
}

/// Reads the markup of a frame that stands so deep, the outermost at 1; one that stands deeper than [`DEEPEST`] leads nowhere.
pub(super) fn read(markup: &str, opts: &ExtractOptions, depth: u8) -> Framed {
    let Some(url) = Url::parse("about:srcdoc").ok().filter(|_| depth <= DEEPEST) else { return Framed::default() };
    let opts = ExtractOptions { max_text: 0, card: false, ..opts.clone() };
    let mut page = Extractor::framed(&url, opts, depth);
    page.feed(markup);
    page.finish_framed()
}

/// The links of a frame made absolute: `outer` is the base of the page around it.
pub(super) fn resolve(links: &mut [Link], base: &str, outer: &Url) {
    let Some(base) = join_any(outer, base) else { return };
    for link in links {
        if let Some(url) = join_any(&base, &link.href) {
            link.href = url.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ExtractOptions, Extractor};
    use super::*;

    fn links(html: &str, max_links: usize) -> (Vec<String>, bool) {
        let page = Url::parse("http://h.test/").unwrap();
        let mut extractor = Extractor::new(&page, ExtractOptions { max_links, ..ExtractOptions::default() });
        extractor.feed(html);
        let facts = extractor.finish();
        (facts.links.into_iter().map(|link| link.href).collect(), facts.links_cut)
    }

    /// A link in a frame in a frame …
    fn frames(deep: u8) -> String {
        (0..deep).fold(String::new(), |inner, n| {
            let inner = inner.replace('&', "&amp;").replace('"', "&quot;");
            format!("<a href=\"/{}\">x</a><iframe srcdoc=\"{inner}\"></iframe>", deep - n)
        })
    }

    #[test]
    fn frames_in_frames_are_read_to_their_depth() {
        let found = links(&frames(9), 100).0;
        assert_eq!(found, ["/1", "/2", "/3", "/4", "/5"], "the page, and four frames");
    }

    #[test]
    fn the_limit_of_links_holds_for_those_in_frames_too() {
        let html =
            format!("<a href=/0>x</a><iframe srcdoc='{}'></iframe><a href=/9>x</a>", "<a href=/1>x</a>".repeat(5));
        assert_eq!(links(&html, 3), (["/0", "/1", "/1", "/9"].map(str::to_owned).to_vec(), false));
        let html = format!(
            "<a href=/0>x</a><iframe srcdoc='{}'></iframe>",
            "<a href=/1>x</a><a href=/2>x</a><a href=/3>x</a><a href=/4>x</a>"
        );
        assert_eq!(links(&html, 1).0.len(), 4);
        assert!(links(&html, 1).1, "told of as of any page");
    }

    #[test]
    fn many_frames_cost_as_much_as_what_is_in_them() {
        let html = "<iframe srcdoc='<base href=/x/><a href=1>x</a>'></iframe>".repeat(2_000);
        let (found, cut) = links(&html, 10_000);
        assert!(found.len() == 2_000 && !cut && found[0] == "http://h.test/x/1");
    }
}
