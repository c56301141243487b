//! The way of a page at a glance: what each kind of actor has waiting, has done, and how often it was replaced.

use actix_web::web::Data;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::{Answer, ok};
use crate::crawl::node::Node;
use crate::telemetry::metrics::{ActorKind, Metrics};

/// All actors of one kind together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ActorLoad {
    /// The kind.
    pub kind: ActorKind,
    /// Messages waiting.
    pub queue: u64,
    /// Messages handled since the process began.
    pub handled: u64,
    /// How often one was replaced, after a death or because the operator asked for it.
    pub restarts: u64,
    /// How often after a death.
    pub deaths: u64,
}

/// All kinds, in the order of a page's way, the Supervisor first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pipeline {
    /// One for each kind.
    pub actors: Vec<ActorLoad>,
}

/// Each kind of actor: messages waiting and handled, restarts.
#[utoipa::path(get, path = "/api/v1/pipeline", tag = "actors", responses((status = 200, body = Pipeline)))]
pub(super) async fn pipeline(node: Data<Node>) -> Answer {
    ok(of(&node.telemetry.metrics))
}

fn of(metrics: &Metrics) -> Pipeline {
    let load = |kind: &ActorKind| ActorLoad {
        kind: *kind,
        queue: u64::try_from(metrics.queued(*kind)).unwrap_or(0),
        handled: metrics.handled_so_far(*kind),
        restarts: metrics.restarts(*kind).saturating_add(metrics.restarts_asked(*kind)),
        deaths: metrics.restarts(*kind),
    };
    Pipeline { actors: ActorKind::ALL.iter().map(load).collect() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::time::UnixMillis;

    #[test]
    fn every_kind_is_told_with_what_was_counted() {
        let metrics = Metrics::new(UnixMillis(0));
        metrics.queue(ActorKind::Store, 3);
        metrics.handled(ActorKind::Store, Duration::from_millis(1));
        metrics.restarted(ActorKind::Store);
        metrics.restart_asked(ActorKind::Store);
        let told = of(&metrics);
        assert_eq!(told.actors.len(), 7);
        let store = ActorLoad { kind: ActorKind::Store, queue: 3, handled: 1, restarts: 2, deaths: 1 };
        assert_eq!(told.actors.last(), Some(&store));
    }
}
