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
    use crate::domain::cases::{check, unescape};

    #[test]
    fn a_url_with_a_login_is_refused_with_the_section_for_its_server_and_shows_neither_part() {
        check(include_str!("../../tests/data/url_login.txt"), |[text]| {
            let Some(why) = login_refused(&unescape(text)) else { return ["-".to_owned()] };
            assert!(why.contains("[[credentials]]") && !why.contains("alice") && !why.contains("hid"), "{why}");
            let section = why.split_once("url = \"").and_then(|(_, url)| url.split_once('"'));
            [section.unwrap().0.to_owned()]
        });
        assert_eq!(login_refused(""), None);
    }
}
