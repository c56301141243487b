//! All column families in one list, and the version of what is on disk.

/// The version of keys and values on disk. A data folder of another version is refused, never guessed at.
pub const FORMAT_VERSION: u32 = 13;

/// Declares the families with their name on disk and what they hold.
macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// One RocksDB column family. Keys and values of each are given in `docs/storage.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family { $($(#[$doc])* $variant,)* }

        impl Family {
            /// Every family, once.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name on disk.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

families! {
    /// URLs to fetch, per host in rank order.
    Queue = "queue";
    /// What is known of a host: name, pace, blocks.
    HostState = "host_state";
    /// What is counted for a host, and where it waits.
    HostCounts = "host_counts";
    /// Hosts with URLs, ready to be activated.
    Waiting = "waiting";
    /// Hosts with URLs, not before a time.
    Parked = "parked";
    /// URLs to fetch again at a time: retries, revisits.
    Due = "due";
    /// The state of every URL ever accepted or rejected.
    Seen = "seen";
    /// Captures, newest first for each URL.
    Pages = "pages";
    /// Rejected URLs in full, so that widened rules can readmit them.
    Rejected = "rejected";
    /// URLs given up in full, so that they can be told of and tried again.
    Failed = "failed";
    /// Pages that are done and to which a better way was found: how each is queued once more when a URL is too deep.
    Nearer = "nearer";
    /// Seeds, with what was said of them.
    Seeds = "seeds";
    /// First capture of each content.
    Content = "content";
    /// Texts that lead a group of near-duplicates, in four tables by parts of their sketch.
    Near = "near";
    /// Pages that are near-duplicates, by the leader of their group.
    NearMembers = "near_members";
    /// robots.txt of each scheme, host and port.
    Robots = "robots";
    /// Sitemaps by the time of their last visit: that of their capture, or of their being given up.
    Sitemaps = "sitemaps";
    /// Pages that are visited again, by host and time.
    Visits = "visits";
    /// Hosts that have such, by the time of the first.
    VisitHosts = "visit_hosts";
    /// Link credit: accounts of pages, purses of domains and of their parts.
    Credit = "credit";
    /// Shares that fetched pages gave, not yet in the accounts.
    Notes = "notes";
    /// What became of each page, in the order of the commits: for whoever takes the pages on.
    Feed = "feed";
    /// Links to hosts of other members, until these have them; and links from others until they are taken in.
    Outbox = "outbox";
    /// Single records of the whole folder.
    Meta = "meta";
}

impl Family {
    /// Whether its keys begin with the partition.
    pub const fn is_led(self) -> bool {
        !matches!(self, Self::Content | Self::Notes | Self::Feed | Self::Outbox | Self::Meta)
    }

    /// Those whose records move with their partition. What was said of seeds stays too: URLs of others go back to them.
    pub fn moving() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|family| family.is_led() && *family != Self::Seeds)
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
