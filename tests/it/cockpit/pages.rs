//! Pages: captures listed, one shown, its bytes in each form; statistics.

use std::io::Write as _;

use flate2::write::GzEncoder;

use super::*;

const HTML: &str = "<title>T</title><p>words <b>here</b><script>alert(1)</script><img src=http://x.test/i.png>";

fn site() -> Site {
    Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => html(
            "<a href=/page>1</a><a href=/copy>2</a><a href=/plain.txt>3</a><a href=/bytes>4</a><a href=/none>5</a>",
        ),
        "/page" | "/copy" => page(200, "text/html; charset=utf-8", "", HTML),
        "/plain.txt" => page(200, "text/plain", "", "<script>plain</script>"),
        "/bytes" => page(200, "application/pdf", "", "%PDF-1.7 <script>x</script>"),
        _ => none(),
    })
}

fn crawled(sandbox: &Sandbox) -> Live<'_> {
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    live.until("the crawl", |s| s.done == 5 && s.errors == 1 && s.processing == 0);
    live
}

fn urls(page: &Value) -> Vec<String> {
    let mut urls: Vec<String> =
        page["items"].as_array().unwrap().iter().map(|p| p["url"].as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

#[test]
fn the_card_of_a_capture_is_told_when_asked_for_also_of_a_revisit_and_of_plain_text() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = crawled(&sandbox);
    let desk = Desk::of(&live);
    let card = |path: &str| desk.get(&format!("/api/v1/page?url=http://a.test/{path}&include=card"))["card"].clone();
    assert!(desk.get("/api/v1/page?url=http://a.test/page").get("card").is_none(), "nothing is made unasked");
    assert_eq!((&card("page")["title"], &card("page")["abstract"]), (&"T".into(), &"words here".into()));
    assert_eq!(card("copy"), card("page"), "its content stands in the other's record");
    assert_eq!(card("plain.txt")["abstract"], "<script>plain</script>");
    assert_eq!(card("bytes"), Value::Null);
    assert_eq!(card("")["out_links"], 5);
}

#[test]
fn captures_are_listed_by_host_status_type_and_age() {
    let (site, of) = (site(), |path: &str| format!("http://a.test/{path}"));
    let sandbox = in_front_of(&site);
    let live = crawled(&sandbox);
    let desk = Desk::of(&live);
    assert_eq!(desk.get("/api/v1/pages?host=a.test")["items"].as_array().unwrap().len(), 6);
    assert_eq!(urls(&desk.get("/api/v1/pages?status=404")), [of("none")]);
    assert_eq!(urls(&desk.get("/api/v1/pages?mime=application/pdf")), [of("bytes")]);
    assert_eq!(urls(&desk.get("/api/v1/pages?mime=text/&host=a.test")).len(), 5);
    assert_eq!(urls(&desk.get("/api/v1/pages?since=3600")).len(), 6);
    assert_eq!(urls(&desk.get("/api/v1/pages?host=b.test")).len(), 0);
    let (mut found, mut path) = (Vec::new(), "/api/v1/pages?limit=2".to_owned());
    loop {
        let page = desk.get(&path);
        found.extend(urls(&page));
        let Some(next) = page.get("next") else { break };
        path = format!("/api/v1/pages?limit=2&cursor={}", next.as_str().unwrap());
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 6, "{found:?}");
    let page = desk.get("/api/v1/page?url=http://a.test/page");
    assert_eq!((&page["capture"]["title"], page["captures"].as_array().unwrap().len()), (&"T".into(), 1), "{page:#}");
    let at = page["capture"]["captured_ms"].as_u64().unwrap();
    desk.get(&format!("/api/v1/page?url=http://a.test/page&at={at}"));
    for gone in
        [format!("/api/v1/page?url=http://a.test/page&at={}", at - 1), "/api/v1/page?url=http://a.test/x".into()]
    {
        let (status, problem) = desk.json("GET", &gone);
        assert!(
            status == 404 && problem["detail"].as_str().unwrap().contains("`lycosa ctl explain`"),
            "{gone}: {problem}"
        );
    }
    desk.refuses(&[
        ("/api/v1/pages?status=x", "status: expected a whole number"),
        ("/api/v1/pages?host=a%20b", "expected a name"),
        ("/api/v1/pages?cursor=zz", "expected `next`"),
        ("/api/v1/page", "the query: url is missing"),
        ("/api/v1/page?url=http://a.test/&at=x", "at: expected a whole number"),
        ("/api/v1/page?url=http://a.test/&include=film", "include: expected one of card"),
        ("/api/v1/snapshot", "the query: url is missing"),
        ("/api/v1/snapshot?url=http://a.test/&as=film", "as: expected one of stored, text, rendered"),
    ]);
    drop(desk);
    live.end();
}

#[test]
fn a_snapshot_gives_the_bytes_the_text_and_a_look_without_scripts() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = crawled(&sandbox);
    let desk = Desk::of(&live);
    let get =
        |path: &str, form: &str| desk.ask("GET", &format!("/api/v1/snapshot?url=http://a.test/{path}&as={form}"), "");
    for path in ["page", "copy"] {
        // One of the two is a revisit, whose bytes stand in the record of the other.
        let (status, head, body) = get(path, "stored");
        assert_eq!((status, body.as_slice()), (200, HTML.as_bytes()), "{path}: {head}");
        assert!(
            head.contains("content-type: application/octet-stream") && head.contains("content-disposition: attachment")
        );
        assert!(head.contains("x-archived-content-type: text/html; charset=utf-8"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    }
    let (_, head, body) = get("page", "text");
    assert_eq!(String::from_utf8(body).unwrap().trim(), "words here");
    assert!(head.contains("content-type: text/plain"));
    let (_, head, body) = get("page", "rendered");
    assert_eq!(body, HTML.as_bytes());
    assert!(head.contains("content-type: text/html; charset=utf-8"), "{head}");
    let policy = head.lines().find(|l| l.starts_with("content-security-policy:")).unwrap();
    assert!(
        policy.contains("sandbox; default-src 'none'") && !policy.contains("allow-") && !policy.contains("script"),
        "{policy}"
    );
    let (_, head, body) = get("plain.txt", "rendered");
    assert!(head.contains("content-type: text/plain") && body.starts_with(b"<script>"), "{head}");
    assert_eq!(get("bytes", "stored").2, b"%PDF-1.7 <script>x</script>");
    for form in ["text", "rendered"] {
        let (status, problem) = desk.json("GET", &format!("/api/v1/snapshot?url=http://a.test/bytes&as={form}"));
        assert!(status == 415 && problem["detail"].as_str().unwrap().contains("as=stored"), "{problem}");
    }
    assert_eq!(desk.json("GET", "/api/v1/snapshot?url=http://a.test/never").0, 404);
    drop(desk);
    live.end();
}

#[test]
fn a_snapshot_of_a_body_that_is_archived_as_it_came_has_no_chunks() {
    let site = Site::http(|_, path| match path {
        "/" => "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
             5\r\n<p>wo\r\n3\r\nrds\r\n0\r\nX-Late: y\r\n\r\n"
            .into(),
        _ => none(),
    });
    let sandbox = in_front_of(&site).set("store.http_body=exact");
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    live.until("the crawl", |s| s.done == 1 && s.processing == 0);
    let desk = Desk::of(&live);
    for (form, want) in [("stored", "<p>words"), ("rendered", "<p>words"), ("text", "words")] {
        let (status, _, body) = desk.ask("GET", &format!("/api/v1/snapshot?url=http://a.test/&as={form}"), "");
        assert_eq!((status, String::from_utf8(body).unwrap().trim()), (200, want));
    }
    drop(desk);
    live.end();
}

#[test]
fn a_record_that_is_gone_or_damaged_is_told_so() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = crawled(&sandbox);
    let desk = Desk::of(&live);
    let place = desk.get("/api/v1/page?url=http://a.test/plain.txt")["capture"]["warc"].clone();
    let file = sandbox.data().join("warc").join(format!("{}.open", place["file"].as_str().unwrap()));
    let (offset, length) = (place["offset"].as_u64().unwrap() as usize, place["length"].as_u64().unwrap() as usize);
    let whole = std::fs::read(&file).unwrap();
    let record = &whole[offset..offset + length];
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(record).read_to_end(&mut text).unwrap();
    let changed = String::from_utf8(text).unwrap().replace("plain</script>", "PLAIN</script>");
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(changed.as_bytes()).unwrap();
    let url = "/api/v1/snapshot?url=http://a.test/plain.txt";
    let damaged = [&whole[..offset], &packed.finish().unwrap()].concat();
    for (bytes, part) in [
        (&damaged, "WARC-Payload-Digest"),
        (&whole[..offset + 10].to_vec(), "torn"),
        (&whole[..offset].to_vec(), "ends before it"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let (status, problem) = desk.json("GET", url);
        assert!(status == 503 && problem["detail"].as_str().unwrap().contains(part), "{part}: {problem}");
    }
    std::fs::remove_file(&file).unwrap();
    let (status, problem) = desk.json("GET", url);
    assert!(status == 410 && problem["detail"].as_str().unwrap().contains("not in the folder any more"), "{problem}");
    std::fs::write(&file, &whole).unwrap();
    drop(desk);
    live.drop_at_once();
}

#[test]
fn statistics_are_told_over_time() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = crawled(&sandbox);
    let desk = Desk::of(&live);
    assert_eq!(desk.get("/api/v1/statistics")["points"].as_array().unwrap().len(), 0);
    live.during_watch(|| {
        live.until("the first sample", |_| !desk.get("/api/v1/statistics")["points"].as_array().unwrap().is_empty());
    });
    let all = desk.get("/api/v1/statistics?since=60&points=10");
    let point = &all["points"][0];
    assert_eq!((&all["step_seconds"], &point["done"], &point["errors"]), (&5.into(), &5.into(), &1.into()), "{all:#}");
    assert!(point["resident_bytes"].as_u64().unwrap() > 1_000_000 && point["queues"]["store"].is_u64(), "{all:#}");
    desk.refuses(&[
        ("/api/v1/statistics?since=0", "1 or more"),
        ("/api/v1/statistics?since=-1", "since: expected a whole number"),
        ("/api/v1/statistics?points=0", "1 to 2000"),
        ("/api/v1/statistics?points=2001", "1 to 2000"),
    ]);
    drop(desk);
    live.close();
}

#[test]
fn every_route_of_the_cockpit_is_described() {
    let site = site();
    let sandbox = in_front_of(&site);
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    let doc = desk.get("/api/openapi.json");
    let routes = [
        "statistics",
        "actors",
        "actors/{kind}/{instance}/restart",
        "hosts",
        "hosts/{host}",
        "hosts/{host}/robots",
        "urls",
        "explain",
        "why-idle",
        "pages",
        "page",
        "snapshot",
    ];
    for route in routes {
        let path = &doc["paths"][format!("/api/v1/{route}")];
        assert!(path.is_object(), "{route}");
        // What is referred to is there.
        let mut text = path.to_string();
        while let Some((_, rest)) = text.split_once("#/components/schemas/") {
            let name = rest.split('"').next().unwrap();
            assert!(doc["components"]["schemas"][name].is_object(), "{route}: {name}");
            text = rest.to_owned();
        }
    }
    drop(desk);
    live.close();
}
