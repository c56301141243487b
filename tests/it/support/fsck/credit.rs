//! Link credit, counted anew.

use std::collections::HashMap;

use lycosa::domain::fingerprint::{CrawlId, HostKey, UrlKey};
use lycosa::storage::keys::{HostAt, SeenKey};
use lycosa::storage::values::{CreditState, CreditValue, UrlState};
use lycosa::storage::{Storage, read, tables};

use super::{Found, all};

impl Found {
    /// I11, by hand: what accounts and purses hold, what they are owed, what is in notes, and what lambda has is what was issued; and who is
    /// counted among what waits does.
    pub(super) fn credit_adds_up(&mut self, storage: &dyn Storage) {
        let rows = all::<tables::Credit>(storage);
        let Some(state) = read::meta::<CreditState>(storage, CrawlId::default()).unwrap() else {
            return self.same("rows of credit without its record", rows.len() + all::<tables::Notes>(storage).len(), 0);
        };
        let purses: HashMap<SeenKey, (u128, u128, u128, u64)> = rows
            .iter()
            .filter_map(|(key, value)| match *value {
                CreditValue::Purse { members, index, at, rest } => Some((*key, (index, at, rest, members))),
                CreditValue::Account { .. } => None,
            })
            .collect();
        let under = |key: &SeenKey, host: HostKey, part: u32| {
            let url = UrlKey([[0; 4], [0; 4], part.to_be_bytes()].concat().try_into().unwrap());
            SeenKey { host, url, ..*key }
        };
        let (mut held, mut members) = (state.sums.lambda, HashMap::<SeenKey, u64>::new());
        for (key, (_, at, rest, _)) in &purses {
            let domain = under(key, key.host, 0);
            let from = if *key == domain { state.root.index } else { purses[&domain].0 };
            held += rest + (from - at);
            if *key != domain {
                *members.entry(domain).or_default() += 1;
            }
        }
        for (key, value) in &rows {
            let CreditValue::Account { balance, at, part, step } = *value else { continue };
            held += balance;
            let waits = matches!(self.seen.get(key), Some(UrlState::Waiting { .. }));
            if step.is_some() {
                let name = self.names.get(&key.host_crawl().host_at()).cloned().unwrap_or_default();
                let purse = under(key, HostAt::domain(&self.prints, &name), part);
                held += purses.get(&purse).map_or(state.root.index, |(index, ..)| *index) - at;
                *members.entry(purse).or_default() += 1;
            }
            if waits != step.is_some() || !(waits || matches!(self.seen.get(key), Some(UrlState::Done { .. }))) {
                self.wrong("an account is not as its URL stands", (key, value));
            }
        }
        for (key, (.., counted)) in &purses {
            self.same("members of a purse", *counted, members.get(key).copied().unwrap_or_default());
        }
        for (key, note) in all::<tables::Notes>(storage) {
            let after = state.round.filter(|round| key.number <= round.upto).and_then(|round| round.after);
            let hosts =
                note.to.iter().map(|to| (HostAt { partition: to.partition, host: to.host }.crawl(key.crawl), to));
            let pages = hosts.flat_map(|(host, to)| to.pages.iter().map(move |page| host.url(*page)));
            held += note.share * pages.filter(|page| after.is_none_or(|after| *page > after)).count() as u128;
        }
        self.same("I11: units of credit", state.sums.issued, held);
    }
}
