//! What the endpoint says of itself: `/api/openapi.json`, and the answer to a path that is not there.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ServiceConfig};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;

use super::problem::Problem;
use super::room::{Room, getting};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Lycosa",
        description = "The admin endpoint of a running crawl. Errors are problem details (RFC 9457)."
    ),
    components(schemas(Problem))
)]
struct Doc;

/// The description of all rooms.
pub(super) fn describe(rooms: &[Room]) -> OpenApi {
    let mut doc = Doc::openapi();
    rooms.iter().for_each(|room| doc.merge(room.doc.clone()));
    super::parameters::describe(&mut doc);
    doc
}

/// Adds the description and the answer for unknown paths.
pub(super) fn configure(app: &mut ServiceConfig, doc: &Data<OpenApi>) {
    app.app_data(doc.clone())
        .service(getting("/api/openapi.json").route(web::get().to(openapi)))
        .default_service(web::to(unknown));
}

async fn openapi(doc: Data<OpenApi>) -> HttpResponse {
    HttpResponse::Ok().json(&**doc)
}

async fn unknown(doc: Data<OpenApi>) -> Result<HttpResponse, Problem> {
    let paths: Vec<&str> = doc.paths.paths.keys().map(String::as_str).collect();
    Err(Problem::new(StatusCode::NOT_FOUND, format!("there is no such path; there are {}", paths.join(" "))))
}
