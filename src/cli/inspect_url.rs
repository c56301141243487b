//! `lycosa inspect url [--base B] URL...`: what becomes of a URL.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::admin::views::CanonicalView;
use crate::domain::url::{Canonicaliser, PageUrl, UrlError};
use crate::telemetry::log::escaped;

/// Why the command could not do its work (a URL that is none is an answer, not an error).
#[derive(Debug, thiserror::Error)]
pub enum InspectUrlError {
    /// The base is no absolute URL.
    #[error("--base {base}: {fault}; write an absolute URL such as https://example.org/dir/")]
    Base {
        /// As the user wrote it.
        base: String,
        /// What is wrong with it.
        fault: url::ParseError,
    },
    /// The output took no more.
    #[error("writing the answer: {0}")]
    Output(#[from] io::Error),
}

/// Writes one line a URL: its canonical form or `error: `, the URL and the reason; with `json` an object a
/// line. Gives how many were no URLs.
///
/// The keys of the object: `input`, and then those of [`CanonicalView`], or else `error` (the reason's name) and `message`.
///
/// # Errors
/// A base that is no absolute URL, or an output that fails.
pub fn run(
    base: Option<&str>,
    urls: &[String],
    canonicaliser: &Canonicaliser,
    json: bool,
    out: &mut dyn Write,
) -> Result<usize, InspectUrlError> {
    let parse = |base: &str| url::Url::parse(base).map_err(|fault| InspectUrlError::Base { base: base.into(), fault });
    let base = base.map(parse).transpose()?;
    let mut bad = 0;
    for input in urls {
        let url = match &base {
            Some(base) => canonicaliser.join(base, input, None),
            None => canonicaliser.parse(input),
        };
        bad += usize::from(url.is_err());
        match (json, &url) {
            (true, url) => writeln!(out, "{}", object(input, url))?,
            (false, Ok(url)) => writeln!(out, "{url}")?,
            (false, Err(error)) => writeln!(out, "error: {}: {error}", escaped(input))?,
        }
    }
    Ok(bad)
}

fn object(input: &str, url: &Result<PageUrl, UrlError>) -> Value {
    match url {
        Err(error) => json!({ "input": input, "error": error.rejection().as_str(), "message": error.to_string() }),
        Ok(url) => {
            let mut object = json!(CanonicalView::new(input, url));
            object["input"] = input.into();
            object
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(base: Option<&str>, urls: &[&str], json: bool) -> Result<Vec<String>, InspectUrlError> {
        let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
        let mut out = Vec::new();
        run(base, &urls, &Canonicaliser::default(), json, &mut out)?;
        Ok(String::from_utf8(out).unwrap().lines().map(str::to_owned).collect())
    }

    #[test]
    fn each_url_gets_one_line_and_a_bad_one_does_not_stop_the_rest() {
        let got = lines(None, &["HTTP://Example.org:80", "mailto:a@b", "nonsense", "https://e.org/#x"], false).unwrap();
        assert_eq!(got[0], "http://example.org/");
        assert!(got[1].starts_with("error: mailto:a@b: the URL's scheme"));
        assert!(got[2].starts_with("error: nonsense: not a complete URL"));
        assert_eq!(got[3], "https://e.org/");
    }

    #[test]
    fn relative_links_are_joined_to_the_base() {
        assert_eq!(lines(Some("http://e.org/a/b"), &["../c"], false).unwrap(), ["http://e.org/c"]);
    }

    #[test]
    fn a_relative_base_is_an_error_that_says_what_to_write() {
        let error = lines(Some("/a"), &["b"], false).unwrap_err().to_string();
        assert!(error.starts_with("--base /a: "), "{error}");
        assert!(error.contains("https://example.org/dir/"), "{error}");
    }

    #[test]
    fn json_names_the_parts() {
        let got = lines(None, &["https://www.Example.co.uk:8443/a?b", "ftp://e.org/"], true).unwrap();
        let first: Value = serde_json::from_str(&got[0]).unwrap();
        assert_eq!(first["host"], "www.example.co.uk");
        assert_eq!(first["domain"], "example.co.uk");
        assert_eq!(first["port"], 8443);
        assert_eq!(first["tail"], "/a?b");
        assert_eq!(first["changed"][0], "host in lower case");
        assert!(first["partition"].as_u64().unwrap() < 1024);
        let second: Value = serde_json::from_str(&got[1]).unwrap();
        assert_eq!(second["error"], "scheme");
    }
}
