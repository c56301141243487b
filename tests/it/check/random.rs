//! Random damages of any record.

use lycosa::storage::keys::{Key, MetaKey};
use lycosa::storage::{Family, MemoryStorage, Storage};
use proptest::prelude::*;

use super::{MIDDLE, is_mended, repair, write};

/// One random change: which family, which record, what is done to it, and a number more.
type Random = (u8, u16, u8, u8);

fn damage(storage: &MemoryStorage, (family, record, kind, extra): Random) {
    let family = Family::ALL[usize::from(family) % Family::ALL.len()];
    let pairs = storage.scan(family, &[], &[], usize::MAX).unwrap();
    if pairs.is_empty() {
        return;
    }
    let (key, mut value) = pairs[usize::from(record) % pairs.len()].clone();
    let other = &pairs[(usize::from(record) + 1 + usize::from(extra)) % pairs.len()];
    if key == MetaKey::Format.encode() || other.0 == MetaKey::Format.encode() {
        return;
    }
    write(storage, |batch| match kind % 5 {
        0 => batch.delete_raw(family, key),
        1 if !value.is_empty() => {
            let at = usize::from(extra) % value.len();
            value[at] ^= 1 << (record % 8);
            batch.put_raw(family, key, value);
        }
        2 => batch.put_raw(family, key, other.1.clone()),
        3 => {
            let mut key = key;
            let at = usize::from(extra) % key.len();
            key[at] ^= 1 << (record % 8);
            batch.put_raw(family, key, value);
        }
        _ => {
            value.truncate(usize::from(extra) % (value.len() + 1));
            batch.put_raw(family, key, value);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_damaged_a_repair_ends_clean_and_a_second_one_has_nothing_to_do(
        damages in prop::collection::vec(any::<Random>(), 1..8),
    ) {
        let fork = MIDDLE.fork();
        damages.iter().for_each(|d| damage(fork.storage(), *d));
        repair(&fork);
        is_mended(&fork, "random damages");
    }
}
