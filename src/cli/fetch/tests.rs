//! One fetch from a server of a few lines on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use super::*;
use crate::cli::args::SettingsArgs;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\nAllow: /\n";
const PAGE: &str = "<title>A\u{1b}</title><a href='/next?utm_source=x'>next</a><a href='mailto:a@b'>mail</a><a href='/private/x'>p</a>";

const MAP: &str =
    "<urlset><url><loc>/next</loc><priority>0.8</priority></url><url><loc>/private/x</loc></url></urlset>";

/// Answers every request for a path with these bytes, on one thread until the test's process ends.
fn serve_with(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4_096];
            let n = stream.read(&mut head).unwrap_or(0);
            let asked = String::from_utf8_lossy(&head[..n]).into_owned();
            let _ = stream.write_all(&answer(asked.split(' ').nth(1).unwrap_or("/")));
        }
    });
    address
}

/// A few pages beside this robots.txt.
fn serve(robots: &'static str) -> SocketAddr {
    serve_with(move |path| {
        let (kind, body) = match path {
            "/robots.txt" => ("text/plain", robots),
            "/list" => ("text/html", "http://other.test/x\n"),
            "/s.xml" => ("text/xml", MAP),
            "/report.pdf" => ("application/pdf", PAGE),
            _ => ("text/html", PAGE),
        };
        whole(&format!("200 OK\nContent-Type: {kind}\n\n{body}"))
    })
}

/// Answers robots.txt, and everything else, with these bytes.
fn serve_raw(robots: &'static [u8], other: &'static [u8]) -> SocketAddr {
    serve_with(move |path| if path == "/robots.txt" { robots } else { other }.to_vec())
}

/// Answers by path, and with 404 for robots.txt.
fn serve_paths(answer: fn(&str) -> String) -> SocketAddr {
    serve_with(move |path| whole(&if path == "/robots.txt" { "404 X".to_owned() } else { answer(path) }))
}

/// The bytes of status, head and body; an empty line is the border.
fn whole(answer: &str) -> Vec<u8> {
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    let head: String = head.lines().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    format!("HTTP/1.1 {head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

fn args(address: SocketAddr, path: &str) -> FetchArgs {
    let sets = vec!["politeness.min_delay=0s".to_owned()];
    let settings = SettingsArgs { sets, allow_net: vec![format!("127.0.0.1/32:{}", address.port())], contact: None };
    FetchArgs {
        url: format!("http://{address}{path}"),
        config: None,
        follow: false,
        body: false,
        json: false,
        settings,
    }
}

/// The same with a setting.
fn set(mut args: FetchArgs, setting: &str) -> FetchArgs {
    args.settings.sets.push(setting.to_owned());
    args
}

/// The report of one fetch as JSON.
fn report(args: FetchArgs) -> serde_json::Value {
    json(&fetch(&FetchArgs { json: true, ..args }).1)
}

fn fetch(args: &FetchArgs) -> (Exit, String) {
    let mut out = Vec::new();
    let exit = run(args, &mut out).unwrap();
    (exit, String::from_utf8(out).unwrap())
}

#[test]
fn address_timings_verdict_headers_and_links_are_shown() {
    let address = serve(ROBOTS);
    let (exit, text) = fetch(&args(address, "/start"));
    assert_eq!(exit, Exit::Done);
    let next = format!("a http://{address}/next\n");
    for part in ["allow: 3: Allow: /", "HTTP/1.1 200", "first byte", "Content-Type: text/html", "title", next.as_str()]
    {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert!(text.contains(&format!("{address} of {address}")));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn links_that_the_robots_txt_read_forbids_are_not_taken() {
    let (_, text) = fetch(&args(serve(ROBOTS), "/start"));
    assert!(text.contains("2, of which a crawl takes 1\n"), "{text}");
    assert!(text.contains("/private/x  [robots: 2: Disallow: /private]"), "{text}");
}

#[test]
fn a_body_that_is_no_html_is_not_read_as_a_page() {
    let (_, text) = fetch(&args(serve(ROBOTS), "/report.pdf"));
    assert!(text.contains("page         not parsed: application/pdf\n") && !text.contains("links"), "{text}");
}

#[test]
fn what_a_sitemap_names_is_shown_with_what_a_crawl_does_about_it() {
    let address = serve(ROBOTS);
    let (_, text) = fetch(&args(address, "/s.xml"));
    for part in [
        "sitemap      done\n".to_owned(),
        format!("sitemap-entry http://{address}/next (priority 0.8)\n"),
        format!("sitemap-entry http://{address}/private/x  [robots: 2: Disallow: /private]\n"),
    ] {
        assert!(text.contains(&part), "{part:?} in\n{text}");
    }
    let (_, text) = fetch(&args(serve("Sitemap: /list"), "/list"));
    assert!(
        text.contains("sitemap-entry http://other.test/x  [scope: other.test is no host of the scope]\n"),
        "{text}"
    );
    let (_, text) = fetch(&args(address, "/list"));
    assert!(!text.contains("sitemap"), "no robots.txt names it: {text}");
}

#[test]
fn the_report_is_json_on_request() {
    let address = serve(ROBOTS);
    let value = report(args(address, "/start"));
    assert_eq!(value["answer"]["status"], 200);
    assert_eq!(value["robots"]["allowed"], true);
    assert_eq!(value["answer"]["page"]["links"][0]["url"], format!("http://{address}/next"));
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

const NO_RULES: &[u8] = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n";

#[test]
fn what_an_answer_says_of_itself_is_shown() {
    let rules =
        b"HTTP/1.1 200 X\r\nContent-Length: 57\r\n\r\nUser-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow:";
    let marked = b"HTTP/1.1 200 X\r\nContent-Type: text/html; charset=big5\r\nX-Robots-Tag: noindex, x: none\r\n\
        Link: </c>; rel=canonical\r\nContent-Usage: train-ai=n\r\nContent-Length: 17\r\n\r\n<script></script>";
    let address = serve_raw(rules, marked);
    let answer = &report(args(address, "/start"))["answer"];
    assert_eq!((&answer["kind"], &answer["module"]), (&"html".into(), &"html".into()));
    assert_eq!((&answer["page"]["charset"], &answer["page"]["charset_source"]), (&"Big5".into(), &"header".into()));
    assert_eq!(answer["notes"], serde_json::json!(["needs_script", "noindex"]));
    assert_eq!(answer["x_robots_tag"], serde_json::json!(["noindex"]));
    assert_eq!(answer["canonical"], format!("http://{address}/c"));
    let usage = "robots.txt: Content-Signal: search=yes,ai-train=no | header: Content-Usage: train-ai=n";
    assert_eq!(answer["usage"], usage);
    let (_, text) = fetch(&args(address, "/start"));
    for line in [
        "kind         html, read by the module html".to_owned(),
        "x-robots-tag noindex".into(),
        "notes        needs_script noindex".into(),
        format!("canonical    http://{address}/c"),
        format!("usage        {usage}"),
        "charset      Big5 (told by: header)".into(),
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
    }
}

#[test]
fn a_robots_txt_that_did_not_come_whole_forbids_everything() {
    let address = serve_raw(b"HTTP/1.1 200 X\r\nContent-Length: 900\r\n\r\nUser-agent: *\nDisallow:", NO_RULES);
    let (exit, text) = fetch(&args(address, "/start"));
    assert_eq!(exit, Exit::Error);
    assert!(text.contains("robots.txt 200, but its body was cut: disconnect\n"), "{text}");
    assert!(text.contains("disallow: out of reach"), "{text}");
}

#[test]
fn what_robots_txt_answered_is_told_and_means_what_it_means_to_a_crawl() {
    let to = |to: &str| format!("302 X\nLocation: {to}");
    let (all, none) = ("allow: there is none: all is allowed", "disallow: out of reach: nothing is allowed for now");
    for (answer, told, means) in [
        (to("/robots.txt"), "302, and its redirects do not end (five are followed)", all),
        (to("mailto:a@b.example"), "302, and its redirect leads to no URL", all),
        (to("http://no.test/robots.txt"), "302, and its redirect leads to what the rules turn away", all),
        (to("http://10.0.0.1/"), "302, and its redirect leads to an address that must not be contacted", all),
        ("403 X".to_owned(), "403", all),
        ("403 X\ncf-mitigated: challenge".to_owned(), "403, but a firewall answered in place of the site", none),
        ("429 X".to_owned(), "429", none),
        ("500 X".to_owned(), "500", none),
    ] {
        let answer: &'static [u8] = whole(&answer).leak();
        let (_, text) = fetch(&set(args(serve_raw(answer, NO_RULES), "/start"), "scope.deny_hosts=no.test"));
        assert!(text.contains(&format!("robots.txt {told}\n")) && text.contains(means), "{text}");
    }
}

#[test]
fn the_target_of_a_redirected_robots_txt_that_failed_is_named() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let args = args(serve_raw(whole("302 X\nLocation: http://b.test/rules").leak(), NO_RULES), "/start");
    let error = run(&set(args, &format!("dns.overrides={{'b.test'='{closed}'}}")), &mut Vec::new()).unwrap_err();
    assert!(error.message.contains("its robots.txt redirects to http://b.test/rules, which gave no answer"), "{error}");
}

#[test]
fn a_fetch_that_failed_is_json_too_on_request() {
    let address = serve_raw(NO_RULES, b"not HTTP at all\r\n\r\n");
    let failed = FetchArgs { json: true, ..args(address, "/start") };
    let mut out = Vec::new();
    let error = run(&failed, &mut out).unwrap_err();
    let report = json(std::str::from_utf8(&out).unwrap());
    assert_eq!((&report["robots"]["allowed"], &report["answer"]), (&true.into(), &serde_json::Value::Null));
    let reason = report["failed"]["reason"].as_str().unwrap();
    assert!(error.message.contains(reason) && !reason.is_empty(), "{error}: {report}");
    assert!(report["failed"]["detail"].is_string());
    let closed = FetchArgs { settings: SettingsArgs::default(), ..failed };
    let mut out = Vec::new();
    assert!(run(&closed, &mut out).is_err());
    assert_eq!(json(std::str::from_utf8(&out).unwrap())["robots"], serde_json::Value::Null);
}

#[test]
fn what_robots_txt_disallows_is_not_fetched_unless_robots_are_not_respected() {
    let address = serve(ROBOTS);
    let private = args(address, "/private/x");
    let (exit, text) = fetch(&private);
    assert_eq!(exit, Exit::Error);
    assert!(text.contains("disallow: 2: Disallow: /private") && text.contains("respect_robots=false"), "{text}");
    let (exit, text) = fetch(&set(private, "politeness.respect_robots=false"));
    assert!(exit == Exit::Done && text.contains("HTTP/1.1 200"), "{text}");
}

#[test]
fn the_body_can_be_had_alone() {
    let address = serve(ROBOTS);
    let (_, text) = fetch(&FetchArgs { body: true, ..args(address, "/start") });
    assert_eq!(text, PAGE);
}

#[test]
fn an_address_that_is_not_public_is_refused_with_what_to_type() {
    let address = serve(ROBOTS);
    let sets = vec!["politeness.min_delay=0s".into(), "politeness.respect_robots=false".into()];
    let settings = SettingsArgs { sets, ..SettingsArgs::default() };
    let error = run(&FetchArgs { settings, ..args(address, "/start") }, &mut Vec::new()).unwrap_err();
    assert!(error.message.contains("--allow-net"), "{error}");
    let closed = FetchArgs { settings: SettingsArgs::default(), ..args(address, "/start") };
    assert!(run(&closed, &mut Vec::new()).unwrap_err().message.contains("--allow-net"));
}

#[test]
fn a_public_url_needs_a_contact_and_a_bad_one_is_bad_usage() {
    for url in ["https://example.org/", "nonsense"] {
        let args = FetchArgs { url: url.into(), json: true, ..args("127.0.0.1:9".parse().unwrap(), "/") };
        let mut out = Vec::new();
        let error = run(&args, &mut out).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert_eq!(json(std::str::from_utf8(&out).unwrap()), json(&error.json()), "the error is all that is told");
    }
}

/// A chain `/0` -> `/1` -> … without end, a ring of refreshes, and pages that lead on in other ways.
fn ways(path: &str) -> String {
    let page = "200 OK\nContent-Type: text/html";
    match path {
        "/refresh" => format!("{page}\nRefresh: 0; url=/ring\n\n<title>moved</title>"),
        "/ring" => format!("{page}\n\n<meta http-equiv=refresh content='1;url=/refresh'>"),
        "/late" => format!("{page}\nRefresh: 60; url=/ring\n\nx"),
        "/shy" => format!("{page}\nRefresh: 0; url=/ring\nX-Robots-Tag: nofollow\n\n<title>moved</title>"),
        "/wall" => "403 X\nContent-Type: text/html\ncf-mitigated: challenge\n\n<a href=/x>prove it</a>".into(),
        "/itself" => "302 X\nLocation: /itself#top".into(),
        "/q" => "302 X\nLocation: /q?PHPSESSID=0123456789abcdef".into(),
        "/q?PHPSESSID=0123456789abcdef" => format!("{page}\n\n<title>known by its session</title>"),
        "/long" => format!("302 X\nLocation: /{}", "a".repeat(3_000)),
        "/gone" => {
            "404 X\nContent-Type: text/html\nX-Robots-Tag: noindex\n\n<link rel=canonical href=/c><a href=/x>x</a>"
                .into()
        }
        "/pdf" => "200 OK\nContent-Type: application/pdf\nLink: </n>; rel=next\n\n%PDF-1.7".into(),
        "/links" => format!(
            "{page}\nLink: </dir/head>; rel=next, </dir/page>; rel=prev\n\n<a href=/dir/page>1</a><a href=/dir/page>2</a><a href=/links>i</a>"
        ),
        _ => match path.trim_start_matches('/').parse::<u32>() {
            Ok(n) => format!("302 X\nLocation: /{}", n + 1),
            Err(_) => format!("{page}\n\n<title>end</title>"),
        },
    }
}

fn follow(address: SocketAddr, path: &str, json: bool) -> (Exit, String) {
    fetch(&FetchArgs { follow: true, json, ..args(address, path) })
}

#[test]
fn a_refresh_is_followed_like_a_redirect_and_a_ring_of_them_ends_with_a_sentence() {
    let address = serve_paths(ways);
    let (exit, text) = fetch(&args(address, "/refresh"));
    let ring = format!("to http://{address}/ring by the header Refresh (take); --follow goes there\n");
    assert!(exit == Exit::Done && text.contains(&ring) && text.contains("notes        refresh\n"), "{text}");
    let (exit, text) = follow(address, "/refresh", false);
    assert_eq!(exit, Exit::Error, "{text}");
    assert!(text.contains(&format!("200 http://{address}/refresh to http://{address}/ring by the header")), "{text}");
    assert!(text.contains("\nwritten      0; url=/ring\n"), "{text}");
    assert!(text.contains(&format!("\nstopped      redirect loop: http://{address}/refresh was asked for")), "{text}");
    assert!(text.contains("by <meta http-equiv=refresh> (take)\n"), "{text}");
    let report = json(&follow(address, "/refresh", true).1);
    assert_eq!((&report["stopped"]["reason"], &report["hops"][0]["by"]), (&"loop".into(), &"refresh_header".into()));
    assert_eq!(report["answer"]["redirect"]["by"], "meta_refresh");
    assert_eq!(report["hops"][0]["robots"]["allowed"], true);
    assert_eq!(report["hops"][0]["rules"]["verdict"], "take");
    assert_eq!(report["hops"][0]["addresses"][0], address.to_string());
}

#[test]
fn a_refresh_after_a_while_or_of_a_page_whose_links_are_not_followed_leads_nowhere() {
    let address = serve_paths(ways);
    let (exit, text) = follow(address, "/late", false);
    assert!(exit == Exit::Done && !text.contains("redirect "), "{text}");
    let (exit, text) = follow(address, "/shy", false);
    assert!(exit == Exit::Done && text.contains("/ring by the header Refresh (nofollow)"), "{text}");
    assert!(text.contains("1, of which a crawl takes 0"), "{text}");
}

#[test]
fn a_redirect_to_another_spelling_of_the_same_page_is_followed() {
    let address = serve_paths(ways);
    let (exit, text) = follow(address, "/q", false);
    assert!(exit == Exit::Done && text.contains("known by its session"), "{text}");
}

#[test]
fn redirects_end_at_their_limit_at_loops_and_at_what_a_crawl_turns_away() {
    let address = serve_paths(ways);
    for (path, reason, hops) in [("/0", "redirects", 20), ("/itself", "loop", 0), ("/long", "too_long", 0)] {
        let (exit, text) = follow(address, path, true);
        let report = json(&text);
        assert_eq!((exit, &report["stopped"]["reason"]), (Exit::Error, &reason.into()), "{text}");
        assert_eq!(report["hops"].as_array().unwrap().len(), hops, "{text}");
    }
    let (_, text) = follow(address, "/0", false);
    let limit =
        "stopped      too many redirects: 21 redirects in a row: fetch.max_redirects allows 20; the next would be";
    assert!(text.contains(&format!("\n{limit} http://{address}/21\n")), "{text}");
    let (exit, text) = fetch(&args(address, "/itself"));
    assert!(exit == Exit::Done && text.contains("redirect     to itself; a crawl goes no further"), "{text}");
    assert!(text.contains("notes        redirect_self\n") && text.contains("verdict      stored\n"), "{text}");
    let none = FetchArgs { follow: true, ..args(address, "/0") };
    let (exit, text) = fetch(&set(none, "fetch.max_redirects=0"));
    assert!(exit == Exit::Error && text.contains("1 redirect in a row: fetch.max_redirects allows 0"), "{text}");
}

#[test]
fn a_firewall_in_place_of_the_site_is_told() {
    let address = serve_paths(ways);
    let (_, text) = fetch(&args(address, "/wall"));
    for part in ["verdict      challenge: not stored, tried again after", "challenge    a firewall answered"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let answer = &report(args(address, "/wall"))["answer"];
    assert_eq!((&answer["challenge"], &answer["stored"], &answer["page"]), (&true.into(), &false.into(), &().into()));
}

#[test]
fn an_error_is_no_page_as_in_a_crawl() {
    let report = report(args(serve_paths(ways), "/gone"));
    let answer = &report["answer"];
    assert_eq!((&answer["page"], &answer["canonical"], &answer["kind"]), (&().into(), &().into(), &().into()));
    assert_eq!((&answer["notes"], &answer["links"]), (&serde_json::json!([]), &().into()));
    assert_eq!((&answer["stored"], &answer["verdict"]), (&true.into(), &"stored; ends as error status_4xx".into()));
}

#[test]
fn links_of_the_head_and_folders_are_listed_with_those_of_the_page_each_taken_once() {
    let address = serve_paths(ways);
    let report = report(set(args(address, "/links"), "crawl.ascend=true"));
    let rows: Vec<_> = report["answer"]["page"]["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| {
            let url = link["url"].as_str().unwrap().strip_prefix(&format!("http://{address}")).unwrap().to_owned();
            (url, link["in_header"].as_bool().unwrap(), link["verdict"].as_str().unwrap().to_owned())
        })
        .collect();
    let row = |url: &str, in_header, verdict: &str| (url.to_owned(), in_header, verdict.to_owned());
    assert_eq!(
        rows,
        [
            row("/dir/page", false, "take"),
            row("/dir/page", false, "known: listed above"),
            row("/links", false, "itself"),
            row("/dir/head", true, "take"),
            row("/dir/page", true, "known: listed above"),
            row("/dir/", false, "take"),
            row("/", false, "take"),
        ]
    );
    let (_, text) = fetch(&args(address, "/pdf"));
    assert!(text.contains(&format!("links        link in the header Link http://{address}/n\n")), "{text}");
}

#[test]
fn what_the_settings_leave_out_of_the_archive_is_told() {
    let (_, text) = fetch(&set(args(serve_paths(ways), "/links"), "store.skip_types=text/*"));
    assert!(text.contains("verdict      read for links, not stored: store.skip_types names text/html\n"), "{text}");
    let only = |path: &str, statuses: &str| {
        fetch(&set(args(serve_paths(ways), path), &format!("store.statuses={statuses}"))).1
    };
    let text = only("/links", "404");
    assert!(text.contains("verdict      read for links, not stored: store.statuses does not name 200\n"), "{text}");
    let text = only("/gone", "2xx");
    assert!(text.contains("not stored: store.statuses does not name 404; ends as error status_4xx\n"), "{text}");
    assert!(only("/links", "2xx").contains("verdict      stored and read for links\n"));
}

#[test]
fn the_url_asked_for_is_judged_by_the_rules_of_a_crawl() {
    let address = serve_paths(ways);
    let elsewhere = args(address, "/end/../end?utm_source=x");
    let (_, text) = fetch(&elsewhere);
    assert!(text.contains(&format!("written      http://{address}/end/../end?utm_source=x\n")), "{text}");
    assert!(text.contains("rules        take: "), "{text}");
    let (_, text) = fetch(&set(elsewhere, "crawl.seeds=http://other.test/"));
    assert!(text.contains("rules        scope: "), "{text}");
}
