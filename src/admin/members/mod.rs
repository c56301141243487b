//! Which member of a crawl on several machines answers a request: whoever is asked gives the same.
//!
//! Each route has a [`Class`]. What is another member's is passed on to it through the engine ([`passing`]), as the request that it was, and
//! answered there by the routes themselves; what all of them have is put together of their answers ([`list`], [`sum`]). `?node=NAME` asks that
//! one alone. A crawl on one machine has nothing of this.
//!
//! Two headers say how an answer came about: [`MEMBER`] who gave it, [`MISSING`] who had a part in it and did not answer.

mod inside;
mod list;
mod passing;
mod settings;
mod sum;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::{self, Bytes, Data};
use actix_web::{Error, HttpMessage, HttpResponse};
use futures_util::future::join_all;
use serde::Deserialize;

pub(super) use inside::Inside;
use passing::{Answered, Call, ask};
pub(super) use passing::{Answers, answer};

use super::auth::Role;
use super::body::whole;
use super::parameters::NODE;
use super::problem::Problem;
use super::routes::class;
use crate::cluster::Who;
use crate::crawl::node::Node;
use crate::domain::partition::Partition;
use crate::domain::url::with_schemes;
use crate::storage::share::Share;

/// The member that gave an answer, where it is not the one that was asked.
pub(super) const MEMBER: &str = "x-member";
/// The members that did not answer, of an answer in which they have a part: names, with commas between them.
pub const MISSING: &str = "x-missing";

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Whoever is asked, of itself.
    Own,
    /// The member whose host it is; the host stands in the path, the query, or the URL that is asked for.
    Owner,
    /// All: one list, member after member.
    List,
    /// All: one answer, added up.
    Sum,
    /// Each carries it out.
    Each,
    /// Whoever is asked: it holds for all, and is answered when it does.
    Settings,
}

/// What a body or a query may say of whose it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct About {
    host: Option<String>,
    url: Option<String>,
}

/// The members, as the one that is asked knows them.
pub(super) struct Members {
    who: Who,
    /// In the order of their names, this one too.
    names: Vec<String>,
    inside: Data<Inside>,
}

impl Members {
    fn of(node: &Node, inside: &Data<Inside>) -> Option<Self> {
        let who = node.member.get()?.who().clone();
        let of_map = |share: &Share| {
            share.by_map(|map| map.members.iter().map(|member| member.name.clone()).collect::<Vec<String>>())
        };
        let mut names = node.crawl.share.as_deref().map_or_else(|| vec![who.name.clone()], of_map);
        names.sort_unstable_by_key(|name| format!("{name}:")); // as cursors sort
        Some(Self { who, names, inside: inside.clone() })
    }

    fn is_own(&self, name: &str) -> bool {
        self.who.name == name
    }

    /// What one of them answers; nothing when it does not.
    async fn asked(&self, name: &str, call: Call) -> Result<Answered, String> {
        if self.is_own(name) {
            return self.inside.pass(call).await.ok_or_else(|| "it is coming to its end".to_owned());
        }
        let (who, name) = (self.who.clone(), name.to_owned());
        let asked = web::block(move || ask(&*who.engine, &name, &call)).await;
        asked.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
    }

    /// What each of them answers, and who does not.
    async fn all(&self, call: &Call) -> (Vec<(String, Answered)>, Vec<String>) {
        let ask = |name: &String| {
            let (name, call) = (name.clone(), call.clone());
            async move { (self.asked(&name, call).await, name) }
        };
        let (mut answers, mut missing) = (Vec::new(), Vec::new());
        for (answer, name) in join_all(self.names.iter().map(ask)).await {
            match answer {
                Ok(answer) if answer.status < 500 => answers.push((name, answer)),
                _ => missing.push(name),
            }
        }
        (answers, missing)
    }

    /// The same of an order, the one that is asked last: it may end by it.
    async fn ordered(&self, call: &Call) -> (Vec<(String, Answered)>, Vec<String>) {
        let others = Self {
            who: self.who.clone(),
            names: self.names.iter().filter(|name| !self.is_own(name)).cloned().collect(),
            inside: self.inside.clone(),
        };
        let (mut answers, mut missing) = others.all(call).await;
        match self.asked(&self.who.name, call.clone()).await {
            Ok(answer) => answers.insert(0, (self.who.name.clone(), answer)),
            Err(_) => missing.push(self.who.name.clone()),
        }
        (answers, missing)
    }
}

/// Has whoever a request is for answer it.
pub(super) async fn shared(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let members = match (request.app_data::<Data<Node>>(), request.app_data::<Data<Inside>>()) {
        (Some(node), Some(inside)) => Members::of(node, inside),
        _ => None,
    };
    let class = request.match_pattern().map_or(Class::Own, |path| class(&path, request.method()));
    let mut query: Vec<(String, String)> =
        url::form_urlencoded::parse(request.query_string().as_bytes()).into_owned().collect();
    let named = query.iter().position(|(name, _)| name == NODE).map(|at| query.remove(at).1);
    let Some(members) = members else {
        return match named {
            Some(_) => Err(Problem::new(StatusCode::BAD_REQUEST, "node: this crawl has one machine").into()),
            None => own(request, next).await,
        };
    };
    if named.is_none() && (class == Class::Own || members.names.len() == 1) {
        return own(request, next).await;
    }
    if named.as_ref().is_some_and(|name| !members.names.contains(name)) {
        let detail = format!("node: there is no such member; there are {}", members.names.join(", "));
        return Err(Problem::new(StatusCode::NOT_FOUND, detail).into());
    }
    let call = called(&mut request, query).await?;
    let one = named.or_else(|| owner(&request, &call, class));
    let path = request.match_pattern().unwrap_or_default();
    let answer = match (one, class) {
        (Some(name), _) => alone(&members, &name, call).await?,
        (None, Class::List) => list::listed(&members, &call).await?,
        (None, Class::Sum) => sum::summed(&members, &path, &call).await?,
        (None, Class::Each) => sum::carried_out(&members, &call).await,
        (None, Class::Settings) => settings::changed(&members, call).await?,
        (None, Class::Own | Class::Owner) => alone(&members, &members.who.name, call).await?,
    };
    Ok(request.into_response(answer))
}

async fn own(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// The request, to be asked anywhere.
async fn called(request: &mut ServiceRequest, query: Vec<(String, String)>) -> Result<Call, Problem> {
    let role = request.extensions().get().copied().unwrap_or(Role::Read);
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let body = match *request.method() {
        Method::GET => Bytes::new(),
        _ => whole(request.extract::<web::Payload>().await.map_err(unread)?).await?,
    };
    Ok(Call { method: request.method().to_string(), path: request.path().to_owned(), query, kind, role, body })
}

fn unread(error: Error) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, format!("the body did not arrive: {error}"))
}

/// The member that a request is for by the host in it; none where there is none, or none that can be read, which whoever is asked then tells.
fn owner(request: &ServiceRequest, call: &Call, class: Class) -> Option<String> {
    let node = request.app_data::<Data<Node>>()?;
    let of_query = |wanted: &str| call.query.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let of_body = || serde_json::from_slice::<About>(&call.body).unwrap_or_default();
    let host_of = |text: &str| {
        let whole = with_schemes(text).map_or_else(|| text.to_owned(), |[https, _]| https);
        Some(node.crawl.live().canon.parse(whole.trim()).ok()?.host().to_owned())
    };
    let pattern = request.match_pattern().unwrap_or_default();
    let in_path = pattern.split('/').zip(call.path.split('/')).find(|(name, _)| *name == "{host}");
    let host = match in_path {
        Some((_, host)) if class == Class::Owner => host_of(&format!("http://{host}/")),
        _ => {
            let said = of_body();
            let host = of_query("host").or(said.host).and_then(|host| host_of(&format!("http://{}/", host.trim())));
            host.or_else(|| host_of(&of_query("url").or(said.url)?))
        }
    }?;
    let share = node.crawl.share.as_deref()?;
    Some(share.by_map(|map| {
        let owner = map.owner(Partition::of_host(&host)).and_then(|id| map.numbered(id));
        owner.map_or_else(|| share.name(), |member| member.name.clone())
    }))
}

/// What one member answers, as it is.
async fn alone(members: &Members, name: &str, call: Call) -> Result<HttpResponse, Problem> {
    let answer = members.asked(name, call).await.map_err(|why| {
        let detail = format!("that is for member {name} to answer, which does not: {why}; see `lycosa ctl nodes`");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    })?;
    let mut response = answer.response();
    if !members.is_own(name) {
        told(&mut response, MEMBER, name);
    }
    Ok(response)
}

/// Says something of an answer in a header.
fn told(response: &mut HttpResponse, header: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(header), value);
    }
}

/// Says who did not answer.
fn without(mut response: HttpResponse, missing: &[String]) -> HttpResponse {
    if !missing.is_empty() {
        told(&mut response, MISSING, &missing.join(","));
    }
    response
}

/// Nobody answered.
fn nobody() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no member answers; see `lycosa ctl nodes`")
}
