//! Seeds as they come in: one a line, or JSON.

use serde::Deserialize;
use utoipa::ToSchema;

use super::control::NewSeed;
use crate::domain::frontier::RANKS;

/// Tags of one seed.
const TAGS: usize = 16;
/// Characters of a tag.
const TAG: usize = 64;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    /// URLs of which nothing else is said.
    #[serde(default)]
    urls: Vec<String>,
    /// Seeds with what is said of them.
    #[serde(default)]
    seeds: Vec<NewSeed>,
}

/// Reads a request's body. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// A sentence: what is wrong with the body and what it should be.
pub(super) fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Vec<NewSeed>, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8 text".to_owned())?;
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    // No URL begins with a brace: what does is JSON, whatever a client such as curl says it is.
    let json = text.trim_start_matches('\u{feff}').trim_start();
    let seeds = if essence.eq_ignore_ascii_case("application/json") || json.starts_with('{') {
        let expected =
            "expected {\"urls\": [\"https://…\", …]} or {\"seeds\": [{\"url\": \"https://…\", \"rank\": 0}, …]}";
        let Body { urls, mut seeds } = serde_json::from_str(json).map_err(|e| format!("{e}; {expected}"))?;
        seeds.extend(urls.into_iter().map(NewSeed::from));
        seeds
    } else {
        lines(text).into_iter().map(NewSeed::from).collect()
    };
    if seeds.is_empty() {
        return Err("no URL in the body; send one a line, or JSON {\"urls\": […]}".into());
    }
    seeds.iter().try_for_each(check)?;
    Ok(seeds)
}

/// What is said of a seed makes sense.
fn check(seed: &NewSeed) -> Result<(), String> {
    let NewSeed { url, rank, tags, .. } = seed;
    if let Some(rank) = rank.filter(|rank| usize::from(*rank) >= RANKS) {
        return Err(format!("{url}: rank {rank}; expected 0 to {}", RANKS - 1));
    }
    if tags.len() > TAGS {
        return Err(format!("{url}: {} tags; at most {TAGS}", tags.len()));
    }
    let good = |tag: &String| (1..=TAG).contains(&tag.chars().count()) && !tag.chars().any(char::is_control);
    match tags.iter().find(|tag| !good(tag)) {
        Some(tag) => {
            Err(format!("{url}: the tag {tag:?}; expected 1 to {TAG} characters, none of them a control character"))
        }
        None => Ok(()),
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
        let expected = Ok(["http://a.test/", "http://b.test/"].map(|url| NewSeed::from(url.to_owned())).to_vec());
        assert_eq!(parse(None, b"# mine\r\nhttp://a.test/\r\n\n  http://b.test/"), expected);
        let json = br#"{"urls": ["http://a.test/", "http://b.test/"]}"#;
        for kind in [Some("application/json; charset=utf-8"), Some("application/x-www-form-urlencoded"), None] {
            assert_eq!(parse(kind, json), expected, "{kind:?}");
        }
    }

    #[test]
    fn more_can_be_said_of_a_seed_than_its_url() {
        let body = br#"{"seeds": [{"url": "http://a.test/", "rank": 0, "max_depth": 3, "tags": ["news", "de"]}]}"#;
        let tags = vec!["news".to_owned(), "de".to_owned()];
        let seed = NewSeed { url: "http://a.test/".into(), rank: Some(0), max_depth: Some(3), tags };
        assert_eq!(parse(None, body), Ok(vec![seed]));
        let long = "x".repeat(65);
        for (said, why) in [
            ("\"rank\": 8", "0 to 7"),
            ("\"rank\": -1", "expected"),
            ("\"tags\": [\"\"]", "characters"),
            ("\"tags\": [\"a\\n\"]", "control"),
            (&format!("\"tags\": [\"{long}\"]"), "64"),
            (&format!("\"tags\": {:?}", ["x"; 17]), "at most 16"),
            ("\"depth\": 1", "unknown field"),
        ] {
            let body = format!("{{\"seeds\": [{{\"url\": \"http://a.test/\", {said}}}]}}");
            let error = parse(None, body.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{said}: {error}");
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
