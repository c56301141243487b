//! An answer as a crawl reads it.

use super::judge::{FoundWay, Judge};
use super::session::{Reply, Session};
use crate::content::modules::{FoundLink, HeaderDirectives};
use crate::crawl::parser::inspect::{Inspection, Redirect, RedirectKind};
use crate::domain::found_as::FoundAs;
use crate::domain::outcome::{FetchOutcome, Verdict, judge};
use crate::domain::url::PageUrl;
use crate::net::Fetched;
use crate::net::answer::outcome_of;

/// Room for a piece of a body.
const PIECE: usize = 32 * 1024;

/// What was read of an answer.
pub(super) struct Read {
    /// What the outcome table says of the first such answer.
    pub verdict: Verdict,
    /// A firewall answered in place of the site.
    pub challenge: bool,
    pub head: HeaderDirectives,
    pub looked: Inspection,
    pub onward: Redirect,
    /// As what its URL is found by a crawl.
    found: FoundAs,
    /// The settings obey `nofollow`.
    obeys_nofollow: bool,
    /// The robots.txt that names it as a sitemap.
    via: String,
}

impl Read {
    pub(super) fn of(session: &Session, url: &PageUrl, fetched: &Fetched) -> Self {
        let (rules, now) = (&session.rules, session.clock.now());
        let outcome = outcome_of(Ok(fetched), false, now);
        let verdict = judge(&outcome, 0, now, &session.live.retry);
        let challenge = matches!(outcome, FetchOutcome::Answer(answer) if answer.challenge);
        let head = HeaderDirectives::of(&fetched.headers, &rules.settings.agent.robots_tokens);
        let named = session.names_as_sitemap(url);
        let found = if named { FoundAs::SitemapFile { nesting: 0 } } else { FoundAs::Link };
        let via = format!("{}://{}/robots.txt", url.scheme().as_str(), url.authority());
        let looked = rules.inspector().look((url, named), fetched, &verdict, &head, &mut vec![0; PIECE]);
        let looked = looked.bounded(&session.live.canon, url, rules.settings.parse.max_links_per_page);
        let set = head.sets_cookies && rules.settings.cookies.enabled;
        let onward = Redirect::of(&session.live.canon, url, fetched, &verdict, looked.page.as_ref());
        let onward = onward.with_cookies(url, set);
        let obeys_nofollow = rules.settings.politeness.obeys_nofollow();
        Self { verdict, challenge, head, looked, onward, found, obeys_nofollow, via }
    }

    /// As what, and where, a crawl finds its URL.
    pub(super) fn way(&self) -> FoundWay<'_> {
        (self.found, self.found.is_sitemap().then_some(self.via.as_str()))
    }

    /// Its links are not to be followed.
    pub(super) fn nofollow(&self) -> bool {
        self.obeys_nofollow && self.head.directives(self.looked.page.as_ref()).nofollow
    }

    /// A link of it is not to be followed.
    pub(super) fn shuns(&self, lead: &FoundLink<'_>) -> bool {
        self.nofollow() || (self.obeys_nofollow && lead.nofollow)
    }

    /// Where it leads at once, and is followed.
    pub(super) fn next(&self) -> Option<(&PageUrl, RedirectKind)> {
        self.onward.followed(self.nofollow())
    }

    /// Where it leads, as written.
    pub(super) fn written(&self, reply: &Reply) -> Option<String> {
        match self.onward.target()?.1 {
            RedirectKind::Location => reply.fetched.reference("location").map(Into::into),
            RedirectKind::RefreshHeader => reply.fetched.reference("refresh").map(Into::into),
            RedirectKind::MetaRefresh => Some(self.looked.page.as_ref()?.facts.refresh.as_ref()?.href.clone()),
        }
    }

    /// Why a crawl puts nothing of it into the archive; `None` when it does.
    pub(super) fn not_stored(&self, judge: &Judge<'_>, status: u16) -> Option<String> {
        let (mime, store) = (&self.looked.mime, &judge.session.rules.settings.store);
        match self.verdict {
            Verdict::Retry { reason, .. } => Some(format!("{reason}: it is tried again first")),
            Verdict::Fail(failure) => Some(failure.to_string()),
            Verdict::Reject(rejection) => Some(rejection.to_string()),
            Verdict::Store | Verdict::StoreHalf { .. } if store.leaves_out(mime) => {
                Some(format!("store.skip_types names {mime}"))
            }
            _ if !store.keeps_status(status) => Some(format!("store.statuses does not name {status}")),
            Verdict::Store
            | Verdict::StoreHalf { .. }
            | Verdict::KeepHalf
            | Verdict::StoreOnly(_)
            | Verdict::Follow
            | Verdict::NotModified => None,
        }
    }

    /// What a body is that no module reads; `None` for what one does, for no body, and for what is not read anyway.
    pub(super) fn not_parsed(&self, fetched: &Fetched) -> Option<String> {
        if self.looked.kind.is_none() || self.looked.module.is_some() {
            return None;
        }
        let declared = fetched.content_type().unwrap_or_default();
        let essence = crate::content::mime::essence(&declared);
        Some(match essence.as_str() {
            "" => "no Content-Type, and its first bytes are not HTML".into(),
            "text/html" | "application/xhtml+xml" => format!("sent as {essence}, but its first bytes are not HTML"),
            other => other.to_owned(),
        })
    }
}
