//! A request as one member asks it of another, and what that answers: through the engine, in pieces where it is long.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::body::{BoxBody, to_bytes_limited};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use serde::{Deserialize, Serialize};

use super::inside::Inside;
use crate::admin::auth::Role;
use crate::admin::problem::Problem;
use crate::base::sync::lock;
use crate::cluster::engine::{Answering, Engine, EngineError};

/// An answer of another member is waited for so long: longer than each route takes.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest body that is passed on: bytes. The engine takes messages of a little more.
const LONGEST: usize = 900_000;
/// Longest answer that is passed on: bytes.
const ANSWER: usize = 16 << 20;
/// Bytes of a piece.
const PIECE: usize = 512 << 10;
/// Answers of which the rest is kept for whoever asks for it.
const KEPT: usize = 16;
/// Where the cursor of the next page of a table stands.
const NEXT: &str = "x-next-cursor";

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub kind: Option<String>,
    /// What the token of whoever asks admits to.
    pub role: Role,
    #[serde(skip)]
    pub body: Bytes,
}

impl Call {
    pub fn uri(&self) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) }
    }

    /// The same with another value of a parameter, or without it.
    pub fn with(&self, name: &str, value: Option<String>) -> Self {
        let mut call = self.clone();
        call.query.retain(|(other, _)| other != name);
        call.query.extend(value.map(|value| (name.to_owned(), value)));
        call
    }

    /// The value of a parameter.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Answered {
    pub status: u16,
    pub kind: Option<String>,
    /// The cursor of the next page of a table.
    pub next: Option<String>,
    #[serde(skip)]
    pub body: Bytes,
}

impl Answered {
    pub fn response(self) -> HttpResponse {
        let mut response = HttpResponse::build(StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY));
        self.next.into_iter().for_each(|next| _ = response.insert_header((NEXT, next)));
        self.kind.into_iter().for_each(|kind| _ = response.insert_header((CONTENT_TYPE, kind)));
        response.body(self.body)
    }

    pub fn of_problem(problem: &Problem) -> Self {
        let body = serde_json::to_vec(problem).unwrap_or_default().into();
        Self { status: problem.status, kind: Some("application/problem+json".into()), next: None, body }
    }

    pub async fn of(response: HttpResponse<BoxBody>) -> Self {
        let text = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (status, kind, next) = (response.status().as_u16(), text("content-type"), text(NEXT));
        match to_bytes_limited(response.into_body(), ANSWER).await {
            Ok(Ok(body)) => Self { status, kind, next, body },
            Ok(Err(e)) => {
                Self::of_problem(&Problem::new(StatusCode::BAD_GATEWAY, format!("the answer broke off: {e}")))
            }
            Err(_) => Self::of_problem(&Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the answer is longer than what members pass on, {ANSWER} bytes: ask that member itself, or for less"
                ),
            )),
        }
    }
}

/// What is asked through the engine, before the body.
#[derive(Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
enum Head {
    Call(Call),
    /// The rest of an answer, from this byte on.
    Rest {
        id: u64,
        from: usize,
    },
}

/// What is answered, before the piece of the body.
#[derive(Serialize, Deserialize)]
struct Piece {
    answer: Answered,
    /// Bytes of the whole body.
    whole: usize,
    id: u64,
}

/// Whoever answers the other members, until it is dropped.
#[derive(Debug)]
pub(in crate::admin) struct Answers {
    _answering: Answering,
}

fn subject(name: &str) -> String {
    format!("admin.{name}")
}

/// Answers to the other members by these routes, until what it gives is dropped.
///
/// # Errors
/// The engine's.
pub(in crate::admin) fn answer(engine: &dyn Engine, name: &str, inside: &Inside) -> Result<Answers, EngineError> {
    let inside = inside.clone();
    let (kept, last) = (Mutex::<VecDeque<(u64, Answered)>>::default(), AtomicU64::new(0));
    let handler = move |message: &[u8]| {
        let (id, answer, from) = match read::<Head>(message) {
            Some((Head::Call(call), body)) => {
                let call = Call { body: Bytes::copy_from_slice(body), ..call };
                let Some(answer) = inside.pass_blocking(call) else { return Vec::new() };
                let id = last.fetch_add(1, Ordering::Relaxed);
                if answer.body.len() > PIECE {
                    let mut kept = lock(&kept);
                    kept.push_back((id, answer.clone()));
                    let over = kept.len().saturating_sub(KEPT);
                    kept.drain(..over);
                }
                (id, answer, 0)
            }
            Some((Head::Rest { id, from }, _)) => {
                let kept = lock(&kept).iter().find(|(other, _)| *other == id).map(|(_, answer)| answer.clone());
                (id, kept.unwrap_or_default(), from)
            }
            None => return Vec::new(),
        };
        let (whole, body) = (answer.body.len(), answer.body.clone());
        let piece = body.get(from..whole.min(from.saturating_add(PIECE))).unwrap_or_default();
        written(&Piece { answer, whole, id }, piece)
    };
    Ok(Answers { _answering: engine.answer(&subject(name), Arc::new(handler))? })
}

/// Asks another member.
///
/// # Errors
/// The engine's; what it takes for no answer is [`EngineError::Failed`].
pub(super) fn ask(engine: &dyn Engine, name: &str, call: &Call) -> Result<Answered, EngineError> {
    let subject = subject(name);
    let body = call.body.clone();
    if body.len() > LONGEST {
        return Err(EngineError::TooLarge { what: "the body", bytes: body.len(), cap: LONGEST });
    }
    let failed = || EngineError::Failed { subject: subject.clone() };
    let first = engine.ask(&subject, &written(&Head::Call(call.clone()), &body), PATIENCE)?;
    let (Piece { answer, whole, id }, piece) = read::<Piece>(&first).ok_or_else(failed)?;
    let mut body = piece.to_vec();
    while body.len() < whole.min(ANSWER) {
        let rest = written(&Head::Rest { id, from: body.len() }, &[]);
        let more = engine.ask(&subject, &rest, PATIENCE)?;
        let (_, piece) = read::<Piece>(&more).filter(|(_, piece)| !piece.is_empty()).ok_or_else(failed)?;
        body.extend_from_slice(piece);
    }
    Ok(Answered { body: body.into(), ..answer })
}

/// A head in JSON, a line feed, and bytes.
fn written(head: &impl Serialize, body: &[u8]) -> Vec<u8> {
    let mut message = serde_json::to_vec(head).unwrap_or_default(); // texts and numbers: it cannot fail
    message.push(b'\n');
    message.extend_from_slice(body);
    message
}

fn read<'m, T: Deserialize<'m>>(message: &'m [u8]) -> Option<(T, &'m [u8])> {
    let end = message.iter().position(|byte| *byte == b'\n')?;
    let (head, body) = message.split_at(end);
    Some((serde_json::from_slice(head).ok()?, body.get(1..)?))
}

#[cfg(test)]
mod tests {
    use actix_web::web::{self, ServiceConfig};
    use actix_web::{HttpMessage, HttpRequest};

    use super::*;
    use crate::base::clock::Clock;
    use crate::cluster::engine::{Line, Memory};

    async fn echo(request: HttpRequest, body: Bytes) -> HttpResponse {
        let role = request.extensions().get::<Role>().copied();
        let said = format!("{} {} {role:?} {}", request.method(), request.uri(), String::from_utf8_lossy(&body));
        HttpResponse::Accepted().insert_header((NEXT, "n")).body(said)
    }

    fn routes(app: &mut ServiceConfig) {
        let long = || async { HttpResponse::Ok().content_type("text/plain").body("0123456789".repeat(300_000)) };
        app.route("/long", web::get().to(long)).default_service(web::to(echo));
    }

    fn line() -> (Line, Answers) {
        let line = Memory::new(Clock::real()).connect();
        let answers = answer(&line, "n1", &Inside::start(routes).unwrap()).unwrap();
        (line, answers)
    }

    fn call(method: &str, path: &str) -> Call {
        let query = vec![("q".to_owned(), "a b&c".to_owned())];
        let (method, path) = (method.to_owned(), path.to_owned());
        Call { method, path, query, kind: None, role: Role::Read, body: Bytes::from_static(b"the body") }
    }

    #[test]
    fn a_request_arrives_as_it_was_and_its_answer_comes_back_as_it_is() {
        let (line, _answers) = line();
        let answer = ask(&line, "n1", &call("PUT", "/api/a%20b")).unwrap();
        assert_eq!((answer.status, answer.next.as_deref()), (202, Some("n")));
        assert_eq!(answer.body, "PUT /api/a%20b?q=a+b%26c Some(Read) the body");
        assert!(matches!(ask(&line, "n2", &call("GET", "/")), Err(EngineError::NoOne { .. })));
    }

    #[test]
    fn a_long_answer_comes_in_pieces_and_is_whole() {
        let (line, _answers) = line();
        let answer = ask(&line, "n1", &call("GET", "/long")).unwrap();
        assert_eq!((answer.body.len(), answer.kind.as_deref()), (3_000_000, Some("text/plain")));
        assert!(answer.body.chunks(10).all(|ten| ten == b"0123456789"));
    }

    #[test]
    fn what_is_no_request_is_answered_and_harms_nothing() {
        let (line, _answers) = line();
        for text in
            ["", "x", "{}\n", "{\"ask\":\"rest\",\"id\":7,\"from\":99999999999}\n", "\n\n", "{\"ask\":\"call\"}\n"]
        {
            line.ask(&subject("n1"), text.as_bytes(), PATIENCE).unwrap();
        }
        for (method, path) in [("G E T", "/"), ("GET", "no path"), ("GET", "/\u{0}"), ("GET", "")] {
            let kind = Some("\u{0}\r\n".to_owned());
            assert_ne!(ask(&line, "n1", &Call { kind, ..call(method, path) }).unwrap().status, 0);
        }
        assert!(matches!(
            ask(&line, "n1", &Call { body: vec![0; LONGEST + 1].into(), ..call("GET", "/") }),
            Err(EngineError::TooLarge { .. })
        ));
    }
}
