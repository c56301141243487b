//! Sinks that are servers for lines of JSON.

use serde_json::json;

use super::*;

fn http(server: &StandIn, more: &str) -> String {
    format!(
        "[[sink]]\nname = \"hook\"\nkind = \"http\"\nurl = \"http://{}/in?key=hidden\"\nevery = \"100ms\"\n{more}\n",
        server.address
    )
}

fn header<'h>(head: &'h [String], name: &str) -> &'h str {
    let line = head.iter().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {head:?}")).split_once(": ").unwrap().1
}

#[test]
fn a_server_is_sent_every_entry_with_its_card_says_who_it_is_and_what_it_never_takes_is_listed() {
    let server = StandIn::start(Mood::Calm, "h0.test/p/7\"");
    let folder = tempfile::tempdir().unwrap();
    let auth = folder.path().join("auth");
    std::fs::write(&auth, "Bearer correct-horse\n").unwrap();
    let mut sandbox = sandbox(&http(&server, &format!("batch = 16\ntext = true\nauth_file = \"{}\"", auth.display())));
    let log = sandbox.finish();
    let requests = server.requests();
    let mut taken = BTreeMap::new();
    for (head, body) in &requests {
        assert!(head[0].starts_with("POST /in?key=hidden HTTP/1.1"), "{head:?}");
        assert_eq!(
            (header(head, "authorization"), header(head, "content-type")),
            ("Bearer correct-horse", "application/x-ndjson")
        );
        assert_eq!(header(head, "x-lycosa-sink"), "hook");
        let lines: Vec<Value> = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
        let said: [u64; 2] = ["x-lycosa-first", "x-lycosa-last"].map(|name| header(head, name).parse().unwrap());
        assert_eq!(said, [numbers[0], numbers[numbers.len() - 1]]);
        assert!(lines.len() <= 16 && numbers.is_sorted(), "{numbers:?}");
        if !body.contains("h0.test/p/7\"") {
            taken.extend(numbers.into_iter().zip(lines));
        }
    }
    let refused: Vec<u64> = rejected(&sandbox, "hook").iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    let all: BTreeSet<u64> = taken.keys().chain(&refused).copied().collect();
    assert_eq!(all, (1..=sandbox.truth().len() as u64).collect(), "every entry, also of what failed: {refused:?}");
    assert!(!refused.is_empty(), "{log}");
    assert!(log.contains("refuses a page for good"), "{log}");
    for secret in ["hidden", "correct-horse"] {
        assert!(!log.contains(secret), "{log}");
    }
    let lines = exported(&sandbox, &["--text"]);
    assert_eq!(lines.len(), taken.values().filter(|line| line["capture"].is_object()).count() + refused.len());
    for line in taken.values().filter(|line| line["capture"].is_object()) {
        assert_eq!(line, &lines[line["id"].as_str().unwrap()]);
    }
}

#[test]
fn a_server_that_refuses_every_request_is_said_to_refuse_and_has_all_pages_once_it_is_set_right() {
    for (status, kind) in [(400, "opensearch"), (413, "http"), (404, "http")] {
        let server = StandIn::start(Mood::Only(status), "");
        let mut sandbox = sandbox(&if kind == "http" { http(&server, "") } else { search("hook", &server, "") });
        let crawl = Running::start(&mut sandbox, &[]);
        let view = until_sink(&crawl, "hook", "some tries", |view| view["failures"].as_u64() >= Some(2));
        assert_eq!(
            (&view["doing"], &view["sent"], &view["rejected"]),
            (&json!("refused"), &json!(0), &json!(0)),
            "{view}"
        );
        let why = view["error"].as_str().unwrap();
        assert!(
            why.starts_with(&format!("{status} {{\"error\":\"so it is\"}}")) && why.contains("correct url"),
            "{why}"
        );
        let (code, told) = crawl.ctl(&["sinks"]);
        assert!(code == 0 && told.contains("  refused  ") && told.contains("so it is"), "{told}");
        let doubts: Value = serde_json::from_str(&crawl.get("/api/v1/status").1).unwrap();
        assert!(doubts["troubles"]["sink_waits"]["example"].as_str().unwrap().contains("so it is"), "{doubts}");
        server.mood(Mood::Calm);
        let view = until_sink(&crawl, "hook", "all of it", |view| {
            caught_up(view) && view["after"].as_u64() == Some(sandbox.truth().len() as u64)
        });
        assert_eq!((&view["rejected"], &view["error"]), (&json!(0), &Value::Null), "{view}");
        assert_eq!(crawl.ctl(&["stop"]).0, 0);
        let log = crawl.end();
        assert_eq!(log.matches("the server of a sink refuses what it is sent").count(), 1, "{log}");
        assert!(rejected(&sandbox, "hook").is_empty(), "{log}");
        if kind == "opensearch" {
            assert_eq!(urls(&server), indexable(&sandbox.data()), "{log}");
        }
    }
}

#[test]
fn a_mapping_that_no_document_fits_is_suspected_and_none_is_rejected() {
    let server = StandIn::start(Mood::Calm, "http://"); // each item is refused, in answers of status 200
    let mut sandbox = sandbox(&search("hook", &server, ""));
    let crawl = Running::start(&mut sandbox, &[]);
    let view = until_sink(&crawl, "hook", "some tries", |view| view["failures"].as_u64() >= Some(2));
    assert_eq!((&view["doing"], &view["rejected"]), (&json!("refused"), &json!(0)), "{view}");
    assert!(view["error"].as_str().unwrap().contains("mapper_parsing_exception"), "{view}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    assert!(rejected(&sandbox, "hook").is_empty() && server.documents().is_empty());
}

#[test]
fn a_sink_that_waits_for_an_answer_says_since_when() {
    let server = StandIn::start(Mood::Silent, "");
    let mut sandbox = sandbox(&http(&server, ""));
    let crawl = Running::start(&mut sandbox, &[]);
    let view = until_sink(&crawl, "hook", "a request", |view| view["asked_since_ms"].is_u64());
    assert_eq!(view["doing"], "sending", "{view}");
    let (code, told) = crawl.ctl(&["sinks"]);
    assert!(code == 0 && told.contains("hook: waits for an answer since 20"), "{told}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn an_entry_of_which_a_sink_dies_three_times_is_passed_over_and_listed() {
    let server = StandIn::start(Mood::Calm, "");
    let mut sandbox = sandbox(&http(&server, "batch = 16"));
    let crawl = Running::of(sandbox.start(&[], Some("sink.entry=panic@1-3")));
    let view = until_sink(&crawl, "hook", "an entry passed over", |view| view["skipped"] == 1);
    let all = sandbox.truth().len() as u64;
    let done = until_sink(&crawl, "hook", "all others", |view| view["after"].as_u64() == Some(all));
    assert_eq!((done["failures"].as_u64(), &done["skipped_entries"]), (Some(3), &view["skipped_entries"]), "{done}");
    assert_eq!(done["sent"].as_u64(), Some(all - 1), "{done}");
    let (code, told) = crawl.ctl(&["sinks"]);
    assert!(
        code == 0 && told.contains("hook: 1 refused for good or passed over, listed in sinks/hook.rejected.jsonl"),
        "{told}"
    );
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    let log = crawl.end();
    assert!(log.contains("an entry of the feed is passed over, for the sink died of it three times"), "{log}");
    let listed = rejected(&sandbox, "hook");
    assert!(
        listed.len() == 1 && listed[0]["status"].is_null() && listed[0]["seq"] == done["skipped_entries"][0],
        "{listed:?}"
    );
}

#[test]
fn an_auth_file_that_cannot_be_read_keeps_the_crawl_from_starting() {
    let server = StandIn::start(Mood::Calm, "");
    let mut sandbox = sandbox(&http(&server, "auth_file = \"/nonexistent/auth\""));
    let mut crawl = sandbox.start(&[], None);
    let (status, log) = (crawl.wait(), crawl.log());
    assert!(status.code() == Some(2) && log.contains("[[sink]] hook: auth_file /nonexistent/auth: "), "{log}");
}
