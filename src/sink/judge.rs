//! What an answer of a server means for what was sent: taken, later, never, or never until somebody corrects the settings.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::domain::text::cut_at;

/// Bytes of a server's words that are repeated.
const WORDS: usize = 300;
/// Kinds of error that an item names and that are of the whole index.
const OF_THE_INDEX: [&str; 4] =
    ["cluster_block_exception", "index_not_found_exception", "index_closed_exception", "security_exception"];

/// What came back of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing that is an answer; why.
    None(String),
    /// An answer.
    Http {
        /// Its status.
        status: u16,
        /// `Retry-After`.
        wait: Option<Duration>,
        /// As much of its body as is read.
        body: Vec<u8>,
    },
}

/// What it means for all that was sent with the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it was taken.
    Taken,
    /// Each piece has a verdict of its own, in order.
    Each(Vec<Of>),
    /// Less is to be sent at a time; what is refused alone is rejected.
    Fewer {
        /// The status.
        status: u16,
        /// What was said.
        why: String,
    },
    /// The same again later.
    Later {
        /// What was said.
        why: String,
        /// Not before.
        wait: Option<Duration>,
    },
    /// Nothing will be taken before somebody corrects something: what, and what to do.
    Fault(String),
}

/// What it means for one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// It was taken, or a newer one is there.
    Taken,
    /// Again later; why.
    Later(String),
    /// It will never be taken: status, and what was said.
    Rejected(u16, String),
    /// As [`Verdict::Fault`].
    Fault(String),
}

/// The answer to lines that are taken or refused together.
pub fn plain(answer: &Answer) -> Verdict {
    let (status, wait, body) = match answer {
        Answer::None(why) => return Verdict::Later { why: why.clone(), wait: None },
        Answer::Http { status, wait, body } => (*status, *wait, body),
    };
    let why = said(status, body);
    match status {
        200..=299 => Verdict::Taken,
        400 | 413 | 422 => Verdict::Fewer { status, why },
        401 | 403 => Verdict::Fault(format!("{why}: correct the value in auth_file, or what it may do there")),
        404 => Verdict::Fault(format!("{why}: there is no such place; correct url")),
        300..=399 => Verdict::Fault(format!("{why}: redirects are not followed; name the address itself in url")),
        408 | 429 | 500..=599 => Verdict::Later { why, wait },
        _ => Verdict::Fault(format!("{why}: correct kind and url")),
    }
}

/// The answer to a request of `_bulk`; `removes` says of each piece in it whether it takes a document away.
pub fn bulk(answer: &Answer, removes: &[bool]) -> Verdict {
    let body = match answer {
        Answer::Http { status: 200..=299, body, .. } => body,
        other => return plain(other),
    };
    let Ok(Bulk { items }) = serde_json::from_slice(body) else {
        return Verdict::Fault("its answer is none of _bulk: correct url, it is to be that of OpenSearch".into());
    };
    if items.len() != removes.len() {
        let why = format!("it answers for {} of {} documents: correct url", items.len(), removes.len());
        return Verdict::Fault(why);
    }
    let of = |(item, removes): (&BTreeMap<String, Item>, &bool)| {
        item.values().next().map_or(Of::Taken, |i| i.judge(*removes))
    };
    Verdict::Each(items.iter().zip(removes).map(of).collect())
}

#[derive(Deserialize)]
struct Bulk {
    items: Vec<BTreeMap<String, Item>>,
}

#[derive(Deserialize)]
struct Item {
    status: u16,
    #[serde(default)]
    error: Value,
}

impl Item {
    fn judge(&self, removes: bool) -> Of {
        let kind = self.error.get("type").and_then(Value::as_str).unwrap_or_default();
        let reason = self.error.get("reason").and_then(Value::as_str).or(self.error.as_str()).unwrap_or_default();
        let why = || words(&format!("{} {kind} {reason}", self.status));
        match self.status {
            200..=299 | 409 => Of::Taken,
            404 if removes => Of::Taken,
            _ if OF_THE_INDEX.contains(&kind) => {
                Of::Fault(format!("{}: correct that at the index, then it goes on by itself", why()))
            }
            408 | 429 | 500..=599 => Of::Later(why()),
            status => Of::Rejected(status, why()),
        }
    }
}

fn said(status: u16, body: &[u8]) -> String {
    words(&format!("{status} {}", String::from_utf8_lossy(body.get(..WORDS.min(body.len())).unwrap_or_default())))
}

/// A server's words on one line.
fn words(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_at(&text, WORDS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::rows;

    fn told(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Taken => "taken".into(),
            Verdict::Fewer { .. } => "fewer".into(),
            Verdict::Later { wait: None, .. } => "later".into(),
            Verdict::Later { wait: Some(wait), .. } => format!("later {}s", wait.as_secs()),
            Verdict::Fault(_) => "fault".into(),
            Verdict::Each(all) => all
                .iter()
                .map(|of| match of {
                    Of::Taken => "taken",
                    Of::Later(_) => "later",
                    Of::Rejected(..) => "rejected",
                    Of::Fault(_) => "fault",
                })
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    #[test]
    fn each_answer_means_what_the_table_says() {
        for row in rows(include_str!("../../tests/data/sink/answers.txt"), 4) {
            let [kind, status, body, expected] = row.cells[..] else { panic!("line {}", row.line) };
            let (status, wait) = status
                .split_once('+')
                .map_or((status, None), |(status, wait)| (status, Some(Duration::from_secs(wait.parse().unwrap()))));
            let answer = match status.parse() {
                Ok(status) => Answer::Http { status, wait, body: body.as_bytes().to_vec() },
                Err(_) => Answer::None(status.to_owned()),
            };
            // Of a bulk request: a document that is put in, and one that is taken away.
            let verdict = if kind == "bulk" { bulk(&answer, &[false, true]) } else { plain(&answer) };
            assert_eq!(told(&verdict), expected, "line {}: {verdict:?}", row.line);
        }
    }

    #[test]
    fn what_a_server_says_is_one_short_line() {
        let body = format!("{{\"error\":\n\t\"{}\"}}", "ä".repeat(4_000)).into_bytes();
        let Verdict::Later { why, .. } = plain(&Answer::Http { status: 503, wait: None, body }) else { panic!() };
        assert!(why.starts_with("503 {\"error\": \"ä") && why.len() <= WORDS && !why.contains('\n'), "{why}");
    }
}
