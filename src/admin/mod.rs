//! The admin endpoint: HTTP on a thread of its own, loopback unless a token is set.
//!
//! | route | answer |
//! |---|---|
//! | `GET /` | the live page, [`ui`]; it and its files under `/ui/` need no token |
//! | `GET /healthz` | 200 while the process runs; needs no token |
//! | `GET /readyz` | 200 when it takes work, else 503 with the reason; needs no token |
//! | `GET /metrics` | OpenMetrics text |
//! | `GET /api/v1/status` | [`StatusSnapshot`](crate::telemetry::StatusSnapshot) as JSON, with the `role` of who asks |
//! | `POST /api/v1/seeds` | one URL a line, `{"urls": […]}`, or `{"seeds": […]}`; [`SeedReport`] when they are committed |
//! | `POST /api/v1/pause`, `/resume`, `/drain`, `/stop` | `{"done": "pause"}` |
//! | `POST /api/v1/checkpoint` | [`Summary`](crate::recovery::checkpoint::manifest::Summary) when it is whole |
//! | `GET /api/v1/checkpoints` | [`Listing`](crate::recovery::checkpoint::shelf::Listing) |
//! | `GET /api/v1/events` | events as they happen, `text/event-stream`; `?kind=page,error&host=…` |
//! | `GET /api/v1/jobs`, `GET`, `DELETE /api/v1/jobs/{id}` | [`JobView`](jobs::JobView): background jobs |
//! | `POST /api/v1/hosts/{host}/pause`, `/resume`, `/drop`, `/block`, `/unblock`, `/recrawl`, `PUT …/delay` | [`HostOrdered`](orders::HostOrdered) |
//! | `GET /api/v1/urls/rejected`, `/failed` `?reason=&host=` | [`UrlPage`](urls::lists::UrlPage): URLs turned away, and given up; paged, JSON or CSV |
//! | `POST /api/v1/urls/retry` | [`JobView`](jobs::JobView): URLs given up are queued again |
//! | `GET /api/v1/reports/dead-links`, `/seeds`, `/hosts`, `/statuses`, `/types` | JSON, or CSV with `?format=csv`: [`reports`] |
//! | `GET`, `POST /api/v1/reports/dead-links/holders` | [`HoldersPage`](reports::HoldersPage); POST has a [`JobView`](jobs::JobView) make it anew |
//! | `GET /api/v1/pipeline` | [`Pipeline`](pipeline::Pipeline): queue, work done and restarts of each kind of actor |
//! | `GET /api/v1/urls?url=` | what is known of a URL |
//! | `GET /api/v1/explain?url=` | why a URL was, or was not, crawled |
//! | `GET /api/v1/why-idle` | why nothing is happening |
//! | `GET /api/v1/hosts?state=&contains=&sort=` | hosts: queue, counts, next time, what they wait for; paged |
//! | `GET /api/v1/hosts/{host}` | one host: schedule, addresses, budget, robots.txt |
//! | `GET /api/v1/hosts/{host}/robots?url=` | its robots.txt as kept, and the line that decides over a URL |
//! | `GET /api/v1/actors?kind=` | every actor: state, mailbox, latency, deaths; paged |
//! | `POST /api/v1/actors/{kind}/{instance}/restart` | a clean restart of one actor |
//! | `GET /api/v1/pages?host=&status=&mime=&since=` | captures; paged |
//! | `GET /api/v1/page?url=&at=` | one capture of a URL, and the list of all |
//! | `GET /api/v1/snapshot?url=&at=&as=` | its bytes `stored`, its `text`, or `rendered` without scripts |
//! | `GET /api/v1/statistics?since=` | pages, bytes, errors, queues, memory over time |
//! | `GET`, `PATCH /api/v1/settings`, `PUT`, `DELETE /api/v1/settings/hosts/{pattern}` | [`SettingsView`](settings::SettingsView), [`Changed`](settings::Changed) |
//! | `GET /api/v1/settings/history`, `POST /api/v1/settings/undo`, `/dry-run` | the last changes; back; what a change would do |
//! | `POST /api/v1/urls/readmit` | [`JobView`](jobs::JobView): rejected URLs judged again |
//! | `GET /api/openapi.json` | all of this as OpenAPI 3.1 |
//!
//! A parameter or a field that is not described is refused with those that are. Errors are `application/problem+json` (RFC 9457). Requests are guarded against other machines (token), other names
//! for this machine (Host, against DNS rebinding) and other web pages (Origin), see [`auth`].

pub mod actors;
pub mod auth;
mod body;
mod bounded;
pub mod commit;
mod control;
mod crawl;
pub(crate) mod csv;
pub mod events;
pub mod find;
mod guard;
pub mod holders;
pub mod hosts;
pub mod jobs;
mod openapi;
pub mod orders;
pub mod own;
pub mod pages;
pub mod paging;
mod parameters;
pub mod pipeline;
mod probes;
mod problem;
pub mod reports;
pub mod retry;
mod room;
mod seeds;
mod server;
pub mod settings;
pub mod statistics;
mod status;
mod ui;
pub mod url_lists;
pub mod urls;
pub mod views;
pub mod waits;
pub mod why_idle;

#[cfg(test)]
pub(crate) mod tests;

pub use control::{Control, ControlError, NewSeed, RejectedSeed, Reply, SeedReport};
pub use crawl::Done;
pub use guard::Entrance;
pub use problem::Problem;
pub use room::Room;
pub use server::{AdminError, AdminServer, Listening};
pub use status::status;
