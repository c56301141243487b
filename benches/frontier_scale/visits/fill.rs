//! A data folder whose pages are done and have their rows in `visits`, made through the ledger as a crawl would make it.

use std::path::Path;
use std::time::Instant;

use lycosa::base::time::UnixMillis;
use lycosa::domain::fingerprint::ContentDigest;
use lycosa::domain::reach::Reach;
use lycosa::domain::refresh::Refresh;
use lycosa::domain::textprint::TextPrint;
use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::storage::ledger::{Change, Ending, LinkChange, NewUrl, PageChange};
use lycosa::storage::values::{DoneKind, PageRecord};
use lycosa::storage::{RocksOptions, RocksStorage, Storage};

use super::super::fill::{found, hosts_of, ledger_with, write};
use super::super::seen::mix;
use super::{CYCLE, DAY, Plan, Result, now};

/// Pages in a batch.
const TOGETHER: usize = 500;

/// Half of `plan.urls` done pages on the host 0, all due; the others alike on the other hosts, `plan.due` of each due.
pub fn fill(plan: &Plan, folder: &Path) -> Result<()> {
    let storage = RocksStorage::open(folder, RocksOptions::default())?;
    let refresh = Refresh { cycle: CYCLE.parse()?, ..Refresh::default() };
    let (mut ledger, prints) = ledger_with(&storage, refresh)?;
    let canon = Canonicaliser::new(CleanRules::default());
    let (began, now) = (Instant::now(), now());
    let small = plan.urls / 2 / u64::from(plan.hosts.max(2) - 1);
    let mut pages = hosts_of(plan, prints).into_iter().flat_map(|host| {
        let pages = if host == 0 { plan.urls / 2 } else { small };
        (0..u32::try_from(pages).unwrap_or(u32::MAX)).map(move |page| (host, page))
    });
    let mut told = 0;
    loop {
        let batch: Vec<_> = pages.by_ref().take(TOGETHER).collect();
        if batch.is_empty() {
            break;
        }
        let new = batch.iter().map(|(host, page)| found(&canon, *host, *page)).collect::<Result<Vec<_>>>()?;
        let due = batch.iter().map(|(host, page)| *host == 0 || u64::from(*page) < plan.due);
        let done: Vec<_> = new.iter().zip(due).zip(told..).map(|((new, due), n)| done(new, due, n, now)).collect();
        let links = Change::Links(Box::new(LinkChange { new, ..LinkChange::default() }));
        let changes: Vec<_> = std::iter::once(links).chain(done).collect();
        write(&storage, &mut ledger, &changes, now)?;
        let before = told;
        told += batch.len() as u64;
        if told / 1_000_000 > before / 1_000_000 {
            let rate = told as f64 / began.elapsed().as_secs_f64();
            eprintln!("filling: {told} of {} pages, {rate:.0} a second", plan.urls);
        }
    }
    storage.flush()?;
    println!("Filled: {told} pages on {} hosts in {:.0} s.\n", plan.hosts, began.elapsed().as_secs_f64());
    Ok(())
}

/// A page that was fetched so long ago that it is due, or that will be in half a day at the earliest; as large on disk as one of a crawl,
/// but for the place of its record.
fn done(new: &NewUrl, due: bool, number: u64, now: UnixMillis) -> Change {
    let draw = mix(number);
    let ago = if due { 11 * DAY + draw % DAY } else { draw % (9 * DAY) };
    let fetched = UnixMillis(now.0.saturating_sub(ago));
    let sim = |salt| mix(draw ^ salt);
    let content: [u8; 16] = std::array::from_fn(|at| sim(at as u64 / 8 + 1).to_be_bytes()[at % 8]);
    let mut capture = PageRecord::new(&new.url, fetched, DoneKind::Unstored);
    capture.payload_digest = std::array::from_fn(|at| sim(at as u64 / 8 + 3).to_be_bytes()[at % 8]);
    capture.print =
        Some(TextPrint { whole: sim(6), words: sim(7), sim: sim(8), features: 600, letters: 5_000, sketch: None });
    (capture.status, capture.took_ms, capture.bytes, capture.depth) = (200, 30, 12_000, new.depth);
    (capture.mime, capture.title) = (Some("text/html".into()), Some(format!("Page {number} of this web")));
    capture.etag = Some(format!("\"{draw:x}\""));
    (capture.content, capture.out_links) = (Some(ContentDigest(content)), 50);
    capture.origin = new.origin.as_deref().map(str::to_owned);
    let reach = Reach { depth: new.depth, limit: new.limit };
    Change::Page(Box::new(PageChange {
        url: new.url.clone(),
        ending: Ending::Done(DoneKind::Unstored),
        taken: reach,
        reach,
        status: Some(200),
        capture: Some(capture),
        first_with: None,
        links: LinkChange::default(),
        pace: None,
    }))
}
