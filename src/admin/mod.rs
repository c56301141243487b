//! The admin endpoint: HTTP on a thread of its own, loopback unless a token is set.
//!
//! | route | answer |
//! |---|---|
//! | `GET /` | the live page, [`ui`]; it and its files under `/ui/` need no token |
//! | `GET /healthz` | 200 while the process runs; needs no token |
//! | `GET /readyz` | 200 when it takes work, else 503 with the reason; needs no token |
//! | `GET /metrics` | OpenMetrics text |
//! | `GET /api/v1/status` | [`StatusSnapshot`](crate::telemetry::StatusSnapshot) as JSON |
//! | `POST /api/v1/seeds` | one URL a line, `{"urls": […]}`, or `{"seeds": […]}`; [`SeedReport`] when they are committed |
//! | `POST /api/v1/pause`, `/resume`, `/stop` | `{"done": "pause"}` |
//! | `POST /api/v1/checkpoint` | [`Summary`](crate::checkpoint::manifest::Summary) when it is whole |
//! | `GET /api/v1/checkpoints` | [`Listing`](crate::checkpoint::shelf::Listing) |
//! | `GET /api/v1/events` | events as they happen, `text/event-stream`; `?kind=page,error&host=…` |
//! | `GET /api/v1/jobs`, `GET`, `DELETE /api/v1/jobs/{id}` | [`JobView`](jobs::JobView): background jobs |
//! | `POST /api/v1/hosts/{host}/pause`, `/resume`, `/drop`, `/block`, `/unblock`, `/recrawl`, `PUT …/delay` | [`HostOrdered`](orders::HostOrdered) |
//! | `POST /api/v1/urls/retry` | [`JobView`](jobs::JobView): URLs given up are queued again |
//! | `GET /api/v1/reports/dead-links`, `/seeds`, `/hosts`, `/statuses`, `/types` | JSON, or CSV with `?format=csv`: [`reports`] |
//! | `GET /api/v1/urls?url=` | what is known of a URL |
//! | `GET /api/v1/explain?url=` | why a URL was, or was not, crawled |
//! | `GET /api/v1/why-idle` | why nothing is happening |
//! | `GET /api/openapi.json` | all of this as OpenAPI 3.1 |
//!
//! Errors are `application/problem+json` (RFC 9457). Requests are guarded against other machines (token), other names
//! for this machine (Host, against DNS rebinding) and other web pages (Origin), see [`auth`].

pub mod auth;
mod body;
mod bounded;
mod control;
mod crawl;
pub(crate) mod csv;
pub mod events;
mod guard;
pub mod jobs;
mod openapi;
pub mod orders;
pub mod own;
pub mod paging;
mod probes;
mod problem;
pub mod reports;
pub mod retry;
mod room;
mod seeds;
mod server;
mod ui;
pub mod urls;
pub mod views;
pub mod why_idle;

#[cfg(test)]
pub(crate) mod tests;

pub use control::{Control, ControlError, NewSeed, RejectedSeed, Reply, SeedReport};
pub use guard::Entrance;
pub use problem::Problem;
pub use room::Room;
pub(crate) use seeds::lines as seed_lines;
pub use server::{AdminError, AdminServer};
