//! Commands to hosts: committed as orders, which stand until they are taken back, or carried out by a job.

mod work;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::admin::ControlError;
use crate::admin::commit::{commit, commit_last, committed};
use crate::admin::jobs::JobView;
use crate::admin::orders::HostOrdered;
use crate::crawl::jobs::JobError;
use crate::crawl::node::Node;
use crate::domain::orders::HostOrder;
use crate::storage::keys::{HostAt, KeyRange};
use crate::storage::ledger::Change;
use crate::storage::{StorageError, read};
use work::carry_out;

/// A host by name and key.
#[derive(Clone, Debug)]
pub(in crate::admin) struct Named {
    pub name: String,
    pub at: HostAt,
}

impl Named {
    /// The host that a text names.
    pub fn of(node: &Node, text: &str) -> Result<Self, ControlError> {
        let parsed = Some(text).filter(|text| is_bare(text));
        let url = parsed.and_then(|text| node.crawl.live().canon.parse(&format!("http://{text}/")).ok());
        let name = url.filter(|url| url.port() == 80 && url.tail() == "/").map(|url| url.host().to_owned());
        let unclear = || ControlError::Invalid(format!("{text:?} is no host name; expected one such as example.org"));
        let name = name.ok_or_else(unclear)?;
        Ok(Self { at: HostAt::of(&node.prints, &name), name })
    }
}

/// The keys of URLs of the host that a text names; of all hosts when there is none.
pub(in crate::admin) fn range_of(node: &Node, host: Option<&str>) -> Result<KeyRange, ControlError> {
    let of = |host| Ok(KeyRange::host_crawl(Named::of(node, host)?.at.crawl(node.crawl.id)));
    host.map_or_else(|| Ok(KeyRange::all()), of)
}

/// Whether a text can be a host's name as it is: nothing in it that a parser of URLs would cut off, leave out or decode.
fn is_bare(text: &str) -> bool {
    let cut = |c: char| c.is_whitespace() || c.is_control() || "/\\?#@%".contains(c);
    !text.contains(cut) && (text.starts_with('[') || !text.contains(':'))
}

/// Answers when the order is committed; what takes long goes on as a job.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub async fn order(node: Arc<Node>, host: &str, order: HostOrder) -> Result<HostOrdered, ControlError> {
    let host = Named::of(&node, host)?;
    let known = may_be_ordered(&node, &host, order)?;
    let kind = match order {
        HostOrder::Drop => Some("drop"),
        HostOrder::Block => Some("block"),
        HostOrder::Recrawl => Some("recrawl"),
        _ => None,
    };
    let job = match kind {
        Some(kind) => working(&node, &host, kind, order).await?,
        None => at_once(&node, &host, order).await?,
    };
    log::info!("order to a host: host={} command={order:?}", host.name);
    let orders = node.crawl.orders.of(&host.at.host).into();
    Ok(HostOrdered { orders, host: host.name, known, job, erasure: None })
}

/// A host may be blocked, paused and slowed down before anything of it is known; gives whether something is.
fn may_be_ordered(node: &Node, host: &Named, order: HostOrder) -> Result<bool, ControlError> {
    if let Some(member) =
        node.crawl.share.as_ref().and_then(|share| Some(share.name_of(share.foreign(host.at.partition)?)))
    {
        return Err(ControlError::Refused(format!(
            "{} belongs to member {member} of this crawl: ask there",
            host.name
        )));
    }
    let unread = |e: StorageError| ControlError::Unavailable(e.to_string());
    let known = read::host_state(&*node.storage, host.at).map_err(unread)?.unwrap_or_default().name;
    let ahead = matches!(order, HostOrder::Pause | HostOrder::Block | HostOrder::MinDelay(Some(_)));
    if known.is_empty() && !ahead {
        return Err(ControlError::Absent(format!("nothing is known of the host {}", host.name)));
    }
    if !known.is_empty() && known != host.name {
        let why =
            format!("{} cannot be told from {known}, whose key it shares: no order can be given to it", host.name);
        return Err(ControlError::Refused(why));
    }
    let orders = node.crawl.orders.of(&host.at.host);
    if orders.is_empty() && !node.crawl.orders.has_room() {
        return Err(ControlError::Refused("orders stand for as many hosts as there can be: take some back".into()));
    }
    if orders.refusal().is_some() && order == HostOrder::Recrawl {
        return Err(ControlError::Refused(format!("{} is blocked, or its queue is being dropped", host.name)));
    }
    Ok(!known.is_empty())
}

async fn at_once(node: &Node, host: &Named, order: HostOrder) -> Result<Option<JobView>, ControlError> {
    committed(node, Change::Order { host: host.name.clone(), order }).await?;
    Ok(None)
}

/// Starts the job of an order, unless it runs already; answers when the order is committed. A take-down must not wait for other
/// jobs: while there are too many it stands without one, nothing is requested, and its queue is turned away at the next start or when
/// it is ordered again. A drop is refused then: its host would be held until somebody came back to it.
async fn working(
    node: &Arc<Node>,
    host: &Named,
    kind: &'static str,
    order: HostOrder,
) -> Result<Option<JobView>, ControlError> {
    match node.jobs.at_work(kind, |about| about == host.name) {
        Some((job, false)) => return Ok(Some(job)),
        // Its end takes the order back, also one that is given again before.
        Some((job, true)) if order != HostOrder::Block => {
            let why = format!("job {} was cancelled and is coming to its end: ask again when it is over", job.id);
            return Err(ControlError::Refused(why));
        }
        _ => {}
    }
    let (ordered, stands) = oneshot::channel();
    let (of_job, at) = (node.clone(), host.clone());
    let job = node.jobs.start(&node.clock, kind, host.name.clone(), move |job| {
        let stands = commit(&of_job, job, &Change::Order { host: at.name.clone(), order });
        let outcome = stands.and_then(|()| {
            let _ = ordered.send(());
            carry_out(&of_job, job, &at)
        });
        let end = match order {
            HostOrder::Drop => Some(HostOrder::Dropped),
            HostOrder::Recrawl => Some(HostOrder::Recrawled),
            _ => None, // a block stands
        };
        if matches!(outcome, Err(JobError::Cancelled)) && job.is_called_off() {
            end.into_iter().for_each(|end| end_order(&of_job, &at, end));
        }
        outcome
    });
    let job = match job {
        Err(JobError::Busy) if order == HostOrder::Block => return at_once(node, host, order).await,
        job => job.map_err(|e| ControlError::Refused(e.to_string()))?,
    };
    let gone = |_| ControlError::Unavailable(format!("job {} ended before it began; see `lycosa ctl jobs`", job.id));
    stands.await.map_err(gone)?;
    Ok(Some(node.jobs.get(job.id).unwrap_or(job)))
}

/// The job of an order was cancelled, so the order ends: what was done of it stands, and the host goes on with the rest.
fn end_order(node: &Node, host: &Named, end: HostOrder) {
    if commit_last(node, &Change::Order { host: host.name.clone(), order: end }) {
        log::info!("an order to a host ends with its job, which was cancelled: host={} order={end:?}", host.name);
    } else {
        log::warn!("an order to a host was cancelled and stands all the same until `resume`: host={}", host.name);
    }
}

/// What is left of the orders to a host of the former run ends.
fn end_orders(node: &Node, host: &Named) {
    let orders = node.crawl.orders.of(&host.at.host);
    let dropping = orders.dropping.map(|_| HostOrder::Dropped);
    let recrawling = orders.recrawling.map(|_| HostOrder::Recrawled);
    dropping.into_iter().chain(recrawling).for_each(|end| end_order(node, host, end));
}

/// Orders that the end of the former process cut short are carried out to their end.
pub fn finish(node: &Arc<Node>) {
    let hosts: Vec<Named> = node
        .crawl
        .orders
        .all()
        .into_iter()
        .filter(|(_, orders)| orders.refusal().is_some() || orders.recrawling.is_some())
        .filter_map(|(name, _)| Named::of(node, &name).ok())
        .collect();
    if hosts.is_empty() {
        return;
    }
    let of_job = node.clone();
    let job = node.jobs.start(&node.clock, "orders", "of the former run".into(), move |job| {
        for host in &hosts {
            match carry_out(&of_job, job, host) {
                Err(JobError::Cancelled) => {
                    if job.is_called_off() {
                        hosts.iter().for_each(|host| end_orders(&of_job, host));
                    }
                    return Err(JobError::Cancelled);
                }
                // Taken back meanwhile, or nothing could be done: the orders of the others stand all the same.
                Err(e) => log::warn!("an order of the former run was not carried out: host={} why={e}", host.name),
                Ok(_) => {}
            }
        }
        Ok(Value::Null)
    });
    if let Err(e) = job {
        log::error!("orders of the former run are not carried out; give them again: {e}");
    }
}
