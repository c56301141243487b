//! A user name and a password in the URL of a seed, as `curl` takes them. They are not part of what names a page, and would stand in logs and
//! lists of seeds: they are said in a section of the configuration, for whatever is below its URL.

use url::{Position, Url};

/// Why a seed, or another URL that was typed, is not taken: it has a user name or a password, and what to write in its place. Neither of them is
/// repeated. None when it has neither.
pub fn login_refused(text: &str) -> Option<String> {
    let text = text.trim();
    let of_web = |url: &Url| matches!(url.scheme(), "http" | "https");
    let bare = || text.split_once("//").is_none() && !text.to_ascii_lowercase().starts_with("mailto:");
    let whole = Url::parse(text).ok().filter(of_web);
    let url = whole.or_else(|| bare().then(|| Url::parse(&format!("https://{text}")).ok()).flatten())?;
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let (scheme, server) = (url.scheme(), &url[Position::BeforeHost..Position::AfterPort]);
    Some(format!(
        "{scheme}://…@{server} has a user name or a password, which is not taken from a URL: write it without, and in the \
         configuration a section [[credentials]] with url = \"{scheme}://{server}/\", user = \"…\" and password_file = \"…\" (or password)"
    ))
}

#[cfg(test)]
mod tests {
    use super::login_refused;

    #[test]
    fn a_url_with_a_login_is_refused_with_the_section_for_its_server_and_shows_neither_part() {
        for (text, server) in [
            ("https://alice:hidden@h.test/docs?x=1#y", "https://h.test/"),
            ("http://alice@h.test:8080", "http://h.test:8080/"),
            ("  HTTPS://:hidden@H.test:443/", "https://h.test/"),
            ("alice:hidden@h.test/docs", "https://h.test/"),
            ("alice@h.test", "https://h.test/"),
            ("https://alice:hidden%40x@[::1]:8443/", "https://[::1]:8443/"),
            ("https:/alice:hidden@h.test/", "https://h.test/"),
            ("http://alice:hid@den@h.test/", "http://h.test/"),
        ] {
            let why = login_refused(text).unwrap_or_else(|| panic!("{text}"));
            assert!(why.contains("[[credentials]]") && why.contains(&format!("url = \"{server}\"")), "{why}");
            assert!(!why.contains("alice") && !why.contains("hid"), "{why}");
        }
    }

    #[test]
    fn an_at_sign_elsewhere_is_no_login() {
        for text in [
            "https://h.test/@alice",
            "https://h.test/?mail=alice@h.test",
            "https://h.test/#a@b",
            "h.test/@alice",
            "https://@h.test/",
            "mailto:alice@h.test",
            "ftp://alice:hidden@h.test/",
            "",
            "@",
            "://",
        ] {
            assert_eq!(login_refused(text), None, "{text}");
        }
    }
}
