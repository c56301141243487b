//! What the data folder has of erasures.

use serde_json::Value;

use super::ErasureView;
use crate::admin::control::ControlError;
use crate::crawl::node::Node;
use crate::recovery::erase::{self, Brief, EraseError, Host, Pending};

/// Erasures listed.
const LISTED: usize = 1_000;

fn failed(error: EraseError) -> ControlError {
    ControlError::Unavailable(error.to_string())
}

impl From<Pending> for ErasureView {
    fn from(pending: Pending) -> Self {
        Self { id: pending.id, began: None, ended: None, erased: None }
    }
}

impl From<Brief> for ErasureView {
    fn from(Brief { id, began, ended, erased, .. }: Brief) -> Self {
        Self { id, began: Some(began), ended: Some(ended), erased: Some(erased) }
    }
}

/// Those of a host, or all.
pub(super) fn erasures(node: &Node, host: Option<&str>) -> Result<Vec<ErasureView>, ControlError> {
    let data = &node.crawl.rules.settings.store.data_dir;
    let pending = erase::pending(data).map_err(failed)?;
    let pending = pending.filter(|pending| host.is_none_or(|host| pending.host == host));
    let done = erase::certificates(data, LISTED).map_err(failed)?.into_iter();
    let done = done.filter(|done| host.is_none_or(|host| done.is_of(host)));
    Ok(pending.into_iter().map(ErasureView::from).chain(done.map(ErasureView::from)).collect())
}

/// The certificate of this name.
pub(super) fn kept(node: &Node, id: &str) -> Result<Option<Value>, ControlError> {
    erase::certificate(&node.crawl.rules.settings.store.data_dir, id).map_err(failed)
}

/// Refuses where another erasure is ordered.
pub(super) fn under_way(node: &Node, host: &str) -> Result<(), ControlError> {
    let pending = erase::pending(&node.crawl.rules.settings.store.data_dir).map_err(failed)?;
    match pending.filter(|pending| pending.host != host) {
        Some(pending) => {
            let why = format!("another host is to be erased first: {}; ask again after it", pending.id);
            Err(ControlError::Refused(why))
        }
        None => Ok(()),
    }
}

/// Notes the order for good.
pub(super) fn note(node: &Node, host: &str) -> Result<ErasureView, ControlError> {
    let named = Host::named(host, &node.prints).map_err(failed)?;
    let pending = erase::order(&node.crawl.rules.settings.store.data_dir, &named, node.clock.date());
    let pending = pending.map_err(failed)?;
    let ordered = node.faults.check("erase.ordered");
    ordered.map_err(|e| ControlError::Unavailable(e.to_string()))?;
    Ok(pending.into())
}
