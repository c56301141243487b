//! What a reason means to its reader, and what to do.

use super::trouble::{CHECKPOINT, INDEX, ROBOTS_UNREACHABLE, SINK, UPLOAD};

/// Where nothing better is known.
pub const GENERAL: &str = "see the log";

/// What a reason means and what to do, by its name (`domain::reason`).
pub fn advice(reason: &str) -> &'static str {
    match reason {
        "dns_not_found" => "check how the name is spelt",
        "dns_failed" => "no name server answered; check this machine's network, or set dns.servers",
        "connect_refused" => "nothing listens at that address and port; check the URL, and that the server runs",
        "connect_timeout" => "no connection came about; the server is down or a firewall drops it",
        "tls" => {
            "no TLS connection came about; does this port speak https? (a bad certificate alone is an obstacle only \
             under tls.verify=strict)"
        }
        "tls_old" => "the server speaks only TLS that is no longer safe; see tls.old",
        "tls_timeout" => "the server does not begin TLS; does this port speak https?",
        "first_byte_timeout" | "body_timeout" | "too_slow" => "the server is too slow; raise fetch.timeouts",
        "tls_expired" | "tls_name" | "tls_self_signed" | "tls_issuer" | "tls_certificate" => {
            "the certificate is not one that a browser would accept; tls.verify=record fetches all the same and notes it"
        }
        "challenge" => "a firewall asks for a proof of being human; ask the site's owner to let this crawler pass",
        "not_modified_unasked" => "the server says that nothing has changed to a request that did not ask",
        "proxy" => "the proxy refused, or could not be reached; see [proxy]",
        "reset" => "the server closed the connection without an answer",
        "body_cut" => "the connection ended before a byte of the body came, each time; try again later",
        "bad_http" => "the answer is no HTTP: another protocol (check scheme and port), or a broken head",
        "status_4xx" => "the server refuses these URLs or does not know them; check the seeds",
        "status_5xx" => "the server has an error; try again later",
        "poison" => "its page ended its part of the program, or the whole process, several times; please report it",
        "spill" => "a large answer could not be kept on disk; see the log",
        ROBOTS_UNREACHABLE => "without its robots.txt a host is not crawled (RFC 9309); try again later",
        "robots" => {
            "robots.txt forbids it; ask the site's owner, or for a site of your own use \
             --set politeness.respect_robots=false"
        }
        "address" | "address_refused" => {
            "the address is not public; allow it with --allow-net, such as --allow-net 127.0.0.1/32"
        }
        UPLOAD => "the copy is tried again; check the place, the network, and the AWS_ variables",
        INDEX => "the crawl goes on, and the index catches up; see the log and `lycosa ctl index`",
        SINK => "the crawl goes on, and the sink catches up; `lycosa ctl sinks` says what to correct, if anything",
        CHECKPOINT => "the crawl goes on without it; see the log, and make one with `lycosa checkpoint create`",
        "scope" => "it lies outside the scope; widen it with --set scope.mode=domains (or any), or add it as a seed",
        "excluded" => "change scope.exclude or scope.deny_hosts",
        "extension" => "its file type is skipped; change that with --set 'scope.skip_extensions=[]'",
        "sitemap_foreign" => {
            "only a sitemap of another site names it; its own host's robots.txt can name that sitemap, or add it as a seed"
        }
        "redirect_self" | "redirect_loop" => {
            "its redirects lead in a ring; a site that wants cookies first is crawled with cookies.enabled=true"
        }
        "redirect_refused" => {
            "a seed is followed only where the rules allow what it redirects to; change the rule, or the seed"
        }
        "redirects" => "more redirects in a row than fetch.max_redirects",
        "malformed" => "it is no URL that can be asked for; look at the page that links to it",
        "nofollow" => {
            "links to it say nofollow, or their pages do; add it as a seed to have it all the same, or for a site of your own \
             use --set politeness.respect_nofollow=false"
        }
        "near_duplicate" => {
            "it was found on a near-duplicate of another page, whose links are not followed; see dedup.near_follow"
        }
        "sitemap_nesting" => "it is a sitemap behind too many indexes; see sitemaps.max_nesting",
        "too_deep" => "it lies deeper than crawl.max_depth, or the max_depth of its seed",
        "pattern_budget" => "too many URLs of this shape; see traps.pages_per_pattern",
        "permuted" => {
            "it was read with its parameters in another order, and page after page has shown that their order means nothing; see traps.permutations"
        }
        "barren" => {
            "it was found on a page that brought nothing new, of a shape or folder whose pages had brought nothing new for a long time; \
             see traps.barren_pages"
        }
        "self_fed" => {
            "it was found on a page of a shape or folder whose pages lead on to each other without a new word; see traps.barren_pages"
        }
        "session" => {
            "its page was read under another identifier, and page after page has shown that those name nothing; see traps.sessions"
        }
        "domain_budget" => "too many hosts of this domain; see traps.hosts_per_domain",
        "host_budget" => "the host's budget is spent; see traps.pages_per_host",
        _ => GENERAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::{Failure, Rejection};

    #[test]
    fn every_failure_of_a_seed_has_advice() {
        let general = advice("no such reason");
        for failure in Failure::ALL.iter().filter(|f| **f != Failure::StatusOther) {
            assert_ne!(advice(failure.as_str()), general, "{failure}");
        }
        for rejection in [Rejection::Robots, Rejection::Address, Rejection::Scope, Rejection::Excluded] {
            assert_ne!(advice(rejection.as_str()), general, "{rejection}");
        }
    }
}
