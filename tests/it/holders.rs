//! Dead links with all pages that hold them, against what the web knows of itself.

use std::collections::{BTreeMap, BTreeSet};

use lycosa::admin::ControlError;
use lycosa::admin::holders::job as holders;
use lycosa::admin::holders::{HeldLink, HoldersAbout, WhichDead};
use lycosa::admin::jobs::{JobState, JobView};
use lycosa::admin::paging::Paging;
use lycosa::admin::reports::query as reports;
use lycosa::domain::orders::HostOrder;

use lycosa::crawl::jobs::Job;
use lycosa::crawl::jobs::JobError;
use lycosa::crawl::node::Stop;
use lycosa::testweb::truth::nodes;
use lycosa::testweb::{TestWeb, TestWebConfig};

use crate::support::{Live, Sandbox, truth_any};

type Held = BTreeMap<String, BTreeSet<String>>;

/// Some of everything, and many dead links.
fn web() -> TestWebConfig {
    let robots = TestWebConfig::default().robots;
    TestWebConfig { hosts: 3, pages: 60, off_host: 0.3, errors: 0.15, robots, ..TestWebConfig::rough() }
}

/// Of each dead URL the pages that lead to it, also by links that are not followed.
fn truth(web: &TestWeb, dead: &BTreeSet<String>) -> Held {
    let mut held: Held = dead.iter().map(|url| (url.clone(), BTreeSet::new())).collect();
    for page in nodes(web.shape(), &truth_any()) {
        let not_followed = web.shape().links(page).into_iter().map(|link| link.to);
        for to in web.shape().followed(page).into_iter().chain(not_followed).filter(|to| *to != page) {
            held.get_mut(&to.url()).into_iter().for_each(|pages| _ = pages.insert(page.url()));
        }
    }
    held
}

fn made(live: &Live<'_>, which: WhichDead) -> Result<JobView, ControlError> {
    let job = holders::start(&live.node, which)?;
    Ok(live.until_job(job.id))
}

/// The whole report.
fn report(live: &Live<'_>) -> (Option<HoldersAbout>, Vec<HeldLink>) {
    let (mut links, mut cursor) = (Vec::new(), None);
    loop {
        let page = holders::held(&live.node, &Paging { limit: Some(7), cursor }).unwrap();
        links.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return (page.about, links);
        }
    }
}

fn held(links: &[HeldLink]) -> Held {
    let mut held = Held::new();
    for link in links {
        let pages = held.entry(link.url.clone()).or_default();
        if link.pages > 0 {
            assert!(pages.insert(link.page.clone().unwrap()), "a page twice: {link:?}");
        }
    }
    for link in links {
        assert_eq!(link.pages, held[&link.url].len() as u64, "{link:?}");
        assert!(link.status.is_some_and(|status| status == 404 || status == 410), "{link:?}");
    }
    held
}

fn dead(live: &Live<'_>) -> BTreeSet<String> {
    let links = reports::dead_links(&live.node, None, &Paging { limit: Some(1_000), cursor: None }).unwrap();
    links.items.into_iter().map(|link| link.url).collect()
}

#[test]
fn every_page_that_holds_a_dead_link_is_named_whichever_file_and_capture_its_record_is_in() {
    let sandbox = Sandbox::new(web()).fetching_again();
    let live = sandbox.start();
    live.until("a first file", |s| s.pages_stored > 60);
    live.close();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    assert_eq!(report(&live), (None, vec![]), "nobody asked for it yet");
    let dead = dead(&live);
    let truth = truth(&sandbox.web, &dead);
    assert!(dead.len() > 10 && truth.values().any(|pages| pages.len() > 3), "{truth:?}");

    let job = made(&live, WhichDead::default()).unwrap();
    assert!(job.state == JobState::Done && job.result["dead"] == dead.len(), "{job:?}");
    let (about, links) = report(&live);
    let about = about.unwrap();
    assert_eq!((about.files, about.not_read_total, about.dead), (2, 0, dead.len() as u64));
    assert_eq!(held(&links), truth);
    let contexts: BTreeSet<_> = links.iter().filter_map(|link| link.context.as_deref()).collect();
    assert!(contexts.contains("a/@href"), "{contexts:?}");

    // A page that is fetched again is the same page.
    for host in ["h0.test", "h1.test"] {
        live.until_job(live.order(host, HostOrder::Recrawl).unwrap().job.unwrap().id);
    }
    live.until("pages fetched again", |s| s.waiting + s.processing == 0);
    let again = made(&live, WhichDead::default()).unwrap();
    assert!(again.looked > job.looked, "{again:?}");
    assert_eq!(held(&report(&live).1), truth);

    // One host alone; names that are none.
    made(&live, WhichDead { host: Some("H1.test".into()) }).unwrap();
    let (about, links) = report(&live);
    assert_eq!(about.unwrap().host.as_deref(), Some("h1.test"));
    let of_host: Held = truth.into_iter().filter(|(url, _)| url.starts_with("http://h1.test/")).collect();
    assert_eq!(held(&links), of_host);
    assert!(matches!(made(&live, WhichDead { host: Some("a/b".into()) }), Err(ControlError::Invalid(_))));
    live.end();
}

#[test]
fn a_file_that_is_not_here_or_damaged_is_named_and_its_links_are_missing() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    live.until("a first file", |s| s.pages_stored > 120);
    live.close();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let truth = truth(&sandbox.web, &dead(&live));
    let closed = |entry: &std::path::PathBuf| entry.to_string_lossy().ends_with(".warc.gz");
    let mut files = std::fs::read_dir(sandbox.data().join("warc")).unwrap().map(|entry| entry.unwrap().path());
    let first = files.find(closed).unwrap();
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    let whole = std::fs::read(&first).unwrap();

    std::fs::write(&first, &whole[..whole.len() / 2]).unwrap();
    made(&live, WhichDead::default()).unwrap();
    let (about, links) = report(&live);
    let about = about.unwrap();
    assert!(
        about.not_read.len() == 1 && about.not_read[0].starts_with(&format!("{name}: the record at ")),
        "{about:?}"
    );
    let count = |held: &Held| held.values().map(BTreeSet::len).sum::<usize>();
    let half = count(&held(&links));

    let line = format!("{{\"file\":\"{name}\",\"bytes\":1,\"sha256\":\"\",\"to\":\"s3://b/{name}\",\"ts\":\"\"}}\n");
    std::fs::write(sandbox.data().join("uploaded.jsonl"), line).unwrap();
    std::fs::remove_file(&first).unwrap();
    made(&live, WhichDead::default()).unwrap();
    let (about, links) = report(&live);
    let about = about.unwrap();
    assert_eq!((about.files, about.not_read), (1, vec![format!("{name}: copied elsewhere and removed here")]));
    let found = held(&links);
    assert!(found.iter().all(|(url, pages)| pages.is_subset(&truth[url])));
    let rest = count(&found);
    assert!(0 < rest && rest < half && half < count(&truth), "{rest} {half}");
    // Of a URL without any the page it was found on is still told.
    let lonely: Vec<_> = links.iter().filter(|link| link.pages == 0).collect();
    assert_eq!(found.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>(), "each dead URL is told");
    assert!(lonely.iter().all(|link| link.page.is_some() && link.context.is_none()), "{lonely:?}");

    // Moved away by hand: the records of pages know its name. And a pipe in its place is not waited for.
    std::fs::remove_file(sandbox.data().join("uploaded.jsonl")).unwrap();
    made(&live, WhichDead::default()).unwrap();
    let about = report(&live).0.unwrap();
    assert!(about.not_read.len() == 1 && about.not_read[0].starts_with(&format!("{name}: it is not in")), "{about:?}");
    assert!(std::process::Command::new("mkfifo").arg(&first).status().unwrap().success());
    made(&live, WhichDead::default()).unwrap();
    let about = report(&live).0.unwrap();
    assert_eq!(about.not_read, [format!("{name}: it is no regular file")]);
    std::fs::remove_file(&first).unwrap();

    std::fs::write(&first, whole).unwrap();
    live.end();
}

#[test]
fn while_a_report_of_one_host_is_made_another_is_refused_and_the_same_one_is_waited_for() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    let (go_on, gone_on) = std::sync::mpsc::channel::<()>();
    let about = "pages that hold dead links: host=h1.test".to_owned();
    let wait = move |_: &Job| {
        let _ = gone_on.recv(); // its end is the test's
        Err(JobError::Cancelled)
    };
    let job = live.node.jobs.start(&live.node.clock, "dead-link-holders", about, wait).unwrap();
    let find = |host: Option<&str>| {
        let which = WhichDead { host: host.map(str::to_owned) };
        holders::start(&live.node, which)
    };
    assert_eq!(find(Some("H1.test")).unwrap().id, job.id);
    for other in [None, Some("h0.test")] {
        assert!(matches!(find(other), Err(ControlError::Refused(why)) if why.contains("makes another report")));
    }
    let _ = live.node.jobs.cancel(job.id, std::time::Duration::ZERO);
    assert!(matches!(find(Some("h1.test")), Err(ControlError::Refused(why)) if why.contains("coming to its end")));
    drop(go_on);
    live.until_job(job.id);
    assert_eq!(made(&live, WhichDead::default()).unwrap().state, JobState::Done);
    assert_eq!(live.until_stop(), Stop::Done);
    live.end();
}
