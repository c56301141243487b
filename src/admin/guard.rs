//! The guard in front of every route: Host, Origin, token and role, then the rate.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use super::auth::{Keys, Role};
use super::own::{is_own_host, is_own_origin};
use super::problem::Problem;
use super::ui::is_page;

/// The path whose answer has no end.
const EVENTS: &str = "/api/v1/events";
/// Requests a second that are answered, with twice as many at once.
const CALLS: NonZeroU32 = NonZeroU32::new(500).unwrap();
/// The same for requests without a good token.
const REFUSALS: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// Who is let in, and how often.
#[derive(Clone, Debug)]
pub struct Entrance {
    /// Tokens.
    pub keys: Keys,
    /// How often those who are let in may ask.
    pub calls: Quota,
    /// How often a wrong token is looked at.
    pub refusals: Quota,
}

impl Entrance {
    /// With these tokens, at the usual rates.
    pub fn new(keys: Keys) -> Self {
        let twice =
            |n: NonZeroU32| Quota::per_second(n).allow_burst(n.saturating_mul(NonZeroU32::MIN.saturating_add(1)));
        Self { keys, calls: twice(CALLS), refusals: twice(REFUSALS) }
    }
}

/// What a request must show.
pub(super) struct Guard {
    keys: Keys,
    listening: SocketAddr,
    calls: DefaultDirectRateLimiter,
    refusals: DefaultDirectRateLimiter,
}

impl Guard {
    pub fn new(entrance: Entrance, listening: SocketAddr) -> Self {
        let Entrance { keys, calls, refusals } = entrance;
        Self { keys, listening, calls: RateLimiter::direct(calls), refusals: RateLimiter::direct(refusals) }
    }
}

/// Lets a request through or answers with the problem.
pub(super) async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let problem = request.app_data::<Data<Guard>>().map_or_else(
        || Some(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the endpoint is not set up")),
        |guard| guard.stranger(&request).or_else(|| guard.unwelcome(&request)),
    );
    match problem {
        Some(problem) => Err(problem.into()),
        None => {
            // HEAD is GET without the body, which the server leaves out by itself (RFC 9110 section 9.3.2).
            if *request.method() == Method::HEAD && request.path() != EVENTS {
                request.head_mut().method = Method::GET;
            }
            next.call(request).await
        }
    }
}

fn header<'r>(request: &'r ServiceRequest, name: &str) -> Option<&'r str> {
    request.headers().get(name).and_then(|v| v.to_str().ok())
}

fn is_safe(request: &ServiceRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

impl Guard {
    /// A request by another name of this machine, or from another web page.
    fn stranger(&self, request: &ServiceRequest) -> Option<Problem> {
        let host = header(request, "host");
        if !is_own_host(host, self.listening) {
            let named = host.unwrap_or("a request without Host");
            let detail = format!("this endpoint is http://{}, not {named}", self.listening);
            return Some(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        // A header that is not text is no Origin of ours.
        let origin = request.headers().get("origin").map(|v| v.to_str().unwrap_or("null"));
        let own = is_safe(request) || is_own_origin(origin, header(request, "sec-fetch-site"), host);
        (!own).then(|| Problem::new(StatusCode::FORBIDDEN, "requests from other web pages are refused"))
    }

    /// A request without the token it needs, or one of too many.
    fn unwelcome(&self, request: &ServiceRequest) -> Option<Problem> {
        if matches!(request.path(), "/healthz" | "/readyz") || is_page(request.path()) {
            return None;
        }
        let too_many = || Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again in a second");
        let role = self.keys.role(header(request, "authorization"));
        if let Some(role) = role {
            request.extensions_mut().insert(role);
        }
        match role {
            None if self.refusals.check().is_err() => Some(too_many()),
            None => {
                let detail = match header(request, "authorization") {
                    Some(_) => "that is none of this endpoint's tokens; see admin.token_file, admin.read_token_file",
                    None => "send the token of admin.token_file as `Authorization: Bearer TOKEN`",
                };
                Some(Problem::new(StatusCode::UNAUTHORIZED, detail))
            }
            Some(Role::Read) if !is_safe(request) => Some(Problem::new(
                StatusCode::FORBIDDEN,
                "this token is for looking; commands need that of admin.token_file",
            )),
            Some(_) => self.calls.check().is_err().then(too_many),
        }
    }
}
