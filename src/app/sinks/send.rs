//! Sends to the server of a sink, and waits no longer than the run does.

use std::io;
use std::time::Duration;

use actix_rt::SystemRunner;
use http::HeaderValue;

use super::SinksError;
use crate::app::call::{CallError, Caller, Post};
use crate::app::follow::{Ending, Last};
use crate::base::clock::{Clock, Stopwatch};
use crate::config::{SinkKind, SinkSection};
use crate::domain::politeness::RetryAfter;
use crate::sink::judge::{self, Answer, Verdict};
use crate::sink::outbox::Request;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// And once the crawl has come to its end.
pub(super) const LAST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it looks whether that is so.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of an answer: one of `_bulk` has some hundred for each document.
const ANSWER: usize = 16 << 20;
/// Longest value of `Authorization`.
const LONGEST: u64 = 8 << 10;

/// Who sends to one server.
pub(super) struct Poster {
    caller: Caller,
    system: SystemRunner,
    url: String,
    is_bulk: bool,
}

impl Poster {
    pub fn new(caller: Caller, section: &SinkSection) -> Self {
        let url = section.url.clone().unwrap_or_default();
        let (is_bulk, index) = (section.kind == SinkKind::OpenSearch, section.index.as_deref().unwrap_or_default());
        let url = if is_bulk { format!("{}/{index}/_bulk", url.trim_end_matches('/')) } else { url };
        Self { caller, system: actix_rt::System::new(), url, is_bulk }
    }

    /// Sends a request, and judges what comes back; none when the run ends before.
    pub fn post(
        &self,
        section: &SinkSection,
        log: &str,
        request: &Request,
        (clock, ending): (&Clock, &Ending),
    ) -> Option<Verdict> {
        let mut headers = vec![
            ("Content-Type", "application/x-ndjson".to_owned()),
            ("X-Lycosa-Sink", section.name.clone()),
            ("X-Lycosa-Log", log.to_owned()),
            ("X-Lycosa-First", request.first.to_string()),
            ("X-Lycosa-Last", request.last.to_string()),
        ];
        match auth(section) {
            Ok(value) => headers.extend(value.map(|value| ("Authorization", value))),
            Err(e) => return Some(Verdict::Fault(e.to_string())),
        }
        let body = request.body.clone().into();
        let post = Post { url: &self.url, headers: &headers, body, timeout: TIMEOUT, most: ANSWER };
        let answer = match self.system.block_on(unless_over(self.caller.post(&post), ending))? {
            Ok(answered) => {
                let wait = answered.retry_after.and_then(|value| RetryAfter::parse(&value, clock.date()));
                Answer::Http { status: answered.status, wait, body: answered.body.to_vec() }
            }
            Err(CallError::Url(why)) => return Some(Verdict::Fault(format!("{why}: correct url"))),
            Err(CallError::Failed(why)) => Answer::None(why),
        };
        Some(if self.is_bulk { judge::bulk(&answer, &request.removes) } else { judge::plain(&answer) })
    }
}

/// What comes of it; none when the run ends at once, or has waited long enough at its end.
async fn unless_over<T>(asked: impl Future<Output = T>, ending: &Ending) -> Option<T> {
    let mut asked = std::pin::pin!(asked);
    let mut told: Option<Stopwatch> = None;
    loop {
        if let Ok(answered) = tokio::time::timeout(LOOK, asked.as_mut()).await {
            return Some(answered);
        }
        match ending.told() {
            None => {}
            Some(Last::Now) => return None,
            Some(Last::CaughtUp) if told.get_or_insert_with(Stopwatch::start).elapsed() < LAST_TIMEOUT => {}
            Some(Last::CaughtUp) => return None,
        }
    }
}

/// What is sent as `Authorization`: the text of the file, without white space around it. Read for each request, so that it can be changed.
///
/// # Errors
/// It cannot be read, or is no value of a header.
pub(super) fn auth(section: &SinkSection) -> Result<Option<String>, SinksError> {
    let Some(path) = &section.auth_file else { return Ok(None) };
    let read = || -> io::Result<String> {
        if std::fs::metadata(path)?.len() > LONGEST {
            return Err(io::Error::other(format!("it has more than {LONGEST} bytes")));
        }
        let text = std::fs::read_to_string(path)?.trim().to_owned();
        if text.is_empty() || HeaderValue::from_str(&text).is_err() {
            return Err(io::Error::other(
                "it is to hold the value of the header Authorization, such as `Bearer abc`, in one line",
            ));
        }
        Ok(text)
    };
    read().map(Some).map_err(|why| SinksError::Auth {
        name: section.name.clone(),
        path: path.clone(),
        why: why.to_string(),
    })
}
