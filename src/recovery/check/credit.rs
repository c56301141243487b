//! Link credit: accounts against the states of their URLs, and all that is held against what was issued, to the unit.

use super::pass::Pass;
use super::stream::{Stream, each_chunk};
use super::{Fault, Result};
use crate::domain::credit::{Dividend, Pool, Purse, Sums};
use crate::domain::fingerprint::CrawlId;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, SeenKey, purse};
use crate::storage::tables::{Credit, HostState, Notes, Seen};
use crate::storage::values::{CreditRound, CreditState, CreditValue, UrlState};
use crate::storage::{Batch, Storage, read};

/// Rows removed at a time when credit begins anew.
const BATCH: usize = 1_000;

/// What is recounted.
#[derive(Default)]
struct Recount {
    sums: Sums,
    accounts: u64,
    /// Whom lambda pays.
    members: u64,
    stray: bool,
}

/// Accounts, purses, notes, and what they hold together.
pub fn credit(pass: &mut Pass<'_>) -> Result<()> {
    let state = read::meta::<CreditState>(pass.storage, CrawlId::default()).ok().flatten();
    let known = state.clone().unwrap_or_default();
    let mut found = Recount::default();
    each_chunk::<Credit>(pass, |pass, rows| {
        let keys: Vec<SeenKey> = rows.iter().map(|row| row.key).collect();
        let hosts: Vec<HostAt> = keys.iter().map(|key| key.host_crawl().host_at()).collect();
        let (states, hosts) = (pass.look::<Seen>(&keys)?, pass.look::<HostState>(&hosts)?);
        for ((row, state), host) in rows.iter().zip(states).zip(hosts) {
            match row.value.purse() {
                Some(own) => found.purse(pass, &known, row.key, own)?,
                None => found.account(pass, &known, (row.key, row.value), state, host.map(|host| host.name))?,
            }
        }
        Ok(())
    })?;
    found.notes(pass, &known)?;
    found.hold_against(pass, &known)?;
    if pass.repairing && found.stray {
        anew(pass, &known)?;
    }
    Ok(())
}

impl Recount {
    fn purse(&mut self, pass: &Pass<'_>, state: &CreditState, key: SeenKey, own: Purse) -> Result<()> {
        self.sums.purses += own.rest;
        let of_domain = purse(key, key.host, 0);
        let from = match key == of_domain {
            true => {
                self.members += 1;
                state.root
            }
            false => purse_of(pass, of_domain)?.pool,
        };
        self.sums.unpaid += from.index.saturating_sub(own.at);
        Ok(())
    }

    fn account(
        &mut self,
        pass: &mut Pass<'_>,
        state: &CreditState,
        (key, value): (SeenKey, CreditValue),
        url: Option<UrlState>,
        name: Option<String>,
    ) -> Result<()> {
        let CreditValue::Account { balance, at, part, step } = value else { return Ok(()) };
        self.sums.accounts += balance;
        self.accounts += 1;
        if step.is_some() {
            let pool = match state.dividend {
                Dividend::Page => {
                    self.members += 1;
                    state.root
                }
                Dividend::Group => {
                    let domain = HostAt::domain(&pass.prints, &name.unwrap_or_default());
                    purse_of(pass, purse(key, domain, part))?.pool
                }
            };
            self.sums.unpaid += pool.index.saturating_sub(at);
        }
        let detail = match url {
            Some(UrlState::Waiting { .. }) if step.is_none() => "its URL waits, and it is not counted among what does",
            Some(UrlState::Done { .. }) if step.is_some() => "its URL is done, and it is counted among what waits",
            Some(UrlState::Waiting { .. } | UrlState::Done { .. }) => return Ok(()),
            _ => "its URL is neither waiting nor done",
        };
        self.found(pass, Fault::AccountStray, &format!("credit {}", hex(key.url.as_bytes())), detail)
    }

    fn notes(&mut self, pass: &mut Pass<'_>, state: &CreditState) -> Result<()> {
        let mut notes = Stream::<Notes>::default();
        while let Some(row) = notes.next_in(pass, &[])? {
            if !(state.first..state.next).contains(&row.key.number) {
                let (first, next) = (state.first, state.next);
                let detail = format!("open are the numbers from {first} on, and {next} is the next");
                self.found(pass, Fault::NoteSettled, &format!("note {}", row.key.number), &detail)?;
                continue;
            }
            let round = state.round.filter(|CreditRound { upto, .. }| row.key.number <= *upto);
            let done = round.and_then(|round| round.after);
            for to in &row.value.to {
                let at = HostAt { partition: to.partition, host: to.host }.crawl(row.key.crawl);
                let open = to.pages.iter().filter(|url| done.is_none_or(|done| at.url(**url) > done)).count();
                self.sums.notes += row.value.share * open as u128;
            }
        }
        Ok(())
    }

    fn hold_against(&mut self, pass: &mut Pass<'_>, state: &CreditState) -> Result<()> {
        let (of, is) = (state.sums, self.sums);
        let rows = [
            ("accounts", of.accounts, is.accounts),
            ("purses", of.purses, is.purses),
            ("unpaid dividends", of.unpaid, is.unpaid),
            ("open notes", of.notes, is.notes),
            ("accounts counted", state.accounts.into(), self.accounts.into()),
            ("members of lambda", state.root.members.into(), self.members.into()),
            ("all of it", of.issued, of.issued.wrapping_add_signed(of.difference())),
        ];
        for (what, stored, found) in rows {
            if stored != found {
                let detail = format!("{what}: {stored} by the record, {found} by a recount");
                self.found(pass, Fault::CreditSum, "meta/credit", &detail)?;
            }
        }
        Ok(())
    }

    fn found(&mut self, pass: &mut Pass<'_>, fault: Fault, subject: &str, detail: &str) -> Result<()> {
        self.stray = true;
        pass.find(fault, subject, detail, |_| {})
    }
}

fn purse_of(pass: &Pass<'_>, key: SeenKey) -> Result<Purse> {
    Ok(pass.look_one::<Credit>(&key)?.and_then(CreditValue::purse).unwrap_or_default())
}

/// Nobody knows any more who had what: all that was issued is with lambda, and those to whom links are found get accounts again.
fn anew(pass: &mut Pass<'_>, state: &CreditState) -> Result<()> {
    pass.flush()?;
    remove::<Credit>(pass.storage)?;
    remove::<Notes>(pass.storage)?;
    let issued = state.sums.issued;
    let sums = Sums { issued, lambda: issued, ..Sums::default() };
    let fresh = CreditState {
        dividend: state.dividend,
        sums,
        root: Pool::default(),
        first: state.next,
        next: state.next,
        rounds: state.rounds,
        moved: state.moved,
        ..CreditState::default()
    };
    let mut batch = Batch::new();
    batch.put_meta(CrawlId::default(), &fresh);
    pass.storage.write(&batch)?;
    pass.mended(Fault::CreditSum, "credit", "begins anew: all that was issued is with lambda");
    Ok(())
}

fn remove<T: crate::storage::tables::Table>(storage: &dyn Storage) -> Result<()> {
    loop {
        let rows = storage.scan(T::FAMILY, &[], &[], BATCH)?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        rows.into_iter().for_each(|(key, _)| batch.delete_raw(T::FAMILY, key));
        storage.write(&batch)?;
    }
}
