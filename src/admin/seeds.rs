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
    use crate::domain::cases::{rows, unescaped};

    #[test]
    fn lines_and_json_give_the_same_seeds_and_a_body_without_any_is_refused_with_the_form_expected() {
        for row in rows(include_str!("../../tests/data/admin/seeds.txt"), 3) {
            let kind = Some(row.cells[0]).filter(|kind| *kind != "-");
            match (parse(kind, &unescaped(row.cells[1])), row.cells[2].strip_prefix("error: ")) {
                (Err(error), Some(part)) => assert!(error.contains(part), "{}: {error}", row.text),
                (given, _) => {
                    let urls = row.cells[2].split(' ').map(|url| NewSeed::from(url.to_owned())).collect();
                    assert_eq!(given, Ok(Given { seeds: urls, refused: Vec::new() }), "{}", row.text);
                }
            }
        }
        let said = br#"{"seeds": [{"url": "http://a.test/", "rank": 0, "max_depth": 3, "tags": ["news", "de"]}]}"#;
        let tags = vec!["news".to_owned(), "de".to_owned()];
        let seed =
            NewSeed { url: "http://a.test/".into(), rank: Some(0), max_depth: Some(3), tags, ..NewSeed::default() };
        assert_eq!(parse(None, said), Ok(Given { seeds: vec![seed], refused: Vec::new() }));
    }

    #[test]
    fn a_line_that_is_no_text_costs_itself_alone_and_is_named_by_its_number() {
        let given = parse(None, b"\xef\xbb\xbfhttp://a.test/\n\nhttp://b.test/\xff\r\nhttp://c.test/").unwrap();
        let urls: Vec<&str> = given.seeds.iter().map(|seed| seed.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/", "http://c.test/"]);
        assert_eq!(given.refused.len(), 1);
        assert!(given.refused[0].reason.contains("line 3") && given.refused[0].url.contains("b.test"), "{given:?}");
    }
}
