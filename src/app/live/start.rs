//! The rules that hold when a node starts, or when its database was opened again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Live, digest, put_in_force, take_up_log};
use crate::actors::node::Node;
use crate::app::Rules;
use crate::config::{ConfigError, Layers, Origin, Settings};
use crate::storage::values::{LiveSettings, RunState};
use crate::storage::{Storage, StorageError, read};

/// What holds at a start: file, environment and flags, and over them what was changed while former runs were under way.
/// Gives the rules with the digest of those that judge URLs.
///
/// # Errors
/// The storage's own.
pub fn at_start(storage: &dyn Storage, rules: &Rules) -> Result<(Live, [u8; 16]), StorageError> {
    let record: LiveSettings = read::meta(storage, ())?.unwrap_or_default();
    let run: Option<RunState> = read::meta(storage, ())?;
    let base = rules.settings.source.clone();
    let (settings, left_out) = laid(&base, &record.overlay, &rules.settings);
    tell(&record, &left_out);
    let settings = rules.settings.taking_up(&settings);
    if settings.source.origin("log.level") == Origin::Admin {
        take_up_log(&settings);
    }
    let digest = digest(&settings);
    let (former, known) = run.map_or((1, [0; 16]), |run| (run.rules.max(1), run.rules_digest));
    let others = known != [0; 16] && known != digest;
    if others {
        log::info!("the rules differ from those of the last run; queued URLs are judged again when their turn comes");
    }
    Ok((Live::new(settings, base, former.saturating_add(others.into())), digest))
}

/// Lays what was changed over the other sources. What cannot be, because those are others now, is left out.
fn laid(base: &Layers, overlay: &BTreeMap<String, String>, settings: &Settings) -> (Settings, Vec<String>) {
    if let Ok(settings) = over(base, overlay).and_then(|layers| layers.load()) {
        return (settings, Vec::new());
    }
    let (mut layers, mut good) = (base.clone(), settings.clone());
    let mut left: Vec<&String> = overlay.keys().collect();
    loop {
        let before = left.len();
        // Some keys are good only once another is laid over: several rounds.
        left.retain(|key| {
            let text = overlay.get(*key).map_or("", String::as_str);
            let tried = layers.clone().admin(key, &json(text)).and_then(|with| Ok((with.load()?, with)));
            let Ok((settings, with)) = tried else { return true };
            (good, layers) = (settings, with);
            false
        });
        if left.is_empty() || left.len() == before {
            return (good, left.into_iter().cloned().collect());
        }
    }
}

/// All of what was changed over the other sources.
pub(super) fn over(base: &Layers, overlay: &BTreeMap<String, String>) -> Result<Layers, ConfigError> {
    overlay.iter().try_fold(base.clone(), |layers, (key, text)| layers.admin(key, &json(text)))
}

/// A value as kept.
pub(super) fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_default()
}

fn tell(record: &LiveSettings, left_out: &[String]) {
    if !record.overlay.is_empty() {
        let keys: Vec<&str> = record.overlay.keys().map(String::as_str).collect();
        log::info!("settings changed over HTTP hold over file, environment and flags: keys={}", keys.join(","));
    }
    if !left_out.is_empty() {
        log::warn!(
            "settings changed over HTTP do not go with the configuration any more and are left out: keys={}; \
             `lycosa ctl unset` forgets them",
            left_out.join(",")
        );
    }
}

/// The database was opened again after a fault: a change whose commit was in doubt is in force if it got in, and not if not.
pub fn resync(node: &Node) {
    let stored = || -> Result<Option<(LiveSettings, u32)>, StorageError> {
        let Some(run) = read::meta::<RunState>(&*node.storage, ())? else { return Ok(None) };
        let same = run.rules.max(1) == node.live.generation();
        Ok((!same).then_some((read::meta(&*node.storage, ())?.unwrap_or_default(), run.rules)))
    };
    let (record, generation) = match stored() {
        Ok(Some(other)) => other,
        Ok(None) => return,
        Err(e) => return log::warn!("whether a change of the settings got in is not known: {e}"),
    };
    let base = node.live().base.clone();
    let (settings, _) = laid(&base, &record.overlay, &node.rules.settings);
    let settings = node.rules.settings.taking_up(&settings);
    match node.rules.scope(&settings, &node.rules.seeds(), []) {
        Ok(scope) => {
            log::info!("a change of the settings that was in doubt is settled: generation={generation}");
            put_in_force(node, &Arc::new(Live::new(settings, base, generation)), &scope);
        }
        Err(e) => log::warn!("the settings that were stored last cannot be put in force: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn what_does_not_go_with_the_file_any_more_is_left_out_and_the_rest_holds() {
        let base = Layers::new().set("fetch.retries=0").unwrap().set("fetch.retry_delays=[]").unwrap();
        let settings = base.load().unwrap();
        let kept = overlay(&[
            ("crawl.max_pages", "7"),
            ("fetch.retries", "3"),
            ("scope.mode", "\"prefixes\""),
            ("scope.prefixes", "[\"http://a.test/\"]"),
        ]);
        let (good, left_out) = laid(&base, &kept, &settings);
        assert_eq!(left_out, ["fetch.retries"]);
        assert_eq!((good.crawl.max_pages, good.fetch.retries, good.scope.prefixes.len()), (Some(7), 0, 1));
        assert_eq!(good.scope.mode, crate::config::ScopeMode::Prefixes);
    }
}
