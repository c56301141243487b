//! Checked settings: what the program works with.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::file::FileForm;
use super::layers::Layers;
use super::sections::{DepthLimit, SINKS};
use crate::domain::scope::ScopeMode;
use crate::recovery::checkpoint::{CheckpointError, Target, layout};

/// How many links are followed where the scope is wider than chosen hosts and folders and nothing is said.
const DEPTH_OF_WIDE_SCOPES: u16 = 20;

/// The crawler's identity, ready for request headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// `User-Agent`: `Mozilla/5.0 (compatible; NAME/VERSION; +URL)`.
    pub user_agent: String,
    /// `From`: the operator's mail address.
    pub from: Option<String>,
    /// Names it answers to in robots.txt, the most specific first; never empty.
    pub robots_tokens: Vec<String>,
    /// The operator's page or mail, for the WARC files.
    pub contact: Option<String>,
}

/// Everything a run needs, checked: numbers lie in their ranges, seeds are http(s) URLs, addresses are addresses.
///
/// The sections are those of the file, and are read as if they were its own; what depends on other keys or on the machine has a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `[agent]` made ready.
    pub agent: Agent,
    /// Where the admin endpoint listens; `None` when it is off.
    pub admin_listen: Option<SocketAddr>,
    /// The sections.
    pub form: FileForm,
    /// What they were made of.
    pub source: Arc<Layers>,
}

impl Deref for Settings {
    type Target = FileForm;

    fn deref(&self) -> &FileForm {
        &self.form
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut FileForm {
        &mut self.form
    }
}

impl Settings {
    /// Hosts crawled at a time.
    pub fn max_active_hosts(&self) -> usize {
        self.frontier.max_active_hosts.unwrap_or(self.fetch.concurrency.saturating_mul(3))
    }

    /// Links that are followed from any seed; `None`: without end. Of chosen hosts and folders everything is wanted that can be
    /// reached; where the scope is wider the depth keeps a crawl near its seeds.
    pub fn max_depth(&self) -> Option<u16> {
        let wide = matches!(self.scope.mode, ScopeMode::Domains | ScopeMode::Any);
        self.crawl.max_depth.map_or(wide.then_some(DEPTH_OF_WIDE_SCOPES), DepthLimit::links)
    }

    /// Parser threads.
    pub fn parse_threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.parse.threads.unwrap_or_else(cores)
    }

    /// How long a wait for an answer may last before it is taken for one that hangs.
    pub fn hung_after(&self) -> Duration {
        let slowest = self.fetch.slowest();
        self.supervision.hung_after.unwrap_or_else(|| slowest.saturating_add(slowest / 2))
    }

    /// Most pages of one host, if bounded.
    pub fn pages_per_host(&self) -> Option<u64> {
        self.traps.pages_per_host.or((self.scope.mode == ScopeMode::Any).then_some(10_000))
    }

    /// Folder of the WARC and CDXJ files.
    pub fn warc_dir(&self) -> PathBuf {
        self.store.data_dir.join(&self.store.warc_dir)
    }

    /// Where closed archive files are copied: beside the copies of checkpoints, where nothing else is said.
    pub fn archive_upload(&self) -> Option<String> {
        let beside = |to: &String| Target::parse(to).ok().map(|target| target.below(layout::WARC).to_string());
        self.store.upload.clone().or_else(|| self.checkpoint_upload().as_ref().and_then(beside))
    }

    /// Where checkpoints are copied: a member's own part of the store where there are several machines.
    pub fn checkpoint_upload(&self) -> Option<String> {
        let store = self.cluster.store.as_ref().and_then(|store| Target::parse(store).ok());
        let own = store.map(|store| store.below(&self.member()).to_string());
        own.or_else(|| self.checkpoint.upload.clone())
    }

    /// Whether the store of several machines is there, before anything is put into it.
    ///
    /// # Errors
    /// It is not.
    pub fn has_store(&self) -> Result<(), CheckpointError> {
        match self.cluster.store.as_deref().map(Target::parse) {
            Some(store) if self.is_member() => store?.is_store(),
            _ => Ok(()),
        }
    }

    /// How often a checkpoint is made; never when zero.
    pub fn checkpoint_every(&self) -> Duration {
        if self.is_member() { self.cluster.checkpoint } else { self.checkpoint.every }
    }

    /// Whether the crawl is one on several machines.
    pub fn is_member(&self) -> bool {
        !self.cluster.servers.is_empty()
    }

    /// The member's name: that of the machine, as far as a name may be so, where none is set.
    pub fn member(&self) -> String {
        let machine = || {
            let name = nix::unistd::gethostname().ok().and_then(|n| n.into_string().ok()).unwrap_or_default();
            let good = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
            let name: String = name.split('.').next().unwrap_or_default().chars().map(good).take(32).collect();
            if name.is_empty() { "localhost".to_owned() } else { name }
        };
        self.cluster.node.clone().unwrap_or_else(machine)
    }

    /// Folder of the exports that a running crawl makes.
    pub fn export_dir(&self) -> PathBuf {
        self.store.data_dir.join(&self.export.dir)
    }

    /// Folder of what belongs to sinks.
    pub fn sink_dir(&self) -> PathBuf {
        self.store.data_dir.join(SINKS)
    }

    /// Folder of the checkpoints.
    pub fn checkpoint_dir(&self) -> PathBuf {
        self.store.data_dir.join(&self.checkpoint.dir)
    }
}
