//! What is kept elsewhere: the newest copies, and every object that one of them names, or named until a day ago.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::Result;
use super::layout::{CHECKPOINTS, Copy, copy_key, names, read_json, write_json};
use super::manifest::Manifest;
use super::place::Place;
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;

/// Since when objects are in no manifest: their keys, and milliseconds since 1970.
const UNNAMED: &str = "unnamed.json.zst";
/// How long they stay: somebody may be restoring a copy that is none any more, or be sending one.
const REST: Duration = Duration::from_secs(86_400);

/// Removes the oldest periodic copies of the crawl of the `new` one until `keep` are left, then those objects of what is `there`
/// that no copy has named for a day. Gives the bytes that it wrote.
///
/// # Errors
/// A manifest that cannot be read: nothing is removed then, for nobody knows what it names. Those of the place.
pub(super) fn tidy(
    place: &dyn Place,
    there: HashMap<String, u64>,
    new: &Manifest,
    keep: usize,
    now: UnixMillis,
    faults: &Faults,
) -> Result<u64> {
    // Read anew, the oldest first: one may have come from elsewhere while this one was sent.
    let mut kept = Vec::new();
    for name in names(place)? {
        kept.extend(Copy::read(place, &name)?);
    }
    let periodic = |copy: &Copy| copy.checkpoint.seed == new.seed && !copy.checkpoint.by_hand;
    let mut too_many = kept.iter().filter(|copy| periodic(copy)).count().saturating_sub(keep);
    let mut old = Vec::new();
    kept.retain(|copy| {
        let goes = too_many > 0 && periodic(copy) && copy.checkpoint.name != new.name;
        too_many -= usize::from(goes);
        old.extend(goes.then(|| copy.checkpoint.name.clone()));
        !goes
    });
    for name in &old {
        faults.check("export.prune")?;
        place.remove(&copy_key(name))?;
    }
    if !old.is_empty() {
        log::info!("old copies removed: names={old:?}");
    }
    let named: HashSet<String> = kept.iter().flat_map(Copy::objects).map(|(key, _)| key).collect();
    let torn = place.list(CHECKPOINTS)?.into_keys().filter(|key| key.ends_with(".new"));
    let unnamed = there.into_keys().filter(|key| !named.contains(key)).chain(torn);
    remove_rested(place, unnamed.collect(), now, faults)
}

/// Removes those that have been unnamed for a day, and notes since when the others are.
fn remove_rested(place: &dyn Place, unnamed: Vec<String>, now: UnixMillis, faults: &Faults) -> Result<u64> {
    // A note that cannot be read: the day begins anew.
    let former: BTreeMap<String, u64> = read_json(place, UNNAMED).unwrap_or_default().unwrap_or_default();
    let since = |key: String| {
        let since = former.get(&key).map_or(now.0, |since| now.0.min(*since));
        (key, since)
    };
    let (rested, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
        unnamed.into_iter().map(since).partition(|(_, since)| now.since(UnixMillis(*since)) >= REST);
    for key in rested.keys() {
        faults.check("export.remove")?;
        place.remove(key)?;
    }
    if !rested.is_empty() {
        log::info!("objects removed that no copy has named for a day: objects={}", rested.len());
    }
    if rest == former { Ok(0) } else { write_json(place, UNNAMED, &rest) }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{Stored, tests::sample};
    use super::super::place::put_bytes;
    use super::super::{CheckpointError, Target};
    use super::*;

    const DAY: u64 = 86_400_000;

    fn copy(nth: u64, tables: &[char]) -> Copy {
        let file = |c: &char| Stored { file: format!("db/{c}.sst"), bytes: 1, sha256: Some(c.to_string().repeat(64)) };
        let name = super::super::manifest::name(UnixMillis(nth * 1_000), 1);
        let files = tables.iter().map(file).collect();
        let checkpoint = Manifest { name, files, archive: Vec::new(), ..sample() };
        Copy { warc_at: "p/warc".into(), checkpoint, pieces: BTreeMap::new() }
    }

    struct There {
        _dir: tempfile::TempDir,
        place: Box<dyn Place>,
    }

    impl There {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let place = Target::Folder(dir.path().to_owned()).open(None).unwrap();
            Self { _dir: dir, place }
        }

        /// Sends a copy and tidies up; gives the tables that are left.
        fn send(&self, copy: &Copy, keep: usize, now: u64) -> (String, usize) {
            let place = &*self.place;
            for (key, _) in copy.objects() {
                put_bytes(place, &key, b"x").unwrap();
            }
            copy.write(place).unwrap();
            let stock = super::super::layout::stock(place).unwrap();
            tidy(place, stock, &copy.checkpoint, keep, UnixMillis(now), &Faults::default()).unwrap();
            self.left()
        }

        fn left(&self) -> (String, usize) {
            let mut keys: Vec<String> = super::super::layout::stock(&*self.place).unwrap().into_keys().collect();
            keys.sort_unstable();
            let tables = keys.iter().filter_map(|key| key.chars().nth("tables/".len())).collect();
            (tables, names(&*self.place).unwrap().len())
        }
    }

    #[test]
    fn an_object_goes_when_no_copy_has_named_it_for_a_day() {
        let there = There::new();
        assert_eq!(there.send(&copy(1, &['a', 'b']), 2, 0), ("ab".into(), 1));
        assert_eq!(there.send(&copy(2, &['b']), 2, 1_000), ("ab".into(), 2));
        assert_eq!(there.send(&copy(3, &['c']), 2, 2_000), ("abc".into(), 2), "a is unnamed from here on");
        assert_eq!(there.send(&copy(4, &['c', 'd']), 2, DAY), ("abcd".into(), 2), "and b from here on");
        assert_eq!(there.send(&copy(5, &['b', 'd']), 2, DAY + 2_000), ("bcd".into(), 2), "b is named again");
        assert_eq!(there.send(&copy(6, &['e']), 2, 3 * DAY), ("bcde".into(), 2));
        assert_eq!(there.send(&copy(7, &['e']), 1, 4 * DAY), ("bde".into(), 1), "c was not named since the sixth");
    }

    #[test]
    fn the_copies_of_another_crawl_and_those_asked_for_stay_and_what_they_name() {
        let there = There::new();
        let with = |nth, table, by_hand, seed: &str| {
            let copy = copy(nth, &[table]);
            Copy { checkpoint: Manifest { by_hand, seed: seed.into(), ..copy.checkpoint }, ..copy }
        };
        there.send(&with(1, 'a', true, "0000000000000007"), 1, 0);
        there.send(&with(2, 'b', false, "0000000000000008"), 1, 0);
        for nth in 3..9 {
            there.send(&with(nth, 'c', false, "0000000000000007"), 1, nth * 2 * DAY);
        }
        assert_eq!(there.left(), ("abc".into(), 3));
    }

    #[test]
    fn nothing_is_removed_while_a_manifest_cannot_be_read() {
        let there = There::new();
        there.send(&copy(1, &['a']), 1, 0);
        let place = &*there.place;
        put_bytes(place, &copy_key(&copy(2, &[]).checkpoint.name), b"garbage").unwrap();
        let stock = super::super::layout::stock(place).unwrap();
        let new = copy(3, &['b']).checkpoint;
        let error = tidy(place, stock, &new, 1, UnixMillis(9 * DAY), &Faults::default());
        assert!(matches!(error, Err(CheckpointError::Manifest { .. })));
        assert_eq!(there.left(), ("a".into(), 2));
    }
}
