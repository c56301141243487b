//! What is held back, by shape.

use std::collections::HashMap;

use crate::domain::fingerprint::HostKey;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;

/// Shapes that are told apart; of more only the number of URLs is counted.
const ROOM: usize = 256;

/// A shape of which URLs are held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldShape {
    /// Its host.
    pub host: String,
    /// Why.
    pub reason: Rejection,
    /// One of the URLs.
    pub example: String,
    /// Their number.
    pub urls: u64,
}

/// Why a URL is not taken, and for which shape or subtree that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Rejection,
    key: u64,
    /// It holds for the hosts of a domain.
    of_hosts: bool,
}

impl Refusal {
    pub(super) fn of(reason: Rejection, key: u64) -> Self {
        Self { reason, key, of_hosts: false }
    }

    pub(super) fn of_hosts(reason: Rejection, domain: u64) -> Self {
        Self { reason, key: domain, of_hosts: true }
    }
}

#[derive(Debug, Default)]
pub(super) struct HeldBack {
    /// Without a host: of the hosts of a domain.
    shapes: HashMap<(Option<HostKey>, u64, u8), HeldShape>,
    /// Those that nobody has been told of.
    pub(super) new: Vec<HeldShape>,
    /// URLs of shapes for which there was no room.
    others: u64,
}

impl HeldBack {
    pub(super) fn count(&mut self, host: HostKey, url: &PageUrl, Refusal { reason, key, of_hosts }: Refusal) {
        let place = ((!of_hosts).then_some(host), key, reason.code());
        if let Some(held) = self.shapes.get_mut(&place) {
            held.urls += 1;
        } else if self.shapes.len() < ROOM {
            let held = HeldShape { host: url.host().to_owned(), reason, example: url.to_string(), urls: 1 };
            self.new.push(held.clone());
            self.shapes.insert(place, held);
        } else {
            self.others += 1;
        }
    }

    pub(super) fn forget(&mut self, host: HostKey, keys: &[u64], domain: u64) {
        self.shapes.retain(|(of, key, _), _| match of {
            Some(of) => *of != host || !keys.contains(key),
            None => *key != domain,
        });
    }

    pub(super) fn list(&self, most: usize) -> (Vec<HeldShape>, u64) {
        let mut held: Vec<HeldShape> = self.shapes.values().cloned().collect();
        let all = held.iter().fold(self.others, |sum, held| sum.saturating_add(held.urls));
        held.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.example.cmp(&b.example)));
        held.truncate(most);
        (held, all)
    }
}
