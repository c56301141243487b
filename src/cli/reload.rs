//! SIGHUP: the settings are read again; what may change while running is taken up, the rest is named.

use super::args::RunArgs;
use super::gather::run_layers;
use crate::app::ReadAgain;
use crate::config::{Settings, is_changeable};

/// What SIGHUP does first: reads file, environment and flags once more, and names those changes that take effect at the next
/// start. Seeds are not read again (`lycosa ctl seeds add` adds them).
#[must_use]
pub fn on_hangup(args: &RunArgs, in_force: &Settings) -> ReadAgain {
    let args = RunArgs { seeds_file: None, ..args.clone() };
    let in_force = in_force.clone();
    Box::new(move || match run_layers(&args).and_then(|layers| Ok(layers.load()?)) {
        Ok(new) => {
            log::info!("settings read again: log_level={:?}", new.log.level);
            let waiting = waiting(&in_force, &new);
            if !waiting.is_empty() {
                log::warn!("changed settings that take effect at the next start: keys={}", waiting.join(","));
            }
            Some(new)
        }
        Err(e) => {
            log::warn!("settings not taken up, the former ones hold: {}", e.line());
            None
        }
    })
}

/// The keys that differ and cannot be taken up while running.
fn waiting(old: &Settings, new: &Settings) -> Vec<String> {
    let (Ok(old), Ok(new)) = (old.source.show(), new.source.show()) else { return Vec::new() };
    let differ = old.into_iter().zip(new).filter(|(old, new)| old.json != new.json).map(|(old, _)| old.key);
    differ.filter(|key| !is_changeable(key) && key != "crawl.seeds").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn only_what_needs_a_restart_is_named() {
        let settings = |sets: &[&str]| sets.iter().fold(Layers::new(), |l, s| l.set(s).unwrap()).load().unwrap();
        let old = settings(&[]);
        assert!(waiting(&old, &settings(&["log.level=debug", "crawl.seeds=http://a.test/"])).is_empty());
        let new = settings(&["politeness.min_delay=3s", "crawl.name=x", "log.summary=1s", "fetch.concurrency=3"]);
        assert_eq!(waiting(&old, &new), ["crawl.name", "fetch.concurrency", "log.summary"]);
    }
}
