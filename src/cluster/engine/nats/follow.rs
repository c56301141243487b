//! A watch: what the stream tells once it is kept, and everything again whenever something may have been missed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::sleep;

use super::super::Change;
use super::super::watch::Teller;
use super::bucket::change;
use super::link::Link;

/// Between two tries to read everything.
const AGAIN: Duration = Duration::from_millis(500);

/// Tells `teller` until the client or the watch ends.
pub(super) async fn follow(link: Arc<Link>, teller: Teller) {
    let Ok(mut told) = link.client.subscribe(format!("{}>", link.names.told)).await else {
        return;
    };
    let mut looked = link.looked.subscribe();
    loop {
        let anew = looked.borrow_and_update().anew;
        let Ok((entries, whole)) = link.all().await else {
            sleep(AGAIN).await;
            continue;
        };
        let mut known: BTreeMap<String, u64> =
            entries.iter().map(|entry| (entry.key.clone(), entry.revision)).collect();
        let mut latest = known.values().copied().fold(whole, u64::max);
        if !teller.all(entries) {
            return;
        }
        // The latest revision at the last look, when we had not heard of it then.
        let mut behind = None;
        // At the last look there was no such revision any more.
        let mut was_gone = false;
        loop {
            tokio::select! {
                message = told.next() => {
                    let Some(message) = message else { return };
                    let Some((revision, change)) = change(&link.names, &message) else { continue };
                    let Some(key) = key(&change) else { continue };
                    // What was read as a whole holds it already.
                    if revision <= whole || known.get(key).is_some_and(|known| revision <= *known) {
                        continue;
                    }
                    known.insert(key.to_owned(), revision);
                    latest = latest.max(revision);
                    if !teller.change(change) {
                        return;
                    }
                }
                changed = looked.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let now = *looked.borrow_and_update();
                    // What went without a mark of its removal was purged by hand.
                    let is_gone = known.values().any(|revision| *revision < now.first);
                    if (is_gone && was_gone) || now.anew != anew || behind.is_some_and(|behind| latest < behind) {
                        break;
                    }
                    was_gone = is_gone;
                    behind = (now.last > latest).then_some(now.last);
                }
            }
        }
    }
}

fn key(change: &Change) -> Option<&str> {
    match change {
        Change::All(_) => None,
        Change::Written(entry) => Some(&entry.key),
        Change::Removed { key, .. } => Some(key),
    }
}
