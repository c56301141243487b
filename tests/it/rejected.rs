//! `scope.record_rejected`: whether URLs that were turned away are remembered.

use lycosa::storage::keys::KeyRange;
use lycosa::storage::{read, tables};
use lycosa::testweb::{TestWebConfig, TruthQuery};

use crate::support::Sandbox;

/// Kept rejections, and those counted, of a crawl of one host of three.
fn kept_and_counted(record: bool) -> (usize, u64) {
    let web = TestWebConfig { hosts: 3, pages: 10, links: 8, ..TestWebConfig::default() };
    let sandbox = Sandbox::new(web).set("scope.mode=hosts").set(&format!("scope.record_rejected={record}"));
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(TruthQuery::default()));
    ended.assert_none_twice();
    let kept = read::scan::<tables::Rejected>(&**sandbox.memory(), &KeyRange::all(), usize::MAX).unwrap();
    (kept.len(), ended.status.rejected)
}

#[test]
fn urls_out_of_scope_are_remembered_and_counted_once_each() {
    let (kept, counted) = kept_and_counted(true);
    assert!(kept > 0);
    assert_eq!(kept as u64, counted);
}

#[test]
fn switched_off_they_leave_nothing_behind_and_the_crawl_is_the_same() {
    assert_eq!(kept_and_counted(false), (0, 0));
}
