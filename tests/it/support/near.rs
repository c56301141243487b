//! Near-duplicates, counted anew from the captures: their rows, and whether what is marked is near.

use std::collections::{BTreeSet, HashMap};

use lycosa::domain::fingerprint::{CrawlId, Fingerprinter};
use lycosa::domain::host::registrable_domain;
use lycosa::domain::near::{BITS, Near};
use lycosa::domain::note::Note;
use lycosa::domain::url::PageUrl;
use lycosa::storage::keys::{HostAt, KeyRange, NearKey, NearMemberKey, PageKey, SeenKey};
use lycosa::storage::tables::{self, Table};
use lycosa::storage::values::{PageRecord, UrlState};
use lycosa::storage::{Storage, read};

fn all<T: Table>(storage: &dyn Storage) -> Vec<(T::Key, T::Value)> {
    read::scan::<T>(storage, &KeyRange::all(), usize::MAX).unwrap()
}

/// The rows that captures call for.
#[derive(Default)]
struct Wanted {
    leaders: BTreeSet<NearKey>,
    members: Vec<NearMemberKey>,
}

impl Wanted {
    fn of(&mut self, prints: &Fingerprinter, seen: SeenKey, page: &PageRecord) {
        let key = |url: &str| {
            let url = PageUrl::from_canonical(url).unwrap();
            HostAt::of(prints, url.host()).crawl(CrawlId::default()).url(prints.url(&url))
        };
        match (&page.remarks.near, page.print) {
            (Some(Near::Leader), Some(print)) => {
                let url = PageUrl::from_canonical(&page.url).unwrap();
                let domain = prints.host(registrable_domain(url.host()));
                let SeenKey { partition, host, url, .. } = seen;
                for (table, word) in (0..4).zip(print.sketch.unwrap()) {
                    let band = word.to_be_bytes()[3..].try_into().unwrap();
                    self.leaders.insert(NearKey { partition, domain, table, band, host, url });
                }
            }
            (Some(Near::Like { url, .. }), Some(_)) => self.members.push(key(url).near_member(seen)),
            _ => {}
        }
    }
}

/// What does not fit together.
pub fn problems(
    storage: &dyn Storage,
    prints: &Fingerprinter,
    seen: &HashMap<SeenKey, UrlState>,
    pages: &HashMap<PageKey, PageRecord>,
) -> Vec<String> {
    let mut newest: HashMap<SeenKey, &PageRecord> = HashMap::new();
    for (key, page) in pages {
        let kept = newest.entry(key.seen()).or_insert(page);
        if page.fetched > kept.fetched {
            *kept = page;
        }
    }
    let (mut may, mut must, mut wrong) = (Wanted::default(), Wanted::default(), Vec::new());
    for (key, page) in &newest {
        may.of(prints, *key, page);
        if matches!(seen.get(key), Some(UrlState::Done { .. })) {
            must.of(prints, *key, page);
            let noted = page.remarks.notes.contains(&Note::NearDuplicate);
            let Some(Near::Like { url, distance }) = &page.remarks.near else {
                if noted {
                    wrong.push(format!("noted as near to nothing: {}", page.url));
                }
                continue;
            };
            let known = must.members.last().is_some_and(|row| seen.contains_key(&row.leader()));
            if !noted || u32::from(*distance) > BITS || *url == page.url || !known {
                wrong.push(format!("marked wrongly: {} as near to {url} by {distance}", page.url));
            }
        }
    }
    let leaders: BTreeSet<_> = all::<tables::Near>(storage).into_iter().map(|(key, ())| key).collect();
    let members: Vec<_> = all::<tables::NearMembers>(storage).into_iter().map(|(key, ())| key).collect();
    wrong.extend(leaders.difference(&may.leaders).map(|row| format!("stray: {row:?}")));
    wrong.extend(must.leaders.difference(&leaders).map(|row| format!("missing: {row:?}")));
    wrong.extend(members.iter().filter(|key| !may.members.contains(key)).map(|key| format!("stray: {key:?}")));
    wrong.extend(must.members.iter().filter(|key| !members.contains(key)).map(|key| format!("missing: {key:?}")));
    wrong
}
