//! What a service manager is told (sd_notify(3)), and the unit itself.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use crate::sandbox::Sandbox;

/// The next message that holds `word`.
fn told(manager: &UnixDatagram, word: &str) -> String {
    loop {
        let mut buffer = [0; 4_096];
        let n = manager.recv(&mut buffer).unwrap_or_else(|e| panic!("{word} was not told: {e}"));
        let text = String::from_utf8_lossy(&buffer[..n]).into_owned();
        if text.contains(word) {
            return text;
        }
    }
}

#[test]
fn a_service_manager_hears_ready_alive_reloading_and_stopping() {
    let web = TestWebConfig { hosts: 5, pages: 500, ..TestWebConfig::default() };
    let mut sandbox = Sandbox::new(web, "politeness.min_delay = \"20ms\"\nstore.memory = \"32MiB\"\n");
    let path = sandbox.data().parent().unwrap().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let variables = [("NOTIFY_SOCKET", path.clone().into_os_string()), ("WATCHDOG_USEC", "200000".into())];
    let mut daemon = sandbox.start_with(&[], &variables);
    told(&manager, "READY=1");
    let alive = told(&manager, "WATCHDOG=1");
    assert!(alive.contains("STATUS=") && alive.contains("waiting"), "{alive}");
    told(&manager, "WATCHDOG=1");
    daemon.signal_if_there(Signal::SIGHUP);
    assert!(told(&manager, "RELOADING=1").contains("MONOTONIC_USEC="));
    told(&manager, "READY=1");
    daemon.signal_if_there(Signal::SIGTERM);
    told(&manager, "STOPPING=1");
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
}

/// systemd's own reader of units, where it is installed.
#[test]
fn the_unit_is_one_that_systemd_takes() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/config/lycosa.service");
    let folder = tempfile::tempdir().unwrap();
    // The program and its user are not installed here.
    let text = std::fs::read_to_string(unit).unwrap().replace("/usr/bin/lycosa", "/bin/true");
    let copy = folder.path().join("lycosa.service");
    std::fs::write(&copy, text).unwrap();
    let Ok(output) = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output() else {
        println!("skipped: systemd-analyze is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let ours: Vec<&str> = said.lines().filter(|l| l.contains("lycosa.service")).collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}

#[test]
fn the_unit_does_not_start_again_what_another_start_does_not_cure() {
    let unit = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config/lycosa.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("RestartPreventExitStatus=")).unwrap();
    for code in ["2", "3", "9"] {
        assert!(line.split(' ').any(|listed| listed == code), "{code} in {line}");
    }
}
