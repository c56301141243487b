//! The program is killed while it visits pages of a web that changes, and goes on.

use std::time::Duration;

use lycosa::testweb::{TestWebConfig, Validators};
use nix::sys::signal::Signal;

use super::seen::Seen;
use crate::sandbox::{Sandbox, program, until};
use crate::support::{Manners, check_manners};

const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.threads = 2\npoliteness.min_delay = \"20ms\"\npoliteness.delay_factor = 0\n\
    durability.sync = \"100ms\"\nstore.memory = \"32MiB\"\nrefresh.cycle = \"adapt\"\nrefresh.pace = \"1s\"\n\
    refresh.min_interval = \"1s\"\nrefresh.max_interval = \"2s\"\n";

#[test]
fn killed_in_the_middle_of_visits_it_goes_on_meets_all_changes_and_its_folder_is_sound() {
    let web = TestWebConfig {
        hosts: 6,
        pages: 20,
        links: 6,
        min_size: 2_000,
        max_size: 4_000,
        gbk: 0.3,
        redirects: 0.05,
        duplicates: 0.05,
        vanish: 0.2,
        grow: 0.05,
        changes: Some(Duration::from_secs(2)),
        validators: Validators::True,
        ..TestWebConfig::default()
    };
    let mut sandbox = Sandbox::new(web, SETTINGS);
    for _ in 0..3 {
        let before = sandbox.web.audit_len();
        let mut daemon = sandbox.start(&[], None);
        let answered = || (sandbox.web.audit_len() >= before + 250 || daemon.ended().is_some()).then_some(());
        until("requests", answered, String::new);
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
    }
    let mut daemon = sandbox.start(&[], None);
    let now = sandbox.web.shape_now().at_us;
    until(
        "all that changed until now",
        || {
            std::thread::sleep(Duration::from_millis(100));
            let seen = Seen::of(&sandbox.web);
            // What is gone is left alone after a while, and does not change for whoever does not look.
            let is_there = |url: &str| !seen.0[url].visits.iter().any(|(_, status)| matches!(status, 404 | 410));
            (!seen.unmet(now).into_iter().any(is_there)).then_some(())
        },
        || daemon.log(),
    );
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    check_manners(&sandbox.web.audit(), &Manners::gap(Duration::from_millis(20)));
    let checked = program().args(["check", "--full", "--data"]).arg(sandbox.data()).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}
