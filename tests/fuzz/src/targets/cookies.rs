//! Cookies. Input: values of `Set-Cookie`, a line each, all set by one page.

use std::sync::LazyLock;

use super::base::time::UnixMillis;
use super::domain::url::{Canonicaliser, PageUrl};
use super::net::cookies::{Jar, Limits};

const NOW: UnixMillis = UnixMillis(1_796_000_000_000);
const LIMITS: Limits = Limits { per_host: 8, max_bytes: 200, max_hosts: 2 };

/// The page that sets them, pages of the same domain, and one of another.
static PAGES: LazyLock<[PageUrl; 4]> = LazyLock::new(|| {
    let canonicaliser = Canonicaliser::default();
    let urls = ["https://a.h.test/x/y", "https://b.h.test/x/y", "http://h.test/x", "https://other.example/x/y"];
    urls.map(|url| canonicaliser.parse(url).expect("a good URL"))
});

/// None goes to another domain, none keeps a good one from being sent, and all have their bounds.
pub fn check(data: &[u8]) {
    let [page, beside, above, other] = &*PAGES;
    let jar = Jar::new(LIMITS);
    for line in data.split(|b| *b == b'\n') {
        jar.take(page, line, NOW);
        assert!(jar.len() <= LIMITS.per_host * LIMITS.max_hosts);
    }
    let before = sent(&jar, beside);
    jar.take(page, b"good=1", NOW);
    let header = sent(&jar, page).expect("a good cookie is sent");
    assert!(header.split(|b| *b == b';').any(|pair| pair.trim_ascii() == b"good=1"));
    assert_eq!(sent(&jar, beside), before, "without a domain it is for its host alone");
    let _ = sent(&jar, above);
    assert_eq!(sent(&jar, other), None);
}

fn sent(jar: &Jar, page: &PageUrl) -> Option<Vec<u8>> {
    jar.header(page, NOW).map(|header| header.as_bytes().to_vec())
}
