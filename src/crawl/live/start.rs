//! The rules that hold when a node starts, or when its database was opened again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Live, digest, put_in_force, take_up_log};
use crate::base::time::UnixMillis;
use crate::config::{ConfigError, Layers, Origin, Settings};
use crate::crawl::node::Node;
use crate::crawl::rules::Rules;
use crate::storage::values::{ChangedKey, LiveSettings, RunState, SettingsChange};
use crate::storage::{Storage, StorageError, read};

/// The limits of a crawl. One that was set over HTTP and ended the crawl must not end every run after it: a flag of the
/// command line wins over it.
const LIMITS: [&str; 4] = ["crawl.max_bytes", "crawl.max_failures", "crawl.max_pages", "crawl.max_time"];

/// What a node starts with.
pub struct AtStart {
    pub live: Live,
    /// Of those that judge URLs.
    pub digest: [u8; 16],
    /// What was changed over HTTP, when this start takes back a part of it: to be stored.
    pub record: Option<LiveSettings>,
}

/// What holds at a start: file, environment and flags, and over them what was changed while former runs were under way.
///
/// # Errors
/// The storage's own.
pub fn at_start(storage: &dyn Storage, rules: &Rules, now: UnixMillis) -> Result<AtStart, StorageError> {
    let mut record: LiveSettings = read::meta(storage, ())?.unwrap_or_default();
    let run: Option<RunState> = read::meta(storage, ())?;
    let base = rules.settings.source.clone();
    let taken_back = flags_win(&mut record.overlay, &base);
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
    let generation = former.saturating_add((others || !taken_back.is_empty()).into());
    let record = (!taken_back.is_empty()).then(|| noted(record, generation, now, taken_back));
    Ok(AtStart { live: Live::new(settings, base, generation), digest, record })
}

/// Takes limits that a flag of this start sets out of what was changed over HTTP.
fn flags_win(overlay: &mut BTreeMap<String, String>, base: &Layers) -> Vec<ChangedKey> {
    let flagged = LIMITS.into_iter().filter(|key| base.flag_of(key).is_some());
    let taken = flagged.filter_map(|key| Some((key, overlay.remove(key)?)));
    let changed = |(key, before): (&str, String)| ChangedKey { key: key.to_owned(), before: Some(before), after: None };
    let taken: Vec<ChangedKey> = taken.map(changed).collect();
    for ChangedKey { key, before, .. } in &taken {
        let (flag, before) = (base.flag_of(key).unwrap_or_default(), before.as_deref().unwrap_or_default());
        log::warn!(
            "a limit set over HTTP is taken back, for the command line sets it: key={key} was={before} by={flag}"
        );
    }
    taken
}

/// The record with an entry of what this start took back; a change over HTTP of which nothing is left counts as undone.
fn noted(mut record: LiveSettings, generation: u32, at: UnixMillis, changed: Vec<ChangedKey>) -> LiveSettings {
    let gone = |change: &ChangedKey| changed.iter().any(|taken| taken.key == change.key);
    record.history.iter_mut().filter(|entry| entry.changed.iter().all(gone)).for_each(|entry| entry.undone = true);
    let by = "start".to_owned();
    record.history.push(SettingsChange { generation, at, by, undoes: None, undone: false, changed });
    record
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
pub(crate) fn over(base: &Layers, overlay: &BTreeMap<String, String>) -> Result<Layers, ConfigError> {
    overlay.iter().try_fold(base.clone(), |layers, (key, text)| layers.admin(key, &json(text)))
}

/// A value as kept.
pub(crate) fn json(text: &str) -> Json {
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
        let same = run.rules.max(1) == node.crawl.live.generation();
        Ok((!same).then_some((read::meta(&*node.storage, ())?.unwrap_or_default(), run.rules)))
    };
    let (record, generation) = match stored() {
        Ok(Some(other)) => other,
        Ok(None) => return,
        Err(e) => return log::warn!("whether a change of the settings got in is not known: {e}"),
    };
    let base = node.crawl.live().base.clone();
    let (settings, _) = laid(&base, &record.overlay, &node.crawl.rules.settings);
    let settings = node.crawl.rules.settings.taking_up(&settings);
    match node.crawl.rules.scope(&settings, &node.crawl.rules.seeds(), []) {
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

    #[test]
    fn a_limit_of_the_command_line_wins_over_one_set_over_http_and_other_keys_and_sources_do_not() {
        let flags = Layers::new().set("crawl.max_pages=9").unwrap().set("crawl.max_bytes=").unwrap();
        let base = flags.set("politeness.min_delay=1s").unwrap();
        let base = base.env([("LYCOSA_CRAWL__MAX_TIME".to_owned(), "9s".to_owned())]).unwrap();
        let kept = [
            ("crawl.max_pages", "4"),
            ("crawl.max_bytes", "\"1MB\""),
            ("crawl.max_time", "\"1s\""),
            ("politeness.min_delay", "\"2s\""),
        ];
        let mut left = overlay(&kept);
        let taken = flags_win(&mut left, &base);
        assert_eq!(taken.iter().map(|taken| &*taken.key).collect::<Vec<_>>(), ["crawl.max_bytes", "crawl.max_pages"]);
        assert_eq!(left, overlay(&kept[2..]));
        assert!(flags_win(&mut left, &base).is_empty());
    }
}
