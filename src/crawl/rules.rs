//! Settings to the rules that the rooms work by.

use std::path::PathBuf;

use crate::config::Settings;
use crate::content::modules::{MimeModules, ParseRules};
use crate::crawl::node::Node;
use crate::crawl::parser::inspect::Inspector;
use crate::domain::politeness::PaceRules;
use crate::domain::rank::Ranker;
use crate::domain::robots::RobotsCachePolicy;
use crate::domain::scope::{Scope, ScopeError};
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::net::protocol::FetchLimits;
use crate::storage::ledger::LedgerRules;
use crate::warc::again::Again;
use crate::warc::exchange::Tools;

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
        }
    }

    /// The seeds of the settings.
    pub fn seeds(&self) -> Vec<PageUrl> {
        self.settings.crawl.seeds.iter().filter_map(|s| self.canon.parse(&s.url).ok()).collect()
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
