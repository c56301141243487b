//! What the synthetic web tells about itself: `/_truth`, `/_audit`, `/_audit/clear`.

use std::str::FromStr;

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
        let wrong = |sentence| Self::Wrong(400, sentence);
        Some(match (&request.method, name) {
            (&Method::GET | &Method::HEAD, "truth") => truth(query).map(Self::Truth).unwrap_or_else(wrong),
            (&Method::GET | &Method::HEAD, "audit") => audit(query).map_or_else(wrong, |since| Self::Audit { since }),
            (&Method::POST, "audit/clear") => Self::Clear,
            (_, "truth" | "audit" | "audit/clear") => {
                Self::Wrong(405, "GET /_truth, GET /_audit, POST /_audit/clear".to_owned())
            }
            _ => Self::Wrong(404, format!("no /_{name}; known: /_truth, /_audit, /_audit/clear")),
        })
    }
}

fn truth(query: &str) -> Result<TruthQuery, String> {
    const KNOWN: &str = "depth, scope, max_redirects, robots, nofollow, skip_files";
    let mut truth = TruthQuery::default();
    for (key, value) in pairs(query) {
        match key {
            "depth" if value.is_empty() => truth.depth = None,
            "depth" => truth.depth = Some(read(key, value, WHOLE)?),
            "scope" => truth.scope = value.parse()?,
            "max_redirects" => truth.max_redirects = read(key, value, WHOLE)?,
            "robots" => truth.robots = read(key, value, FLAG)?,
            "nofollow" => truth.nofollow = read(key, value, FLAG)?,
            "skip_files" => truth.skip_files = read(key, value, FLAG)?,
            _ => return Err(format!("no parameter {key:?}; known: {KNOWN}")),
        }
    }
    Ok(truth)
}

fn audit(query: &str) -> Result<usize, String> {
    pairs(query).try_fold(0, |_, (key, value)| match key {
        "since" => read(key, value, WHOLE),
        _ => Err(format!("no parameter {key:?}; known: since")),
    })
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, "")))
}

const WHOLE: &str = "a whole number";
const FLAG: &str = "true or false";

fn read<T: FromStr>(key: &str, value: &str, wanted: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{key} is {value:?}; {wanted} is wanted"))
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
        assert_eq!(control(Method::GET, path), Some(Control::Truth(expected)));
        assert_eq!(control(Method::GET, "/_truth"), Some(Control::Truth(TruthQuery::default())));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        for path in ["/_truth?depth=x", "/_truth?scope=all", "/_truth?deep=1", "/_audit?since=-1", "/_audit?from=1"] {
            assert!(matches!(control(Method::GET, path), Some(Control::Wrong(400, _))), "{path}");
        }
        assert!(matches!(control(Method::GET, "/_audit/clear"), Some(Control::Wrong(405, _))));
        assert!(matches!(control(Method::GET, "/_other"), Some(Control::Wrong(404, _))));
        assert_eq!(control(Method::GET, "/p/1"), None);
    }
}
