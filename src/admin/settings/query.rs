//! The configuration in force and its changes, behind their room.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::admin::ControlError;
use crate::admin::jobs::JobView;
use crate::admin::rerank;
use crate::admin::settings::{
    ChangeView, Changed, Changes, How, ReadmitView, SettingView, SettingsView, TrialView, UndoHow,
};
use crate::config::{ConfigError, HostSection, Layers, Origin, Shown, is_changeable, shown_headers};
use crate::crawl::jobs::JobError;
use crate::crawl::live::Live;
use crate::crawl::live::{self, Readmitting, SettingsPatch, Trial};
use crate::crawl::node::{Node, Stop};
use crate::crawl::readmit::{self, Which};
use crate::domain::reason::Rejection;
use crate::storage::StorageError;
use crate::storage::values::SettingsChange;

pub(super) fn settings(node: &Node) -> Result<SettingsView, ControlError> {
    let live = node.crawl.live();
    let unshown = |e: ConfigError| ControlError::Unavailable(e.to_string());
    let (now, at_start) = (live.settings.source.show(), node.crawl.rules.settings.source.show());
    let pairs = now.map_err(unshown)?.into_iter().zip(at_start.map_err(unshown)?);
    let built_in = Layers::new().show().map_err(unshown)?.into_iter().map(|shown| (shown.key, shown.json));
    let mut built_in: BTreeMap<String, Json> = built_in.collect();
    let in_force = pairs.map(|(now, start)| if is_changeable(&now.key) { now } else { start });
    let mut settings: Vec<SettingView> =
        in_force.filter(|shown| shown.key != "host").map(|shown| view(shown, &mut built_in)).collect();
    settings.extend(live.settings.host.iter().map(|host| host_view(&live, host)));
    Ok(SettingsView { generation: live.generation, agreed: live::stored(node)?.register, settings })
}

/// Changes settings; answers when that is committed.
pub(super) async fn change(node: Arc<Node>, changes: Changes, how: How) -> Result<Changed, ControlError> {
    let How { readmit, rerank, .. } = how;
    let wish = SettingsPatch { changes, readmit, rerank };
    if !how.force {
        check(&node, wish.clone()).await?;
    }
    let readmitting = readmit.then(|| Readmitting::begin(&node));
    let change = live::change(&node, wish).await?;
    let mut made = changed(&node, &change);
    if let Some(readmitting) = readmitting {
        let generation = (!change.changed.is_empty()).then_some(change.generation);
        let which = Which { generation, ..Which::default() };
        match readmit::start(&node, which, readmitting) {
            Ok(job) => made.job = Some(job),
            Err(e) => made.note = Some(format!("the change holds, but rejected URLs are not judged again: {e}")),
        }
    }
    if rerank {
        rank_anew(&node, &mut made);
    }
    if readmit && !node.crawl.rules.settings.scope.record_rejected {
        made.note = Some("scope.record_rejected is off: no rejected URL is remembered".into());
    }
    Ok(made)
}

/// Takes back the last change.
pub(super) async fn undo(node: Arc<Node>, how: UndoHow) -> Result<Changed, ControlError> {
    if !how.force {
        check(&node, live::undoing(&node)?).await?;
    }
    let mut made = changed(&node, &live::undo(&node, how.rerank).await?);
    if how.rerank {
        rank_anew(&node, &mut made);
    }
    Ok(made)
}

/// Starts the job that ranks waiting URLs by a change that was made.
fn rank_anew(node: &Arc<Node>, made: &mut Changed) {
    match rerank::start_all(node, made.change.generation) {
        Ok(job) => made.rerank = Some(job),
        Err(e) => made.note = Some(format!("the change holds, but waiting URLs are not ranked anew: {e}")),
    }
}

/// Forgets what was set for a host.
pub(super) async fn forget_host(node: Arc<Node>, key: String) -> Result<Changed, ControlError> {
    if !live::stored(&node)?.overlay.contains_key(&key) {
        let host = key.trim_start_matches("host.");
        return Err(ControlError::Absent(format!("nothing was set over HTTP for the host {host}")));
    }
    let changes = Changes::from([(key, Json::Null)]);
    Ok(changed(&node, &live::change(&node, SettingsPatch { changes, ..SettingsPatch::default() }).await?))
}

/// What a change would do to a sample of the URLs.
pub(super) async fn sample(node: Arc<Node>, changes: Changes) -> Result<TrialView, ControlError> {
    let (draft, changed) = live::draft(&node, &SettingsPatch { changes, ..SettingsPatch::default() }).await?;
    looked(move || Trial::new(node, draft, changed).sample()).await
}

/// What a change would do to all URLs, as a job.
pub(super) async fn trial(node: Arc<Node>, changes: Changes) -> Result<JobView, ControlError> {
    let about = format!("what a change would do: {}", changes.keys().cloned().collect::<Vec<_>>().join(" "));
    let (draft, changed) = live::draft(&node, &SettingsPatch { changes, ..SettingsPatch::default() }).await?;
    let trial = Trial::new(node.clone(), draft, changed);
    node.jobs.start(&node.clock, "dry-run", about, move |job| trial.all(job)).map_err(not_started)
}

/// Judges rejected URLs again, as a job.
pub(super) fn readmit(node: &Arc<Node>, which: ReadmitView) -> Result<JobView, ControlError> {
    if which.held_back && which.reason.is_some() {
        return Err(ControlError::Invalid("held_back: expected without a reason".into()));
    }
    let ReadmitView { reason: of, held_back, host } = which;
    let which = Which { reason: of.map(reason).transpose()?, held_back, host, generation: None };
    let host = which.host.as_ref().map(|host| host.trim().to_ascii_lowercase());
    if host.as_ref().is_some_and(|h| h.is_empty() || h.len() > 253) {
        return Err(ControlError::Invalid("host: expected a host name such as example.org".into()));
    }
    readmit::start(node, Which { host, ..which }, Readmitting::begin(node)).map_err(not_started)
}

/// Refuses a change that ends the crawl or turns most of its queue away: who means it says so.
async fn check(node: &Arc<Node>, wish: SettingsPatch) -> Result<(), ControlError> {
    if !wish.changes.keys().any(|key| live::may_harm(key)) {
        return Ok(());
    }
    let (draft, changed) = live::draft(node, &wish).await?;
    let node = node.clone();
    live::check_warnings(&looked(move || Trial::new(node, draft, changed).warnings()).await?)
}

/// What a look at the queues finds.
async fn looked<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, ControlError> {
    let gone = |_| ControlError::Unavailable("the look was given up; see the log".into());
    tokio::task::spawn_blocking(look).await.map_err(gone)?.map_err(live::refused_by_storage)
}

/// One host's section; its origin is the file's unless it was set over HTTP.
fn host_view(live: &Live, host: &HostSection) -> SettingView {
    let by_admin = !live.base.form().is_ok_and(|form| form.host.contains(host));
    let origin = if by_admin { Origin::Admin } else { live.base.origin("host") };
    let delay = host.min_delay.map(crate::base::units::format_duration);
    let mut value = json!({ "max_connections": host.max_connections, "min_delay": delay });
    if let Some(weight) = host.weight {
        value["weight"] = Json::from(weight.get());
    }
    if let Some(proxy) = &host.proxy {
        value["proxy"] = Json::from(proxy.to_string());
    }
    if !host.headers.is_empty() {
        value["headers"] = json!(shown_headers(&host.headers));
    }
    SettingView {
        key: format!("host.{}", host.pattern),
        value,
        default: Json::Null,
        origin: origin.to_string(),
        changeable: true,
    }
}

fn view(shown: Shown, built_in: &mut BTreeMap<String, Json>) -> SettingView {
    let Shown { key, json, origin, .. } = shown.without_secrets();
    let default = built_in.remove(&key).unwrap_or_default();
    SettingView { changeable: is_changeable(&key), value: json, default, origin: origin.to_string(), key }
}

/// A crawl that has begun to end does end, whatever is changed.
fn changed(node: &Node, change: &SettingsChange) -> Changed {
    let ends =
        |why: &Stop| format!("the crawl is coming to its end ({why:?}): this is kept, and holds from the next start");
    let note = node.stop.borrow().as_ref().map(ends);
    Changed { change: change_view(change), job: None, rerank: None, note }
}

pub(super) fn change_view(change: &SettingsChange) -> ChangeView {
    ChangeView {
        generation: change.generation,
        at: change.at,
        by: change.by.clone(),
        undoes: change.undoes,
        undone: change.undone,
        changed: live::changed_views(&change.changed),
    }
}

fn not_started(error: JobError) -> ControlError {
    match error {
        JobError::Busy => ControlError::Refused(error.to_string()),
        other => ControlError::Unavailable(other.to_string()),
    }
}

fn reason(text: String) -> Result<Rejection, ControlError> {
    let good = |r: &Rejection| readmit::may_be_readmitted(*r);
    let found = Rejection::ALL.iter().copied().filter(good).find(|r| r.as_str() == text);
    found.ok_or_else(|| {
        let all: Vec<&str> = Rejection::ALL.iter().filter(|r| good(r)).map(|r| r.as_str()).collect();
        ControlError::Invalid(format!("reason: {text:?} is none that can be readmitted; there are {}", all.join(" ")))
    })
}
