//! SIGHUP: the settings are read again; what may change while running is taken up, the rest is named.

use super::args::RunArgs;
use super::gather::run_layers;
use crate::config::{CrawlSection, LogSection, Settings};

/// What SIGHUP does: reads file, environment and flags once more. The log level is taken up; other changes are named, they
/// take effect at the next start. Seeds are not read again (`lycosa ctl seeds add` adds them).
#[must_use]
pub fn on_hangup(args: &RunArgs, in_force: &Settings, rust_log: Option<&str>) -> Box<dyn Fn() + Send> {
    let args = RunArgs { seeds_file: None, ..args.clone() };
    let (in_force, rust_log) = (in_force.clone(), rust_log.map(str::to_owned));
    Box::new(move || match run_layers(&args).and_then(|layers| Ok(layers.load()?)) {
        Ok(new) => {
            crate::telemetry::log::reconfigure(&new.log, rust_log.as_deref());
            log::info!("settings read again: log_level={:?}", new.log.level);
            let waiting = changed(&in_force, &new);
            if !waiting.is_empty() {
                log::warn!("changed settings that take effect at the next start: sections={}", waiting.join(","));
            }
        }
        Err(e) => log::warn!("settings not taken up, the former ones hold: {}", e.line()),
    })
}

/// The sections that differ in what cannot be taken up while running.
fn changed(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let crawl = |s: &Settings| CrawlSection { seeds: Vec::new(), ..s.crawl.clone() };
    let log = |s: &Settings| LogSection { level: String::new(), format: s.log.format, summary: s.log.summary };
    let admin = |s: &Settings| (s.admin_listen, s.admin_token_file.clone(), s.admin_read_token_file.clone());
    let sections = [
        ("agent", old.agent == new.agent),
        ("crawl", crawl(old) == crawl(new)),
        ("scope", old.scope == new.scope),
        ("frontier", old.frontier == new.frontier),
        ("politeness", old.politeness == new.politeness),
        ("robots", old.robots == new.robots),
        ("fetch", old.fetch == new.fetch),
        ("parse", old.parse == new.parse),
        ("traps", old.traps == new.traps),
        ("net", old.net == new.net),
        ("dns", old.dns == new.dns),
        ("tls", old.tls == new.tls),
        ("dedup", old.dedup == new.dedup),
        ("store", old.store == new.store),
        ("durability", old.durability == new.durability),
        ("checkpoint", old.checkpoint == new.checkpoint),
        ("disk", old.disk == new.disk),
        ("admin", admin(old) == admin(new)),
        ("log", log(old) == log(new)),
        ("host", old.hosts == new.hosts),
    ];
    sections.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn only_what_needs_a_restart_is_named() {
        let settings = |sets: &[&str]| sets.iter().fold(Layers::new(), |l, s| l.set(s).unwrap()).load().unwrap();
        let old = settings(&[]);
        assert!(changed(&old, &settings(&["log.level=debug", "crawl.seeds=http://a.test/"])).is_empty());
        let new = settings(&["politeness.min_delay=3s", "crawl.max_pages=3", "log.summary=1s"]);
        assert_eq!(changed(&old, &new), ["crawl", "politeness", "log"]);
    }
}
