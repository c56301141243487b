//! Changing the rules of a running node: checked, committed, put in force, one change at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::start::{json, over};
use super::{Live, Turn, digest, put_in_force};
use crate::config::{
    CHANGEABLE, ConfigError, Layers, Origin, ProxyUrl, Settings, Shown, check_changeable, shown_headers,
};
use crate::crawl::control::ControlError;
use crate::crawl::live::views::ChangedView;
use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::domain::scope::{Scope, ScopeError};
use crate::storage::ledger::Change;
use crate::storage::txn::Txn;
use crate::storage::values::{ChangedKey, LiveSettings, RunState, SettingsChange, Value};
use crate::storage::{StorageError, read};

/// Changes kept to look at and to take back.
const KEPT: usize = 50;
/// Bytes of the record at most: it is one value of the database.
const MAX_RECORD: usize = 1 << 20;
/// Rest before a change whose commit was lost is handed in again.
const AGAIN: Duration = Duration::from_millis(20);

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct SettingsPatch {
    /// Dotted keys with their values; null takes a key back to what file, environment and flags say.
    pub changes: BTreeMap<String, Json>,
    /// Whether rejected URLs are to be judged again.
    pub readmit: bool,
    /// Whether waiting URLs are to be ranked anew.
    pub rerank: bool,
}

/// Changes settings. Gives what it changed, with the number of the rules in force; nothing when all was so before.
///
/// # Errors
/// A value that the configuration would not take either, a key that needs a restart, or a Store that does not commit.
pub async fn change(node: &Arc<Node>, wish: SettingsPatch) -> Result<SettingsChange, ControlError> {
    let turn = node.crawl.live.turn().await;
    let (mut record, changed) = wished(node, &wish)?;
    if changed.is_empty() {
        return Ok(unchanged(node));
    }
    let base = node.crawl.live().base.clone();
    let entry = entry(node, "admin", None, changed);
    if wish.readmit {
        record.readmit = Some(entry.generation);
    }
    if wish.rerank {
        record.rerank = Some(entry.generation);
    }
    carry_out(node, turn, base, record, entry).await
}

/// Takes back the last change made over HTTP that was not taken back yet; `rerank`: waiting URLs are to be ranked anew.
///
/// # Errors
/// There is none, or as [`change`].
pub async fn undo(node: &Arc<Node>, rerank: bool) -> Result<SettingsChange, ControlError> {
    let turn = node.crawl.live.turn().await;
    let mut record = stored(node)?;
    let last = last_change(&mut record)?;
    last.undone = true;
    let (undoes, back) = (Some(last.generation), before(last));
    let changed = lay_over(&mut record.overlay, &back);
    let base = node.crawl.live().base.clone();
    let entry = entry(node, "admin", undoes, changed);
    if rerank {
        record.rerank = Some(entry.generation);
    }
    carry_out(node, turn, base, record, entry).await
}

/// What [`undo`] would ask for.
///
/// # Errors
/// As [`undo`].
pub(crate) fn undoing(node: &Node) -> Result<SettingsPatch, ControlError> {
    Ok(SettingsPatch { changes: before(last_change(&mut stored(node)?)?), ..SettingsPatch::default() })
}

/// The last change made over HTTP that stands.
pub(super) fn last_change(record: &mut LiveSettings) -> Result<&mut SettingsChange, ControlError> {
    let last =
        record.history.iter_mut().rfind(|c| c.by.split('@').next() == Some("admin") && c.undoes.is_none() && !c.undone);
    last.ok_or_else(|| ControlError::Refused("there is no change left to take back".into()))
}

/// The values that its keys had before it.
fn before(change: &SettingsChange) -> BTreeMap<String, Json> {
    change.changed.iter().map(|c| (c.key.clone(), c.before.as_deref().map_or(Json::Null, json))).collect()
}

/// Takes up what may change of settings read again; what was changed over HTTP stays laid over them.
///
/// # Errors
/// As [`change`].
pub async fn reload(node: &Arc<Node>, read_again: &Settings) -> Result<SettingsChange, ControlError> {
    let turn = node.crawl.live.turn().await;
    let record = stored(node)?;
    let base = read_again.source.clone();
    let layers = over(&base, &record.overlay).map_err(refused)?;
    let changed = differences(&node.crawl.live().settings.source, &layers).map_err(refused)?;
    if changed.is_empty() {
        return Ok(unchanged(node));
    }
    let entry = entry(node, "reload", None, changed);
    carry_out(node, turn, base, record, entry).await
}

/// Notes that the URLs rejected before the rules of this generation have been judged again by them.
///
/// # Errors
/// As [`change`].
pub async fn readmitted(node: &Arc<Node>, generation: u32) -> Result<(), ControlError> {
    let over = |record: &mut LiveSettings| record.readmit.take_if(|due| *due == generation).is_some();
    note(node, over).await
}

/// Notes that waiting URLs are to be ranked anew by the rules in force; gives their generation.
///
/// # Errors
/// As [`change`].
pub async fn rerank_is_due(node: &Arc<Node>) -> Result<u32, ControlError> {
    let generation = node.crawl.live.generation();
    note(node, |record| record.rerank.replace(generation) != Some(generation)).await?;
    Ok(generation)
}

/// Notes that this was done, as it was asked for at this generation.
///
/// # Errors
/// As [`change`].
pub async fn reranked(node: &Arc<Node>, generation: u32) -> Result<(), ControlError> {
    note(node, |record| record.rerank.take_if(|due| *due == generation).is_some()).await
}

/// Changes what is noted beside the rules, which stay as they are; true when there is something to note.
async fn note(node: &Arc<Node>, change: impl FnOnce(&mut LiveSettings) -> bool) -> Result<(), ControlError> {
    let turn = node.crawl.live.turn().await;
    let mut record = stored(node)?;
    if !change(&mut record) {
        return Ok(());
    }
    let live = node.crawl.live();
    let scope = node.crawl.rules.scope(&live.settings, &node.crawl.rules.seeds(), []).map_err(wrong)?;
    commit(node, turn, &record, Draft { live, scope }).await
}

/// What a change would make of the rules, without making it.
///
/// # Errors
/// As [`change`].
pub(crate) async fn draft(node: &Arc<Node>, wish: &SettingsPatch) -> Result<(Draft, Vec<ChangedKey>), ControlError> {
    let (record, changed) = wished(node, wish)?;
    let live = node.crawl.live();
    let draft = Draft::make(node, live.base.clone(), &record.overlay, live.generation.saturating_add(1)).await?;
    Ok((draft, changed))
}

/// The record as stored.
///
/// # Errors
/// The storage's own.
pub(crate) fn stored(node: &Node) -> Result<LiveSettings, ControlError> {
    Ok(read::meta(&*node.storage, ()).map_err(refused_by_storage)?.unwrap_or_default())
}

/// The database cannot be read now.
pub(crate) fn refused_by_storage(error: StorageError) -> ControlError {
    ControlError::Unavailable(error.to_string())
}

fn wrong(error: ScopeError) -> ControlError {
    ControlError::Invalid(error.to_string())
}

fn unchanged(node: &Node) -> SettingsChange {
    let generation = node.crawl.live.generation();
    SettingsChange { generation, ..entry(node, "admin", None, Vec::new()) }
}

pub(super) fn entry(node: &Node, by: &str, undoes: Option<u32>, changed: Vec<ChangedKey>) -> SettingsChange {
    let generation = node.crawl.live.generation().saturating_add(1);
    SettingsChange { generation, at: node.clock.date(), by: by.to_owned(), undoes, undone: false, changed }
}

/// The record with what is asked for, and the keys that it changes. One that is taken back must be a key; what was laid
/// over by a version that had more of them can be forgotten.
fn wished(node: &Node, wish: &SettingsPatch) -> Result<(LiveSettings, Vec<ChangedKey>), ControlError> {
    let mut record = stored(node)?;
    let mut back = wish.changes.iter().filter(|(key, value)| value.is_null() && !record.overlay.contains_key(*key));
    back.try_for_each(|(key, _)| check_changeable(key)).map_err(refused)?;
    let changed = lay_over(&mut record.overlay, &wish.changes);
    Ok((record, changed))
}

/// Lays changes over what was changed before; gives those that make a difference.
pub(super) fn lay_over(overlay: &mut BTreeMap<String, String>, changes: &BTreeMap<String, Json>) -> Vec<ChangedKey> {
    let mut changed = Vec::new();
    for (key, value) in changes {
        let after = (!value.is_null()).then(|| value.to_string());
        let before = match &after {
            Some(text) => overlay.insert(key.clone(), text.clone()),
            None => overlay.remove(key),
        };
        if before != after {
            changed.push(ChangedKey { key: key.clone(), before, after });
        }
    }
    changed
}

/// The keys that may change and do.
fn differences(old: &Layers, new: &Layers) -> Result<Vec<ChangedKey>, ConfigError> {
    let pairs = old.show()?.into_iter().zip(new.show()?);
    // Of a host's proxy the password is not shown, and may be all that differs.
    let hosts_differ = old.form()?.host != new.form()?.host;
    let differ = |a: &Shown, b: &Shown| a.json != b.json || (hosts_differ && a.key == "host");
    let differing = pairs.filter(|(a, b)| CHANGEABLE.contains(&a.key.as_str()) && differ(a, b));
    let text = |json: &Json| (!json.is_null()).then(|| json.to_string());
    Ok(differing.map(|(a, b)| ChangedKey { before: text(&a.json), after: text(&b.json), key: a.key }).collect())
}

fn refused(error: ConfigError) -> ControlError {
    match error {
        ConfigError::NeedsRestart { .. } => ControlError::Refused(error.to_string()),
        // Who asked knows where the value came from.
        ConfigError::Value { place, key, problem } if place == Origin::Admin.to_string() => {
            ControlError::Invalid(format!("{key}: {problem}"))
        }
        other => ControlError::Invalid(other.to_string()),
    }
}

/// Rules that are checked and ready to be put in force.
pub(crate) struct Draft {
    pub live: Arc<Live>,
    pub scope: Scope,
}

impl Draft {
    /// Checks settings as the configuration would be checked, and makes rules of them. Patterns may take long to
    /// compile: not on the thread of the endpoint.
    async fn make(
        node: &Arc<Node>,
        base: Arc<Layers>,
        overlay: &BTreeMap<String, String>,
        generation: u32,
    ) -> Result<Self, ControlError> {
        let (node, overlay) = (node.clone(), overlay.clone());
        let made = tokio::task::spawn_blocking(move || -> Result<Self, ControlError> {
            let settings = over(&base, &overlay).and_then(|layers| layers.load()).map_err(refused)?;
            let settings = node.crawl.rules.settings.taking_up(&settings);
            let scope = node.crawl.rules.scope(&settings, &node.crawl.rules.seeds(), []).map_err(wrong)?;
            Ok(Self { live: Arc::new(Live::new(settings, base, generation)), scope })
        });
        let gone = |_| ControlError::Unavailable("the check of the settings was given up; see the log".into());
        made.await.map_err(gone)?
    }
}

/// Checks, commits and puts in force.
pub(super) async fn carry_out(
    node: &Arc<Node>,
    turn: Turn,
    base: Arc<Layers>,
    mut record: LiveSettings,
    entry: SettingsChange,
) -> Result<SettingsChange, ControlError> {
    let generation = entry.generation;
    let draft = Draft::make(node, base, &record.overlay, generation).await?;
    #[cfg(feature = "cluster")]
    if entry.by == "admin" {
        super::members::publish(node, &mut record, &entry).await?;
    }
    record.history.push(entry.clone());
    trim(&mut record)?;
    commit(node, turn, &record, draft).await?;
    let keys: Vec<&str> = entry.changed.iter().map(|c| c.key.as_str()).collect();
    log::info!("settings changed: generation={generation} by={} keys={}", entry.by, keys.join(","));
    Ok(entry)
}

/// Forgets the oldest changes beyond what is kept.
fn trim(record: &mut LiveSettings) -> Result<(), ControlError> {
    let overlay: usize = record.overlay.iter().map(|(key, text)| key.len() + text.len()).sum();
    if overlay > MAX_RECORD / 4 {
        let most = MAX_RECORD / 4;
        return Err(ControlError::Invalid(format!("{overlay} bytes of changed settings, at most {most} are kept")));
    }
    while record.history.len() > KEPT || (record.history.len() > 1 && record.encode().len() > MAX_RECORD) {
        record.history.remove(0);
    }
    Ok(())
}

/// Has the Store commit the record; by that commit the rules are put in force. A commit that is lost (an actor died, the
/// disk refused) is handed in again. The turn ends with the last attempt, also when nobody waits for it any more. Once the
/// Store has closed its files, at the end of a run, it is kept for the next start.
async fn commit(node: &Arc<Node>, turn: Turn, record: &LiveSettings, draft: Draft) -> Result<(), ControlError> {
    let (turn, draft) = (Arc::new(turn), Arc::new(draft));
    let (rules, digest) = (draft.live.generation, digest(&draft.live.settings));
    let (max_depth, refresh) = (draft.live.settings.max_depth(), draft.live.settings.refresh_rules());
    let priorities = &draft.live.priorities;
    loop {
        let (reply, answer) = oneshot::channel();
        let (of_hook, of_draft, turn) = (node.clone(), draft.clone(), turn.clone());
        let hook = Box::new(move || {
            put_in_force(&of_hook, &of_draft.live, &of_draft.scope);
            drop(turn);
            let _ = reply.send(());
        });
        let refresh = Box::new(refresh.clone());
        let (of_change, priorities) = (Box::new(record.clone()), priorities.clone());
        let change = Change::Settings { record: of_change, rules, digest, max_depth, refresh, priorities };
        node.mailboxes().store.tell(Commit { reply: Some(hook), ..Commit::bare(change) });
        if answer.await.is_ok() {
            return Ok(());
        }
        if node.crawl.switches.closed.load(Ordering::Acquire) {
            keep(node, record, rules, digest)?;
            put_in_force(node, &draft.live, &draft.scope); // who asks meanwhile sees it
            return Ok(());
        }
        if let Some(why) = &*node.stop.borrow() {
            return Err(ControlError::Unavailable(format!("the crawl is coming to its end: {why:?}")));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Stores the record itself: the only writer has ended, so nobody else writes, and the next start reads it.
fn keep(node: &Node, record: &LiveSettings, rules: u32, rules_digest: [u8; 16]) -> Result<(), ControlError> {
    let kept = || -> Result<(), StorageError> {
        let mut txn = Txn::new(&*node.storage);
        txn.put_meta((), record);
        if let Some(run) = read::meta::<RunState>(&*node.storage, ())? {
            txn.put_meta((), &RunState { rules, rules_digest, ..run });
        }
        node.storage.write(&txn.into_batch())?;
        node.storage.sync()
    };
    kept().map_err(refused_by_storage)
}

/// The keys of a change, as they are shown.
pub(crate) fn changed_views(changed: &[ChangedKey]) -> Vec<ChangedView> {
    let value = |text: &Option<String>| text.as_deref().map_or(Json::Null, |text| without_secrets(json(text)));
    let view = |c: &ChangedKey| ChangedView { key: c.key.clone(), before: value(&c.before), after: value(&c.after) };
    changed.iter().map(view).collect()
}

/// What was said of a host: its proxy without user name and password, and no header that is named like them.
fn without_secrets(mut value: Json) -> Json {
    if let Some(proxy) = value.get_mut("proxy")
        && let Ok(url) = serde_json::from_value::<ProxyUrl>(proxy.clone())
    {
        *proxy = Json::from(url.to_string());
    }
    if let Some(headers) = value.get_mut("headers")
        && let Ok(said) = serde_json::from_value(headers.clone())
    {
        *headers = serde_json::json!(shown_headers(&said));
    }
    value
}
