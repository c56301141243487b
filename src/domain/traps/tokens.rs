//! Session numbers: parameters, of the query or of the path, that are new at every place of a host.

use std::collections::HashMap;

use smallvec::SmallVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::shape::is_token;
use crate::domain::url::PageUrl;

/// Parameters of one host that may be session numbers, and the places each is counted at.
const NAMES: usize = 8;
const PLACES: usize = 16;
/// A parameter is a session number when so many places have each been found under so many values of it.
const SESSION_PLACES: usize = 3;
const SESSION_VALUES: u32 = 8;

/// What is known of a host's parameters.
#[derive(Debug, Default)]
pub(super) struct Tokens(HashMap<u64, HashMap<u64, u32>>);

impl Tokens {
    /// Counts the URL; whether one of its parameters is a session number.
    pub(super) fn are_sessions(&mut self, url: &PageUrl) -> bool {
        if !url.tail().contains('=') {
            return false;
        }
        let parts: SmallVec<[&str; 16]> = url.tail().split(['?', '&', ';', '/']).collect();
        parts.iter().enumerate().any(|(at, part)| {
            let token = part.split_once('=').filter(|(_, value)| is_token(value));
            token.is_some_and(|(name, _)| self.is_session(name, place(&parts, at)))
        })
    }

    fn is_session(&mut self, name: &str, place: u64) -> bool {
        let name = xxh3_64(name.as_bytes());
        if self.0.len() >= NAMES && !self.0.contains_key(&name) {
            return false;
        }
        let places = self.0.entry(name).or_default();
        if places.values().filter(|values| **values >= SESSION_VALUES).count() >= SESSION_PLACES {
            return true;
        }
        if places.len() < PLACES || places.contains_key(&place) {
            *places.entry(place).or_default() += 1;
        }
        false
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The URL without the part at `at`.
fn place(parts: &[&str], at: usize) -> u64 {
    let mut hash = Xxh3::new();
    for (_, part) in parts.iter().enumerate().filter(|(other, _)| *other != at) {
        hash.update(part.as_bytes());
        hash.update(b"/");
    }
    hash.digest()
}
