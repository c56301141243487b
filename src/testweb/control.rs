//! What the synthetic web tells about itself: `/_truth`, `/_audit`, `/_audit/clear`.

use super::http::{Method, Request};
use super::truth::TruthQuery;

/// A request to the web itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The URLs a crawl must fetch.
    Truth(TruthQuery),
    /// The log from an entry on.
    Audit {
        /// Number of the first entry.
        since: usize,
    },
    /// Forget the log.
    Clear,
    /// The request makes no sense: status and sentence.
    Wrong(u16, String),
}

impl Control {
    /// Reads a request; `None` when it is one for a page.
    pub(super) fn read(request: &Request) -> Option<Self> {
        let rest = request.path.strip_prefix("/_")?;
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        Some(match (request.method, name) {
            (Method::Get | Method::Head, "truth") => truth(query),
            (Method::Get | Method::Head, "audit") => audit(query),
            (Method::Post, "audit/clear") => Self::Clear,
            (_, "truth" | "audit" | "audit/clear") => {
                Self::Wrong(405, "GET /_truth, GET /_audit, POST /_audit/clear".to_owned())
            }
            _ => Self::Wrong(404, format!("no /_{name}; known: /_truth, /_audit, /_audit/clear")),
        })
    }
}

fn truth(query: &str) -> Control {
    let mut truth = TruthQuery::default();
    for (key, value) in pairs(query) {
        if let Err(sentence) = truth_parameter(&mut truth, key, value) {
            return Control::Wrong(400, sentence);
        }
    }
    Control::Truth(truth)
}

fn truth_parameter(truth: &mut TruthQuery, key: &str, value: &str) -> Result<(), String> {
    let not_whole = |_| whole(key, value);
    match key {
        "depth" if value.is_empty() => truth.depth = None,
        "depth" => truth.depth = Some(value.parse().map_err(not_whole)?),
        "scope" => truth.scope = value.parse()?,
        "max_redirects" => truth.max_redirects = value.parse().map_err(not_whole)?,
        "robots" => truth.robots = flag(key, value)?,
        "nofollow" => truth.nofollow = flag(key, value)?,
        "skip_files" => truth.skip_files = flag(key, value)?,
        _ => {
            return Err(format!(
                "no parameter {key:?}; known: depth, scope, max_redirects, robots, nofollow, skip_files"
            ));
        }
    }
    Ok(())
}

fn audit(query: &str) -> Control {
    let mut since = 0;
    for (key, value) in pairs(query) {
        match (key, value.parse()) {
            ("since", Ok(number)) => since = number,
            ("since", Err(_)) => return Control::Wrong(400, whole(key, value)),
            _ => return Control::Wrong(400, format!("no parameter {key:?}; known: since")),
        }
    }
    Control::Audit { since }
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, "")))
}

fn whole(key: &str, value: &str) -> String {
    format!("{key} is {value:?}; a whole number is wanted")
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("{key} is {value:?}; true or false is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testweb::TruthScope;

    fn control(method: Method, path: &str) -> Option<Control> {
        Control::read(&Request { method, path: path.to_owned(), ..Request::default() })
    }

    #[test]
    fn a_truth_request_is_read_whole() {
        let expected = TruthQuery { depth: Some(3), scope: TruthScope::Any, robots: false, ..TruthQuery::default() };
        let path = "/_truth?depth=3&scope=any&robots=false";
        assert_eq!(control(Method::Get, path), Some(Control::Truth(expected)));
        assert_eq!(control(Method::Get, "/_truth"), Some(Control::Truth(TruthQuery::default())));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        for path in ["/_truth?depth=x", "/_truth?scope=all", "/_truth?deep=1", "/_audit?since=-1", "/_audit?from=1"] {
            assert!(matches!(control(Method::Get, path), Some(Control::Wrong(400, _))), "{path}");
        }
        assert!(matches!(control(Method::Get, "/_audit/clear"), Some(Control::Wrong(405, _))));
        assert!(matches!(control(Method::Get, "/_other"), Some(Control::Wrong(404, _))));
        assert_eq!(control(Method::Get, "/p/1"), None);
    }
}
