//! The guard in front of every route: Host, Origin, then the token.

use std::net::SocketAddr;

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;

use super::auth::{Token, is_own_host, is_own_origin};
use super::problem::Problem;
use super::ui::is_page;

/// What a request must show.
pub(super) struct Guard {
    pub token: Option<Token>,
    pub listening: SocketAddr,
}

/// Lets a request through or answers with the problem.
pub(super) async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let problem = request.app_data::<Data<Guard>>().map_or_else(
        || Some(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the endpoint is not set up")),
        |guard| refusal(&request, guard),
    );
    match problem {
        Some(problem) => Err(problem.into()),
        None => next.call(request).await,
    }
}

fn refusal(request: &ServiceRequest, guard: &Guard) -> Option<Problem> {
    let text = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok());
    let host = text("host");
    if !is_own_host(host, guard.listening) {
        let detail =
            format!("this endpoint is http://{}, not {}", guard.listening, host.unwrap_or("a request without Host"));
        return Some(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // A header that is not text is no Origin of ours.
    let origin = request.headers().get("origin").map(|v| v.to_str().unwrap_or("null"));
    if !safe && !is_own_origin(origin, text("sec-fetch-site"), host) {
        return Some(Problem::new(StatusCode::FORBIDDEN, "requests from other web pages are refused"));
    }
    let open = matches!(request.path(), "/healthz" | "/readyz") || is_page(request.path());
    match &guard.token {
        Some(token) if !open && !token.admits(text("authorization")) => {
            let detail = "send the token of admin.token_file as `Authorization: Bearer TOKEN`";
            Some(Problem::new(StatusCode::UNAUTHORIZED, detail))
        }
        _ => None,
    }
}
