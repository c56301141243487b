//! The program's own check of a folder, beside the tests' independent one.

use std::path::Path;

use lycosa::domain::rank::Ranker;
use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::index::Folder;
use lycosa::recovery::check::{ArchivePlace, Check, CheckRules};
use lycosa::storage::Storage;

use super::fsck::{Found, fsck_as};

/// A check of everything, with the archive beside the database when there is a folder.
pub fn checker(folder: Option<&Path>) -> Check {
    let rules = CheckRules {
        record_rejected: true,
        ranker: Ranker::default(),
        canon: Canonicaliser::new(CleanRules::default()),
    };
    let archive = folder.map(|data| ArchivePlace { data: data.to_owned(), warc: data.join("warc") });
    let derived = folder.map(|data| Folder::of(data).derived()).unwrap_or_default();
    Check { rules, archive, derived, full: true }
}

/// Both checks, which must agree that nothing is wrong.
pub fn checked(storage: &dyn Storage, seed: u64, folder: Option<&Path>) -> Found {
    checked_as(storage, seed, folder, false)
}

/// The same; with `again` URLs may have been fetched more than once.
pub fn checked_as(storage: &dyn Storage, seed: u64, folder: Option<&Path>, again: bool) -> Found {
    let found = fsck_as(storage, seed, folder, again);
    assert!(found.unkept.is_empty(), "errors that are not kept: {:?}", found.unkept);
    let report = checker(folder).check(storage, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "`lycosa check` finds what the tests' own does not: {:#?}", report.findings);
    assert_eq!(report.urls(), found.seen.len() as u64);
    found
}
