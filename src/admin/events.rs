//! Events as they happen: `GET /api/v1/events`, a stream of server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream::poll_fn;
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::problem::{Answer, Problem, Refusal};
use crate::crawl::node::Node;
use crate::telemetry::events::{Event, EventKind, Heard, LISTENERS, Listener, StateChange};

/// A comment is sent so often, so that both ends notice when the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Frames that wait for a slow client; then its events wait in the broadcast, then they go by.
const WAITING: usize = 16;
/// Longest list in a filter.
const MOST: usize = 100;

/// Which events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Kinds, separated by commas: page, error, retry, rejected, blocked, restart, state. All when absent.
    kind: Option<String>,
    /// Hosts, separated by commas. All when absent; then also what is about no host.
    host: Option<String>,
}

/// The same, read.
#[derive(Debug, Default, PartialEq)]
struct Filter {
    kinds: Vec<EventKind>,
    hosts: Vec<String>,
}

/// Events as they happen, as a stream without end. Each has an id, its kind as `event`, and an [`Event`] as `data`. An event
/// `missed` says how many went by a client that was too slow, or since the `Last-Event-ID` it came back with. That the crawl
/// has stopped is the last event, and told to everybody: a stream that ends without it was cut off.
#[utoipa::path(get, path = "/api/v1/events", tag = "events", params(
    Wanted,
    ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was heard; what went by since is counted, not sent."),
), responses(
    (status = 200, body = Event, content_type = "text/event-stream"), Refusal<400>,
    (status = 503, body = Problem, content_type = "application/problem+json", description = "16 listen already."),
))]
pub(super) async fn listen(request: HttpRequest, node: Data<Node>) -> Answer {
    let bad = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    let wanted = Query::<Wanted>::from_query(request.query_string()).map_err(|e| bad(e.to_string()))?;
    let filter = Filter::read(&wanted).map_err(bad)?;
    let full =
        || Problem::new(StatusCode::SERVICE_UNAVAILABLE, format!("{LISTENERS} clients listen already; close one"));
    let listener = node.telemetry.events.listen().ok_or_else(full)?;
    let known = request.headers().get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let missed = known.map_or(0, |known| node.telemetry.events.last().saturating_sub(known));
    let (to, mut frames) = mpsc::channel(WAITING);
    actix_web::rt::spawn(tell(listener, filter, missed, to));
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(poll_fn(move |cx| frames.poll_recv(cx).map(|frame| frame.map(Ok::<Bytes, Infallible>)))))
}

impl Filter {
    fn read(wanted: &Wanted) -> Result<Self, String> {
        let kinds = split(wanted.kind.as_deref()).map(|name| {
            EventKind::named(name).ok_or_else(|| {
                let all: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
                format!("kind={name}: expected some of {}", all.join(", "))
            })
        });
        let filter = Self {
            kinds: kinds.take(MOST).collect::<Result<_, _>>()?,
            hosts: split(wanted.host.as_deref()).take(MOST + 1).map(str::to_ascii_lowercase).collect(),
        };
        if filter.hosts.len() > MOST { Err(format!("host: at most {MOST} of them")) } else { Ok(filter) }
    }

    fn admits(&self, event: &Event) -> bool {
        let host = || event.news.host.as_ref().is_some_and(|host| self.hosts.contains(host));
        (self.kinds.is_empty() || self.kinds.contains(&event.news.kind)) && (self.hosts.is_empty() || host())
    }
}

fn split(list: Option<&str>) -> impl Iterator<Item = &str> {
    list.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Hands on what is heard until the client is gone or the node has ended.
async fn tell(mut listener: Listener, filter: Filter, missed: u64, to: mpsc::Sender<Bytes>) {
    let begin =
        if missed > 0 { format!("retry: 2000\n\n{}", missed_frame(missed)) } else { "retry: 2000\n\n".to_owned() };
    if to.send(begin.into()).await.is_err() {
        return;
    }
    loop {
        let (frame, last) = tokio::select! {
            heard = listener.next() => match heard {
                Some(Heard::Event(event)) => {
                    let last = is_last(&event);
                    ((last || filter.admits(&event)).then(|| frame(&event)), last)
                }
                Some(Heard::Missed(n)) => (Some(missed_frame(n)), false),
                None => return,
            },
            () = tokio::time::sleep(HEARTBEAT) => (Some(": still here\n\n".to_owned()), false),
            () = to.closed() => return,
        };
        if let Some(frame) = frame
            && to.send(frame.into()).await.is_err()
        {
            return;
        }
        if last {
            return;
        }
    }
}

fn is_last(event: &Event) -> bool {
    event.news.kind == EventKind::State && event.news.reason == StateChange::Stopped.as_str()
}

/// JSON has no line breaks of its own, so it is one line of `data`.
fn frame(event: &Event) -> String {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", event.id, event.news.kind.as_str())
}

fn missed_frame(n: u64) -> String {
    format!("event: missed\ndata: {{\"missed\":{n}}}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::events::News;

    fn event(kind: EventKind, host: Option<&str>) -> Event {
        let text = Some("a\nb <script>".to_owned());
        Event { id: 7, ts_ms: 1, news: News { host: host.map(str::to_owned), text, ..News::new(kind, "why") } }
    }

    fn filter(kind: &str, host: &str) -> Result<Filter, String> {
        Filter::read(&Wanted { kind: Some(kind.into()), host: Some(host.into()) })
    }

    #[test]
    fn a_filter_admits_the_kinds_and_hosts_it_names_and_all_when_it_names_none() {
        let both = filter(" page, error,", "A.test").unwrap();
        assert!(both.admits(&event(EventKind::Page, Some("a.test"))));
        for other in [
            event(EventKind::Retry, Some("a.test")),
            event(EventKind::Page, Some("b.test")),
            event(EventKind::Error, None),
        ] {
            assert!(!both.admits(&other), "{other:?}");
        }
        let all = filter("", "").unwrap();
        assert!(all.admits(&event(EventKind::State, None)) && all.admits(&event(EventKind::Page, Some("b.test"))));
    }

    #[test]
    fn a_kind_that_is_none_is_told_with_those_there_are() {
        let told = filter("pages", "").unwrap_err();
        assert!(told.contains("kind=pages") && told.contains("page, error, retry"), "{told}");
        assert!(filter("", &"a.test,".repeat(MOST + 1)).unwrap_err().contains("at most"));
    }

    #[test]
    fn a_frame_is_one_line_of_data_whatever_the_text() {
        let text = frame(&event(EventKind::Restart, None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1], lines.len()), ("id: 7", "event: restart", 4));
        let data: serde_json::Value = serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(
            (data["kind"].as_str(), data["text"].as_str(), data["id"].as_u64()),
            (Some("restart"), Some("a\nb <script>"), Some(7))
        );
    }
}
