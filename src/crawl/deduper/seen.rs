//! The URL-seen test: popular cache, Bloom filter, exact set on disk, pending marks, in this order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Deduper, Result};
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::UrlKey;
use crate::domain::found_as::FoundAs;
use crate::domain::rank::Ranker;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::domain::revisit::{LastVisit, RequeueReason};
use crate::domain::traps::{Finder, Refusal, Turn};
use crate::storage::keys::{HostAt, SeenKey};
use crate::storage::ledger::{KnownUrl, LinkChange, NewUrl, RejectedUrl};
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::{DoneKind, NoteHost, UrlState};

/// A URL whose first finding is not committed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub reach: Reach,
    pub turned_away: bool,
    /// It comes after all others of its host.
    pub last: bool,
}

/// A found URL with the judgement of the rules.
struct Candidate {
    key: SeenKey,
    new: NewUrl,
    turned: Option<Rejection>,
}

impl Deduper {
    /// Splits judged URLs, found on a page or otherwise, into what the commit must do about them; known ones are left out.
    pub(super) fn unseen(&mut self, judged: LinkChange, mut finder: Option<&mut Finder>) -> Result<LinkChange> {
        let LinkChange { new, turned, foreign, .. } = judged;
        let most = self.node.crawl.live().settings.max_depth();
        self.max_depth = most;
        let mut candidates: Vec<Candidate> = Vec::with_capacity(new.len() + turned.len());
        let mut last = None; // links of one page mostly lead to one host
        let recorded = self.node.crawl.rules.settings.scope.record_rejected;
        let too_deep = !recorded && turned.iter().any(|turned| turned.reason == Rejection::TooDeep);
        let turned = turned.into_iter().filter(|_| recorded).map(|RejectedUrl { new, reason }| (new, Some(reason)));
        let judged = new.into_iter().map(|new| (new, None)).chain(turned);
        candidates.extend(judged.map(|(new, turned)| Candidate { key: self.key(&new, &mut last), new, turned }));
        let linked = if self.node.crawl.rules.credit().is_some() { self.linked(&candidates) } else { Vec::new() };
        candidates.retain(|c| {
            let said = c.new.found.is_sitemap() || c.new.lastmod.is_some() || c.new.hops > 0;
            let news = |known| c.turned.is_none() && (c.new.reach().beats(known, most) || said);
            let kept = self.popular.get(&c.key.url).is_none_or(news);
            if let Some(finder) = finder.as_deref_mut().filter(|_| !kept && c.turned.is_none()) {
                finder.met(c.key.host, &c.new.url);
            }
            kept
        });
        let asked: Vec<SeenKey> =
            candidates.iter().filter(|c| self.filter.may_contain(&c.key.url)).map(|c| c.key).collect();
        let states = read::seen_states(&*self.node.storage, &asked)?;
        let mut known = asked.into_iter().zip(states).peekable();
        let foreign = self.news_abroad(foreign);
        if let Some(finder) = &mut finder {
            foreign.iter().filter(|f| f.refused.is_none()).for_each(|_| finder.leads_abroad());
        }
        let mut out = LinkChange { too_deep, linked, foreign, ..LinkChange::default() };
        for candidate in candidates {
            let state = match known.peek() {
                Some((key, _)) if *key == candidate.key => known.next().and_then(|(_, state)| state),
                _ => None,
            };
            self.sort_out(candidate, state, finder.as_deref_mut(), &mut out)?;
        }
        Ok(out)
    }

    /// What is admitted, each once, by host.
    fn linked(&self, candidates: &[Candidate]) -> Vec<NoteHost> {
        let mut hosts: BTreeMap<HostAt, NoteHost> = BTreeMap::new();
        for Candidate { key, new, .. } in candidates.iter().filter(|c| c.turned.is_none()) {
            let (at, prints) = (key.host_crawl().host_at(), &self.node.prints);
            let fresh = || NoteHost {
                partition: at.partition,
                host: at.host,
                domain: HostAt::domain(prints, new.url.host()),
                pages: Vec::new(),
            };
            hosts.entry(at).or_insert_with(fresh).pages.push(key.url);
        }
        hosts.into_values().map(once).collect()
    }

    pub(super) fn key(&self, new: &NewUrl, last: &mut Option<(String, HostAt)>) -> SeenKey {
        let name = new.url.host();
        let at = match last {
            Some((known, at)) if known == name => *at,
            _ => last.insert((name.to_owned(), HostAt::of(&self.node.prints, name))).1,
        };
        at.crawl(self.node.crawl.id).url(self.node.prints.url(&new.url))
    }

    /// Decides by what the disk says, then by what is pending (in this order: a commit between the two is then not missed).
    ///
    /// | on disk | judged | becomes |
    /// |---|---|---|
    /// | nothing, and nothing pending | admitted | new, unless its shape holds it back |
    /// | nothing | turned away | rejected, noted once |
    /// | waiting | admitted, by a better way, a sitemap, or no longer last | nearer |
    /// | rejected | admitted | queued again |
    /// | rejected, pending or not | too deep, by a better way | nearer: the way is kept for a wider limit |
    /// | done | admitted, by a way that leads further | nearer: fetched once more for its links, once a URL is too deep |
    /// | done by a redirect | its redirect leads back to it | again, with cookies or in another spelling |
    /// | done | a sitemap or the operator says that it changed | again |
    /// | anything else | | known, and perhaps popular |
    fn sort_out(
        &mut self,
        candidate: Candidate,
        state: Option<UrlState>,
        finder: Option<&mut Finder>,
        out: &mut LinkChange,
    ) -> Result<()> {
        let Candidate { key, mut new, turned } = candidate;
        let mut finder = finder.filter(|_| turned.is_none());
        let known = self.what_is_known(key, &mut new, state, turned.is_none(), finder.as_deref_mut());
        let (Known { pending, standing, back, waits_last }, most) = (known, self.max_depth);
        let untaken = matches!(standing, Standing::New | Standing::TurnedAway);
        out.too_deep |= untaken && turned == Some(Rejection::TooDeep);
        match (state, turned) {
            (None, turned) => match (turned, pending) {
                (None, Some(pending)) if back || !pending.turned_away => {
                    self.found_again(key.url, pending, new, out);
                }
                (None, Some(_)) => {}
                (None, None) => self.first_found(key, new, finder, out),
                (Some(reason), pending) => self.refused(key.url, new, reason, pending, out),
            },
            (Some(UrlState::Waiting { reach, .. }), None)
                if new.reach().beats(reach, most)
                    || new.found.is_sitemap()
                    || (waits_last && new.rank != Some(NewUrl::LAST)) =>
            {
                out.nearer.push(new);
            }
            (Some(UrlState::Waiting { .. }), _) if waits_last => {}
            (Some(UrlState::Rejected { reach, .. }), None) if back || standing == Standing::Returning => {
                let before = pending.unwrap_or(Pending { reach, turned_away: true, last: false });
                self.found_again(key.url, before, new, out);
            }
            (Some(UrlState::Rejected { reach, .. }), Some(Rejection::TooDeep)) if new.reach().beats(reach, most) => {
                out.nearer.push(new);
            }
            (Some(UrlState::Waiting { reach, .. }), _) => self.popular.put(key.url, reach),
            (Some(UrlState::Rejected { .. }), _) => {}
            (Some(UrlState::Done { captured, how, reach }), None) => {
                self.found_done(key, new, (captured, how, reach), out)?;
            }
            (Some(UrlState::Done { reach, .. }), _) => self.popular.put(key.url, settled(reach, most)),
            (Some(UrlState::Error { .. }), _) => self.popular.put(key.url, Reach::BEST),
        }
        Ok(())
    }

    /// Of a page that is done and found again. The better way comes first: what is fetched once more for another reason takes it.
    fn found_done(
        &mut self,
        key: SeenKey,
        new: NewUrl,
        (captured, how, reach): (UnixMillis, DoneKind, Reach),
        out: &mut LinkChange,
    ) -> Result<()> {
        let further = new.reach().leads_further(reach, self.max_depth);
        if further {
            out.nearer.push(new.clone());
        }
        let led_back = how == DoneKind::Redirect && new.hops > 0;
        let why = if led_back { self.why_led_back(key, &new, captured) } else { self.why_again(key, &new, captured) }?;
        match why {
            Some(why) => out.again.push(KnownUrl { new, captured, why }),
            None => out.put_off |= new.lastmod.is_some_and(|at| at > captured),
        }
        if why.is_none() && !further && !led_back {
            self.popular.put(key.url, settled(reach, self.max_depth));
        }
        Ok(())
    }

    /// Asks what is pending and the shapes; says in the URL that it comes last, where it does.
    fn what_is_known(
        &mut self,
        key: SeenKey,
        new: &mut NewUrl,
        state: Option<UrlState>,
        admitted: bool,
        mut finder: Option<&mut Finder>,
    ) -> Known {
        let pending = self.pending.get(&key.url).copied();
        let standing = Standing::of(state, pending, new.seed);
        if let (Standing::Taken, Some(finder)) = (standing, &mut finder) {
            finder.met(key.host, &new.url);
        }
        let back =
            standing == Standing::TurnedAway && admitted && self.by_shapes(key, new, finder.as_deref_mut()).is_ok();
        let waits_last = match state {
            Some(UrlState::Waiting { order, .. }) => Ranker::is_last(order),
            _ => pending.is_some_and(|pending| pending.last),
        };
        if waits_last && admitted && self.comes_last(key, new, finder.as_deref()) {
            new.rank = Some(NewUrl::LAST);
        }
        Known { pending, standing, back, waits_last }
    }

    /// Of a URL that is not on disk and that the rules turn away.
    fn refused(&mut self, key: UrlKey, new: NewUrl, reason: Rejection, pending: Option<Pending>, out: &mut LinkChange) {
        match (pending, reason) {
            (None, _) => {
                self.mark(key, Pending { reach: new.reach(), turned_away: true, last: false });
                out.turned.push(RejectedUrl { new, reason });
            }
            // A better way to what is too deep all the same is kept with it, for a later, wider limit.
            (Some(known), Rejection::TooDeep)
                if known.turned_away && new.reach().beats(known.reach, self.max_depth) =>
            {
                self.pending.insert(key, Pending { reach: new.reach(), ..known });
                out.nearer.push(new);
            }
            (Some(_), _) => {}
        }
    }

    /// Why a URL that redirected may answer otherwise when a redirect leads back to it: with the cookies set on the way, or asked
    /// for under another spelling. `fetch.max_redirects` ends it.
    fn why_led_back(&self, key: SeenKey, new: &NewUrl, captured: UnixMillis) -> Result<Option<RequeueReason>> {
        if self.node.crawl.rules.settings.cookies.enabled {
            return Ok(Some(RequeueReason::Cookies));
        }
        let page = read::get::<Pages>(&*self.node.storage, &key.page(captured))?;
        let other = page.is_some_and(|page| page.spelling.as_deref() != new.url.spelling());
        Ok(other.then_some(RequeueReason::Spelling))
    }

    /// Why a URL that is done is fetched once more, if it is.
    fn why_again(&self, key: SeenKey, new: &NewUrl, captured: UnixMillis) -> Result<Option<RequeueReason>> {
        let (now, sitemaps) = (self.node.clock.date(), &self.node.crawl.rules.settings.sitemaps);
        let again = self.node.crawl.sitemaps_again().is_some_and(|after| captured.plus(after) <= now);
        if again && matches!(new.found, FoundAs::SitemapFile { .. }) {
            return Ok(Some(RequeueReason::Sitemap));
        }
        // A capture in the future was dated by a wrong clock: any date that is past may be later.
        let said = new.lastmod.filter(|at| *at > captured || captured > now);
        let Some(lastmod) = said else { return Ok(None) };
        let page = read::get::<Pages>(&*self.node.storage, &key.page(captured))?;
        let visit = LastVisit { captured, unchanged: page.map_or(0, |page| page.unchanged) };
        Ok(visit.is_outdated_by(lastmod, now, sitemaps.lastmod_gap).then_some(RequeueReason::Lastmod))
    }

    /// The judgement of shapes, which may send it behind all others of its host. What seeds are, their owner has chosen; sitemaps have a
    /// budget of their own.
    pub(super) fn by_shapes(&self, key: SeenKey, new: &mut NewUrl, finder: Option<&mut Finder>) -> Result<(), Refusal> {
        if is_chosen(new) {
            return Ok(());
        }
        let live = self.node.crawl.live();
        let turn = lock(&self.node.crawl.shapes).admit(finder, key.host, &new.url, &live.shapes)?;
        if turn == Turn::Last {
            new.rank = Some(NewUrl::LAST);
        }
        Ok(())
    }

    /// Whether a URL that waits to come last still does, now that it is found again.
    fn comes_last(&self, key: SeenKey, new: &NewUrl, finder: Option<&Finder>) -> bool {
        let live = self.node.crawl.live();
        let turn = lock(&self.node.crawl.shapes).turn(finder, key.host, &new.url, &live.shapes);
        turn == Turn::Last && !is_chosen(new)
    }

    /// A URL that nobody knew.
    fn first_found(&mut self, key: SeenKey, mut new: NewUrl, finder: Option<&mut Finder>, out: &mut LinkChange) {
        let admitted = self.by_shapes(key, &mut new, finder);
        if let Err(refusal) = admitted
            && refusal.reason.is_held_back()
        {
            lock(&self.node.crawl.shapes).hold(key.host, &new.url, refusal);
        }
        if admitted.is_err() && !self.node.crawl.rules.settings.scope.record_rejected {
            return; // a mark would never be taken away
        }
        let last = new.rank == Some(NewUrl::LAST);
        self.mark(key.url, Pending { reach: new.reach(), turned_away: admitted.is_err(), last });
        match admitted {
            Ok(()) => out.new.push(new),
            Err(Refusal { reason, .. }) => out.turned.push(RejectedUrl { new, reason }),
        }
    }

    /// An admitted URL whose first finding was turned away, or was perhaps by a worse way. Commits keep this order.
    pub(super) fn found_again(&mut self, key: UrlKey, before: Pending, new: NewUrl, out: &mut LinkChange) {
        let (reach, last) = (new.reach(), new.rank == Some(NewUrl::LAST));
        if before.turned_away {
            self.pending.insert(key, Pending { reach, turned_away: false, last });
            out.readmitted.push(new);
        } else if reach.beats(before.reach, self.max_depth) || (before.last && !last) {
            let reach = before.reach.or_better(reach, self.max_depth);
            self.pending.insert(key, Pending { reach, turned_away: false, last: before.last && last });
            out.nearer.push(new);
        }
    }

    fn mark(&mut self, key: UrlKey, pending: Pending) {
        self.filter.insert(&key);
        self.pending.insert(key, pending);
    }
}

/// The pages of several chunks together, each once, by host.
pub(super) fn each_once(mut chunks: Vec<Vec<NoteHost>>) -> Vec<NoteHost> {
    if chunks.len() < 2 {
        return chunks.pop().unwrap_or_default();
    }
    let mut hosts: BTreeMap<HostAt, NoteHost> = BTreeMap::new();
    for host in chunks.into_iter().flatten() {
        match hosts.entry(HostAt { partition: host.partition, host: host.host }) {
            Entry::Vacant(fresh) => _ = fresh.insert(host),
            Entry::Occupied(known) => known.into_mut().pages.extend(host.pages),
        }
    }
    hosts.into_values().map(once).collect()
}

fn once(mut host: NoteHost) -> NoteHost {
    host.pages.sort_unstable();
    host.pages.dedup();
    host
}

/// Whether no shape bounds it: its owner chose it as a seed, or it is a sitemap that the site or its owner names.
fn is_chosen(new: &NewUrl) -> bool {
    new.seed || new.found.is_sitemap() && !is_named_by_page(new)
}

/// Whether a page names it as a sitemap: each page of an endless space may name another.
fn is_named_by_page(new: &NewUrl) -> bool {
    let via = new.via.as_deref().unwrap_or_default();
    new.found == (FoundAs::SitemapFile { nesting: 0 }) && !via.ends_with("/robots.txt") && new.via != new.origin
}

/// The way by which a page is done: where nothing ends, no other is of interest.
fn settled(reach: Reach, most: Option<u16>) -> Reach {
    if reach.left(most).is_some() { reach } else { Reach::BEST }
}

/// What is known of a URL that was found.
struct Known {
    pending: Option<Pending>,
    standing: Standing,
    /// It was turned away, and the shapes let it in now.
    back: bool,
    /// It waits, and comes last.
    waits_last: bool,
}

/// How a found URL stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Nobody knew it.
    New,
    /// It is queued or done.
    Taken,
    /// It is rejected, and queued by a commit that is still to come.
    Returning,
    /// It was turned away, and may be taken up.
    TurnedAway,
    /// It was turned away for good.
    Closed,
}

impl Standing {
    fn of(state: Option<UrlState>, pending: Option<Pending>, seed: bool) -> Self {
        match (state, pending) {
            (None, None) => Self::New,
            (Some(UrlState::Rejected { reason, .. }), _) if !may_return(reason, seed) => Self::Closed,
            (_, Some(pending)) if pending.turned_away => Self::TurnedAway,
            (Some(UrlState::Rejected { .. }), Some(_)) => Self::Returning,
            (Some(UrlState::Rejected { .. }), None) => Self::TurnedAway,
            (Some(_), _) | (None, Some(_)) => Self::Taken,
        }
    }
}

/// Whether a rejected URL that is found again, and admitted now, is taken up. A seed is, for whoever hands it in again has
/// changed what spoke against it: `net.allow`, robots.txt, the budget.
fn may_return(reason: Rejection, seed: bool) -> bool {
    use Rejection as R;
    match reason {
        // It depends on the rules and the path.
        R::Scheme | R::Scope | R::Excluded | R::Extension | R::TooDeep | R::TooLong | R::Segments | R::Repeats => true,
        R::Params | R::Redirects | R::Malformed | R::Blocked => true,
        R::SitemapForeign | R::SitemapNesting | R::Nofollow | R::NearDuplicate => true, // found in another way
        R::NoNovelty | R::SelfLinking | R::Session | R::Permuted => true, // found from outside, or by other signs
        R::Robots | R::HostBudget | R::DomainBudget | R::PatternBudget | R::Address | R::Dropped => seed,
        R::Collision => false,
    }
}
