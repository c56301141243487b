//! URLs that come without a page: seeds, sitemaps that a robots.txt names, rejected URLs that are judged again.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use super::seen::Pending;
use super::{Announced, Deduper, Inject, Result};
use crate::base::sync::lock;
use crate::crawl::admit::{admit, why};
use crate::crawl::control::{RejectedSeed, SeedReport};
use crate::crawl::lease::Lease;
use crate::crawl::store::Commit;
use crate::crawl::worker::{Ctx, Handles};
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::ledger::{Change, Ending, LinkChange, NewUrl};
use crate::storage::read;
use crate::storage::values::{SeedValue, UrlState};

/// A chunk of rejected URLs. There is one of it at a time, so it needs no permit. Empty, it is a barrier: when it is
/// answered, everything that passed the Deduper before it is committed or lost.
pub struct Readmit {
    /// The URLs.
    pub urls: Vec<NewUrl>,
    /// Whether shapes are asked too: what has had its budget is turned away once more.
    pub by_shapes: bool,
    /// Called after the commit with the number of those that were queued; dropped when it is lost.
    pub reply: Box<dyn FnOnce(u64) + Send>,
}

impl Deduper {
    /// Links that are followed from a seed, as is said of it now or was before.
    fn limit_of(&self, said: &SeedValue) -> Option<u16> {
        if said.says() {
            return said.max_depth;
        }
        let known = self.node.crawl.seeds.of(&*self.node.storage, self.node.crawl.id, &self.node.prints, &said.url);
        known.ok().flatten().and_then(|known| known.max_depth)
    }

    /// The same seed by http, judged, with what was said of it, when https does not answer: its URL then ends with the first
    /// failure, in the same commit. A bad certificate is an answer, and no reason to go on without TLS.
    pub(super) fn by_http(&self, lease: &Lease, ending: &mut Ending) -> Result<Option<(LinkChange, SeedValue)>> {
        let (Ending::Retry { reason, .. } | Ending::Error(reason)) = *ending else { return Ok(None) };
        if !reason.is_no_https() {
            return Ok(None);
        }
        let Some(said) = self.node.guess_of(lease)? else { return Ok(None) };
        let rest = lease.url.as_str().trim_start_matches("https:");
        let Ok(url) = self.node.crawl.live().canon.parse(&format!("http:{rest}")) else { return Ok(None) };
        log::warn!(
            "https does not answer for a seed without a scheme, http is asked: url={} reason={reason} instead={url}",
            lease.url
        );
        *ending = Ending::Error(reason);
        let said = SeedValue { url: url.as_str().to_owned(), guessed: false, ..(*said).clone() };
        let via = Some(lease.url.as_str().into());
        let new = NewUrl { via, hops: lease.entry.hops, ..NewUrl::seed(url) };
        Ok(Some((admit(&self.node, [new]), said)))
    }

    /// The commit with the sitemaps that are new. When it is lost, robots.txt is lost with it, and fetched again in time.
    fn with_sitemaps(&mut self, mut commit: Commit, found: Vec<NewUrl>) -> Result<Commit> {
        let judged = admit(&self.node, found);
        if let Change::Robots { sitemaps, .. } = &mut commit.change {
            **sitemaps = self.unseen(judged, None)?;
        }
        Ok(Commit { epoch: Some(self.epoch), ..commit })
    }

    /// Those that are rejected still and that the rules admit. What is pending is regarded as in the seen test.
    fn readmitted(&mut self, urls: Vec<NewUrl>, by_shapes: bool) -> Result<LinkChange> {
        self.max_depth = self.node.crawl.live().settings.max_depth();
        let LinkChange { new: admitted, turned, .. } = admit(&self.node, urls);
        let mut last = None;
        let keys: Vec<_> = admitted.iter().map(|new| self.key(new, &mut last)).collect();
        let states = read::seen_states(&*self.node.storage, &keys)?;
        let too_deep = turned.iter().any(|turned| turned.reason == Rejection::TooDeep);
        let mut out = LinkChange { too_deep, ..LinkChange::default() };
        for ((mut new, key), state) in admitted.into_iter().zip(keys).zip(states) {
            let Some(UrlState::Rejected { reason, reach, .. }) = state else { continue };
            if reason.is_held_back() {
                lock(&self.node.crawl.shapes).pardon(key.host, &new.url, &self.node.crawl.live().shapes);
            }
            if reason != Rejection::Collision && (!by_shapes || self.by_shapes(key, &mut new, None).is_ok()) {
                let pending = self.pending.get(&key.url).copied();
                let before = pending.unwrap_or(Pending { reach, turned_away: true, last: false });
                self.found_again(key.url, before, new, &mut out);
            }
        }
        Ok(out)
    }
}

impl Handles<Inject> for Deduper {
    fn handle(&mut self, Inject { seeds, reply }: Inject, ctx: &mut Ctx<Self>) {
        self.look_at_epoch();
        self.node.faults.pass("deduper.inject");
        let (urls, mut said): (Vec<_>, Vec<_>) = seeds.into_iter().unzip();
        {
            let mut scope = self.node.crawl.scope.write().unwrap_or_else(PoisonError::into_inner);
            for url in &urls {
                scope.join_host(url.host());
            }
        }
        let asked = urls.len() as u64;
        let above = if self.node.crawl.rules.settings.crawl.ascend { folders_above(&urls, &said) } else { Vec::new() };
        let limits: Vec<_> = said.iter().map(|said| self.limit_of(said)).collect();
        let seeds = urls.into_iter().zip(limits).map(|(url, limit)| NewUrl { limit, ..NewUrl::seed(url) });
        let mut judged = admit(&self.node, seeds.chain(above));
        if let Err(e) = self.not_told_abroad(&mut judged, &said) {
            return self.failed(&e);
        }
        let abroad = judged.foreign.iter().filter(|foreign| foreign.new.seed).count() as u64;
        let mut report = SeedReport::default();
        for turned in judged.turned.iter().filter(|turned| turned.new.seed) {
            let (url, reason) = (turned.new.url.to_string(), why(&self.node, turned));
            report.rejected.push(RejectedSeed { url, reason });
        }
        let refused: HashSet<&str> = judged.turned.iter().map(|turned| turned.new.url.as_str()).collect();
        said.retain(|seed| !refused.contains(seed.url.as_str()));
        let links = match self.unseen(LinkChange { turned: Vec::new(), ..judged }, None) {
            Ok(links) => LinkChange { seeds: said, ..links },
            Err(e) => return self.failed(&e),
        };
        report.accepted = links.new.iter().chain(&links.readmitted).filter(|new| new.seed).count() as u64 + abroad;
        report.known = asked.saturating_sub(report.accepted + report.rejected.len() as u64);
        let hook = reply.map(|reply| Box::new(move || drop(reply.send(report))) as Box<dyn FnOnce() + Send>);
        self.send(Commit { reply: hook, ..self.commit(Change::Links(Box::new(links))) }, ctx);
    }
}

impl Handles<Announced> for Deduper {
    fn handle(&mut self, Announced { commit, found }: Announced, ctx: &mut Ctx<Self>) {
        self.look_at_epoch();
        self.look_at_rules();
        match self.with_sitemaps(commit, found) {
            Ok(commit) => self.send(commit, ctx),
            Err(e) => self.failed(&e),
        }
    }
}

impl Handles<Readmit> for Deduper {
    fn handle(&mut self, message: Readmit, ctx: &mut Ctx<Self>) {
        self.look_at_epoch();
        let links = match self.readmitted(message.urls, message.by_shapes) {
            Ok(links) => links,
            Err(e) => return self.failed(&e),
        };
        let (n, reply) = (links.readmitted.len() as u64, message.reply);
        let hook: Box<dyn FnOnce() + Send> = Box::new(move || reply(n));
        self.send(Commit { reply: Some(hook), ..self.commit(Change::Links(Box::new(links))) }, ctx);
    }
}

/// The folders above seeds, as if each seed linked to them.
fn folders_above(seeds: &[PageUrl], said: &[SeedValue]) -> Vec<NewUrl> {
    let mut known: HashSet<PageUrl> = seeds.iter().cloned().collect();
    let mut found = Vec::new();
    for (url, said) in seeds.iter().zip(said).filter(|(_, said)| said.max_depth != Some(0)) {
        let from: Arc<str> = Arc::from(url.as_str());
        for folder in url.folders().filter(|folder| known.insert(folder.clone())) {
            let (via, origin) = (Some(from.clone()), Some(from.clone()));
            let limit = said.max_depth;
            found.push(NewUrl { depth: 1, limit, seed: false, via, origin, ..NewUrl::seed(folder) });
        }
    }
    found
}
