//! What the synthetic web tells about itself: `/_truth`, `/_changes`, `/_audit`, `/_audit/clear`.

use std::str::FromStr;

use super::history::MOST;
use super::http::{Method, Request};
use super::truth::TruthQuery;

/// A request to the web itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The URLs a crawl must fetch, now or at this moment.
    Truth(TruthQuery, Option<u64>),
    /// What changed.
    Changes {
        /// After this moment, microseconds since 1970.
        since_us: u64,
        /// At most so many.
        limit: usize,
    },
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
            (&Method::GET | &Method::HEAD, "truth") => truth(query).unwrap_or_else(wrong),
            (&Method::GET | &Method::HEAD, "changes") => changes(query).unwrap_or_else(wrong),
            (&Method::GET | &Method::HEAD, "audit") => audit(query).map_or_else(wrong, |since| Self::Audit { since }),
            (&Method::POST, "audit/clear") => Self::Clear,
            (_, "truth" | "changes" | "audit" | "audit/clear") => {
                Self::Wrong(405, "GET /_truth, GET /_changes, GET /_audit, POST /_audit/clear".to_owned())
            }
            _ => Self::Wrong(404, format!("no /_{name}; known: /_truth, /_changes, /_audit, /_audit/clear")),
        })
    }
}

fn truth(query: &str) -> Result<Control, String> {
    const KNOWN: &str = "depth, scope, max_redirects, robots, nofollow, skip_files, at";
    let (mut truth, mut at_us) = (TruthQuery::default(), None);
    for (key, value) in pairs(query) {
        match key {
            "depth" if value.is_empty() => truth.depth = None,
            "depth" => truth.depth = Some(read(key, value, WHOLE)?),
            "scope" => truth.scope = value.parse()?,
            "max_redirects" => truth.max_redirects = read(key, value, WHOLE)?,
            "robots" => truth.robots = read(key, value, FLAG)?,
            "nofollow" => truth.nofollow = read(key, value, FLAG)?,
            "skip_files" => truth.skip_files = read(key, value, FLAG)?,
            "at" => at_us = Some(read(key, value, WHOLE)?),
            _ => return Err(format!("no parameter {key:?}; known: {KNOWN}")),
        }
    }
    Ok(Control::Truth(truth, at_us))
}

fn changes(query: &str) -> Result<Control, String> {
    let (mut since_us, mut limit) = (0, MOST);
    for (key, value) in pairs(query) {
        match key {
            "since" => since_us = read(key, value, WHOLE)?,
            "limit" => limit = read(key, value, WHOLE)?,
            _ => return Err(format!("no parameter {key:?}; known: since, limit")),
        }
    }
    Ok(Control::Changes { since_us, limit })
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
        assert_eq!(control(Method::GET, path), Some(Control::Truth(expected, None)));
        assert_eq!(control(Method::GET, "/_truth?at=7"), Some(Control::Truth(TruthQuery::default(), Some(7))));
        assert_eq!(control(Method::GET, "/_truth"), Some(Control::Truth(TruthQuery::default(), None)));
    }

    #[test]
    fn changes_are_asked_for_from_a_moment_on_and_a_part_at_a_time() {
        let of = |since_us, limit| Some(Control::Changes { since_us, limit });
        assert_eq!(control(Method::GET, "/_changes"), of(0, MOST));
        assert_eq!(control(Method::GET, "/_changes?since=1796000000000000&limit=50"), of(1_796_000_000_000_000, 50));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        for path in [
            "/_truth?depth=x",
            "/_truth?scope=all",
            "/_truth?deep=1",
            "/_audit?since=-1",
            "/_audit?from=1",
            "/_changes?at=1",
        ] {
            assert!(matches!(control(Method::GET, path), Some(Control::Wrong(400, _))), "{path}");
        }
        assert!(matches!(control(Method::GET, "/_audit/clear"), Some(Control::Wrong(405, _))));
        assert!(matches!(control(Method::GET, "/_other"), Some(Control::Wrong(404, _))));
        assert_eq!(control(Method::GET, "/p/1"), None);
    }
}
