//! Sites that want a cookie before they show anything.

use std::collections::BTreeMap;

use crate::cockpit::{Desk, in_front_of};
use crate::site::{Site, html, page};

/// `/wall` and `/two` send to a page that sets a cookie and sends back; `/self` sends to itself; `/never` is never content; `/a` and
/// `/b` are behind a page for logging in that redirects itself.
fn site() -> Site {
    Site::of_heads(|head, _, path| {
        let has =
            |name: &str| head.lines().any(|line| line.to_lowercase().starts_with("cookie:") && line.contains(name));
        let to = |path: &str, cookie: &str| {
            let cookie = if cookie.is_empty() { String::new() } else { format!("Set-Cookie: {cookie}=1; Path=/\r\n") };
            page(302, "text/html", &format!("{cookie}Location: {path}\r\n"), "")
        };
        match path {
            "/" => html(
                "<a href=/wall>1</a><a href=/self>2</a><a href=/never>3</a><a href=/a>4</a><a href=/b>5</a><a href=/wait>6</a>",
            ),
            "/wall" if has("consent") => html("<title>behind the wall</title>"),
            "/wall" => to("/consent", ""),
            "/consent" => to("/wall", "consent"),
            "/self" if has("checked") => html("<title>itself at last</title>"),
            "/self" => to("/self", "checked"),
            "/never" => to("/never", "useless"),
            "/wait" if has("waited") => html("<title>waited</title>"),
            "/wait" => page(200, "text/html", "Set-Cookie: waited=1\r\n", "<meta http-equiv=refresh content=1>wait"),
            "/a" | "/b" => to("/login", "seen"),
            "/login" => to("/login/", ""),
            "/login/" => html("<title>who are you?</title>"),
            _ => page(404, "text/plain", "", "none"),
        }
    })
}

/// How often each path was asked for, but for robots.txt.
fn count(site: &Site) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let paths = site.asked().into_iter().map(|asked| asked.replace("a.test ", "")).filter(|path| path != "/robots.txt");
    paths.for_each(|path| *counts.entry(path).or_default() += 1);
    counts
}

#[test]
fn a_redirect_that_leads_back_is_followed_with_the_cookies_it_set() {
    let site = site();
    let sandbox = in_front_of(&site).set("cookies.enabled=true").set("fetch.max_redirects=4").fetching_again();
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    live.seed(&["http://a.test/"]);
    live.until("all to come to an end", |s| s.done == 10 && s.waiting + s.processing == 0);
    for (path, title) in [("wall", "behind the wall"), ("self", "itself at last"), ("wait", "waited")] {
        let told = desk.get(&format!("/api/v1/page?url=http://a.test/{path}"));
        assert_eq!((&told["capture"]["status"], &told["capture"]["title"]), (&200.into(), &title.into()), "{told:#}");
    }
    drop(desk);
    let ended = live.end();
    let counts = count(&site);
    let wanted =
        [("/", 1), ("/wall", 2), ("/consent", 1), ("/self", 2), ("/wait", 2), ("/a", 1), ("/b", 1), ("/login/", 1)];
    wanted.iter().for_each(|(path, n)| assert_eq!(counts[*path], *n, "{path}: {counts:?}"));
    assert!(counts["/login"] <= 2, "those who are led there do not have it asked for anew each time: {counts:?}");
    assert_eq!(counts["/never"], 5, "fetch.max_redirects ends it: {counts:?}");
    assert_eq!(ended.status.done, 10);
}

#[test]
fn without_cookies_nothing_is_asked_for_twice() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    live.until("all to come to an end", |s| s.done == 10 && s.waiting + s.processing == 0);
    live.end();
    assert!(count(&site).values().all(|n| *n == 1), "{:?}", count(&site));
}
