//! Hosts: listed, sorted, paged; one host; its robots.txt.

use lycosa::domain::orders::HostOrder;

use super::*;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\nCrawl-delay: 3600\nSitemap: http://a.test/map.xml\n";

fn site() -> Site {
    Site::http(|host, path| match (host, path) {
        ("a.test", "/robots.txt") => page(200, "text/plain", "", ROBOTS),
        (_, "/robots.txt") => none(),
        (_, "/missing") => none(),
        _ => html("x"),
    })
}

fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|h| h["name"].as_str().unwrap()).collect()
}

#[test]
fn hosts_are_listed_filtered_sorted_and_paged() {
    let site = site();
    let sandbox = in_front_of(&site).set("sitemaps.use=false"); // one more URL, and nobody knows when
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1", "http://c.test/missing"]);
    live.until("all but one host to be done", |s| s.hosts_parked == 1 && s.done + s.errors == 2 && s.hosts_active == 0);

    let all = desk.get("/api/v1/hosts?sort=name");
    assert_eq!(names(&all), ["a.test", "b.test", "c.test"], "{all:#}");
    assert_eq!((&all["looked_at"], &all["all_looked_at"], all.get("next")), (&3.into(), &true.into(), None), "{all:#}");
    assert_eq!(names(&desk.get("/api/v1/hosts?sort=queue"))[0], "a.test");
    assert_eq!(names(&desk.get("/api/v1/hosts?sort=errors&limit=1")), ["c.test"]);
    assert_eq!(names(&desk.get("/api/v1/hosts?sort=next"))[0], "a.test");
    assert_eq!(desk.get("/api/v1/hosts?sort=rate")["items"].as_array().unwrap().len(), 3);

    let parked = desk.get("/api/v1/hosts?state=parked");
    let host = &parked["items"][0];
    assert_eq!((names(&parked), &host["queued"], &host["done"]), (vec!["a.test"], &3.into(), &0.into()), "{parked:#}");
    assert_eq!((&host["wait"]["why"], &host["queued_by_rank"].as_array().unwrap().len()), (&"crawl_delay".into(), &8));
    assert_eq!(names(&desk.get("/api/v1/hosts?state=idle&sort=name")), ["b.test", "c.test"]);
    for none in ["active", "waiting"] {
        assert_eq!(names(&desk.get(&format!("/api/v1/hosts?state={none}"))), [""; 0]);
    }

    let (mut found, mut path) = (Vec::new(), "/api/v1/hosts?limit=1".to_owned());
    loop {
        let page = desk.get(&path);
        found.extend(names(&page).into_iter().map(str::to_owned));
        let Some(next) = page.get("next") else { break };
        path = format!("/api/v1/hosts?limit=1&cursor={}", next.as_str().unwrap());
    }
    found.sort();
    assert_eq!(found, ["a.test", "b.test", "c.test"]);

    for (sort, first) in [("name", "a.test"), ("queue", "a.test"), ("errors", "c.test"), ("next", "a.test")] {
        let whole = desk.get(&format!("/api/v1/hosts?sort={sort}"));
        let (mut found, mut path) = (Vec::new(), format!("/api/v1/hosts?sort={sort}&limit=2"));
        loop {
            let page = desk.get(&path);
            found.extend(names(&page).into_iter().map(str::to_owned));
            let Some(next) = page.get("next") else { break };
            path = format!("/api/v1/hosts?sort={sort}&limit=2&cursor={}", next.as_str().unwrap());
        }
        assert_eq!(found, names(&whole), "the pages of {sort} are the list, cut");
        assert_eq!(found[0], first, "{sort}");
    }
    drop(desk);
    live.close();
}

#[test]
fn hosts_are_found_by_a_part_of_their_name_with_a_bounded_look_for_each_answer() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    NodeControl(live.node.clone()).pause().unwrap();
    let needles = ["needle.test", "one-needle-more.test", "the.needles.test"];
    let others = (0..5_100).map(|n| format!("h{n}.test"));
    let urls = others.chain(needles.map(str::to_owned)).map(|name| format!("http://{name}/"));
    assert_eq!(live.seed(&urls.collect::<Vec<_>>()).accepted, 5_103);

    let (mut found, mut looks, mut path) = (Vec::new(), Vec::new(), "/api/v1/hosts?contains=NEEDLE&limit=1".to_owned());
    loop {
        let page = desk.get(&path);
        assert!(page["items"].as_array().unwrap().len() <= 1, "{page:#}");
        found.extend(names(&page).into_iter().map(str::to_owned));
        looks.push(page["looked_at"].as_u64().unwrap());
        let Some(next) = page.get("next") else { break };
        path = format!("/api/v1/hosts?contains=NEEDLE&limit=1&cursor={}", next.as_str().unwrap());
    }
    found.sort();
    assert_eq!(found, needles);
    assert!(looks.iter().all(|n| *n <= 5_000) && looks.iter().sum::<u64>() == 5_103, "{looks:?}");

    let none = desk.get("/api/v1/hosts?contains=nobody");
    assert_eq!((names(&none), &none["looked_at"]), (vec![], &5_000.into()), "{none:#}");
    assert!(none["next"].is_string(), "more are to be looked at");
    let sorted = desk.get("/api/v1/hosts?contains=h50&sort=name&limit=3");
    assert!(names(&sorted).is_sorted() && names(&sorted).iter().all(|name| name.contains("h50")), "{sorted:#}");
    assert_eq!((names(&sorted).len(), &sorted["all_looked_at"]), (3, &false.into()));
    drop(desk);
    live.close();
}

#[test]
fn one_host_tells_its_schedule_address_budget_and_robots() {
    let site = site();
    let sandbox = in_front_of(&site).set("traps.pages_per_host=10");
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/1", "http://a.test/2"]);
    live.until("the host to be parked", |s| s.hosts_parked == 1);
    let host = desk.get("/api/v1/hosts/A.test");
    let schedule = &host["schedule"];
    assert_eq!(
        (&schedule["delay_from"], &schedule["delay_seconds"]),
        (&"crawl_delay".into(), &3600.0.into()),
        "{host:#}"
    );
    assert!(schedule["last_answer_ms"].as_u64().unwrap() + 3_600_000 <= schedule["earliest_ms"].as_u64().unwrap());
    assert_eq!((&schedule["connections"], &schedule["own_rules"]), (&1.into(), &false.into()));
    assert_eq!(host["addresses"][0], "127.0.0.1");
    assert_eq!((&host["orders"]["paused"], &host["orders"]["min_delay_ms"]), (&Value::Null, &Value::Null), "{host:#}");
    assert_eq!(host["budget"], serde_json::json!({"pages": 10, "used": 0, "left": 10}));
    let robots = &host["robots"][0];
    assert_eq!((&robots["standing"], &robots["rules"], &robots["group"]), (&"rules".into(), &1.into(), &"star".into()));
    assert_eq!(robots["sitemaps"][0], "http://a.test/map.xml");

    let of = |query: &str| desk.get(&format!("/api/v1/hosts/a.test/robots{query}"));
    let text = of("");
    assert_eq!((text["text"].as_str(), &text["verdict"]), (Some(ROBOTS), &Value::Null), "{text:#}");
    let no = of("?url=http://a.test/private/x");
    assert_eq!(
        (&no["verdict"]["allowed"], &no["verdict"]["because"]),
        (&false.into(), &"2: Disallow: /private".into())
    );
    assert_eq!(of("?url=http://a.test/x")["verdict"]["allowed"], true);
    let other = of("?url=https://a.test/x");
    assert_eq!((&other["robots"]["standing"], &other["verdict"]["allowed"]), (&"not_asked".into(), &Value::Null));
    // Paused it is not asked at any time, whatever it waited for.
    assert!(host["host"]["wait"].is_object(), "{host:#}");
    live.order("a.test", HostOrder::Pause).unwrap();
    let host = desk.get("/api/v1/hosts/a.test");
    assert_eq!((&host["host"]["state"], &host["host"]["wait"]), (&"held".into(), &Value::Null), "{host:#}");
    let told = desk.get("/api/v1/explain?url=http://a.test/1").to_string();
    assert!(
        told.contains("not asked now: its host is paused by the operator") && !told.contains("asked again"),
        "{told}"
    );
    drop(desk);
    live.close();
}

#[test]
fn bad_questions_about_hosts_are_refused() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/1"]);
    desk.refuses(&[
        ("/api/v1/hosts?state=tired", "active"),
        ("/api/v1/hosts?sort=size", "queue"),
        ("/api/v1/hosts?limit=0", "expected 1 to 1000"),
        ("/api/v1/hosts?limit=x", "the query: limit: expected a whole number"),
        ("/api/v1/hosts?limit=%2B5", "limit: expected a whole number"),
        ("/api/v1/hosts/a%252etest", "expected a name"),
        ("/api/v1/hosts/%0aa.test", "expected a name"),
        ("/api/v1/hosts?cursor=zz", "expected `next`"),
        (
            "/api/v1/hosts?stat=active",
            "no parameter \"stat\"; /api/v1/hosts takes state, contains, sort, limit, cursor",
        ),
        ("/api/v1/hosts/a.test?sort=name", "takes none"),
        ("/api/v1/hosts/a.test/robots?urls=http://a.test/", "takes url"),
        ("/api/v1/hosts?contains=", "expected 1 to 253"),
        ("/api/v1/hosts/a%20b", "expected a name"),
        ("/api/v1/hosts/a.test:80", "expected a name"),
        ("/api/v1/hosts/x%2Fy", "expected a name"),
        ("/api/v1/hosts/a.test/robots?url=http://b.test/", "expected a URL of a.test"),
        ("/api/v1/hosts/a.test/robots?url=x", "such as https://example.org/"),
    ]);
    for path in ["/api/v1/hosts/none.test", "/api/v1/hosts/none.test/robots", "/api/v1/hosts/%5B::1%5D"] {
        let (status, problem) = desk.json("GET", path);
        assert!(status == 404 && problem["detail"].as_str().unwrap().contains("nothing is known"), "{path}: {problem}");
    }
    drop(desk);
    live.close();
}
