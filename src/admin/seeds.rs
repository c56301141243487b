//! Seeds as they come in: one a line, or JSON.

use serde::Deserialize;
use utoipa::ToSchema;

use super::control::{NewSeed, RejectedSeed};
use crate::domain::seed::{check_said, in_utf8, seed_lines};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    /// URLs of which nothing else is said.
    #[serde(default)]
    urls: Option<Vec<String>>,
    /// Seeds with what is said of them; instead of `urls`.
    #[serde(default)]
    seeds: Option<Vec<NewSeed>>,
}

/// The seeds of a request, with the lines of it that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub seeds: Vec<NewSeed>,
    pub refused: Vec<RejectedSeed>,
}

/// Reads a request's body. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// A sentence: what is wrong with the body and what it should be.
pub(super) fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Given, String> {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    // No URL begins with a brace, or with a list: what does is JSON, whatever a client such as curl says it is.
    let bare = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let list = bare.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    let is_json =
        bare.first() == Some(&b'{') || list.is_some_and(|rest| matches!(rest, [b'"' | b'{' | b'[' | b']', ..]));
    let given = if essence.eq_ignore_ascii_case("application/json") || is_json {
        Given { seeds: of_json(bare)?, ..Given::default() }
    } else {
        of_text(body)
    };
    if given.seeds.is_empty() && given.refused.is_empty() {
        return Err("no URL in the body; send one a line, or JSON {\"urls\": […]}".into());
    }
    let said = |seed: &NewSeed| check_said(seed.rank, &seed.tags).map_err(|why| format!("{}: {why}", seed.url));
    given.seeds.iter().try_for_each(said)?;
    Ok(given)
}

fn of_json(json: &[u8]) -> Result<Vec<NewSeed>, String> {
    let expected = "expected {\"urls\": [\"https://…\", …]} or {\"seeds\": [{\"url\": \"https://…\", \"rank\": 0}, …]}";
    if json.first() == Some(&b'[') {
        return Err(format!("a list stands alone; {expected}")); // it would be read as the fields of the object
    }
    match serde_json::from_slice(json).map_err(|e| format!("{e}; {expected}"))? {
        Body { urls: Some(_), seeds: Some(_) } => Err(
            "`urls` and `seeds` are two forms of the same: send one of them, a URL of which more is said in `seeds`"
                .into(),
        ),
        Body { urls: Some(urls), .. } => Ok(urls.into_iter().map(NewSeed::from).collect()),
        Body { seeds, .. } => Ok(seeds.unwrap_or_default()),
    }
}

fn of_text(body: &[u8]) -> Given {
    let mut given = Given::default();
    for (number, line) in seed_lines(&in_utf8(body)) {
        match line {
            Ok(url) => given.seeds.push(NewSeed::from(url.to_owned())),
            Err(shown) => {
                given.refused.push(RejectedSeed { url: shown, reason: format!("line {number} is not UTF-8 text") });
            }
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_json_give_the_same_seeds() {
        let seeds = ["http://a.test/", "http://b.test/"].map(|url| NewSeed::from(url.to_owned())).to_vec();
        let expected = Ok(Given { seeds, refused: Vec::new() });
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
        let seed = NewSeed { url: "http://a.test/".into(), rank: Some(0), max_depth: Some(3), tags, guessed: false };
        assert_eq!(parse(None, body), Ok(Given { seeds: vec![seed], refused: Vec::new() }));
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
        let bodies: [(Option<&str>, &[u8]); 8] = [
            (None, b""),
            (None, b"[]"),
            (Some("application/x-www-form-urlencoded"), b"[ \"http://a.test/\" ]"),
            (None, b"# nothing\n"),
            (Some("application/json"), b"\xff\xfe"),
            (Some("application/json"), br#"[["http://a.test/"]]"#),
            (Some("application/json"), b"[]"),
            (Some("application/json"), br#"{"urls": [], "x": 1}"#),
        ];
        for (kind, body) in bodies {
            assert!(parse(kind, body).is_err());
        }
        assert!(parse(Some("application/json"), b"{}").unwrap_err().contains("\"urls\""));
        assert_eq!(parse(None, b"[::1]:8080/").unwrap().seeds.len(), 1, "an address is no list");
    }

    #[test]
    fn a_line_that_is_no_text_costs_itself_alone_and_is_named_by_its_number() {
        let given = parse(None, b"\xef\xbb\xbfhttp://a.test/\n\nhttp://b.test/\xff\r\nhttp://c.test/").unwrap();
        let urls: Vec<&str> = given.seeds.iter().map(|seed| seed.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/", "http://c.test/"]);
        assert_eq!(given.refused.len(), 1);
        assert!(given.refused[0].reason.contains("line 3") && given.refused[0].url.contains("b.test"), "{given:?}");
    }

    #[test]
    fn both_forms_at_once_are_refused_in_a_sentence() {
        let both = br#"{"urls": ["http://a.test/"], "seeds": [{"url": "http://b.test/"}]}"#;
        assert!(parse(None, both).unwrap_err().contains("send one of them"));
    }
}
