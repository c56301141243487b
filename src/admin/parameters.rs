//! What may stand in a query: the parameters that the description names for a route, and no others. One that is misspelt
//! would else be ignored, and a whole list taken for the answer.

use std::borrow::Cow;

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{OpenApi, PathItem, RefOr, Schema};

use super::problem::{Problem, refusal};

/// Probes and scrapers have parameters of their own habit; the rest is for people and their programs.
fn is_ours(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Longest name that is told.
const LONGEST: usize = 100;

/// Refuses a request whose query holds a parameter that its route does not have.
pub(super) async fn known(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    match stranger(&request) {
        Some(problem) => Err(problem.into()),
        None => next.call(request).await,
    }
}

fn stranger(request: &ServiceRequest) -> Option<Problem> {
    if request.query_string().is_empty() || !is_ours(request.path()) {
        return None;
    }
    let doc = request.app_data::<Data<OpenApi>>()?;
    let path = doc.paths.paths.get(&request.match_pattern()?)?;
    let there = of_query(operation(path, request.method())?);
    let mut asked = url::form_urlencoded::parse(request.query_string().as_bytes());
    let why = asked.find_map(|(name, value)| match there.iter().find(|p| p.name == name) {
        None => Some(sentence(request.path(), name, &there)),
        Some(parameter) => (is_number(parameter) && !is_whole(&value))
            .then(|| format!("the query: {name}: expected a whole number, such as {name}=60")),
    });
    why.map(|why| Problem::new(StatusCode::BAD_REQUEST, why))
}

/// Whether a parameter is a whole number by its description.
fn is_number(parameter: &Parameter) -> bool {
    let Some(RefOr::T(Schema::Object(object))) = &parameter.schema else { return false };
    match &object.schema_type {
        SchemaType::Type(one) => *one == Type::Integer,
        SchemaType::Array(some) => some.contains(&Type::Integer),
        SchemaType::AnyValue => false,
    }
}

/// Digits alone, of a number that JSON's readers hold (`int64` in the description).
fn is_whole(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

fn sentence(path: &str, wrong: Cow<'_, str>, there: &[&Parameter]) -> String {
    let wrong: String = wrong.chars().take(LONGEST).collect();
    let names: Vec<&str> = there.iter().map(|p| p.name.as_str()).collect();
    match &names[..] {
        [] => format!("the query: there is no parameter {wrong:?}; {path} takes none"),
        some => format!("the query: there is no parameter {wrong:?}; {path} takes {}", some.join(", ")),
    }
}

/// The parameters of an operation's query.
fn of_query(operation: &Operation) -> Vec<&Parameter> {
    let all = operation.parameters.iter().flatten();
    all.filter(|p| p.parameter_in == ParameterIn::Query).collect()
}

fn operation<'d>(path: &'d PathItem, method: &Method) -> Option<&'d Operation> {
    match *method {
        Method::GET | Method::HEAD => path.get.as_ref(),
        Method::POST => path.post.as_ref(),
        Method::PUT => path.put.as_ref(),
        Method::PATCH => path.patch.as_ref(),
        Method::DELETE => path.delete.as_ref(),
        _ => None,
    }
}

/// So every operation may answer 400: those that do not say so by themselves say it here.
pub(super) fn describe(doc: &mut OpenApi) {
    for (_, path) in doc.paths.paths.iter_mut().filter(|(path, _)| is_ours(path)) {
        let operations = [&mut path.get, &mut path.post, &mut path.put, &mut path.patch, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            operation
                .responses
                .responses
                .entry("400".to_owned())
                .or_insert_with(|| refusal("A parameter that there is not.").into());
        }
    }
}
