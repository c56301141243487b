//! A crawl at rest, to be looked at: its database is opened to be read, nothing is written, and while it is open no crawl can begin there.

use std::path::Path;
use std::sync::Arc;

use super::args::{RulesArgs, SettingsArgs};
use super::check::{NAME_IT, absent, options, refused, shown};
use super::exit::CliError;
use super::gather::{as_member, layers, with_data};
use crate::app::{StartError, at_rest};
use crate::config::Settings;
use crate::crawl::node::Node;
use crate::storage::values::CardSettings;
use crate::storage::{MemoryStorage, RocksStorage, Storage, StorageError, folder, read};

/// The settings that are meant: those of a file, the environment and `--set`; of another data folder, if one is named.
///
/// # Errors
/// A setting that is none.
pub(super) fn settings(rules: &RulesArgs, data: Option<&Path>) -> Result<Settings, CliError> {
    let settings = SettingsArgs { sets: rules.sets.clone(), ..SettingsArgs::default() };
    as_member(with_data(layers(rules.config.as_deref(), &settings)?, data)?.load()?)
}

/// The database of the data folder of the settings. `live`: what to do while a crawl runs there.
///
/// # Errors
/// No crawl there, one that runs, one of another format, or a database that cannot be read.
pub(super) fn database(settings: &Settings, live: &str) -> Result<RocksStorage, CliError> {
    let dir = &settings.store.data_dir;
    let found = RocksStorage::find(dir, options(settings)).map_err(|error| match error {
        StorageError::Locked { .. } => {
            CliError::usage(format!("a crawl runs in data folder {}: {live}, or stop it first", shown(dir)))
        }
        error => absent(dir, error),
    })?;
    found.ok_or_else(|| match dir.join(folder::MARKER).exists() {
        true => CliError::usage(format!(
            "{} holds no crawl: its first start ended before the database was made; `lycosa run` begins it",
            shown(dir)
        )),
        false => CliError::usage(format!("{} holds no crawl; {NAME_IT}", shown(dir))),
    })
}

/// Has cards and words of pages made as the crawl's last run made them, where these settings do not say otherwise.
///
/// # Errors
/// A dictionary that cannot be read.
pub(super) fn as_crawled(settings: &mut Settings, storage: &dyn Storage) -> Result<(), CliError> {
    let known: CardSettings = read::meta(storage, ()).map_err(refused)?.unwrap_or_default();
    Ok(settings.make_cards_as(&known.keywords, &known.dictionary)?)
}

/// The node of the crawl in the data folder of the settings, by these settings and what was changed while it ran. `live`: what to do while a
/// crawl runs there.
///
/// # Errors
/// As [`database`].
pub(super) fn node(mut settings: Settings, live: &str) -> Result<Node, CliError> {
    let storage = database(&settings, live)?;
    as_crawled(&mut settings, &storage)?;
    made(settings, Arc::new(storage))
}

/// A node of no crawl, with an empty database in memory.
///
/// # Errors
/// Settings that make no node.
pub(super) fn of_none(settings: Settings) -> Result<Node, CliError> {
    let storage = MemoryStorage::formatted(0).map_err(refused)?;
    made(settings, Arc::new(storage))
}

fn made(settings: Settings, storage: Arc<dyn Storage>) -> Result<Node, CliError> {
    at_rest(settings, storage).map_err(|error| match error {
        StartError::Storage(error) => refused(error),
        error => CliError::usage(error),
    })
}
