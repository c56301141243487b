//! The endpoint does what it says of itself: a public tool reads `/api/openapi.json` and asks every route, with good and bad
//! input, whether its answers are those described.

use std::path::Path;
use std::process::Command;

use lycosa::testweb::TestWebConfig;

use crate::admin::Running;
use crate::sandbox::{Sandbox, python};

/// Requests for each route.
const EXAMPLES: &str = "12";
/// They end the daemon, have it rest for an erasure, have no end, or copy everything.
const NOT_ASKED: &str = r"^/api/v1/(stop|drain|events|checkpoint|hosts/\{host\}/block)$";

#[test]
fn a_public_tool_finds_no_server_error_and_no_answer_that_is_not_described() {
    let Some(python) = python() else { return };
    let web = TestWebConfig { hosts: 5, pages: 40, ..TestWebConfig::default() };
    let settings = "politeness.min_delay = \"20ms\"\nstore.memory = \"32MiB\"\n";
    let mut sandbox = Sandbox::new(web, settings);
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("the first pages", |s| s.done > 20);
    let tool = Command::new(Path::new(&python).with_file_name("schemathesis"))
        .args(["run", &format!("http://{}/api/openapi.json", crawl.at)])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance,response_headers_conformance"])
        .args(["--exclude-path-regex", NOT_ASKED, "--max-examples", EXAMPLES, "--phases", "examples,coverage,fuzzing"])
        .args(["--seed", "1", "--no-shrink", "--request-timeout", "30", "--continue-on-failure", "--no-color"])
        .current_dir(sandbox.folder())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tool.stdout).into_owned();
    assert!(tool.status.success(), "{said}{}", String::from_utf8_lossy(&tool.stderr));
    // After all that it still works: what was paused goes on, and it ends when it is told to.
    crawl.ctl(&["resume"]);
    crawl.until_status("the answer", |s| s.uptime_seconds > 0.0);
    assert_eq!(crawl.ctl(&["stop"]), (0, "stop: done\n".into()));
    let log = crawl.end();
    assert!(!log.contains("panicked"), "{log}");
}
