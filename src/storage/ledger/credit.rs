//! Link credit in the ledger (ADR 37): a page that is fetched gives, rounds bring what was given, waiting URLs rise.
//!
//! A page's commit writes its own account, the purses of its group, and one note of what it gave. A round settles notes in the order
//! of the accounts; its place stands in the batch that moves the credit, so that a kill anywhere neither loses a share nor brings it
//! twice. An account is a member of its pool exactly while its URL waits.

use super::{Done, Leased, Ledger, Result};
use crate::base::invariant::{Invariant, uphold};
use crate::domain::credit::{Account, CreditRules, Dividend, PARTS, Purse, Step, Sums, Way};
use crate::domain::fingerprint::{CrawlId, HostKey, KeySet, UrlKey};
use crate::domain::frontier::RANKS;
use crate::domain::rank::Ranker;
use crate::storage::Storage;
use crate::storage::keys::{HostAt, NoteKey, OTHERS, SeenKey, part_of, purse};
use crate::storage::read;
use crate::storage::tables::{Credit as Accounts, Due, Notes, Queue, Seeds, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{CreditRound, CreditState, CreditValue, NoteHost, NoteValue, QueueEntry, UrlState};

/// A share that arrives: the sum of what the notes of a round have for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The page.
    pub page: SeenKey,
    /// Its registrable domain.
    pub domain: HostKey,
    /// Units.
    pub units: u128,
}

/// A piece of a round: void when the round does not stand where it was when this was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settling {
    /// The last note of the round.
    pub upto: u64,
    /// The last page before these.
    pub after: Option<SeenKey>,
    /// What arrives, in the order of the pages; all there is up to the last one.
    pub arrivals: Vec<Arrival>,
    /// No page comes behind these.
    pub last: bool,
}

/// The ledger's part of credit; only there when it is on.
pub(super) struct Credit {
    rules: CreditRules,
    pub state: CreditState,
    /// What the page of the change in hand gives to each of its links.
    share: u128,
    /// Its links.
    linked: KeySet<UrlKey>,
    /// Those of them that had their share at once.
    had: KeySet<UrlKey>,
    /// Where the ranks begin, as of the last batch.
    floors: [Step; RANKS - 1],
}

/// An account, as it is kept.
#[derive(Clone, Copy, Default)]
struct Held {
    account: Account,
    part: u32,
    step: Option<Step>,
}

impl Held {
    fn of(value: CreditValue) -> Option<Self> {
        match value {
            CreditValue::Account { balance, at, part, step } => {
                Some(Self { account: Account { balance, at }, part, step: step.map(Step) })
            }
            CreditValue::Purse { .. } => None,
        }
    }

    fn value(&self) -> CreditValue {
        let Account { balance, at } = self.account;
        CreditValue::Account { balance, at, part: self.part, step: self.step.map(|step| step.0) }
    }
}

impl Credit {
    pub fn open(storage: &dyn Storage, crawl: CrawlId, rules: CreditRules) -> Result<Self> {
        let fresh = CreditState { dividend: rules.dividend, first: 1, next: 1, ..CreditState::default() };
        let state = read::meta::<CreditState>(storage, crawl)?.unwrap_or(fresh);
        Ok(Self {
            rules,
            floors: state.waiting.floors(),
            state,
            share: 0,
            linked: KeySet::default(),
            had: KeySet::default(),
        })
    }

    /// Works on an account and the pools on its way.
    fn on_way(
        &mut self,
        txn: &mut Txn<'_>,
        (page, domain): (SeenKey, HostKey),
        held: &mut Held,
        work: impl FnOnce(&mut Way<'_>, &mut Account, &mut Sums),
    ) -> Result<()> {
        let CreditState { root, sums, dividend, .. } = &mut self.state;
        if *dividend == Dividend::Page {
            work(&mut Way { root, purses: None }, &mut held.account, sums);
            return Ok(());
        }
        let found = |txn: &Txn<'_>, key: &SeenKey| Ok(txn.get::<Accounts>(key)?.and_then(CreditValue::purse));
        let of_domain = purse(page, domain, 0);
        let mut domain_purse: Purse = found(txn, &of_domain)?.unwrap_or_default();
        let mut of_part = purse(page, domain, held.part);
        let mut part: Option<Purse> = found(txn, &of_part)?;
        if held.step.is_none() && part.is_none() && domain_purse.pool.members + 1 >= PARTS {
            held.part = OTHERS;
            of_part = purse(page, domain, OTHERS);
            part = found(txn, &of_part)?;
        }
        let mut part = part.unwrap_or_default();
        work(&mut Way { root, purses: Some((&mut domain_purse, &mut part)) }, &mut held.account, sums);
        for (key, purse) in [(of_domain, domain_purse), (of_part, part)] {
            match purse.pool.members {
                0 => txn.delete::<Accounts>(&key),
                _ => txn.put::<Accounts>(&key, &purse.into()),
            }
        }
        Ok(())
    }

    /// Counts an account among what waits, where its balance puts it now.
    fn count(&mut self, held: &mut Held, factor: f64) {
        held.step.iter().for_each(|step| self.state.waiting.remove(*step));
        let step = Step::of(held.account.balance, factor);
        self.state.waiting.add(step);
        held.step = Some(step);
    }
}

impl Ledger {
    /// What all accounts hold together, as of the batch under construction; none without credit.
    pub fn credit(&self) -> Option<&CreditState> {
        self.credit.as_ref().map(|credit| &credit.state)
    }

    fn account(&self, txn: &Txn<'_>, page: SeenKey) -> Result<Option<Held>> {
        match self.credit {
            Some(_) => Ok(txn.get::<Accounts>(&page)?.and_then(Held::of)),
            None => Ok(None),
        }
    }

    /// The key of a page's domain.
    fn domain_of(&mut self, txn: &Txn<'_>, page: SeenKey) -> Result<HostKey> {
        let name = self.hosts.name(txn, page.host_crawl().host_at())?;
        Ok(HostAt::domain(&self.rules.prints, &name))
    }

    fn put_account(&self, txn: &mut Txn<'_>, page: SeenKey, held: &Held) {
        txn.put::<Accounts>(&page, &held.value());
    }

    /// How much a page's credit counts: by its depth, and by what else its importance is made of.
    fn factor(&mut self, txn: &Txn<'_>, page: SeenKey, entry: &QueueEntry) -> Result<f64> {
        let factors = self.factors_of(txn, page, entry)?;
        Ok(factors.importance() / factors.depth.max(f64::MIN_POSITIVE) * (factors.depth / 5.0).sqrt())
    }

    /// The rank of a URL that waits, by what its account holds; none without credit.
    pub(super) fn rank_by_credit(&self, txn: &Txn<'_>, page: SeenKey) -> Result<Option<u8>> {
        let Some(credit) = &self.credit else { return Ok(None) };
        let step = self.account(txn, page)?.and_then(|held| held.step);
        Ok(step.map(|step| step.rank(&credit.floors).min(self.rules.ranker.ranks().saturating_sub(1))))
    }

    /// The entry of a URL that waits.
    fn entry_of_waiting(&self, txn: &Txn<'_>, page: SeenKey) -> Result<Option<QueueEntry>> {
        match txn.get::<Seen>(&page)? {
            Some(UrlState::Waiting { rank, order, due: None, .. }) => {
                txn.get::<Queue>(&page.host_crawl().queue(rank, order))
            }
            Some(UrlState::Waiting { due: Some(when), .. }) => txn.get::<Due>(&page.due(when)),
            _ => Ok(None),
        }
    }

    /// A URL has left its queue for good: done, it gives what it has to so many links; otherwise its account is closed.
    pub(super) fn give(
        &mut self,
        txn: &mut Txn<'_>,
        page: SeenKey,
        state: &UrlState,
        (to, abroad): (&[NoteHost], u64),
    ) -> Result<()> {
        match state {
            UrlState::Waiting { .. } => return Ok(()),
            UrlState::Done { .. } => {}
            _ => return self.end_account(txn, page),
        }
        let Some(mut held) = self.leave_pool(txn, page)? else { return Ok(()) };
        let Some(credit) = &mut self.credit else { return Ok(()) };
        let links = to.iter().map(|host| host.pages.len() as u64).sum::<u64>() + abroad;
        credit.share = credit.state.sums.give(&mut held.account, links, credit.rules.tax);
        credit.state.sums.leave(credit.share * u128::from(abroad));
        credit.linked = to.iter().flat_map(|host| host.pages.iter().copied()).collect();
        self.put_account(txn, page, &held);
        Ok(())
    }

    /// What goes along with each link of the page in hand to another member's host.
    pub(super) fn share_abroad(&self) -> u128 {
        self.credit.as_ref().map_or(0, |credit| credit.share)
    }

    /// Credit comes in from another member, for each page of each list: it is in notes from here on.
    pub(super) fn come_in(&mut self, txn: &mut Txn<'_>, lists: &[(u128, Vec<NoteHost>)]) {
        let Some(credit) = &mut self.credit else { return };
        for (share, to) in lists {
            let note = NoteValue { share: *share, to: to.clone() };
            credit.state.sums.come(share * u128::from(note.pages()));
            let (crawl, number) = (self.rules.crawl, credit.state.next);
            credit.state.next += 1;
            txn.put::<Notes>(&NoteKey { crawl, number }, &note);
        }
    }

    /// Notes what the page of the change in hand gave, but for what new URLs had at once.
    pub(super) fn gave(&mut self, txn: &mut Txn<'_>, to: &[NoteHost]) {
        let Some(credit) = &mut self.credit else { return };
        let (share, had) = (std::mem::take(&mut credit.share), std::mem::take(&mut credit.had));
        credit.linked.clear();
        if share == 0 {
            return;
        }
        let left = |host: &NoteHost| NoteHost {
            pages: host.pages.iter().filter(|page| !had.contains(*page)).copied().collect(),
            ..host.clone()
        };
        let to: Vec<NoteHost> = to.iter().map(left).filter(|host| !host.pages.is_empty()).collect();
        if !to.is_empty() {
            let (crawl, number) = (self.rules.crawl, credit.state.next);
            credit.state.next += 1;
            txn.put::<Notes>(&NoteKey { crawl, number }, &NoteValue { share, to });
        }
    }

    /// A URL is neither waiting nor done any more: all that its account holds goes to lambda.
    pub(super) fn end_account(&mut self, txn: &mut Txn<'_>, page: SeenKey) -> Result<()> {
        let held = self.leave_pool(txn, page)?;
        if let (Some(mut held), Some(credit)) = (held, &mut self.credit) {
            credit.state.sums.give(&mut held.account, 0, credit.rules.tax);
            self.close_account(txn, page);
        }
        Ok(())
    }

    fn close_account(&mut self, txn: &mut Txn<'_>, page: SeenKey) {
        txn.delete::<Accounts>(&page);
        if let Some(credit) = &mut self.credit {
            credit.state.accounts = credit.state.accounts.saturating_sub(1);
        }
    }

    /// Takes an account out of its pool and of what waits.
    fn leave_pool(&mut self, txn: &mut Txn<'_>, page: SeenKey) -> Result<Option<Held>> {
        let Some(mut held) = self.account(txn, page)? else { return Ok(None) };
        if let Some(step) = held.step {
            let domain = self.domain_of(txn, page)?;
            let Some(credit) = &mut self.credit else { return Ok(None) };
            credit.on_way(txn, (page, domain), &mut held, |way, account, sums| way.leave(account, sums))?;
            credit.state.waiting.remove(step);
            (held.step, held.account.at) = (None, 0);
        }
        Ok(Some(held))
    }

    /// A URL waits: its account is a member of its pool. One that is new has its first share at once, from the page that found it, before
    /// it is fetched itself. One that waits already is counted anew, for other rules may give it another weight.
    pub(super) fn waits(&mut self, txn: &mut Txn<'_>, page: SeenKey, entry: &QueueEntry) -> Result<()> {
        if self.credit.is_none() {
            return Ok(());
        }
        let known = self.account(txn, page)?;
        let factor = self.factor(txn, page, entry)?;
        let name = self.hosts.name(txn, page.host_crawl().host_at())?;
        let Some(credit) = &mut self.credit else { return Ok(()) };
        credit.state.accounts += u64::from(known.is_none());
        let mut held = known.unwrap_or_default();
        if held.step.is_none() {
            held.part = part_of(&self.rules.prints, &name, &entry.tail);
            let way = (page, HostAt::domain(&self.rules.prints, &name));
            credit.on_way(txn, way, &mut held, |way, account, sums| way.join(account, sums))?;
            if known.is_none() && credit.linked.contains(&page.url) {
                credit.state.sums.arrive(Some(&mut held.account), credit.share);
                credit.had.insert(page.url);
            }
        }
        credit.count(&mut held, factor);
        txn.put::<Accounts>(&page, &held.value());
        Ok(())
    }

    /// Seeds that were not known before bring their credit.
    pub(super) fn issue(&mut self, txn: &mut Txn<'_>, seeds: &[SeenKey]) -> Result<()> {
        if self.credit.is_none() {
            return Ok(());
        }
        for page in seeds {
            if !matches!(txn.get::<Seen>(page)?, Some(UrlState::Waiting { .. } | UrlState::Done { .. })) {
                continue; // it was turned away, and brings nothing
            }
            let Some(mut held) = self.account(txn, *page)? else { continue };
            let factor = match self.entry_of_waiting(txn, *page)? {
                Some(entry) => self.factor(txn, *page, &entry)?,
                None => 1.0,
            };
            let Some(credit) = &mut self.credit else { continue };
            credit.state.sums.issue(&mut held.account);
            if held.step.is_some() {
                credit.count(&mut held, factor);
            }
            self.put_account(txn, *page, &held);
        }
        Ok(())
    }

    /// Brings what notes have for some pages. The last piece of a round takes its notes away, and has lambda pay back.
    pub(super) fn settle(&mut self, txn: &mut Txn<'_>, piece: &Settling, leased: Leased<'_>) -> Result<Done> {
        let Some(credit) = &mut self.credit else { return Ok(Done { void: true, ..Done::default() }) };
        let fresh = CreditRound { upto: piece.upto, after: None, richest: 0 };
        let round = credit.state.round.unwrap_or(fresh);
        let next = credit.state.next;
        let stands = (round.upto, round.after) == (piece.upto, piece.after);
        if !stands || !(credit.state.first..next).contains(&piece.upto) {
            return Ok(Done { void: true, ..Done::default() });
        }
        credit.floors = credit.state.waiting.floors();
        credit.state.round = Some(round);
        for arrival in &piece.arrivals {
            self.arrive(txn, arrival, leased)?;
        }
        let crawl = self.rules.crawl;
        let Some(credit) = &mut self.credit else { return Ok(Done::default()) };
        let state = &mut credit.state;
        if !piece.last {
            let after = piece.arrivals.last().map(|arrival| arrival.page).or(round.after);
            state.round = state.round.map(|round| CreditRound { after, ..round });
            return Ok(Done::default());
        }
        for number in state.first..=piece.upto {
            txn.delete::<Notes>(&NoteKey { crawl, number });
        }
        let richest = state.round.take().map_or(0, |round| round.richest);
        state.first = piece.upto + 1;
        state.rounds += 1;
        if state.sums.lambda > richest {
            state.sums.pay_back(&mut state.root);
        }
        Ok(Done::default())
    }

    fn arrive(&mut self, txn: &mut Txn<'_>, arrival: &Arrival, leased: Leased<'_>) -> Result<()> {
        let Arrival { page, domain, units } = *arrival;
        let Some(mut held) = self.account_of_known(txn, page)? else {
            if let Some(credit) = &mut self.credit {
                credit.state.sums.arrive(None, units); // it is rejected, or an error
            }
            return Ok(());
        };
        let waiting = if held.step.is_some() { self.entry_of_waiting(txn, page)? } else { None };
        let factor = match &waiting {
            Some(entry) => self.factor(txn, page, entry)?,
            None => 1.0,
        };
        let Some(credit) = &mut self.credit else { return Ok(()) };
        let before = held.step;
        if before.is_some() {
            credit.on_way(txn, (page, domain), &mut held, |way, account, sums| way.take(account, sums))?;
        }
        credit.state.sums.arrive(Some(&mut held.account), units);
        if before.is_some() {
            credit.count(&mut held, factor);
            if let Some(round) = &mut credit.state.round {
                round.richest = round.richest.max(held.account.balance);
            }
        }
        let rank = held.step.map(|step| step.rank(&credit.floors));
        self.put_account(txn, page, &held);
        match rank {
            Some(rank) => self.raise(txn, page, rank, leased),
            None => Ok(()),
        }
    }

    /// The account of a URL that waits or is done. One that has none, as after a repair, gets it here.
    fn account_of_known(&mut self, txn: &mut Txn<'_>, page: SeenKey) -> Result<Option<Held>> {
        if let Some(held) = self.account(txn, page)? {
            return Ok(Some(held));
        }
        if let (Some(UrlState::Done { .. }), Some(credit)) = (txn.get::<Seen>(&page)?, &mut self.credit) {
            credit.state.accounts += 1;
            return Ok(Some(Held::default()));
        }
        let Some(entry) = self.entry_of_waiting(txn, page)? else { return Ok(None) };
        self.waits(txn, page, &entry)?;
        self.account(txn, page)
    }

    /// A waiting URL moves to a better rank and keeps its number; never to a worse one. In somebody's hands, told to come last, or of a
    /// rank that its owner chose, it stays.
    fn raise(&mut self, txn: &mut Txn<'_>, page: SeenKey, rank: u8, leased: Leased<'_>) -> Result<()> {
        let rank = rank.min(self.rules.ranker.ranks().saturating_sub(1));
        let Some(UrlState::Waiting { rank: old, order, reach, due: None }) = txn.get::<Seen>(&page)? else {
            return Ok(());
        };
        if rank >= old || Ranker::is_last(order) || leased(&page.url) {
            return Ok(());
        }
        let key = page.host_crawl().queue(old, order);
        let Some(entry) = txn.get::<Queue>(&key)? else { return Ok(()) };
        let chosen = entry.seed && txn.get::<Seeds>(&page)?.is_some_and(|seed| seed.rank.is_some());
        if chosen || self.factors_of(txn, page, &entry)?.rank.is_some() {
            return Ok(());
        }
        txn.delete::<Queue>(&key);
        self.hosts.unqueue(txn, page.host_crawl().host_at(), old)?;
        txn.put::<Queue>(&page.host_crawl().queue(rank, order), &entry);
        txn.put::<Seen>(&page, &UrlState::Waiting { rank, order, reach, due: None });
        self.hosts.enqueued(txn, page.host_crawl().host_at(), rank, order)?;
        if let Some(credit) = &mut self.credit {
            credit.state.moved += 1;
        }
        Ok(())
    }

    /// Notes of a host that is erased let go of it: what they had for it goes to lambda.
    ///
    /// # Errors
    /// The storage's own.
    pub fn erase_notes(&mut self, txn: &mut Txn<'_>, at: HostAt, notes: &[(NoteKey, NoteValue)]) -> Result<()> {
        let Some(credit) = &mut self.credit else { return Ok(()) };
        let state = &mut credit.state;
        let settled = state.round;
        for (key, note) in notes {
            let (gone, left): (Vec<_>, Vec<_>) =
                note.to.iter().cloned().partition(|host| (host.partition, host.host) == (at.partition, at.host));
            if gone.is_empty() {
                continue;
            }
            let done = settled.filter(|round| key.number <= round.upto).and_then(|round| round.after);
            let pages = gone.iter().flat_map(|host| host.pages.iter().map(|url| at.crawl(key.crawl).url(*url)));
            let open = pages.filter(|page| done.is_none_or(|done| *page > done)).count() as u128;
            state.sums.notes -= note.share * open;
            state.sums.lambda += note.share * open;
            txn.put::<Notes>(key, &NoteValue { share: note.share, to: left });
        }
        if let Some(after) = state.round.as_mut().and_then(|round| round.after.as_mut())
            && (after.partition, after.host) == (at.partition, at.host)
        {
            // All of its pages are gone from the notes: the place before it is the same, and does not name it.
            after.host = HostKey(u64::from_be_bytes(after.host.0).saturating_sub(1).to_be_bytes());
            after.url.0 = [u8::MAX; 12];
        }
        Ok(())
    }

    /// Writes what all hold together, and holds it against I11.
    pub(super) fn seal_credit(&self, txn: &mut Txn<'_>) {
        let Some(credit) = &self.credit else { return };
        let sums = credit.state.sums;
        uphold(Invariant::I11, sums.difference() == 0, || format!("credit was made or lost: {sums:?}"));
        txn.put_meta(self.rules.crawl, &credit.state);
    }
}
