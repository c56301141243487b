//! What may stand in a query: the parameters that the description names for a route, and no others. One that is misspelt
//! would else be ignored, and a whole list taken for the answer. Values of numbers, truth and names are looked at here, where it is known
//! what is expected of which; what serde says names neither.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Data;
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, PathItem, Required};

use super::problem::{Problem, refusal};

/// Probes and scrapers have parameters of their own habit; the rest is for people and their programs.
fn is_ours(path: &str) -> bool {
    path.starts_with("/api/")
}

/// The member that is asked.
pub(super) const NODE: &str = "node";
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
    if !is_ours(request.path()) {
        return None;
    }
    let doc = request.app_data::<Data<OpenApi>>()?;
    let path = doc.paths.paths.get(&request.match_pattern()?)?;
    let there = of_query(operation(path, request.method())?);
    let asked: Vec<_> = url::form_urlencoded::parse(request.query_string().as_bytes()).collect();
    let wrong = asked.iter().find_map(|(name, value)| match there.iter().find(|p| p.name == *name) {
        None => Some(sentence(request.path(), name, &there)),
        Some(_) if asked.iter().filter(|(other, _)| other == name).count() > 1 => {
            Some(format!("the query: {name} is there twice"))
        }
        Some(parameter) => expected(parameter, value).map(|what| format!("the query: {name}: expected {what}")),
    });
    let is_missing = |p: &&&Parameter| p.required == Required::True && asked.iter().all(|(name, _)| *name != p.name);
    let missing = || there.iter().find(is_missing).map(|p| format!("the query: {} is missing", p.name));
    wrong.or_else(missing).map(|why| Problem::new(StatusCode::BAD_REQUEST, why))
}

/// What a value should be by the description of its parameter, when it is not.
fn expected(parameter: &Parameter, value: &str) -> Option<String> {
    let schema = json!(parameter.schema);
    let is =
        |name: &str| schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let named =
        schema["enum"].as_array().or_else(|| schema["oneOf"].as_array()?.iter().find_map(|s| s["enum"].as_array()));
    let names: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        _ if is("boolean") => (!matches!(value, "true" | "false")).then(|| "true or false".to_owned()),
        _ if is("integer") && !is_whole(value) => Some(format!("a whole number, such as {}=60", parameter.name)),
        (Some(low), Some(high)) => {
            value.parse::<i64>().ok().filter(|n| !(low..=high).contains(n)).map(|_| format!("{low} to {high}"))
        }
        _ => (!names.is_empty() && !names.contains(&value)).then(|| format!("one of {}", names.join(", "))),
    }
}

/// Digits alone, of a number that JSON's readers hold (`int64` in the description).
fn is_whole(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

fn sentence(path: &str, wrong: &str, there: &[&Parameter]) -> String {
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
    all.filter(|p| p.parameter_in == ParameterIn::Query && p.name != NODE).collect()
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

/// Says which member is asked; nobody below who passes requests on sees it.
#[cfg(feature = "cluster")]
fn node() -> Parameter {
    use utoipa::openapi::{ObjectBuilder, Type, path::ParameterBuilder};
    let what = "That member of a crawl on several machines is asked, and no other.";
    let name = ObjectBuilder::new().schema_type(Type::String).build();
    ParameterBuilder::new()
        .name(NODE)
        .parameter_in(ParameterIn::Query)
        .description(Some(what))
        .schema(Some(name))
        .build()
}

/// So every operation may answer 400: those that do not say so by themselves say it here. And each may be asked of one member of several.
pub(super) fn describe(doc: &mut OpenApi) {
    for (_, path) in doc.paths.paths.iter_mut().filter(|(path, _)| is_ours(path)) {
        let operations = [&mut path.get, &mut path.post, &mut path.put, &mut path.patch, &mut path.delete];
        for operation in operations.into_iter().flatten() {
            #[cfg(feature = "cluster")]
            operation.parameters.get_or_insert_default().push(node());
            operation
                .responses
                .responses
                .entry("400".to_owned())
                .or_insert_with(|| refusal("A parameter that there is not.").into());
        }
    }
}
