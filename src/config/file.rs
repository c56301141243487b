//! The file form: what may be written into a configuration file, key by key.

use serde::{Deserialize, Serialize};

use super::sections::*;
use crate::domain::robots::RobotsCachePolicy;
use crate::domain::scope::ScopeRules;

/// Every section; what is absent has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the section its type documents")]
pub struct FileForm {
    pub agent: AgentSection,
    pub crawl: CrawlSection,
    pub scope: ScopeRules,
    pub frontier: FrontierSection,
    pub politeness: PolitenessSection,
    pub robots: RobotsCachePolicy,
    pub fetch: FetchSection,
    pub proxy: ProxySection,
    pub cookies: CookiesSection,
    pub credentials: Vec<CredentialSection>,
    pub parse: ParseSection,
    pub sitemaps: SitemapsSection,
    pub refresh: RefreshSection,
    pub schedule: Vec<ScheduleSection>,
    pub traps: TrapsSection,
    pub net: NetSection,
    pub dns: DnsSection,
    pub tls: TlsSection,
    pub dedup: DedupSection,
    pub store: StoreSection,
    pub feed: FeedSection,
    pub export: ExportSection,
    pub index: IndexSection,
    pub durability: DurabilitySection,
    pub checkpoint: CheckpointSection,
    pub cluster: ClusterSection,
    pub disk: DiskSection,
    pub supervision: SupervisionSection,
    pub memory: MemorySection,
    pub admin: AdminSection,
    pub webhook: Vec<WebhookSection>,
    pub sink: Vec<SinkSection>,
    pub log: LogSection,
    pub host: Vec<HostSection>,
    pub priority: Vec<PrioritySection>,
    pub extract: Vec<ExtractSection>,
}
