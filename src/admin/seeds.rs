//! Seeds as they come in: one a line, or JSON.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    urls: Vec<String>,
}

/// Reads a request's body. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// A sentence: what is wrong with the body and what it should be.
pub(super) fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8 text".to_owned())?;
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    // No URL begins with a brace: what does is JSON, whatever a client such as curl says it is.
    let json = text.trim_start_matches('\u{feff}').trim_start();
    let urls = if essence.eq_ignore_ascii_case("application/json") || json.starts_with('{') {
        serde_json::from_str::<Body>(json).map_err(|e| format!("{e}; expected {{\"urls\": [\"https://…\", …]}}"))?.urls
    } else {
        lines(text)
    };
    if urls.is_empty() {
        Err("no URL in the body; send one a line, or JSON {\"urls\": […]}".into())
    } else {
        Ok(urls)
    }
}

/// The URLs of a text, one a line.
#[must_use]
pub(crate) fn lines(text: &str) -> Vec<String> {
    let text = text.trim_start_matches('\u{feff}');
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_json_give_the_same_seeds() {
        let expected = Ok(vec!["http://a.test/".to_owned(), "http://b.test/".to_owned()]);
        assert_eq!(parse(None, b"# mine\r\nhttp://a.test/\r\n\n  http://b.test/"), expected);
        let json = br#"{"urls": ["http://a.test/", "http://b.test/"]}"#;
        for kind in [Some("application/json; charset=utf-8"), Some("application/x-www-form-urlencoded"), None] {
            assert_eq!(parse(kind, json), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_body_without_seeds_is_refused_with_the_form_expected() {
        let bodies: [(Option<&str>, &[u8]); 5] = [
            (None, b""),
            (None, b"# nothing\n"),
            (None, b"\xff\xfe"),
            (Some("application/json"), b"[]"),
            (Some("application/json"), br#"{"urls": [], "x": 1}"#),
        ];
        for (kind, body) in bodies {
            assert!(parse(kind, body).is_err());
        }
        assert!(parse(Some("application/json"), b"{}").unwrap_err().contains("\"urls\""));
    }
}
