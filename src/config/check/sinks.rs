//! Checks of `[[sink]]`.

use std::path::Path;
use std::time::Duration;

use super::store::has_credentials;
use super::{Checked, Wrong, ensure, is_web_url, within};
use crate::config::sections::{SinkKind, SinkSection};

/// Sinks at most.
const MOST: usize = 16;
/// Entries of a request, and of a file, at most.
const MOST_SENT: usize = 10_000;
const MOST_WRITTEN: usize = 1_000_000;

pub(super) fn check_sinks(sinks: &[SinkSection]) -> Checked {
    ensure(sinks.len() <= MOST, "sink", || format!("at most {MOST} of them"))?;
    for (i, sink) in sinks.iter().enumerate() {
        let key = |name: &str| format!("sink[{i}].{name}");
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        let good = matches!(sink.name.len(), 1..=48) && sink.name.bytes().all(plain);
        ensure(good, &key("name"), || "must be 1 to 48 of a-z, 0-9, '-' and '_'".into())?;
        let first = sinks.iter().take(i).position(|other| other.name == sink.name);
        ensure(first.is_none(), &key("name"), || {
            format!("{:?} is the name of sink[{}] too: each needs one of its own", sink.name, first.unwrap_or_default())
        })?;
        let beside = |other: &&SinkSection| {
            let here = Path::new("");
            other.kind.is_files() && sink.kind.is_files() && other.folder(here) == sink.folder(here)
        };
        let other = sinks.iter().take(i).find(beside).map(|other| other.name.as_str()).unwrap_or_default();
        ensure(other.is_empty(), &key("folder"), || {
            format!("is that of the sink {other} too: each needs one of its own")
        })?;
        let most = if sink.kind.is_files() { MOST_WRITTEN } else { MOST_SENT };
        within(&key("batch"), sink.batch(), 1, most)?;
        let (least, longest) = (Duration::from_millis(100), Duration::from_secs(24 * 60 * 60));
        ensure((least..=longest).contains(&sink.every()), &key("every"), || "must be 100ms to 24h".into())?;
        if sink.kind.is_files() { check_files(sink, key)? } else { check_server(sink, key)? }
    }
    Ok(())
}

fn check_server(sink: &SinkSection, key: impl Fn(&str) -> String) -> Checked {
    let kind = sink.kind.as_str();
    let Some(url) = &sink.url else {
        let problem =
            format!("a sink of kind {kind} needs the address of its server, such as https://search.example.org:9200");
        return Err(Wrong { key: key("url"), problem });
    };
    ensure(is_web_url(url), &key("url"), || "must be an http or https URL".into())?;
    ensure(!has_credentials(url), &key("url"), || {
        "a user name or password in it is not sent; the value of the header Authorization goes into auth_file".into()
    })?;
    ensure(!url.contains('#'), &key("url"), || "must end before the '#': what follows it is sent to no server".into())?;
    ensure(sink.folder.is_none(), &key("folder"), || format!("a sink of kind {kind} writes no files"))?;
    match (sink.kind, &sink.index) {
        (SinkKind::OpenSearch, None) => {
            Err(Wrong { key: key("index"), problem: "must name the index that pages are put into".into() })
        }
        (SinkKind::OpenSearch, Some(index)) => {
            ensure(is_index(index), &key("index"), || {
                "must be 1 to 200 of a-z, 0-9, '-', '_' and '.', and begin with a letter or digit".into()
            })?;
            ensure(!url.contains('?'), &key("url"), || "must end before any '?': INDEX/_bulk is added to it".into())
        }
        (_, index) => ensure(index.is_none(), &key("index"), || format!("a sink of kind {kind} has none")),
    }
}

fn check_files(sink: &SinkSection, key: impl Fn(&str) -> String) -> Checked {
    let kind = sink.kind.as_str();
    let none = |name: &str, is_there: bool| {
        ensure(!is_there, &key(name), || format!("a sink of kind {kind} calls no server; its files lie in `folder`"))
    };
    none("url", sink.url.is_some())?;
    none("index", sink.index.is_some())?;
    none("auth_file", sink.auth_file.is_some())?;
    let named = sink.folder.as_ref().is_none_or(|folder| !folder.as_os_str().is_empty());
    ensure(named, &key("folder"), || "must name a folder; leave it out for sinks/NAME in store.data_dir".into())?;
    ensure(!sink.text || sink.kind != SinkKind::Parquet, &key("text"), || "the table has no column for it".into())
}

/// What OpenSearch takes for the name of an index, and needs no escapes in a path.
fn is_index(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    let begins = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    matches!(name.len(), 1..=200) && name.bytes().all(good) && name.bytes().next().is_some_and(begins)
}
