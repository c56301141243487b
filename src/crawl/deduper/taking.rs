//! Links from member to member of a crawl in parts: what is handed over, and what is taken in.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::PoisonError;

use super::{Deduper, Result};
use crate::crawl::admit::{admit, is_foreign, refuse};
use crate::crawl::store::Commit;
use crate::crawl::worker::{Ctx, Handles};
use crate::domain::reach::Reach;
use crate::storage::keys::{HostAt, RowKey, SeenKey};
use crate::storage::ledger::{Change, ForeignUrl, LinkChange, RejectedUrl, TakenIn};
use crate::storage::read;
use crate::storage::tables::Seeds;
use crate::storage::values::{HandedLinks, NoteHost, SeedValue};

/// Link credit that comes along with links: so much for each page of each list.
type Credit = Vec<(u128, Vec<NoteHost>)>;

/// A row of links that another member found. There is one of it at a time, so it needs no permit.
pub struct TakeIn {
    /// Which.
    pub row: RowKey,
    /// Its links.
    pub handed: HandedLinks,
    /// Called after the commit; dropped when it is lost.
    pub reply: Box<dyn FnOnce() + Send>,
}

impl Deduper {
    /// Those that the owner does not have from here yet, as far as is known. With link credit each brings some, and none is left out.
    pub(super) fn news_abroad(&mut self, mut foreign: Vec<ForeignUrl>) -> Vec<ForeignUrl> {
        if self.node.crawl.rules.credit().is_some() {
            return foreign;
        }
        let most = self.max_depth;
        foreign.retain(|ForeignUrl { new, refused, .. }| {
            let key = self.node.prints.url(&new.url);
            let reach = if refused.is_some() { Reach { depth: u16::MAX, limit: None } } else { new.reach() };
            let known = self.abroad.get(&key);
            let says_more = new.found.is_sitemap() || new.lastmod.is_some() || new.hops > 0 || new.seed;
            let news = known.is_none_or(|known| refused.is_none() && (reach.beats(known, most) || says_more));
            if news && known.is_none_or(|known| reach.beats(known, most)) {
                self.abroad.put(key, reach);
            }
            news
        });
        foreign
    }

    /// Seeds of other members that were handed over before are left out, unless something else is said of them now.
    pub(super) fn not_told_abroad(&self, judged: &mut LinkChange, said: &[SeedValue]) -> Result<()> {
        if judged.foreign.is_empty() {
            return Ok(());
        }
        let said: HashMap<&str, &SeedValue> = said.iter().map(|said| (said.url.as_str(), said)).collect();
        let mut told = HashSet::new();
        for foreign in judged.foreign.iter().filter(|foreign| foreign.new.seed) {
            let key = SeenKey::of(&self.node.prints, self.node.crawl.id, &foreign.new.url);
            let known = read::get::<Seeds>(&*self.node.storage, &key)?;
            let now = said.get(foreign.new.url.as_str());
            let same = |known: &SeedValue| {
                now.is_none_or(|now| !now.says() || SeedValue { added: known.added, ..(*now).clone() } == *known)
            };
            if known.as_ref().is_some_and(same) {
                told.insert(foreign.new.url.as_str().to_owned());
            }
        }
        judged.foreign.retain(|foreign| {
            let seed = foreign.new.origin.as_deref().unwrap_or(foreign.new.url.as_str());
            !told.contains(seed)
        });
        Ok(())
    }

    /// What a row changes here.
    fn taken(&mut self, HandedLinks { links, said }: HandedLinks) -> Result<(LinkChange, Credit)> {
        let foreign: Vec<ForeignUrl> = links.into_iter().filter_map(ForeignUrl::of).collect();
        let credit = self.credit_of(&foreign);
        let (mut on, found): (Vec<_>, Vec<_>) =
            foreign.into_iter().partition(|foreign| is_foreign(&self.node, &foreign.new.url));
        {
            let mut scope = self.node.crawl.scope.write().unwrap_or_else(PoisonError::into_inner);
            for seed in found.iter().filter(|found| found.new.seed && found.refused.is_none()) {
                scope.join_host(seed.new.url.host());
            }
        }
        let (refused, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.refused.is_some());
        let mut judged = admit(&self.node, found.into_iter().map(|found| found.new));
        let refused = refused.into_iter().filter_map(|f| Some(RejectedUrl { new: f.new, reason: f.refused? }));
        refuse(&self.node, &mut judged, refused);
        // The partition is another's by now. It may have been handed over from here before, and come back: it goes on all the same.
        on.append(&mut judged.foreign);
        let mut links = self.unseen(judged, None)?;
        links.foreign.append(&mut on);
        Ok((LinkChange { seeds: said, linked: Vec::new(), ..links }, credit))
    }

    /// Credit that came along, by how much it is for each page. What goes on to another member is not looked at here.
    fn credit_of(&self, links: &[ForeignUrl]) -> Credit {
        let (prints, mut by_share) = (&self.node.prints, BTreeMap::<u128, BTreeMap<HostAt, NoteHost>>::new());
        for ForeignUrl { new, units, .. } in links.iter().filter(|link| link.units > 0) {
            if is_foreign(&self.node, &new.url) {
                continue;
            }
            let at = HostAt::of(prints, new.url.host());
            let fresh = || NoteHost {
                partition: at.partition,
                host: at.host,
                domain: HostAt::domain(prints, new.url.host()),
                pages: Vec::new(),
            };
            let note = by_share.entry(*units).or_default().entry(at).or_insert_with(fresh);
            note.pages.push(prints.url(&new.url));
        }
        by_share.into_iter().map(|(share, hosts)| (share, hosts.into_values().collect())).collect()
    }
}

impl Handles<TakeIn> for Deduper {
    fn handle(&mut self, TakeIn { row, handed, reply }: TakeIn, ctx: &mut Ctx<Self>) {
        self.look_at_epoch();
        self.look_at_rules();
        self.node.faults.pass("deduper.take_in");
        match self.taken(handed) {
            Ok((links, credit)) => {
                let change = Change::TakeIn(Box::new(TakenIn { row, links, credit }));
                self.send(Commit { reply: Some(reply), ..self.commit(change) }, ctx);
            }
            Err(e) => self.failed(&e),
        }
    }
}
