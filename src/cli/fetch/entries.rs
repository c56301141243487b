//! What a sitemap names, with what a crawl would do about it.

use std::collections::HashSet;

use super::judge::Judge;
use super::page::LinkReport;
use super::read::Read;
use crate::content::html::Page;
use crate::content::sitemap::{Choice, Chooser, Entry, Sitemap, Sites, by_urgency};
use crate::domain::url::PageUrl;

/// The entries of the sitemap at `url`, in the order of the file; judged in the order in which a crawl takes them.
pub(super) fn reports(judge: &Judge<'_>, read: &Read, url: &PageUrl, page: &Page, map: &Sitemap) -> Vec<LinkReport> {
    let (rules, (found, via)) = (&judge.session.rules, read.way());
    let named = map.entries.iter().map(|entry| entry.loc.as_str());
    let joiner = judge.session.live.canon.joiner_of(named, url.to_url(), Some(page.charset));
    let sites = Sites::of(url, via, found.is_sitemap()).given(judge.is_seed());
    let mut chooser = Chooser::new(sites, found, rules.settings.sitemaps.file_rules());
    let mut known: HashSet<PageUrl> = read.next().into_iter().map(|(next, _)| next).chain([url]).cloned().collect();
    let mut report = |entry: &Entry| {
        let at = joiner.join(&entry.loc);
        let verdict = match &at {
            Err(e) => e.rejection().to_string(),
            _ if read.nofollow() => "nofollow".into(),
            Ok(at) if at == url => "itself".into(),
            Ok(at) if !known.insert(at.clone()) => "known: listed above".into(),
            Ok(at) => match chooser.choose(entry, at) {
                Choice::Take => judge.found(at, (chooser.found_as(entry), Some(url.as_str()))),
                Choice::TurnAway(reason) => reason.to_string(),
                Choice::LeaveOut => "left out: sitemaps.use, sitemaps.max_files".into(),
            },
        };
        LinkReport {
            url: at.ok().map(|at| at.to_string()),
            href: entry.loc.clone(),
            kind: entry.kind().as_str(),
            in_header: false,
            nofollow: false,
            text: entry.said(),
            verdict,
        }
    };
    let order = rules.ranker.order();
    let mut all: Vec<_> = by_urgency(&map.entries, order).into_iter().map(|entry| (entry, report(entry))).collect();
    all.sort_by_key(|(entry, _)| std::ptr::from_ref::<Entry>(entry)); // they lie in one list
    all.into_iter().map(|(_, report)| report).collect()
}
