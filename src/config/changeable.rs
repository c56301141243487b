//! What may change while a crawl runs. Everything else is read at its start.

use std::sync::Arc;

use super::error::ConfigError;
use super::layers::Origin;
use super::settings::Settings;
use super::source;

/// Declares the keys that may change, and takes them up.
macro_rules! changeable {
    ($($section:ident: $($key:ident),+;)*) => {
        /// The keys that may change while a crawl runs, in the order of the sections.
        pub const CHANGEABLE: &[&str] =
            &[$($(concat!(stringify!($section), ".", stringify!($key)),)+)* "schedule", "host", "priority"];

        impl Settings {
            /// These settings with what may change taken from `new`.
            pub fn taking_up(&self, new: &Self) -> Self {
                let mut form = self.form.clone();
                $($(form.$section.$key.clone_from(&new.form.$section.$key);)+)*
                form.schedule.clone_from(&new.form.schedule);
                form.host.clone_from(&new.form.host);
                form.priority.clone_from(&new.form.priority);
                Self { form, source: new.source.clone(), ..self.clone() }
            }

            /// These settings when the crawl begins anew in the same process: what was said over HTTP since then stands.
            pub fn going_on(&self) -> Self {
                Self { source: Arc::new(self.source.said_before()), ..self.clone() }
            }
        }
    };
}

changeable! {
    crawl: max_pages, max_depth, max_time, max_bytes, until_done, max_failures, until_done_patience,
        until_done_first_patience;
    scope: mode, prefixes, include, exclude, allow_hosts, deny_hosts, skip_extensions;
    politeness: min_delay, delay_factor, max_delay;
    fetch: retries, retry_delays;
    traps: max_url_length, max_segments, max_repeats, max_params, pages_per_pattern, sessions, permutations,
        barren_pages, hosts_per_domain, pages_per_host;
    refresh: cycle, pace, min_interval, max_interval, share, max_rate, heed;
    index: enabled, refresh;
    log: level, format;
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Layers;

    #[test]
    fn what_may_change_is_taken_up_from_every_section_and_nothing_else_differs() {
        let all = [
            ("crawl.max_depth", json!(7)),
            ("scope.exclude", json!(["b"])),
            ("politeness.min_delay", json!("7s")),
            ("fetch.retry_delays", json!(["7s"])),
            ("traps.max_params", json!(7)),
            ("refresh.cycle", json!("0 6 * * * Asia/Shanghai")),
            ("schedule", json!([{"urls": ["/news/"], "cycle": "1h", "min": "5m", "from": "2027-01-01"}])),
            ("log.format", json!("json")),
            ("host.a.test", json!({"min_delay": "7s"})),
            ("priority", json!([{"urls": ["/a/"], "weight": 7}])),
        ];
        let new = all.iter().fold(Layers::new(), |l, (key, value)| l.admin(key, value).unwrap()).load().unwrap();
        let taken = Layers::new().load().unwrap().taking_up(&new);
        assert_eq!(taken, Settings { source: taken.source.clone(), ..new });
        let shown = taken.source.show().unwrap();
        assert_eq!(shown.iter().filter(|s| s.origin == Origin::Admin).count(), all.len());
        assert!(CHANGEABLE.iter().all(|key| source::known(&source::split_key(key)).is_ok()));
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
