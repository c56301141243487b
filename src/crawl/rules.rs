//! Settings to the rules that the rooms work by.

use std::path::PathBuf;

use crate::config::Settings;
use crate::content::modules::{MimeModules, ParseRules};
use crate::crawl::node::Node;
use crate::crawl::parser::inspect::Inspector;
use crate::domain::credit::CreditRules;
use crate::domain::politeness::PaceRules;
use crate::domain::rank::Ranker;
use crate::domain::refresh::Refresh;
use crate::domain::robots::RobotsCachePolicy;
use crate::domain::scope::{Scope, ScopeError};
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::net::protocol::FetchLimits;
use crate::storage::keys::KeyRange;
use crate::storage::ledger::LedgerRules;
use crate::storage::tables::Seeds;
use crate::storage::{Storage, StorageError, read};
use crate::warc::again::Again;
use crate::warc::exchange::Tools;

/// Seeds that a crawl is known by when its settings name none.
const KEPT_SEEDS: usize = 1_000_000;

/// The rules of a run that hold to its end, ready for use. Those that may change are in [`Live`](crate::crawl::live::Live).
pub struct Rules {
    /// What the user set, as of the start.
    pub settings: Settings,
    /// Canonical form.
    pub canon: Canonicaliser,
    /// Ranks and orders.
    pub ranker: Ranker,
    /// Freshness of robots.txt.
    pub robots: RobotsCachePolicy,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Time-outs and caps of every request.
    pub limits: FetchLimits,
    /// What is taken out of a page.
    pub parse: ParseRules,
    /// What is read from which kind of document.
    pub modules: MimeModules,
    /// Where large bodies and records go until they are committed.
    pub spill_dir: PathBuf,
    /// This machine's name, for the WARC files.
    pub host_name: String,
    /// Seeds that the crawl knows, where the settings name none.
    kept: Vec<PageUrl>,
}

/// The rules of one host.
pub struct HostRules {
    /// Politeness.
    pub pace: PaceRules,
    /// Requests at a time.
    pub connections: usize,
    /// True when a `[[host]]` section asks for more than strangers are asked for: a site of the user's own.
    pub own_site: bool,
}

impl Rules {
    /// From checked settings.
    pub fn new(settings: Settings, host_name: String) -> Self {
        Self {
            canon: Canonicaliser::new(settings.clean_rules()),
            ranker: settings.ranker(),
            robots: settings.robots.clone(),
            headers: settings.request_headers(),
            limits: settings.fetch_limits(),
            parse: settings.parse_rules(),
            modules: MimeModules::default(),
            spill_dir: settings.store.data_dir.join("spill"),
            host_name,
            kept: Vec::new(),
            settings,
        }
    }

    /// With other modules for documents.
    #[must_use]
    pub fn reading(self, modules: MimeModules) -> Self {
        Self { modules, ..self }
    }

    /// What bodies are looked at with.
    pub fn inspector(&self) -> Inspector<'_> {
        Inspector { modules: &self.modules, rules: &self.parse, max_decoded: self.settings.fetch.max_decoded }
    }

    /// How stored answers are read again.
    pub fn again(&self) -> Again {
        Again { modules: self.modules.clone(), ..self.settings.again() }
    }

    /// What one thread needs to build records.
    pub fn archive_tools(&self) -> Tools {
        let store = &self.settings.store;
        Tools::new(store.compression, store.block_digest, self.spill_dir.clone())
    }

    /// What the ledger needs.
    pub fn ledger(&self, node: &Node) -> LedgerRules {
        LedgerRules {
            crawl: node.crawl.id,
            prints: node.prints,
            ranker: self.ranker.clone(),
            keep_rejected: self.settings.scope.record_rejected,
            generation: node.crawl.live.generation(),
            max_depth: node.crawl.live().settings.max_depth(),
            refresh: Refresh {
                of_seeds: node.crawl.counters().seed_cycles,
                ..node.crawl.live().settings.refresh_rules()
            },
            priorities: node.crawl.live().priorities.clone(),
            credit: self.credit(),
            share: node.crawl.share.clone(),
        }
    }

    /// Link credit, where it is on.
    pub fn credit(&self) -> Option<CreditRules> {
        self.settings.frontier.credit_rules()
    }

    /// The seeds of the settings; where these name none, those that the crawl knows already: who starts it without them means it as it is.
    pub fn seeds(&self) -> Vec<PageUrl> {
        match self.settings.crawl.seeds.as_slice() {
            [] => self.kept.clone(),
            named => named.iter().filter_map(|s| self.canon.parse(&s.url).ok()).collect(),
        }
    }

    /// With what the database knows of seeds, if the settings name none.
    ///
    /// # Errors
    /// The storage's own.
    pub fn knowing(self, storage: &dyn Storage) -> Result<Self, StorageError> {
        if !self.settings.crawl.seeds.is_empty() {
            return Ok(self);
        }
        let known = read::scan::<Seeds>(storage, &KeyRange::all(), KEPT_SEEDS)?;
        if known.len() == KEPT_SEEDS {
            log::warn!(
                "the scope is that of a part of the known seeds, for the settings name none: seeds={KEPT_SEEDS}"
            );
        }
        let kept = known.iter().filter_map(|(_, seed)| PageUrl::from_canonical(&seed.url).ok()).collect();
        Ok(Self { kept, ..self })
    }

    /// The scope that `settings` draw around the run's seeds, with what joined it before and is kept.
    ///
    /// # Errors
    /// A pattern that is no regular expression.
    pub fn scope<'h>(
        &self,
        settings: &Settings,
        seeds: &[PageUrl],
        joined: impl IntoIterator<Item = &'h str>,
    ) -> Result<Scope, ScopeError> {
        let mut scope = Scope::new(&settings.scope, settings.parse.assets, settings.max_depth(), seeds)?;
        for host in joined {
            scope.join_host(host);
            scope.kept([host]);
        }
        Ok(scope)
    }
}
