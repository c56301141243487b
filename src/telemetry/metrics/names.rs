//! The fixed sets that label metrics.

use crate::base::kinds::kinds;

kinds! {
    /// The seven kinds of actor.
    ActorKind {
        /// Starts and replaces the others.
        Supervisor = "supervisor",
        /// Queues and leases.
        Frontier = "frontier",
        /// One a host.
        Politeness = "politeness",
        /// Connections.
        Fetcher = "fetcher",
        /// Pages.
        Parser = "parser",
        /// The seen test.
        Deduper = "deduper",
        /// The only writer.
        Store = "store",
    }
}

kinds! {
    /// Parts of a fetch.
    Phase {
        /// Name resolution.
        Dns = "dns",
        /// TCP.
        Connect = "connect",
        /// TLS.
        Tls = "tls",
        /// Request to first byte.
        FirstByte = "first_byte",
        /// First byte to the end of the body.
        Body = "body",
        /// All of it.
        Total = "total",
    }
}

kinds! {
    /// Registries in memory whose size is bounded, whatever the size of the frontier (I6; bounds: `docs/performance.md`).
    Registry {
        /// Hosts being crawled.
        ActiveHosts = "active_hosts",
        /// Hosts that were, and of which something is kept.
        RestingHosts = "resting_hosts",
        /// URLs in somebody's hands.
        Leases = "leases",
        /// Hosts with a place in the slot registry.
        Slots = "slots",
        /// Domains and addresses with one.
        SlotGroups = "slot_groups",
        /// Rows of the queues' heads.
        Heads = "heads",
        /// URLs found, not committed.
        PendingUrls = "pending_urls",
        /// Contents found, not committed.
        PendingContents = "pending_contents",
        /// URLs found again and again.
        PopularUrls = "popular_urls",
        /// Hosts the Store keeps between commits.
        LedgerHosts = "ledger_hosts",
        /// Names with an answer.
        DnsNames = "dns_names",
    }
}

kinds! {
    /// What becomes of a call of a webhook.
    Call {
        /// Taken by the other side.
        Done = "done",
        /// Tried again.
        Retried = "retried",
        /// Given up.
        Failed = "failed",
    }
}
