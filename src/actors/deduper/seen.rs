//! The URL-seen test (M28): popular cache, Bloom filter, exact set on disk, pending marks, in this order.

use super::Deduper;
use crate::domain::fingerprint::UrlKey;
use crate::domain::partition::Partition;
use crate::domain::reason::Rejection;
use crate::storage::keys::{HostAt, SeenKey};
use crate::storage::ledger::{LinkChange, NewUrl, Turned};
use crate::storage::values::UrlState;
use crate::storage::{StorageError, read};

/// A found URL with the judgement of the rules.
struct Candidate {
    key: SeenKey,
    new: NewUrl,
    turned: Option<Rejection>,
}

impl Deduper {
    /// Splits judged URLs into what the commit must do about them; known ones are left out.
    pub(super) fn unseen(&mut self, judged: LinkChange) -> Result<LinkChange, StorageError> {
        let LinkChange { new, turned, .. } = judged;
        let mut candidates: Vec<Candidate> = Vec::with_capacity(new.len() + turned.len());
        let mut last = None; // links of one page mostly lead to one host
        candidates.extend(new.into_iter().map(|new| Candidate { key: self.key(&new, &mut last), new, turned: None }));
        if self.node.rules.settings.scope.record_rejected {
            candidates.extend(turned.into_iter().map(|Turned { new, reason }| Candidate {
                key: self.key(&new, &mut last),
                new,
                turned: Some(reason),
            }));
        }
        candidates
            .retain(|c| self.popular.get(&c.key.url).is_none_or(|depth| c.turned.is_none() && depth > c.new.depth));
        let asked: Vec<SeenKey> =
            candidates.iter().filter(|c| self.filter.may_contain(&c.key.url)).map(|c| c.key).collect();
        let states = read::seen_states(&*self.node.storage, &asked)?;
        let mut known = asked.into_iter().zip(states).peekable();
        let mut out = LinkChange::default();
        for candidate in candidates {
            let state = match known.peek() {
                Some((key, _)) if *key == candidate.key => known.next().and_then(|(_, state)| state),
                _ => None,
            };
            self.sort_out(candidate, state, &mut out);
        }
        Ok(out)
    }

    fn key(&self, new: &NewUrl, last: &mut Option<(String, HostAt)>) -> SeenKey {
        let name = new.url.host();
        let at = match last {
            Some((known, at)) if known == name => *at,
            _ => {
                let at = HostAt { partition: Partition::of_host(name), host: self.node.prints.host(name) };
                last.insert((name.to_owned(), at)).1
            }
        };
        at.crawl(self.node.crawl).url(self.node.prints.url(&new.url))
    }

    /// Decides by what the disk says, then by what is pending (in this order: a commit between the two is then not missed).
    fn sort_out(&mut self, candidate: Candidate, state: Option<UrlState>, out: &mut LinkChange) {
        let Candidate { key, new, turned } = candidate;
        match (state, turned) {
            (None, turned) => match (self.pending.get(&key.url), turned) {
                (Some(depth), None) if *depth > new.depth => {
                    self.pending.insert(key.url, new.depth);
                    out.shorter.push(new);
                }
                (Some(_), _) => {}
                (None, None) => {
                    self.mark(key.url, new.depth);
                    out.new.push(new);
                }
                (None, Some(reason)) => {
                    self.mark(key.url, new.depth);
                    out.turned.push(Turned { new, reason });
                }
            },
            (Some(UrlState::Waiting { depth, .. }), None) if depth > new.depth => out.shorter.push(new),
            (Some(UrlState::Rejected { reason, .. }), None) if is_of_the_rules(reason) => {
                if self.pending.insert(key.url, new.depth).is_none() {
                    out.readmitted.push(new);
                }
            }
            (Some(UrlState::Waiting { depth, .. }), _) => self.popular.put(key.url, depth),
            (Some(UrlState::Rejected { .. }), _) => {}
            (Some(UrlState::Done { .. } | UrlState::Error { .. }), _) => self.popular.put(key.url, 0),
        }
    }

    fn mark(&mut self, key: UrlKey, depth: u16) {
        self.filter.insert(&key);
        self.pending.insert(key, depth);
    }
}

/// True for a rejection that depends on the rules and the path: it falls when the URL is found and admitted again.
fn is_of_the_rules(reason: Rejection) -> bool {
    use Rejection as R;
    match reason {
        R::Scheme | R::Scope | R::Excluded | R::Extension | R::TooDeep | R::TooLong | R::Segments | R::Repeats => true,
        R::Params | R::Redirects | R::Malformed => true,
        R::Robots | R::HostBudget | R::Collision | R::Address => false,
    }
}
