//! Strikes: pages that were in hand when the whole process ended (an abort, a stack overflow, a kill for want of memory).
//!
//! Each parser thread notes the page it works on in the file `in-hand` of the data folder, by a plain write: it must survive
//! the process, not the machine. What stands there at the next start gets a strike, which its commit takes back. A page with
//! a strike is parsed alone, so that only the guilty one is in hand at the next end; with five it is poison. A kill from outside
//! leaves the same trace: with three strikes, two innocent pages were given up in about 1,500 kills of a busy crawl.
//!
//! The file is a row of cells of 16 bytes: key of the URL (12), strikes (1), kind (1; 0 for an empty cell), check (2).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use xxhash_rust::xxh3::xxh3_64;

use crate::base::disk::own;
use crate::base::sync::lock;
use crate::domain::fingerprint::{KeyMap, UrlKey};

/// Strikes after which a page is taken for poison.
pub const STRIKES: u8 = 5;

const NAME: &str = "in-hand";
const CELL: usize = 16;
/// A thread has the page in hands.
const IN_HAND: u8 = 1;
/// The page has strikes.
const STRUCK: u8 = 2;

/// The strikes of former ends, and the file.
#[derive(Default)]
pub struct Strikes {
    /// None when it cannot be written: then an end of the process leaves no trace.
    file: Option<File>,
    inner: Mutex<Inner>,
    /// Held shared by each page, and alone by one with a strike.
    turn: RwLock<()>,
}

#[derive(Default)]
struct Inner {
    /// Pages with their strikes and their cells.
    struck: KeyMap<UrlKey, (u8, u64)>,
    free: Vec<u64>,
    cells: u64,
}

impl Inner {
    fn cell(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.cells += 1;
            self.cells - 1
        })
    }
}

impl Strikes {
    /// Reads what the former process left in the folder, and begins a new file.
    pub fn open(dir: &Path) -> Self {
        let found = fs::read(dir.join(NAME)).unwrap_or_default();
        let struck = count(&found);
        if !struck.is_empty() {
            log::warn!("pages were in hand when the process ended; each is parsed alone: pages={}", struck.len());
        }
        let mut inner = Inner::default();
        for (key, strikes) in struck {
            let cell = inner.cell();
            inner.struck.insert(key, (strikes, cell));
        }
        let file = begin(dir, &inner).inspect_err(|e| {
            log::warn!("{} cannot be written, a page that ends the process is not known again: {e}", NAME);
        });
        Self { file: file.ok(), inner: Mutex::new(inner), turn: RwLock::default() }
    }

    /// How often the process ended with this page in hand.
    pub fn of(&self, page: &UrlKey) -> u8 {
        lock(&self.inner).struck.get(page).map_or(0, |(strikes, _)| *strikes)
    }

    /// Its page came through to a commit: it was innocent.
    pub fn committed(&self, page: &UrlKey) {
        let mut inner = lock(&self.inner);
        if let Some((_, cell)) = inner.struck.remove(page) {
            self.write(cell, &[0; CELL]);
            inner.free.push(cell);
        }
    }

    /// The place where one thread notes what it has in hands.
    #[must_use]
    pub fn place(&self) -> HandPlace<'_> {
        HandPlace { strikes: self, cell: lock(&self.inner).cell() }
    }

    fn write(&self, cell: u64, bytes: &[u8; CELL]) {
        if let Some(Err(e)) = self.file.as_ref().map(|file| file.write_all_at(bytes, cell * CELL as u64)) {
            log::debug!("{NAME} was not written: {e}");
        }
    }
}

/// One thread's cell; free again when it is dropped.
pub struct HandPlace<'s> {
    strikes: &'s Strikes,
    cell: u64,
}

impl HandPlace<'_> {
    /// Notes a page until the guard is dropped. Waits until it may be parsed: a page with a strike alone.
    #[must_use]
    pub fn take(&self, page: &UrlKey) -> InHand<'_> {
        let turn = if self.strikes.of(page) > 0 {
            Turn::Alone(self.strikes.turn.write().unwrap_or_else(PoisonError::into_inner))
        } else {
            Turn::Shared(self.strikes.turn.read().unwrap_or_else(PoisonError::into_inner))
        };
        self.strikes.write(self.cell, &cell(page, 0, IN_HAND));
        InHand { place: self, _turn: turn }
    }
}

impl Drop for HandPlace<'_> {
    fn drop(&mut self) {
        lock(&self.strikes.inner).free.push(self.cell);
    }
}

/// A page in hand.
pub struct InHand<'s> {
    place: &'s HandPlace<'s>,
    _turn: Turn<'s>,
}

#[expect(dead_code, reason = "held for their Drop")]
enum Turn<'s> {
    Shared(RwLockReadGuard<'s, ()>),
    Alone(RwLockWriteGuard<'s, ()>),
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        self.place.strikes.write(self.place.cell, &[0; CELL]);
    }
}

/// A new file with the strikes alone, in the place of the old one.
fn begin(dir: &Path, inner: &Inner) -> io::Result<File> {
    let new = dir.join(format!("{NAME}.new"));
    let file = own::create(&new)?;
    for (page, (strikes, at)) in &inner.struck {
        file.write_all_at(&cell(page, *strikes, STRUCK), at * CELL as u64)?;
    }
    fs::rename(new, dir.join(NAME))?;
    Ok(file)
}

/// The strikes after an end that left these cells.
fn count(cells: &[u8]) -> KeyMap<UrlKey, u8> {
    let mut struck: KeyMap<UrlKey, u8> = KeyMap::default();
    for (page, strikes, kind) in cells.chunks_exact(CELL).filter_map(read) {
        let more = if kind == IN_HAND { 1 } else { strikes };
        let sum = struck.entry(page).or_insert(0);
        *sum = sum.saturating_add(more);
    }
    struck
}

fn cell(page: &UrlKey, strikes: u8, kind: u8) -> [u8; CELL] {
    let mut bytes = [0; CELL];
    bytes[..12].copy_from_slice(&page.0);
    (bytes[12], bytes[13]) = (strikes, kind);
    let check = check(&bytes[..14]);
    bytes[14..].copy_from_slice(&check);
    bytes
}

/// What a cell says; nothing when it is empty or no cell of ours.
fn read(bytes: &[u8]) -> Option<(UrlKey, u8, u8)> {
    let (head, sum) = bytes.split_at_checked(14)?;
    let (strikes, kind) = (*head.get(12)?, *head.get(13)?);
    let whole = sum == check(head) && matches!(kind, IN_HAND | STRUCK);
    UrlKey::from_slice(head.get(..12)?).filter(|_| whole).map(|page| (page, strikes, kind))
}

fn check(head: &[u8]) -> [u8; 2] {
    let [a, b, ..] = xxh3_64(head).to_be_bytes();
    [a, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: UrlKey = UrlKey([7; 12]);
    const OTHER: UrlKey = UrlKey([8; 12]);

    /// Ends as a killed process does: nothing is dropped.
    fn killed_with(dir: &Path, pages: &[UrlKey]) {
        let strikes: &'static Strikes = Box::leak(Box::new(Strikes::open(dir)));
        for page in pages {
            let place: &'static HandPlace<'_> = Box::leak(Box::new(strikes.place()));
            std::mem::forget(place.take(page));
        }
    }

    #[test]
    fn a_page_in_hand_at_each_end_collects_strikes_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        for n in 1..=STRIKES {
            killed_with(dir.path(), &[PAGE]);
            assert_eq!(Strikes::open(dir.path()).of(&PAGE), n);
        }
        let strikes = Strikes::open(dir.path());
        assert_eq!((strikes.of(&PAGE), strikes.of(&OTHER)), (STRIKES, 0));
    }

    #[test]
    fn what_was_let_go_before_the_end_gets_none() {
        let dir = tempfile::tempdir().unwrap();
        let strikes = Strikes::open(dir.path());
        let place = strikes.place();
        drop(place.take(&PAGE));
        drop(place.take(&OTHER));
        assert_eq!(Strikes::open(dir.path()).of(&PAGE), 0);
        assert_eq!(Strikes::open(dir.path()).of(&OTHER), 0);
    }

    #[test]
    fn a_commit_takes_the_strikes_back_for_good() {
        let dir = tempfile::tempdir().unwrap();
        killed_with(dir.path(), &[PAGE, OTHER]);
        let strikes = Strikes::open(dir.path());
        strikes.committed(&PAGE);
        assert_eq!((strikes.of(&PAGE), strikes.of(&OTHER)), (0, 1));
        let again = Strikes::open(dir.path());
        assert_eq!((again.of(&PAGE), again.of(&OTHER)), (0, 1));
    }

    #[test]
    fn a_page_with_a_strike_waits_until_nothing_else_is_in_hand() {
        let dir = tempfile::tempdir().unwrap();
        killed_with(dir.path(), &[PAGE]);
        let strikes = Strikes::open(dir.path());
        let (first, second) = (strikes.place(), strikes.place());
        let shared = first.take(&OTHER);
        assert!(strikes.turn.try_write().is_err() && strikes.turn.try_read().is_ok());
        drop(shared);
        let alone = second.take(&PAGE);
        assert!(strikes.turn.try_read().is_err(), "nothing else is in hand");
        drop(alone);
    }

    #[test]
    fn garbage_in_the_file_is_nobodys_strike() {
        let dir = tempfile::tempdir().unwrap();
        let mut torn = cell(&PAGE, 0, IN_HAND);
        torn[3] ^= 1;
        let bytes = [&torn[..], &[0xff; 40], &cell(&OTHER, 200, STRUCK), &[1; 5]].concat();
        fs::write(dir.path().join(NAME), [&bytes[..16], &bytes[56..]].concat()).unwrap();
        let strikes = Strikes::open(dir.path());
        assert_eq!((strikes.of(&PAGE), strikes.of(&OTHER)), (0, 200));
    }
}
