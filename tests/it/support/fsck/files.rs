//! The archive and `crawl.jsonl`, against what is stored.

use std::collections::BTreeSet;
use std::path::Path;

use lycosa::base::time::UnixMillis;
use lycosa::domain::reason::Rejection;
use lycosa::domain::url::PageUrl;
use lycosa::storage::values::{DoneKind, PageRecord, UrlState};
use lycosa::warc::reader::WarcReader;

use super::Found;

pub(super) fn lines_of(folder: &Path) -> Vec<(UnixMillis, String)> {
    let text = std::fs::read_to_string(folder.join("crawl.jsonl")).unwrap_or_default();
    let url = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let by_rules = |r: &&Rejection| !matches!(r, Rejection::Robots | Rejection::HostBudget | Rejection::Address);
        if Rejection::ALL.iter().filter(by_rules).any(|r| line["reason"] == r.as_str()) {
            return None;
        }
        let at: jiff::Timestamp = line["ts"].as_str().unwrap().parse().unwrap();
        let at = UnixMillis(at.as_millisecond().try_into().unwrap());
        Some((at, line["url"].as_str().unwrap().to_owned()))
    };
    text.lines().filter_map(url).collect()
}

impl Found {
    pub(super) fn captures_are_in_the_archive(&mut self, folder: &Path, again: bool) {
        let (mut places, mut urls) = (BTreeSet::new(), BTreeSet::new());
        for page in self.pages.values().cloned().collect::<Vec<_>>() {
            if !urls.insert(page.url.clone()) && !again {
                self.wrong("a URL committed twice", &page.url);
            }
            if page.how == DoneKind::Unstored {
                continue;
            }
            let Some(place) = &page.warc else {
                self.wrong("a capture without a place in the archive", &page.url);
                continue;
            };
            if !places.insert((place.file.clone(), place.offset)) {
                self.wrong("two captures at one place in the archive", &page.url);
            }
            if let Err(problem) = record_at(folder, &page) {
                self.wrong("I3: a capture whose record is not where it should be", (&page.url, &page.warc, problem));
            }
        }
    }

    pub(super) fn lines_are_one_a_finished_url(&mut self, again: bool) {
        let mut known = BTreeSet::new();
        for (_, line) in self.lines.clone() {
            let url = PageUrl::from_canonical(&line).ok();
            let state = url.and_then(|url| self.seen.get(&self.key(&url)).copied());
            if !known.insert(line.clone()) && !again {
                self.wrong("a URL with two lines in crawl.jsonl", &line);
            }
            if matches!(state, None | Some(UrlState::Waiting { .. })) && !again {
                self.wrong("a line in crawl.jsonl for a URL that is not finished", (&line, state));
            }
        }
        let visited = |state: &UrlState| match state {
            UrlState::Done { .. } | UrlState::Error { .. } => true,
            UrlState::Rejected { reason, .. } => {
                matches!(reason, Rejection::Robots | Rejection::HostBudget | Rejection::Address)
            }
            UrlState::Waiting { .. } => false,
        };
        let finished = self.seen.values().filter(|s| visited(s)).count();
        if again {
            return; // a URL queued again has a line already
        }
        self.same("lines in crawl.jsonl", known.len(), finished);
    }
}

/// A file that was open when its page was committed has lost its `.open` since.
fn record_at(folder: &Path, page: &PageRecord) -> Result<(), String> {
    let place = page.warc.as_ref().ok_or("no place")?;
    let closed = folder.join("warc").join(place.file.trim_end_matches(".open"));
    let open = folder.join("warc").join(format!("{}.open", place.file.trim_end_matches(".open")));
    let path = if closed.exists() { closed } else { open };
    let mut reader = WarcReader::open(&path, place.offset).map_err(|e| format!("{}: {e}", path.display()))?;
    let header = reader.next_record().map_err(|e| e.to_string())?.ok_or("the file ends there")?;
    let kind = if page.how.is_revisit() { "revisit" } else { "response" };
    if header.kind() != kind || header.target() != Some(&*page.asked()) {
        return Err(format!("there is a {} of {:?}", header.kind(), header.target()));
    }
    let length = reader.finish().map_err(|e| e.to_string())?;
    if length == place.length { Ok(()) } else { Err(format!("it has {length} bytes")) }
}
