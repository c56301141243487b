//! The members of a crawl on several machines: who there is, and an operator's word that one is lost for good.

use actix_web::web::{Data, Path};

use super::control::ControlError;
use super::problem::{Answer, Refusal};
use crate::crawl::node::Node;
use crate::domain::cluster::views::Nodes;

/// Members and spares, with the beat, the copy and the counts of each. Of a crawl on one machine: 409.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "cluster", responses((status = 200, body = Nodes), Refusal<409>, Refusal<503>))]
pub(super) async fn nodes(node: Data<Node>) -> Answer {
    #[cfg(feature = "cluster")]
    if let Some(member) = node.member.get() {
        return listed(member.who().clone()).await;
    }
    Err(alone(&node).into())
}

/// Says that a member's machine is off: a spare takes its place at once, and need not wait for the end of its lease. When it is not off,
/// its hosts are asked by two for as long as one beat.
#[utoipa::path(post, path = "/api/v1/nodes/{name}/dead", tag = "cluster", params(("name" = String, Path, description = "The member")), responses(
    (status = 200, body = Nodes), Refusal<404>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn dead(node: Data<Node>, name: Path<String>) -> Answer {
    #[cfg(feature = "cluster")]
    if let Some(member) = node.member.get() {
        return said(member.who().clone(), name.into_inner(), crate::cluster::nodes::declare_dead, "declared dead")
            .await;
    }
    drop(name);
    Err(alone(&node).into())
}

/// Has a member leave: the others take all that it has, then its process ends. The only one that stays cannot leave.
#[utoipa::path(post, path = "/api/v1/nodes/{name}/leave", tag = "cluster", params(("name" = String, Path, description = "The member")), responses(
    (status = 200, body = Nodes), Refusal<404>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn leave(node: Data<Node>, name: Path<String>) -> Answer {
    #[cfg(feature = "cluster")]
    if let Some(member) = node.member.get() {
        return said(member.who().clone(), name.into_inner(), crate::cluster::nodes::order_leave, "told to leave")
            .await;
    }
    drop(name);
    Err(alone(&node).into())
}

fn alone(_: &Node) -> ControlError {
    ControlError::Refused("this crawl has one machine: there is no [cluster] in its settings".into())
}

/// The members, as the engine knows them.
#[cfg(feature = "cluster")]
pub(super) async fn listed(who: crate::cluster::Who) -> Answer {
    use super::bounded::reading;
    let look = move || crate::cluster::nodes::nodes(&who).map_err(|e| ControlError::Unavailable(e.to_string()));
    super::problem::ok(reading(look).await?)
}

/// What an operator says of a member.
#[cfg(feature = "cluster")]
pub(super) type Word = fn(&crate::cluster::Who, &str) -> Result<(), crate::cluster::nodes::WordError>;

/// A member of which something was said, and the members then.
#[cfg(feature = "cluster")]
pub(super) async fn said(who: crate::cluster::Who, name: String, word: Word, told: &'static str) -> Answer {
    use super::bounded::ordered;
    use crate::cluster::nodes::{WordError, nodes};
    let act = move || {
        word(&who, &name).map_err(|e| match &e {
            WordError::Engine(_) | WordError::Map(_) => ControlError::Unavailable(e.to_string()),
            WordError::Unknown { .. } => ControlError::Absent(e.to_string()),
            WordError::Myself(_) | WordError::Last(_) | WordError::Leaves(_) => ControlError::Refused(e.to_string()),
        })?;
        log::warn!("member {told} by the operator: member={name}");
        nodes(&who).map_err(|e| ControlError::Unavailable(e.to_string()))
    };
    let gone = |_| ControlError::Unavailable("it was given up; see the log".into());
    let told = ordered(async { actix_web::web::block(act).await.map_err(gone)? }, "`lycosa ctl nodes`").await?;
    super::problem::ok(told)
}
