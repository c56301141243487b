//! The routes of this process as a member's requests reach them: no socket, no token, but the role of whoever asked.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::middleware::from_fn;
use actix_web::rt::System;
use actix_web::test::{TestRequest, init_service};
use actix_web::web::ServiceConfig;
use actix_web::{App, Error, HttpMessage};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::passing::{Answered, Call};
use crate::admin::parameters;
use crate::admin::problem::Problem;

/// A route may take so long, which is longer than each of those that come to an end.
const ROUTE: Duration = Duration::from_secs(12);
/// Requests that wait for the thread that answers them.
const WAITING: usize = 64;

/// The routes of this process, as other members ask them: on a thread of its own, which ends when nobody can ask any more.
#[derive(Clone)]
pub(in crate::admin) struct Inside(Sender<(Call, oneshot::Sender<Answered>)>);

impl Inside {
    /// Has these routes answer.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(app: impl Fn(&mut ServiceConfig) + Clone + Send + 'static) -> io::Result<Self> {
        let (to, from) = channel(WAITING);
        let serve = move || System::new().block_on(serve(from, app));
        std::thread::Builder::new().name("admin-members".into()).spawn(serve)?;
        Ok(Self(to))
    }

    /// Has the routes answer; nothing when they do not any more.
    pub(super) async fn pass(&self, call: Call) -> Option<Answered> {
        let (reply, answer) = oneshot::channel();
        self.0.send((call, reply)).await.ok()?;
        answer.await.ok()
    }

    /// The same, for who may wait on its thread.
    pub(super) fn pass_blocking(&self, call: Call) -> Option<Answered> {
        let (reply, answer) = oneshot::channel();
        self.0.blocking_send((call, reply)).ok()?;
        answer.blocking_recv().ok()
    }
}

fn late() -> Problem {
    let detail = format!(
        "no end of the answer within {} s: what is told without end is told by each member itself (`lycosa ctl nodes` says where)",
        ROUTE.as_secs()
    );
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
}

async fn serve(
    mut calls: Receiver<(Call, oneshot::Sender<Answered>)>,
    app: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) {
    let routes = Rc::new(init_service(App::new().wrap(from_fn(parameters::known)).configure(app)).await);
    while let Some((call, reply)) = calls.recv().await {
        let (routes, request) = (routes.clone(), request_of(&call).set_payload(call.body).to_request());
        request.extensions_mut().insert(call.role);
        actix_web::rt::spawn(async move {
            let answer = tokio::time::timeout(ROUTE, answered(&*routes, request)).await;
            reply.send(answer.unwrap_or_else(|_| Answered::of_problem(&late())))
        });
    }
}

fn request_of(call: &Call) -> TestRequest {
    // What is no method is none of a route.
    let method = Method::from_bytes(call.method.as_bytes()).unwrap_or(Method::TRACE);
    // The like of a path, and of a type.
    let uri = Some(call.uri()).filter(|uri| uri.starts_with('/') && uri.parse::<Uri>().is_ok());
    let request = TestRequest::with_uri(uri.as_deref().unwrap_or("/api/")).method(method);
    match call.kind.as_deref().and_then(|kind| HeaderValue::from_str(kind).ok()) {
        Some(kind) => request.insert_header((CONTENT_TYPE, kind)),
        None => request,
    }
}

/// What the routes say to a request. Its type is that of a crate below the library's, and has no name here.
async fn answered<S, R, B>(routes: &S, request: R) -> Answered
where
    S: Service<R, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
{
    match routes.call(request).await {
        Ok(response) => Answered::of(response.into_parts().1.map_into_boxed_body()).await,
        Err(e) => Answered::of(e.as_response_error().error_response()).await,
    }
}
