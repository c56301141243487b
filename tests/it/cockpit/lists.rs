//! URLs turned away, and given up: listed by reason and host, page by page.

use std::collections::BTreeSet;

use super::*;

/// A site whose pages lead out of the scope, to forbidden paths, to traps, and to pages that are not there.
fn site() -> Site {
    Site::http(|host, path| match (host, path) {
        (_, "/robots.txt") => page(200, "text/plain", "", "User-agent: *\nDisallow: /private\n"),
        ("a.test" | "b.test", "/") => {
            let links = (0..6).map(|n| format!("<a href=/gone{n}>x</a><a href=http://out{n}.test/>y</a>"));
            html(&format!("{}<a href=/private/1>p</a><a href=/private/2>p</a>", links.collect::<String>()))
        }
        (_, "/busy") => page(503, "text/plain", "", "busy"),
        _ => none(),
    })
}

/// Every page of a list, put together, with the number of pages.
fn all(desk: &Desk, path: &str) -> (Vec<Value>, usize) {
    let (mut items, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = desk.get(&format!("{path}{cursor}"));
        items.extend(page["items"].as_array().unwrap().clone());
        pages += 1;
        assert!(page["looked_at"].as_u64().unwrap() <= 5_000, "{page}");
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (items, pages),
        }
    }
}

fn urls(items: &[Value]) -> BTreeSet<&str> {
    items.iter().map(|item| item["url"].as_str().unwrap()).collect()
}

#[test]
fn urls_turned_away_and_given_up_are_listed_by_reason_and_host() {
    let site = site();
    let sandbox = in_front_of(&site).set("fetch.retries=0");
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/", "http://b.test/", "http://b.test/busy"]);
    live.until("the sites to be crawled", |s| s.done == 2 && s.waiting + s.processing == 0);

    let (items, pages) = all(&desk, "/api/v1/urls/rejected?limit=4");
    assert_eq!(
        (items.len() as u64, urls(&items).len(), pages),
        (live.node.crawl.counters().rejected_total(), items.len(), 3)
    );
    let (scope, _) = all(&desk, "/api/v1/urls/rejected?reason=scope&limit=1");
    assert!(scope.len() == 6 && scope.iter().all(|item| item["reason"] == "scope"), "{scope:#?}");
    assert!(scope.iter().all(|item| item["via"] == "http://a.test/" || item["via"] == "http://b.test/"), "{scope:#?}");
    let (robots, pages) = all(&desk, "/api/v1/urls/rejected?reason=robots&host=A.test");
    assert_eq!((urls(&robots), pages), (["http://a.test/private/1", "http://a.test/private/2"].into(), 1));

    let (failed, _) = all(&desk, "/api/v1/urls/failed?limit=5");
    assert!(failed.len() == 13 && failed.iter().all(|item| item["when"].is_u64()), "{failed:#?}");
    assert_eq!(all(&desk, "/api/v1/urls/failed?reason=status&host=b.test").0.len(), 7);
    let (busy, _) = all(&desk, "/api/v1/urls/failed?reason=status_5xx");
    assert_eq!((urls(&busy), &busy[0]["status"]), (["http://b.test/busy"].into(), &503.into()));
    assert_eq!(all(&desk, "/api/v1/urls/failed?reason=timeout").0.len(), 0);

    let (status, head, body) = desk.ask("GET", "/api/v1/urls/rejected?reason=scope&limit=2&format=csv", "");
    let table = String::from_utf8(body).unwrap();
    assert!(status == 200 && head.contains("content-type: text/csv") && head.contains("\r\nx-next-cursor: "), "{head}");
    assert!(
        table.starts_with("url,reason,via,depth,generation\r\nhttp://out") && table.lines().count() == 3,
        "{table}"
    );
    drop(desk);
    live.close();
}

#[test]
fn what_no_list_has_is_refused_with_what_there_is() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("the site to be crawled", |s| s.done == 1 && s.waiting + s.processing == 0);
    let next = desk.get("/api/v1/urls/rejected?limit=1&reason=scope")["next"].as_str().unwrap().to_owned();
    desk.refuses(&[
        ("/api/v1/urls/rejected?reason=weather", "there are scheme, scope, "),
        ("/api/v1/urls/rejected?reason=timeout", "none of a rejection"),
        ("/api/v1/urls/failed?reason=scope", "expected timeout, dns, "),
        ("/api/v1/urls/failed?host=a%2Fb", "no host name"),
        ("/api/v1/urls/rejected?limit=0", "1 to 1000"),
        ("/api/v1/urls/rejected?cursor=x", "`next` of the page before"),
        ("/api/v1/urls/rejected?cursor=ffffffffffff&host=a.test", "a page of the same host"),
        ("/api/v1/urls/rejected?format=xml", "format: expected one of json, csv"),
    ]);
    assert_eq!(desk.get(&format!("/api/v1/urls/rejected?cursor={next}&limit=1"))["items"].as_array().unwrap().len(), 1);
    assert_eq!(desk.json("POST", "/api/v1/urls/rejected").0, 405);
    drop(desk);
    live.close();
}

#[test]
fn the_richest_pages_of_all_hosts_and_of_one_are_told_with_their_share_and_place() {
    let site = site();
    let sandbox = in_front_of(&site).set("fetch.retries=0").set("crawl.order=best").set("frontier.credit=true");
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.control().pause().unwrap();
    live.seed(&["http://a.test/", "http://b.test/", "http://b.test/busy"]);
    let all = desk.get("/api/v1/credit");
    assert_eq!((&all["sums"]["issued"], &all["looked_at"], all.get("next")), (&3.0.into(), &3.into(), None), "{all:#}");
    let rich = all["richest"].as_array().unwrap();
    assert_eq!(urls(rich), ["http://a.test/", "http://b.test/", "http://b.test/busy"].into());
    for page in rich {
        assert!((page["share"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9 && page["credit"] == 1.0, "{page}");
        assert!(page["waits"] == true && page["rank"].as_u64().is_some_and(|rank| rank <= 7), "{page}");
    }
    let of_b = desk.get("/api/v1/credit?host=b.test");
    assert_eq!(urls(of_b["richest"].as_array().unwrap()), ["http://b.test/", "http://b.test/busy"].into());
    desk.refuses(&[
        ("/api/v1/credit?cursor=x", "`next` of the page before"),
        ("/api/v1/credit?limit=5", "no parameter"),
    ]);
    live.control().resume().unwrap();
    live.until("the sites to be crawled", |s| s.done == 2 && s.waiting + s.processing == 0);
    let after = desk.get("/api/v1/credit");
    assert!(after["richest"].as_array().unwrap().iter().all(|page| page["url"] != "http://a.test/"), "{after:#}");
    drop(desk);
    live.close();

    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let off = Desk::of(&live).get("/api/v1/credit");
    assert_eq!((&off["sums"], off["richest"].as_array().unwrap().len()), (&Value::Null, 0), "{off:#}");
    live.close();
}
