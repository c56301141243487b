//! The ranges and forms of values that serde cannot see, by theme.

mod access;
mod cluster;
mod crawl;
mod fetch;
mod sinks;
mod store;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use self::access::{check_connections, check_cookies, check_credentials, check_proxy};
use self::cluster::check_cluster;
use self::crawl::{
    agent, check_crawl, check_frontier, check_hosts, check_patterns, check_politeness, check_priorities, check_scope,
};
use self::fetch::{
    check_dns, check_extract, check_fetch, check_net, check_pages, check_refresh, check_schedule, check_sitemaps,
    check_timeouts,
};
use self::sinks::check_sinks;
use self::store::{
    check_checkpoint, check_dedup, check_disk, check_exact, check_export, check_feed, check_index, check_log,
    check_memory, check_store, check_supervision, check_uploaded, check_webhooks, listen,
};
use super::file::FileForm;
use super::settings::Settings;
use crate::domain::url::{parse_any, with_schemes};

/// A value out of its range.
#[derive(Debug)]
pub(super) struct Wrong {
    pub key: String,
    pub problem: String,
}

type Checked = Result<(), Wrong>;

fn ensure(good: bool, key: &str, allowed: impl FnOnce() -> String) -> Checked {
    if good { Ok(()) } else { Err(Wrong { key: key.to_owned(), problem: allowed() }) }
}

/// What another room says of a value.
fn accepted<T>(key: &str, read: Result<T, impl Display>) -> Checked {
    read.map(drop).map_err(|problem| Wrong { key: key.to_owned(), problem: problem.to_string() })
}

fn within<T: PartialOrd + Display>(key: &str, value: T, low: T, high: T) -> Checked {
    ensure(value >= low && value <= high, key, || format!("{value} is out of range; allowed are {low} to {high}"))
}

fn within_if<T: PartialOrd + Display>(key: &str, value: Option<T>, low: T, high: T) -> Checked {
    value.map_or(Ok(()), |value| within(key, value, low, high))
}

/// A limit of nothing is not meant.
fn not_none(key: &str, limit: Option<u64>) -> Checked {
    ensure(limit != Some(0), key, || "must be at least 1; leave it out for no limit".into())
}

fn positive(key: &str, value: Duration) -> Checked {
    ensure(!value.is_zero(), key, || "must be longer than zero".into())
}

/// A name that may be part of a file name.
fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good) && !text.starts_with('.')
}

impl Settings {
    pub(super) fn from_form(mut form: FileForm) -> Result<Self, Wrong> {
        check_crawl(&form.crawl)?;
        check_scope(&form.scope)?;
        check_frontier(&form.frontier, form.crawl.order)?;
        check_politeness(&form.politeness, &form.robots)?;
        check_fetch(&form.fetch)?;
        check_timeouts(&form.fetch.timeouts)?;
        check_pages(&form.parse, &form.traps)?;
        check_sitemaps(&form.sitemaps)?;
        check_refresh(&form.refresh)?;
        check_schedule(&form.schedule)?;
        check_net(&form.net)?;
        check_dns(&form.dns)?;
        check_dedup(&form.dedup)?;
        check_store(&form.store)?;
        check_feed(&form.feed)?;
        check_export(&form.export)?;
        check_index(&form.index)?;
        check_exact(&form.store, &form.fetch)?;
        check_supervision(&form.supervision, form.fetch.slowest())?;
        check_connections(&form.fetch)?;
        check_proxy(&form.proxy)?;
        check_cookies(&form.cookies)?;
        check_credentials(&form.credentials)?;
        check_memory(&form)?;
        check_checkpoint(&form.checkpoint)?;
        check_cluster(&form)?;
        check_uploaded(&form)?;
        check_disk(&form.disk)?;
        check_hosts(&form.host)?;
        check_priorities(&form.priority)?;
        check_extract(&form.extract)?;
        check_patterns(&form.scope)?;
        check_webhooks(&form.webhook)?;
        check_sinks(&form.sink)?;
        check_log(&form.log)?;
        let (agent, admin_listen) = (agent(&form.agent)?, listen(&form.admin)?);
        form.crawl = form.crawl.with_schemes();
        Ok(Self { agent, admin_listen, form, source: Arc::default() })
    }
}

/// Whether a text can be a seed: an absolute http or https URL, or one that lacks its scheme only.
pub fn is_seed(text: &str) -> bool {
    is_web_url(text) || with_schemes(text).is_some_and(|[https, _]| is_web_url(&https))
}

/// Whether a text is an absolute http or https URL.
pub fn is_web_url(text: &str) -> bool {
    parse_any(text).is_some_and(|u| matches!(u.scheme(), "http" | "https") && u.has_host())
}
