//! Changes of the settings among the members of one crawl: each goes into the engine's register before it is committed, and from there to the
//! others.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::change::{carry_out, entry, last_change, lay_over, stored};
use super::start::json;
use crate::cluster::register::{self, Register, RegisterError};
use crate::crawl::control::ControlError;
use crate::crawl::node::Node;
use crate::storage::values::{LiveSettings, SettingsChange};

/// Has a change that is about to be committed hold for all members.
///
/// # Errors
/// [`ControlError::Refused`]: another's change is not here yet; [`ControlError::Unavailable`]: the engine is away.
pub(super) async fn publish(
    node: &Node,
    record: &mut LiveSettings,
    entry: &SettingsChange,
) -> Result<(), ControlError> {
    let Some(who) = node.member.get().map(|member| member.who().clone()) else { return Ok(()) };
    let change = Register {
        number: 0,
        overlay: record.overlay.clone(),
        by: who.name.clone(),
        undoes: entry.undoes.is_some(),
        readmit: record.readmit == Some(entry.generation),
        rerank: record.rerank == Some(entry.generation),
    };
    let known = record.register;
    let written = tokio::task::spawn_blocking(move || register::write(&*who.engine, known, change)).await;
    let written = written.map_err(|_| ControlError::Unavailable("the write was given up; see the log".into()))?;
    record.register = written.map_err(|e| match e {
        RegisterError::Newer { .. } => ControlError::Refused(e.to_string()),
        RegisterError::Engine(_) => ControlError::Unavailable(e.to_string()),
    })?;
    Ok(())
}

/// Takes up what was changed at another member; nothing when it is here by now.
///
/// # Errors
/// Settings that do not go with those of this machine's file, or as [`change`](super::change()).
pub async fn take_up(node: &Arc<Node>, change: &Register) -> Result<Option<SettingsChange>, ControlError> {
    let turn = node.crawl.live.turn().await;
    let mut record = stored(node)?;
    if change.number <= record.register {
        return Ok(None);
    }
    let mut wanted: BTreeMap<String, Json> = record.overlay.keys().map(|key| (key.clone(), Json::Null)).collect();
    wanted.extend(change.overlay.iter().map(|(key, text)| (key.clone(), json(text))));
    let changed = lay_over(&mut record.overlay, &wanted);
    let undone = change.undoes.then(|| last_change(&mut record).ok()).flatten();
    let undoes = undone.map(|last| {
        last.undone = true;
        last.generation
    });
    let entry = entry(node, &format!("admin@{}", change.by), undoes, changed);
    record.register = change.number;
    record.readmit = if change.readmit { Some(entry.generation) } else { record.readmit };
    record.rerank = if change.rerank { Some(entry.generation) } else { record.rerank };
    let base = node.crawl.live().base.clone();
    carry_out(node, turn, base, record, entry).await.map(Some)
}

/// Gives an engine that has less than this member its settings again.
///
/// # Errors
/// The engine's, or the storage's.
pub fn put_back(node: &Node, told: Option<&Register>) -> Result<(), ControlError> {
    let (record, Some(member)) = (stored(node)?, node.member.get()) else { return Ok(()) };
    if record.register <= told.map_or(0, |told| told.number) {
        return Ok(());
    }
    let mine = Register {
        number: record.register,
        overlay: record.overlay,
        by: member.who().name.clone(),
        ..Register::default()
    };
    let put = register::put_back(&*member.who().engine, &mine);
    if put.map_err(|e| ControlError::Unavailable(e.to_string()))? {
        log::info!("settings that hold for all are put back into the engine: number={}", mine.number);
    }
    Ok(())
}
