//! Single records in `meta`, robots.txt, contents, seeds, and the row of sitemaps.

use super::judge::differences;
use super::pass::Pass;
use super::stream::{Row, Stream, damaged, each_chunk};
use super::{Fault, Note, Result, stored_counters};
use crate::base::time::UnixMillis;
use crate::domain::fingerprint::CrawlId;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, Key, MetaKey, SeenKey, after};
use crate::storage::tables::{Content, Failed, HostState, Nearer, Pages, Robots, Seeds, Seen, Sitemaps};
use crate::storage::values::{
    CardSettings, ClockState, Consumers, Counters, CreditState, FailedValue, FeedLog, FileLengths, Format, Handed,
    JoinedHost, LiveSettings, Membership, OrderedHosts, PageRecord, Received, RunState, Unsynced, UnsyncedLines,
    UnsyncedPage, UrlState, Value, ValueError,
};
use crate::storage::{Family, Pair, read};

/// Every record in `meta` decodes.
pub fn meta(pass: &mut Pass<'_>) -> Result<()> {
    let mut from = Vec::new();
    while let Some((key, bytes)) = pass.storage.scan(Family::Meta, &from, &[], 1)?.pop() {
        pass.read(Family::Meta, 1);
        from = after(&key);
        if let Err(why) = decodes(&key, &bytes) {
            damaged(pass, Family::Meta, key, &why)?;
        }
    }
    pass.flush()?;
    let run = read::meta::<RunState>(pass.storage, ()).ok().flatten();
    if run.is_some_and(|run| !run.clean) {
        pass.note(Note::UncleanEnd, || "meta/run".to_owned());
    }
    Ok(())
}

fn decodes(key: &[u8], bytes: &[u8]) -> std::result::Result<(), String> {
    fn good<V: Value>(bytes: &[u8]) -> std::result::Result<(), ValueError> {
        V::decode(bytes).map(drop)
    }
    let good = match MetaKey::decode(key).map_err(|e| e.to_string())? {
        MetaKey::Format => good::<Format>(bytes),
        MetaKey::Counters(_) => good::<Counters>(bytes),
        MetaKey::Credit(_) => good::<CreditState>(bytes),
        MetaKey::Joined(..) => good::<JoinedHost>(bytes),
        MetaKey::Orders(_) => good::<OrderedHosts>(bytes),
        MetaKey::FileLengths => good::<FileLengths>(bytes),
        MetaKey::Run => good::<RunState>(bytes),
        MetaKey::Clock => good::<ClockState>(bytes),
        MetaKey::Settings => good::<LiveSettings>(bytes),
        MetaKey::Feed => good::<FeedLog>(bytes),
        MetaKey::Consumers => good::<Consumers>(bytes),
        MetaKey::Cards => good::<CardSettings>(bytes),
        MetaKey::Member => good::<Membership>(bytes),
        MetaKey::Handed => good::<Handed>(bytes),
        MetaKey::Received => good::<Received>(bytes),
        MetaKey::Lines(_) => good::<UnsyncedLines>(bytes),
        MetaKey::Unsynced(_) => good::<Unsynced>(bytes),
    };
    good.map_err(|e| e.to_string())
}

/// Pages listed as not yet safe are there as listed.
pub fn unsynced(pass: &mut Pass<'_>) -> Result<()> {
    for (number, list) in lists(pass)? {
        pass.totals.counters.next_commit = pass.totals.counters.next_commit.max(number.saturating_add(1));
        let keys: Vec<_> = list.0.iter().map(|page| page.page).collect();
        let pages = pass.look::<Pages>(&keys)?;
        let fits = |(listed, page): &(&UnsyncedPage, Option<PageRecord>)| {
            page.as_ref().is_some_and(|page| page.warc.as_ref() == Some(&listed.warc))
        };
        let (left, strays): (Vec<_>, Vec<_>) = list.0.iter().zip(pages).partition(fits);
        let left = Unsynced(left.into_iter().map(|(listed, _)| listed.clone()).collect());
        for (listed, _) in strays {
            let subject = format!("{}", listed.page.url);
            pass.find(Fault::UnsyncedStray, &subject, &format!("in list {number}"), |batch| {
                batch.put_meta(number, &left)
            })?;
        }
        if let Some(files) = &mut pass.files {
            files.doubt(list.0.iter().map(|page| page.page));
        }
    }
    Ok(())
}

fn lists(pass: &Pass<'_>) -> Result<Vec<(u64, Unsynced)>> {
    let (from, until) = (MetaKey::Unsynced(0).encode(), after(&MetaKey::Unsynced(u64::MAX).encode()));
    let found = pass.storage.scan(Family::Meta, &from, &until, usize::MAX)?;
    let list = |(key, bytes): &Pair| match MetaKey::decode(key) {
        Ok(MetaKey::Unsynced(number)) => Some((number, Unsynced::decode(bytes).ok()?)),
        _ => None,
    };
    Ok(found.iter().filter_map(list).collect())
}

/// Every robots.txt decodes.
pub fn robots(pass: &mut Pass<'_>) -> Result<()> {
    let mut robots = Stream::<Robots>::default();
    while robots.next_in(pass, &[])?.is_some() {}
    Ok(())
}

/// Every seed is that of its key.
pub fn seeds(pass: &mut Pass<'_>) -> Result<()> {
    let mut seeds = Stream::<Seeds>::default();
    while let Some(row) = seeds.next_in(pass, &[])? {
        let cycles = &mut pass.totals.counters.seed_cycles;
        *cycles = cycles.and(row.value.cycle.as_ref());
        if pass.url_at(&row.value.url, row.key).is_none() {
            let why = "is not the URL of this seed's key";
            pass.find(Fault::Misplaced, &row.value.url, why, |batch| batch.delete::<Seeds>(&row.key))?;
        }
    }
    Ok(())
}

/// Every content has its first capture.
pub fn contents(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<Content>(pass, |pass, rows| {
        let firsts: Vec<_> = rows.iter().map(|row| row.value.first).collect();
        for (row, page) in rows.iter().zip(pass.look::<Pages>(&firsts)?) {
            let why = match page {
                None => "its capture is not there",
                Some(page) if *page.asked() != row.value.url => "its capture is of another URL",
                Some(page) if page.content != Some(row.key.digest) => "its capture has another content",
                Some(_) => continue,
            };
            pass.find(Fault::ContentDangling, &row.value.url, why, |batch| batch.delete::<Content>(&row.key))?;
        }
        Ok(())
    })
}

/// Counters, after everything was counted.
pub fn counters(pass: &mut Pass<'_>) -> Result<()> {
    if pass.repairing && pass.changes > 0 {
        return pass.flush(); // what was changed is counted in the next round
    }
    let of = CrawlId::default();
    let stored = stored_counters(pass.storage);
    let mut counted = std::mem::take(&mut pass.totals.counters);
    counted.too_deep |= stored.too_deep; // what was too deep may be queued or done by now
    counted.seed_cycles = counted.seed_cycles.max(stored.seed_cycles); // so may a seed have lost its cycle
    let (next_seq, next_commit) = (stored.next_seq.max(counted.next_seq), stored.next_commit.max(counted.next_commit));
    let fed = stored.fed.max(counted.fed);
    let differences = differences(&stored, &counted);
    let right = Counters { next_seq, next_commit, fed, ..counted };
    for difference in differences {
        pass.find(Fault::Counters, "meta/counters", &difference, |batch| batch.put_meta(of, &right))?;
    }
    let numbers = [
        ("next_seq", stored.next_seq, next_seq),
        ("next_commit", stored.next_commit, next_commit),
        ("fed", stored.fed, fed),
    ];
    for (name, is, least) in numbers.iter().filter(|(_, is, least)| is < least) {
        let detail = format!("{name} is {is}, by what is in use it is {least}");
        pass.find(Fault::NextNumber, "meta/counters", &detail, |batch| batch.put_meta(of, &right))?;
    }
    pass.flush()
}

/// Every entry of the row is the last visit of its URL.
pub fn sitemaps(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<Sitemaps>(pass, |pass, rows| {
        let keys: Vec<SeenKey> = rows.iter().map(|row| row.key.seen()).collect();
        let (states, failed) = (pass.look::<Seen>(&keys)?, pass.look::<Failed>(&keys)?);
        for ((row, state), failed) in rows.iter().zip(states).zip(failed) {
            if !is_last_visit(row.key.time, state.as_ref(), failed.as_ref()) {
                let subject = format!("sitemaps {}", hex(&row.raw));
                let detail = "its URL is not as it was left then";
                pass.find(Fault::SitemapStray, &subject, detail, |batch| batch.delete::<Sitemaps>(&row.key))?;
            }
        }
        Ok(())
    })
}

/// Every better way that waits is that of a page that is done.
pub fn nearer(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<Nearer>(pass, |pass, rows| {
        let keys: Vec<SeenKey> = rows.iter().map(|row| row.key).collect();
        let hosts: Vec<HostAt> = keys.iter().map(|key| key.host_crawl().host_at()).collect();
        let (states, hosts) = (pass.look::<Seen>(&keys)?, pass.look::<HostState>(&hosts)?);
        for ((row, state), host) in rows.iter().zip(states).zip(hosts) {
            pass.totals.counters.nearer += 1;
            let (entry, subject) = (&row.value.entry, format!("nearer {}", hex(&row.raw)));
            let last = entry.again.as_ref().map(|last| last.captured);
            // The text of a host that has lost its name cannot be judged.
            let url = host.filter(|host| !host.name.is_empty()).map(|host| entry.url(&host.name));
            let own = url.is_none_or(|url| url.is_ok_and(|url| pass.key_of(&url) == row.key));
            match state {
                Some(UrlState::Done { captured, how, reach }) if own && last == Some(captured) => {
                    let right = UrlState::Done { captured, how, reach: entry.reach() };
                    if reach != entry.reach() {
                        let detail = "its mark says another way";
                        pass.find(Fault::NearerStray, &subject, detail, |batch| batch.put::<Seen>(&row.key, &right))?;
                    }
                }
                _ => {
                    let detail = "is not that of a page done by the capture it names";
                    pass.find(Fault::NearerStray, &subject, detail, |batch| batch.delete::<Nearer>(&row.key))?;
                }
            }
        }
        Ok(())
    })
}

fn is_last_visit(time: UnixMillis, state: Option<&UrlState>, failed: Option<&FailedValue>) -> bool {
    match state {
        Some(UrlState::Done { captured, .. }) => *captured == time,
        Some(UrlState::Error { .. }) => failed.is_some_and(|failed| failed.when == time),
        _ => false,
    }
}

/// A sitemap that is done by this capture is in the row.
pub fn sitemap_there(pass: &mut Pass<'_>, key: SeenKey, page: &Row<Pages>) -> Result<()> {
    let row = key.due(page.key.captured.0);
    if page.value.sitemap.is_none() || pass.look_one::<Sitemaps>(&row)?.is_some() {
        return Ok(());
    }
    pass.find(Fault::SitemapMissing, &page.value.url, "would not be read again", |b| b.put::<Sitemaps>(&row, &()))
}
