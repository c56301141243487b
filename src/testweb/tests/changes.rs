//! What changes with time: by a clock that is turned by hand.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::client::{Response, ask, get};
use crate::domain::near::Sketch;
use crate::domain::textprint::{Printer, TextPrint};
use crate::domain::visit::Visit;
use crate::testweb::audit::AuditClock;
use crate::testweb::place::Node;
use crate::testweb::variant::{Near, Noise};
use crate::testweb::{ChangeKind, TestWeb, TestWebConfig, Told, TruthQuery, Validators};

const FROM: u64 = 1_796_000_000;

/// A web and the hand of its clock.
struct Turned {
    web: TestWeb,
    clock: Arc<AtomicU64>,
}

fn turned(change: impl FnOnce(&mut TestWebConfig)) -> Turned {
    let mut config = TestWebConfig {
        hosts: 2,
        pages: 60,
        links: 6,
        min_size: 8_000,
        max_size: 9_000,
        changes: Some(Duration::from_secs(60)),
        changes_from: Some(FROM),
        ..TestWebConfig::default()
    };
    change(&mut config);
    let clock = Arc::new(AtomicU64::new(FROM * 1_000_000));
    Turned { web: TestWeb::start_by(config, AuditClock::Hand(Arc::clone(&clock))).unwrap(), clock }
}

impl Turned {
    fn at(&self, at_us: u64) -> &Self {
        self.clock.store(at_us, Ordering::Relaxed);
        self
    }

    fn get(&self, node: Node) -> Response {
        get(self.web.addr(), &format!("h{}.test", node.host), &node.place.to_string())
    }

    fn pages(&self) -> impl Iterator<Item = Node> + '_ {
        (0..60).map(|number| self.web.shape().page(0, number))
    }

    fn history(&self, seconds: u64) -> Vec<Told> {
        self.at((FROM + seconds) * 1_000_000);
        self.web.changes(0, usize::MAX).changes
    }
}

/// The print of what a reader sees of a body, tags taken out as roughly as can be.
fn print(response: &Response) -> Option<TextPrint> {
    let text = match response.header("content-type") {
        Some("text/html; charset=utf-8") => response.text(),
        _ => encoding_rs::GBK.decode(&response.body).0.into_owned(),
    };
    let mut printer = Printer::new("");
    let body = text.split_once("</title>").unwrap().1;
    body.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).for_each(|text| printer.push(text));
    printer.finish().0
}

fn visit(before: &Response, now: &Response) -> Visit {
    match before.body == now.body {
        true => Visit::Unchanged,
        false => Visit::of_texts(print(before).as_ref(), print(now).as_ref(), false),
    }
}

#[test]
fn a_page_is_the_same_between_its_changes_and_another_text_after_each_in_english_and_chinese() {
    let turned = turned(|config| (config.gbk, config.chinese) = (0.3, 0.3));
    let told = turned.history(300);
    assert!(told.len() > 400, "{}", told.len());
    for change in told.iter().filter(|change| change.url.starts_with("http://h0.test/")).take(150) {
        let path = change.url.strip_prefix("http://h0.test").unwrap();
        let node = turned.web.shape().find(0, path).unwrap();
        let [before, now] = [change.at_us - 1, change.at_us].map(|at| turned.at(at).get(node));
        assert_eq!(visit(&before, &now), Visit::Changed, "{change:?}");
        let rest = told.iter().filter(|other| other.url == change.url && other.at_us > change.at_us);
        let next = rest.map(|other| other.at_us).min().unwrap_or((FROM + 300) * 1_000_000 + 1);
        assert_eq!(turned.at(next - 1).get(node).body, now.body);
    }
    let charsets: BTreeSet<String> =
        turned.pages().map(|node| format!("{:?}", turned.web.shape().charset(0, number(node)))).collect();
    assert_eq!(charsets.len(), 3, "{charsets:?}");
}

fn number(node: Node) -> u32 {
    match node.place {
        crate::testweb::place::Place::Page { number, .. } => number,
        other => panic!("{other:?} is no page"),
    }
}

#[test]
fn a_web_that_is_started_anew_is_the_same() {
    let (one, other) = (turned(|config| config.grow = 0.2), turned(|config| config.grow = 0.2));
    for at in [0, 77, 5_000].map(|seconds| (FROM + seconds) * 1_000_000) {
        for node in one.pages() {
            assert_eq!(one.at(at).get(node).body, other.at(at).get(node).body, "{}", node.url());
        }
        assert_eq!(one.web.changes(0, 1_000), other.web.changes(0, 1_000));
    }
}

#[test]
fn true_validators_say_304_until_the_next_change_and_not_after() {
    let turned = turned(|config| config.validators = Validators::True);
    let (mut etags, mut dates) = (0, 0);
    let changes = turned.history(600);
    for change in changes.iter().filter(|change| change.url.starts_with("http://h0.test/p/")).take(120) {
        let (path, at) = (change.url.strip_prefix("http://h0.test").unwrap(), change.at_us);
        let again = |headers: &str| ask(turned.web.addr(), "GET", "h0.test", path, headers);
        turned.at(at - 1);
        let before = again("");
        let condition = condition(&before);
        if !condition.is_empty() {
            let same = again(&condition);
            assert_eq!((same.status, same.raw.len(), same.header("content-length")), (304, 0, None));
            turned.at(at);
            assert_eq!(again(&condition).status, 200, "{change:?} {condition}");
        }
        turned.at(at + 1_000_000);
        let now = again("");
        etags += usize::from(now.header("etag").is_some());
        dates += usize::from(now.header("last-modified").is_some());
        let date = |name: &str| now.header(name).map(|value| httpdate::parse_http_date(value).unwrap());
        assert!(date("last-modified") <= date("date"), "{:?}", now.headers);
    }
    assert!(etags > 60 && dates > 60 && etags + dates < 239, "{etags} {dates}");
}

fn condition(response: &Response) -> String {
    let etag = response.header("etag").map(|value| format!("If-None-Match: {value}\r\n"));
    let date = response.header("last-modified").map(|value| format!("If-Modified-Since: {value}\r\n"));
    [etag, date].into_iter().flatten().collect()
}

#[test]
fn validators_that_lie_say_304_always_or_never() {
    let at = (FROM + 3_000) * 1_000_000;
    let always = turned(|config| config.validators = Validators::Always304);
    let node = always.web.shape().page(0, 7);
    let first = always.get(node);
    let again = |turned: &Turned, known: &str| ask(turned.web.addr(), "GET", "h0.test", &node.place.to_string(), known);
    assert_eq!(again(always.at(at), &condition(&first)).status, 304);
    assert_eq!(visit(&first, &again(always.at(at), "")), Visit::Changed);
    let new = turned(|config| config.validators = Validators::NewEtag);
    let tags: BTreeSet<String> = (0..5)
        .map(|_| {
            let answer = again(&new, "If-None-Match: *\r\n");
            assert_eq!(answer.status, 200);
            answer.header("etag").unwrap().to_owned()
        })
        .collect();
    assert_eq!(tags.len(), 5);
    let none = turned(|_| {});
    let answer = again(&none, "If-None-Match: *\r\nIf-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT\r\n");
    assert_eq!((answer.status, condition(&answer)), (200, String::new()));
}

#[test]
fn noise_is_another_in_each_answer_and_no_news() {
    let turned = turned(|config| {
        (config.noise, config.gbk, config.chinese) = (1.0, 0.3, 0.3);
        config.validators = Validators::True;
    });
    let (mut little, mut boxes) = (0, 0);
    for node in turned.pages() {
        let [one, other] = [0, 1].map(|_| turned.get(node));
        assert_eq!(condition(&one), "", "a page that is made anew each time has no validators");
        let visit = visit(&one, &other);
        match turned.web.shape().noise(0, number(node)).unwrap() {
            Noise::Clock => assert_eq!(visit, Visit::Numbers, "{}", node.url()),
            Noise::Token => assert_eq!(visit, Visit::Markup, "{}", node.url()),
            Noise::Box => {
                (little, boxes) = (little + usize::from(visit == Visit::Little), boxes + 1);
            }
        }
    }
    assert!(boxes > 8 && little * 10 >= boxes * 8, "{little} of {boxes} boxes");
    assert_eq!(turned.history(0), []);
}

#[test]
fn hubs_lead_to_new_pages_and_the_truth_knows_those_that_there_are() {
    let turned = turned(|config| (config.grow, config.gbk) = (0.2, 0.3));
    let truth = || turned.web.truth(TruthQuery::HOSTS);
    let first = truth();
    assert_eq!(first.len(), 60);
    let told = turned.history(400);
    let new: BTreeSet<String> = told.iter().filter_map(|change| change.new.clone()).collect();
    assert!(new.len() > 30 && told.iter().any(|change| change.kind == ChangeKind::Changed));
    let of_host: BTreeSet<String> = new.iter().filter(|url| url.starts_with("http://h0.test/")).cloned().collect();
    assert_eq!(truth().difference(&first).cloned().collect::<BTreeSet<_>>(), of_host);
    let asked = get(turned.web.addr(), "h0.test", &format!("/_truth?at={}", FROM * 1_000_000)).text();
    assert_eq!(asked.lines().count(), 60);
    for change in told.iter().filter(|change| change.kind == ChangeKind::Grown).take(20) {
        let (host, path) = change.new.as_deref().unwrap()["http://".len()..].split_once('/').unwrap();
        let of = |at| get(turned.at(at).web.addr(), host, &format!("/{path}"));
        let [before, now, later] = [change.at_us - 1, change.at_us, change.at_us + 90_000_000].map(of);
        assert_eq!((before.status, now.status), (404, 200));
        assert_eq!(now.body, later.body, "it does not change");
    }
}

#[test]
fn what_has_vanished_answers_404_or_410_and_may_come_back() {
    let turned = turned(|config| config.vanish = 1.0);
    let told = turned.history(3_000);
    let mut statuses = BTreeSet::new();
    for change in told.iter().filter(|change| matches!(change.kind, ChangeKind::Gone | ChangeKind::Back)) {
        let (host, path) = change.url["http://".len()..].split_once('/').unwrap();
        let status = |at| get(turned.at(at).web.addr(), host, &format!("/{path}")).status;
        let [before, now] = [change.at_us - 1, change.at_us].map(status);
        let [there, gone] = if change.kind == ChangeKind::Gone { [before, now] } else { [now, before] };
        assert_eq!(there, 200);
        statuses.insert(gone);
    }
    assert_eq!(statuses, BTreeSet::from([404, 410]));
    let away = told.iter().filter(|change| change.kind == ChangeKind::Gone).count();
    assert!((60..=80).contains(&away), "two thirds of the pages have no children: {away}");
}

#[test]
fn near_pages_are_a_little_different_from_another_page_of_the_host() {
    let turned = turned(|config| (config.near, config.gbk, config.chinese) = (0.6, 0.2, 0.2));
    let shape = turned.web.shape();
    let mut kinds = [0, 0, 0];
    let mut near = 0;
    for (node, (of, kind)) in turned.pages().filter_map(|node| shape.near_to(0, number(node)).map(|near| (node, near)))
    {
        let [page, other] = [node, shape.page(0, of)].map(|node| turned.get(node));
        assert_ne!(page.body, other.body);
        let [a, b] = [&page, &other].map(|page| Sketch::of(&print(page).unwrap()).unwrap());
        near += usize::from(a.distance(&b).is_some());
        let titled = page.text().contains(&format!("<title>Page {} of h0.test", number(node)));
        assert_eq!(titled, kind == Near::Frame);
        kinds[kind as usize] += 1;
    }
    let all: usize = kinds.iter().sum();
    assert!(kinds.iter().all(|count| *count > 2) && near * 10 >= all * 8, "{kinds:?}, {near} are near");
}

#[test]
fn changes_are_served_a_part_at_a_time() {
    let turned = turned(|_| {});
    let told = turned.history(100);
    let mut served = Vec::new();
    let mut since = "0".to_owned();
    loop {
        let part = get(turned.web.addr(), "any", &format!("/_changes?since={since}&limit=20"));
        assert!(part.text().lines().count() <= 20);
        served.extend(part.text().lines().map(|line| serde_json::from_str::<Told>(line).unwrap()));
        since = part.header("x-changes-next").unwrap().to_owned();
        if part.header("x-changes-more") == Some("false") {
            break;
        }
    }
    assert_eq!(served, told);
    assert_eq!(since, ((FROM + 100) * 1_000_000).to_string());
}
