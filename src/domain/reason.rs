//! Why a URL was turned away or failed: stable codes that storage, logs, metrics and the admin API share. What was odd
//! about an answer that was kept: [`note`](super::note).

use super::coded::codes;

codes! {
    /// Why a known URL will not be fetched under the rules in force.
    Rejection {
        /// Not http or https.
        Scheme = 1, "scheme";
        /// Outside the scope (host, domain or prefix).
        Scope = 2, "scope";
        /// An exclude rule names it.
        Excluded = 3, "excluded";
        /// A file type that is skipped.
        Extension = 4, "extension";
        /// Deeper than `crawl.max_depth`.
        TooDeep = 5, "too_deep";
        /// Longer than `traps.max_url_length`.
        TooLong = 6, "too_long";
        /// More path segments than `traps.max_segments`.
        Segments = 7, "segments";
        /// A path segment repeated more than `traps.max_repeats` times.
        Repeats = 8, "repeats";
        /// More query parameters than `traps.max_params`.
        Params = 9, "params";
        /// robots.txt disallows it.
        Robots = 10, "robots";
        /// The host's page budget is spent.
        HostBudget = 11, "host_budget";
        /// More redirects in a row than `fetch.max_redirects`.
        Redirects = 12, "redirects";
        /// Its host's key collides with another host's.
        Collision = 13, "collision";
        /// Cannot be brought into canonical form (no host, bad port …).
        Malformed = 14, "malformed";
        /// The address policy forbids every address of its host.
        Address = 15, "address";
        /// The operator dropped its host's queue.
        Dropped = 16, "dropped";
        /// The operator blocked its host for good.
        Blocked = 17, "blocked";
        /// Its page was read under another identifier, which pages of its shape have shown to name nothing (`traps.sessions`).
        Session = 19, "session";
        /// More pages of one shape than `traps.pages_per_pattern`.
        PatternBudget = 20, "pattern_budget";
        /// More hosts of one registrable domain than `traps.hosts_per_domain`.
        DomainBudget = 22, "domain_budget";
        /// A sitemap names it that may not speak for its site.
        SitemapForeign = 23, "sitemap_foreign";
        /// A sitemap behind more indexes than `sitemaps.max_nesting`.
        SitemapNesting = 24, "sitemap_nesting";
        /// Its page was read with its parameters in another order, which pages of its shape have shown to mean nothing
        /// (`traps.permutations`).
        Permuted = 25, "permuted";
        /// Found in a URL subtree whose pages bring nothing new, on one of them (`traps.barren_pages`).
        NoNovelty = 26, "barren";
        /// Found in a URL subtree that leads on and on to itself alone without a new word, on one of its pages (`traps.barren_pages`).
        SelfLinking = 27, "self_fed";
        /// Every link to it says that it is not to be followed, or its page says so of all its links.
        Nofollow = 28, "nofollow";
        /// Found on a near-duplicate of another page with the same title (`dedup.near_follow = false`).
        NearDuplicate = 29, "near_duplicate";
    }
}

codes! {
    /// Why fetching a URL ended in the state `error`.
    Failure {
        /// The name does not exist.
        DnsNotFound = 1, "dns_not_found";
        /// The resolver failed or timed out.
        DnsFailed = 2, "dns_failed";
        /// Nothing accepted the connection.
        ConnectRefused = 3, "connect_refused";
        /// No connection within `fetch.timeouts.connect`.
        ConnectTimeout = 4, "connect_timeout";
        /// The TLS handshake failed, for another reason than the certificate.
        Tls = 5, "tls";
        /// No TLS within `fetch.timeouts.tls`.
        TlsTimeout = 6, "tls_timeout";
        /// No first byte within `fetch.timeouts.first_byte`.
        FirstByteTimeout = 7, "first_byte_timeout";
        /// The body took longer than `fetch.timeouts.body`.
        BodyTimeout = 8, "body_timeout";
        /// Slower than `fetch.timeouts.min_rate`.
        TooSlow = 9, "too_slow";
        /// The connection was closed or reset before an answer.
        Reset = 10, "reset";
        /// The answer is not HTTP.
        BadHttp = 11, "bad_http";
        /// The final answer was a client error (4xx).
        Status4xx = 12, "status_4xx";
        /// The final answer was a server error (5xx).
        Status5xx = 13, "status_5xx";
        /// A status outside 200-599.
        StatusOther = 14, "status_other";
        /// Its page ended the parser several times.
        Poison = 15, "poison";
        /// The address policy forbids the address it resolved to.
        AddressRefused = 16, "address_refused";
        /// The disk refused the body's spill file.
        Spill = 17, "spill";
        /// In place of the page came a firewall's challenge, every time.
        Challenge = 18, "challenge";
        /// 304 to a request that did not ask whether anything had changed.
        NotModifiedUnasked = 19, "not_modified_unasked";
        /// `tls.verify = strict`: the certificate has expired, or is not valid yet.
        TlsExpired = 20, "tls_expired";
        /// `tls.verify = strict`: the certificate is for another name.
        TlsName = 21, "tls_name";
        /// `tls.verify = strict`: the certificate is signed by itself.
        TlsSelfSigned = 22, "tls_self_signed";
        /// `tls.verify = strict`: the certificate is signed by somebody unknown.
        TlsIssuer = 23, "tls_issuer";
        /// `tls.verify = strict`: another fault of the certificate.
        TlsCertificate = 24, "tls_certificate";
        /// The proxy refused, or could not be reached.
        Proxy = 25, "proxy";
        /// robots.txt of its scheme and port is out of reach.
        RobotsUnreachable = 26, "robots_unreachable";
        /// The server offers only old TLS, which is not spoken (`tls.old = strict`, or not built in).
        TlsOld = 27, "tls_old";
        /// The connection ended before the body did, every time; nothing of it came.
        BodyCut = 30, "body_cut";
    }
}

impl Failure {
    /// Whether nobody speaks https there: of a seed without a scheme http is asked for then. A bad certificate is an answer, and no
    /// reason to go on without TLS.
    pub fn is_no_https(self) -> bool {
        matches!(self, Self::ConnectRefused | Self::ConnectTimeout | Self::Tls | Self::TlsTimeout | Self::Reset)
    }
}

impl Rejection {
    /// True when its shape is held back because many of its pages brought nothing new: a suspicion, taken back by
    /// `lycosa ctl urls readmit --held-back`.
    pub fn is_held_back(self) -> bool {
        matches!(self, Self::NoNovelty | Self::SelfLinking | Self::Session | Self::Permuted)
    }

    /// True when it is for what the sitemap is that names the URL, whatever the rules.
    pub fn is_of_sitemaps(self) -> bool {
        matches!(self, Self::SitemapForeign | Self::SitemapNesting)
    }
}
