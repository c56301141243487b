//! Hosts that share an address or a domain wait for each other when they are told to.

use std::time::Duration;

use lycosa::testweb::TestWebConfig;

use crate::support::{Manners, Sandbox, check_manners, truth_any};

#[test]
fn hosts_of_one_address_are_asked_as_if_they_were_one() {
    let web = TestWebConfig { hosts: 5, pages: 6, links: 6, latency_ms: 3, ..TestWebConfig::default() };
    let gap = Duration::from_millis(15);
    let sandbox = Sandbox::new(web).gap(gap).set("politeness.group_by=ip");
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    let mut entries = ended.entries.clone();
    entries.iter_mut().for_each(|e| e.host = "one".into());
    check_manners(&entries, &Manners::gap(gap));
}
