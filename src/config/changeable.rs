//! What may change while a crawl runs. Everything else is read at its start.

use super::error::ConfigError;
use super::file::FileForm;
use super::layers::Origin;
use super::sections::{CrawlSection, FetchSection, LogSection, PolitenessSection, ScopeSection};
use super::settings::Settings;
use super::source;

/// The keys that may change while a crawl runs, in the order of the sections.
pub const CHANGEABLE: &[&str] = &[
    "crawl.max_pages",
    "crawl.max_depth",
    "crawl.max_time",
    "crawl.max_bytes",
    "crawl.until_done",
    "crawl.max_failures",
    "crawl.until_done_patience",
    "crawl.until_done_first_patience",
    "scope.mode",
    "scope.prefixes",
    "scope.include",
    "scope.exclude",
    "scope.allow_hosts",
    "scope.deny_hosts",
    "scope.skip_extensions",
    "politeness.min_delay",
    "politeness.delay_factor",
    "politeness.max_delay",
    "fetch.retries",
    "fetch.retry_delays",
    "traps.max_url_length",
    "traps.max_segments",
    "traps.max_repeats",
    "traps.max_params",
    "traps.pages_per_pattern",
    "traps.sessions",
    "traps.permutations",
    "traps.barren_pages",
    "traps.hosts_per_domain",
    "traps.pages_per_host",
    "log.level",
    "log.format",
    "host",
];

/// How the key of one host's section begins.
pub(super) const HOST: &str = "host.";

/// Whether a key may change while a crawl runs; `host.PATTERN` is one host's section.
pub fn is_changeable(key: &str) -> bool {
    key.starts_with(HOST) || CHANGEABLE.contains(&key)
}

/// Whether a key may be changed, or taken back, while the crawl runs.
///
/// # Errors
/// There is no such key, or it needs a restart.
pub fn check_changeable(key: &str) -> Result<(), ConfigError> {
    if is_changeable(key) {
        return Ok(());
    }
    source::known(&source::split_key(key)).map_err(|problem| ConfigError::Value {
        place: Origin::Admin.to_string(),
        key: key.to_owned(),
        problem,
    })?;
    Err(ConfigError::NeedsRestart { key: key.to_owned() })
}

impl Settings {
    /// These settings with what may change taken from `new`.
    pub fn taking_up(&self, new: &Self) -> Self {
        let (c, s, p, f) = (&new.crawl, &new.scope, &new.politeness, &new.fetch);
        let form = FileForm {
            crawl: CrawlSection {
                max_pages: c.max_pages,
                max_depth: c.max_depth,
                max_time: c.max_time,
                max_bytes: c.max_bytes,
                until_done: c.until_done,
                max_failures: c.max_failures,
                until_done_patience: c.until_done_patience,
                until_done_first_patience: c.until_done_first_patience,
                ..self.crawl.clone()
            },
            scope: ScopeSection {
                remove_params: self.scope.remove_params.clone(),
                remove_sessions: self.scope.remove_sessions.clone(),
                record_rejected: self.scope.record_rejected,
                ..s.clone()
            },
            politeness: PolitenessSection {
                min_delay: p.min_delay,
                delay_factor: p.delay_factor,
                max_delay: p.max_delay,
                ..self.politeness.clone()
            },
            fetch: FetchSection { retries: f.retries, retry_delays: f.retry_delays.clone(), ..self.fetch.clone() },
            traps: new.traps.clone(),
            log: LogSection { summary: self.log.summary, ..new.log.clone() },
            host: new.host.clone(),
            ..self.form.clone()
        };
        Self { form, source: new.source.clone(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Layers;

    #[test]
    fn exactly_the_keys_of_the_list_are_taken_up() {
        let all = [
            ("crawl.max_pages", json!(7)),
            ("crawl.max_depth", json!(7)),
            ("crawl.max_time", json!("7m")),
            ("crawl.max_bytes", json!("7MB")),
            ("crawl.until_done", json!(true)),
            ("crawl.max_failures", json!(7)),
            ("crawl.until_done_patience", json!("7m")),
            ("crawl.until_done_first_patience", json!("7m")),
            ("scope.mode", json!("prefixes")),
            ("scope.prefixes", json!(["http://a.test/"])),
            ("scope.include", json!(["a"])),
            ("scope.exclude", json!(["b"])),
            ("scope.allow_hosts", json!(["a.test"])),
            ("scope.deny_hosts", json!(["b.test"])),
            ("scope.skip_extensions", json!(["x"])),
            ("politeness.min_delay", json!("7s")),
            ("politeness.delay_factor", json!(7.5)),
            ("politeness.max_delay", json!("70s")),
            ("fetch.retries", json!(7)),
            ("fetch.retry_delays", json!(["7s"])),
            ("traps.max_url_length", json!(777)),
            ("traps.max_segments", json!(7)),
            ("traps.max_repeats", json!(7)),
            ("traps.max_params", json!(7)),
            ("traps.pages_per_pattern", json!(7)),
            ("traps.sessions", json!(false)),
            ("traps.permutations", json!(false)),
            ("traps.barren_pages", json!(7)),
            ("traps.hosts_per_domain", json!(7)),
            ("traps.pages_per_host", json!(7)),
            ("log.level", json!("debug")),
            ("log.format", json!("json")),
            ("host.a.test", json!({"min_delay": "7s"})),
        ];
        let keys: Vec<_> = all.iter().map(|(key, _)| if key.starts_with(HOST) { "host" } else { *key }).collect();
        assert_eq!(keys, CHANGEABLE);
        let old = Layers::new();
        let new = all.iter().fold(Layers::new(), |l, (key, value)| l.admin(key, value).unwrap()).load().unwrap();
        let taken = old.load().unwrap().taking_up(&new);
        assert_eq!(taken, Settings { source: taken.source.clone(), ..new }, "nothing else differs from the defaults");
        let shown = taken.source.show().unwrap();
        let admin: Vec<_> = shown.iter().filter(|s| s.origin == Origin::Admin).map(|s| s.key.as_str()).collect();
        assert_eq!(admin.len(), CHANGEABLE.len(), "{admin:?}");
    }

    #[test]
    fn what_needs_a_restart_is_refused_and_an_unknown_key_is_told_from_it() {
        for key in ["fetch.concurrency", "store.data_dir", "scope.record_rejected"] {
            let refused = Layers::new().admin(key, &json!(1)).unwrap_err();
            assert!(matches!(refused, ConfigError::NeedsRestart { .. }), "{refused}");
            assert!(refused.to_string().contains("a restart is needed"), "{refused}");
        }
        let unknown = Layers::new().admin("crawl.max_page", &json!(1)).unwrap_err();
        assert_eq!(unknown.to_string(), "admin: crawl.max_page: no such key; `lycosa config show` lists them all");
    }

    #[test]
    fn a_host_of_the_admin_goes_before_that_of_the_file_and_an_empty_text_is_the_default() {
        let file = Layers::new().set(r#"host=[{match="a.test", max_connections=3}, {match="*.test", min_delay="5s"}]"#);
        let file = file.unwrap().set("crawl.max_pages=9").unwrap();
        let over = file.admin("host.a.test", &json!({"min_delay": "2s"})).unwrap().admin("crawl.max_pages", &json!(""));
        let settings = over.unwrap().load().unwrap();
        assert_eq!(settings.crawl.max_pages, None);
        assert_eq!(settings.host.len(), 2);
        assert_eq!(settings.max_connections("a.test"), 1);
        assert_eq!(settings.pace_rules_for("a.test").min_delay.as_secs(), 2);
        assert_eq!(settings.pace_rules_for("b.test").min_delay.as_secs(), 5);
        let wrong = Layers::new().admin("host.a.test", &json!({"min_dely": 1})).unwrap_err().to_string();
        assert!(wrong.starts_with("admin: host.a.test: "), "{wrong}");
    }
}
