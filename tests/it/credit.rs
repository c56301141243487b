//! Link credit over kills: whatever dies, no unit of it is made or lost (I11).

use crate::matrix::{QUICK, web};
use crate::sandbox::{Sandbox, program, until};
use nix::sys::signal::Signal;

/// Kills: where a page's commit, a round, its pieces, its place and its payout stand before and after the one batch that writes them.
const KILLS: &[&str] = &[
    "store.applied=kill@40",
    "store.write=kill@30",
    "credit.round=kill@1",
    "credit.piece=kill@1",
    "storage.written=kill@20",
    "credit.settled=kill@1",
    "store.written=kill@25",
    "store.told=kill@25",
    "credit.settled=kill@1",
];

/// What `lycosa check` says of the folder; it recounts accounts, purses, dividends and notes to the unit.
fn checked(sandbox: &Sandbox, full: bool) -> String {
    let mut check = program();
    check.arg("check");
    if full {
        check.arg("--full");
    }
    let checked = check.arg("--data").arg(sandbox.data()).output().unwrap();
    let told = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}");
    told
}

#[test]
fn killed_at_every_step_of_notes_and_rounds_a_recount_of_the_folder_finds_every_unit() {
    for dividend in ["page", "group"] {
        let credit =
            format!("crawl.order = \"best\"\nfrontier.credit = true\nfrontier.credit_dividend = \"{dividend}\"\n");
        let mut sandbox = Sandbox::new(web(12), &format!("{}{credit}", QUICK.settings));
        let mut killed = 0;
        for kill in KILLS {
            let before = sandbox.web.audit_len();
            let mut daemon = sandbox.start(&["--until-done"], Some(kill));
            let over = |n: usize| n >= before + 80;
            until(
                "a kill, or many requests",
                || (daemon.ended().is_some() || over(sandbox.web.audit_len())).then_some(()),
                || (*kill).to_owned(),
            );
            killed += usize::from(kill.starts_with("credit.") && daemon.ended().is_some());
            daemon.signal_if_there(Signal::SIGKILL);
            drop(daemon);
            checked(&sandbox, false);
        }
        assert!(killed >= 2, "rounds were gone through: {killed}");
        sandbox.finish();
        checked(&sandbox, true);
    }
}
