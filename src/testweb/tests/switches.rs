//! Each switch does what it says.

use super::client::{Response, ask, get};
use crate::testweb::place::{Node, Place};
use crate::testweb::shape::{Answer, Shape};
use crate::testweb::{TestWeb, TestWebConfig};

const PAGES: u32 = 60;

fn web(change: impl FnOnce(&mut TestWebConfig)) -> TestWeb {
    let mut config =
        TestWebConfig { hosts: 2, pages: PAGES, min_size: 1_000, max_size: 2_000, ..TestWebConfig::default() };
    change(&mut config);
    TestWeb::start(config).unwrap()
}

/// All pages of host 0, each with what it answers.
fn pages(web: &TestWeb) -> Vec<(Node, Response)> {
    let nodes = (0..PAGES).map(|number| web.shape().page(0, number));
    nodes.map(|node| (node, get(web.addr(), "h0.test", &node.place.to_string()))).collect()
}

fn count(pages: &[(Node, Response)], wanted: impl Fn(&Response) -> bool) -> usize {
    pages.iter().filter(|(_, response)| wanted(response)).count()
}

#[test]
fn a_plain_page_has_its_size_its_links_and_a_length() {
    let web = web(|config| config.links = 8);
    for (node, response) in pages(&web) {
        assert_eq!(response.status, 200);
        let size = response.body.len();
        assert!((1_000..2_300).contains(&size), "{size}");
        assert_eq!(response.text().matches("<a href=").count(), web.shape().links(node).len());
        assert!(response.header("content-length").is_some());
    }
}

#[test]
fn redirects_take_all_five_statuses_and_absolute_and_relative_locations() {
    let web = web(|config| config.redirects = 1.0);
    let pages = pages(&web);
    for status in [301, 302, 303, 307, 308] {
        assert!(count(&pages, |response| response.status == status) > 0, "{status}");
    }
    let locations = || pages.iter().filter_map(|(_, response)| response.header("location"));
    for start in ["http://", "//h0", "/", "../"] {
        assert!(locations().any(|location| location.starts_with(start)), "{start}");
    }
    for (node, response) in &pages[1..] {
        let Answer::Redirect { to, .. } = web.shape().answer(*node) else { panic!("{node:?}") };
        let base = url::Url::parse(&node.url()).unwrap();
        assert_eq!(base.join(response.header("location").unwrap()).unwrap().as_str(), to.url());
    }
}

#[test]
fn a_duplicate_has_the_same_body_under_another_url() {
    let web = web(|config| config.duplicates = 0.3);
    let pages = pages(&web);
    let mut duplicates = 0;
    for (node, response) in &pages {
        let Answer::Page { content } = web.shape().answer(*node) else { panic!("{node:?}") };
        assert_eq!(response.body, pages[content as usize].1.body);
        duplicates += usize::from(*node != pages[content as usize].0);
    }
    assert!((5..35).contains(&duplicates), "{duplicates}");
}

#[test]
fn error_pages_answer_their_statuses_and_503_says_when_to_come_again() {
    let web = web(|config| config.errors = 1.0);
    let pages = pages(&web);
    for status in [404, 410, 500, 503] {
        assert!(count(&pages, |response| response.status == status) > 0, "{status}");
    }
    let told = |response: &Response| response.header("retry-after") == Some("1");
    assert_eq!(count(&pages, told), count(&pages, |response| response.status == 503));
}

#[test]
fn a_flaky_page_fails_once_or_twice_and_again_after_a_clear() {
    let web = web(|config| config.flaky = 1.0);
    for _ in 0..2 {
        let rounds: Vec<_> = (0..3).map(|_| count(&pages(&web), |response| response.status == 200)).collect();
        assert_eq!((rounds[0], rounds[2]), (1, PAGES as usize));
        assert!((5..55).contains(&rounds[1]), "{rounds:?}");
        web.clear_audit();
    }
}

#[test]
fn bodies_are_framed_in_three_ways_with_one_content() {
    let framed = web(|config| (config.chunked, config.until_eof) = (0.4, 0.3));
    let pages = pages(&framed);
    let chunked = count(&pages, |response| response.header("transfer-encoding").is_some());
    let length = count(&pages, |response| response.header("content-length").is_some());
    assert!(chunked > 5 && length > 5 && chunked + length < 55, "{chunked} {length}");
    let plain = web(|_| {});
    for (node, response) in &pages {
        assert_eq!(response.body, get(plain.addr(), "h0.test", &node.place.to_string()).body);
    }
}

#[test]
fn gzip_goes_to_those_who_accept_it() {
    let web = web(|config| config.gzip = 1.0);
    let zipped = get(web.addr(), "h0.test", "/p/1");
    let plain = ask(web.addr(), "GET", "h0.test", "/p/1", "");
    assert_eq!((zipped.header("content-encoding"), plain.header("content-encoding")), (Some("gzip"), None));
    assert_eq!(zipped.body, plain.body);
    assert!(zipped.raw.len() < plain.raw.len());
}

#[test]
fn gbk_pages_are_chinese_and_say_so_in_the_header_in_a_meta_or_nowhere() {
    let web = web(|config| (config.gbk, config.links) = (1.0, 5));
    let pages = pages(&web);
    for (_, response) in &pages {
        let (text, _, faulty) = encoding_rs::GBK.decode(&response.body);
        let chinese = text.chars().filter(|letter| ('\u{4e00}'..'\u{9fff}').contains(letter)).count();
        assert!(!faulty && chinese > 50, "{chinese}");
    }
    let header = count(&pages, |response| response.header("content-type") == Some("text/html; charset=GB2312"));
    let meta = count(&pages, |response| response.text().contains("<meta charset=\"gb2312\">"));
    assert!(header > 5 && meta > 5 && header + meta < 55, "{header} {meta}");
}

#[test]
fn large_pages_are_large() {
    let web = web(|config| (config.large, config.large_size) = (1.0, 1_200_000));
    assert!(get(web.addr(), "h0.test", "/p/1").body.len() >= 1_190_000);
}

#[test]
fn nofollow_stands_in_links_metas_and_headers() {
    let web = web(|config| config.nofollow = 0.8);
    let pages = pages(&web);
    for (mark, least) in [("rel=\"noopener nofollow\"", 40), ("name=\"robots\"", 2), ("CONTENT=\"NONE\"", 2)] {
        assert!(count(&pages, |response| response.text().contains(mark)) > least, "{mark}");
    }
    assert!(count(&pages, |response| response.header("x-robots-tag") == Some("nofollow")) > 2);
}

#[test]
fn page_furniture_appears_when_asked_for() {
    let web = web(|config| {
        (config.base, config.canonical, config.kinds, config.queries) = (0.5, 0.5, 0.5, 0.5);
        (config.files, config.unicode, config.spellings) = (0.3, 0.3, 0.3);
    });
    let pages = pages(&web);
    let all: String = pages.iter().map(|(_, response)| response.text()).collect();
    let marks = [
        r#"<base href=|rel="canonical"|rel="next"|http-equiv="refresh"|<area |<iframe |/p/view?id=|/files/|/text/|/词/"#,
        r##"&amp;word=|:80/|HTTP://H0.TEST|%2e%2e|/%70/|utm_source=|PHPSESSID=|#part-3|.test./|"//h0.test|\p\"##,
    ];
    for mark in marks.iter().flat_map(|some| some.split('|')) {
        assert!(all.contains(mark), "{mark} is nowhere");
    }
    assert!(pages.iter().any(|(node, _)| matches!(node.place, Place::Page { query: true, .. })));
}

#[test]
fn broken_pages_name_places_no_link_leads_to() {
    let web = web(|config| config.broken = 1.0);
    let pages = pages(&web);
    assert!(count(&pages, |response| response.text().contains("/never/")) > 50);
    assert!(count(&pages, |response| !response.text().contains("</html>")) > 50);
}

#[test]
fn latency_delays_the_answer_and_jitter_comes_by_hash() {
    // No time is asserted: the audit's own clock shows a wait that was asked for.
    let web = web(|config| (config.latency_ms, config.jitter_ms) = (20, 10));
    get(web.addr(), "h0.test", "/");
    let audit = web.audit();
    assert!(audit[0].t_end_us - audit[0].t_request_us >= 20_000);
}

#[test]
fn links_say_no_scheme_when_asked_for_and_lead_where_they_did() {
    let (with, without) = (web(|_| {}), web(|config| config.no_scheme = true));
    let text = |web: &TestWeb| get(web.addr(), "h0.test", "/").text();
    let (with, without) = (text(&with), text(&without));
    assert!(with.contains("\"http://h") && !without.contains("http://h") && without.contains("\"//h"));
    let links = |text: String| text.replace("http://h", "//h").matches("href=").count();
    assert_eq!(links(with), links(without));
}

#[test]
fn traps_are_endless_and_only_there_when_laid() {
    let trapped = web(|config| config.traps = "all".parse().unwrap());
    let bare = web(|_| {});
    let month = get(trapped.addr(), "h0.test", "/trap/calendar?y=2026&m=12").text();
    assert!(month.contains("?y=2027&amp;m=1\"") && month.contains("?y=2026&amp;m=11\""));
    let first = get(trapped.addr(), "h0.test", "/trap/session/1").text();
    let link = first.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(link.starts_with("/trap/session/2?sid=") || link.starts_with("/trap/session/2;jsessionid="));
    let second = get(trapped.addr(), "h0.test", link).text();
    let next = second.split("href=\"").nth(1).unwrap();
    assert!(next.starts_with("/trap/session/3") && !next.contains(link.split('=').nth(1).unwrap()));
    assert!(get(trapped.addr(), "h0.test", "/trap/relative/a/b/a/").text().contains("href=\"a/\""));
    for path in ["/trap/calendar?y=2026&m=12", "/trap/session/1", "/trap/relative/"] {
        assert_eq!((get(bare.addr(), "h0.test", path).status), 404, "{path}");
    }
}

#[test]
fn every_address_is_found_again_by_its_path() {
    let config =
        TestWebConfig { redirects: 0.3, redirect_loops: 0.1, queries: 0.5, pages: 50, ..TestWebConfig::rough() };
    let shape = Shape::new(TestWebConfig { gbk: 0.5, unicode: 0.2, files: 0.2, ..config });
    let mut nodes = 0;
    for (host, number) in (0..3).flat_map(|host| (0..50).map(move |number| (host, number))) {
        let page = shape.page(host, number);
        let further = shape.followed(page);
        for node in further.iter().copied().chain([page]) {
            assert_eq!(shape.find(node.host, &node.place.to_string()), Some(node), "{}", node.url());
            let canonical = crate::domain::url::Canonicaliser::new(Default::default()).parse(&node.url()).unwrap();
            assert_eq!(canonical.as_str(), node.url());
            nodes += 1;
        }
    }
    assert!(nodes > 1_000);
    for path in
        ["", "/p/0", "/p/07", "/p/x", "/r/1/9", "/loop/1/7", "/p/view?id=0", "/files/1.jp", "/p/find?n=1&word=a"]
    {
        assert_eq!(shape.find(0, path), None, "{path}");
    }
}
