//! Makes answers of what the index finds and the archive holds.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::views::{AsOf, HitView, LinkView, LinksView, PieceView, SearchView, WhyView};
use crate::admin::paging::cursor;
use crate::base::time::UnixMillis;
use crate::content::modules::{HeaderDirectives, leads};
use crate::domain::ask::{Ask, Sought, UnknownField};
use crate::domain::fingerprint::CrawlId;
use crate::domain::host::registrable_domain;
use crate::domain::note::Note;
use crate::domain::url::{PageUrl, with_schemes};
use crate::domain::words::Stem;
use crate::index::{Hit, IndexError, Look, Reader, Search, Sort, Source, link_key, snippet};
use crate::storage::keys::SeenKey;
use crate::storage::newest::Newest;
use crate::storage::read;

/// Longest search.
const LONGEST: Duration = Duration::from_secs(2);

/// Who asks what of which index.
pub struct Asking<'a> {
    /// The generation that answers.
    pub reader: &'a Reader,
    /// Where pages are read again.
    pub source: Source<'a>,
    /// The crawl that they are of.
    pub crawl: CrawlId,
    /// Hosts whose pages are not shown.
    pub hidden: Vec<String>,
    /// Number of the feed's last entry.
    pub high: u64,
    /// How long it takes so far.
    pub took: &'a dyn Fn() -> Duration,
    /// From when on what follows has no snippets any more.
    pub patience: Duration,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The query.
    pub text: &'a str,
    /// The date, that durations count back from.
    pub now: UnixMillis,
    /// What comes first.
    pub sort: Sort,
    /// Hits left out at the beginning.
    pub from: usize,
    /// Hits at most.
    pub limit: usize,
    /// Whether each hit tells how it came to its place.
    pub explain: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says it itself")]
pub enum NoAnswer {
    #[error(transparent)]
    Field(#[from] UnknownField),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("{0}")]
    Url(String),
}

/// What of a card is needed here.
#[derive(Deserialize)]
struct Kept {
    url: String,
    title: Option<String>,
}

impl Asking<'_> {
    /// Pages that match.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn search(&self, question: &Question<'_>) -> Result<SearchView, NoAnswer> {
        let ask = Ask::read(question.text, question.now)?;
        let Question { sort, from, limit, explain, .. } = *question;
        let found = self.reader.search(&Search {
            ask: &ask,
            sort,
            from,
            limit,
            explain,
            hidden: &self.hidden,
            targets: &|url| self.meant(url).iter().map(|url| self.key(url)).collect(),
            late: &|| (self.took)() > LONGEST,
        })?;
        let wanted: Vec<&Sought> = ask.wanted().collect();
        let hits = found.hits.into_iter().map(|hit| self.view(hit, &wanted)).collect();
        let next = found.more.then(|| cursor(&(from.saturating_add(limit) as u64).to_be_bytes()));
        Ok(SearchView {
            total: found.total,
            partial: found.partial,
            hits,
            next,
            left_out: ask.left_out,
            as_of: self.as_of()?,
        })
    }

    /// How far the index is.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn as_of(&self) -> Result<AsOf, IndexError> {
        let stand = self.reader.stand()?.unwrap_or_default();
        let behind = self.high.saturating_sub(stand.seq);
        Ok(AsOf { seq: stand.seq, behind, captured_ms: stand.captured, documents: self.reader.documents() })
    }

    fn view(&self, hit: Hit, wanted: &[&Sought]) -> HitView {
        let card: Value = serde_json::from_str(&hit.card).unwrap_or_default();
        let text = |name: &str| card.get(name).and_then(Value::as_str).map(str::to_owned);
        let url = text("url").unwrap_or_default();
        let snippet = self.snippet(&url, text("language").as_deref(), wanted).unwrap_or_default();
        let piece = |piece: crate::index::Piece| PieceView { text: piece.text, marked: piece.marked };
        let why = hit.why.into_iter().map(|why| WhyView { what: why.what, field: why.field, counts: why.counts });
        HitView {
            title: text("title"),
            snippet: snippet.into_iter().map(piece).collect(),
            captured_ms: card.get("captured").and_then(Value::as_u64).unwrap_or_default(),
            changed_ms: hit.changed,
            stale: hit.stale,
            same: hit.same,
            score: hit.score,
            priority: hit.links.priority(),
            out_links: hit.links.out_links,
            in_links: hit.links.in_links,
            in_external: hit.links.in_external,
            depth: hit.depth,
            why: why.collect(),
            url,
            card,
        }
    }

    /// Where on a page what was looked for stands, when it can be read again in time and allows it.
    fn snippet(&self, url: &str, language: Option<&str>, wanted: &[&Sought]) -> Option<Vec<crate::index::Piece>> {
        if wanted.is_empty() || (self.took)() > self.patience {
            return None;
        }
        let (newest, look) = self.page(&PageUrl::from_canonical(url).ok()?)?;
        let forbidden = newest.page.remarks.notes.contains(&Note::NoArchive);
        let blocks = &look.page.facts.for_card.as_deref().filter(|_| !forbidden)?.blocks;
        snippet(blocks, wanted, language.and_then(Stem::of))
    }

    /// A page as it is stored, when it is one that is shown.
    fn page(&self, url: &PageUrl) -> Option<(Newest, Look)> {
        if self.hidden.iter().any(|host| host == url.host()) {
            return None;
        }
        let Source { storage, making, wanted, again, .. } = self.source;
        let key = SeenKey::of(making.prints, self.crawl, url);
        let state = read::seen_state(storage, key).ok()?;
        let newest = wanted.newest(storage, key, state).ok()??;
        let look = Look::of(again, url, &self.source.read(&newest, url)?)?;
        Some((newest, look))
    }

    fn key(&self, url: &PageUrl) -> u64 {
        link_key(self.source.making.prints.url(url))
    }

    /// The URLs that somebody may mean.
    fn meant(&self, text: &str) -> Vec<PageUrl> {
        let texts = with_schemes(text).map_or_else(|| vec![text.to_owned()], Vec::from);
        texts.iter().filter_map(|text| self.source.making.canon.parse(text.trim()).ok()).collect()
    }

    /// Pages that link to a URL, or are linked from it.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn links(&self, text: &str, out: bool, from: usize, limit: usize) -> Result<LinksView, NoAnswer> {
        let meant = self.meant(text);
        let known = meant.iter().find(|url| self.page(url).is_some()).or(meant.first());
        let url = known.ok_or_else(|| NoAnswer::Url(format!("{text:?} is no URL")))?;
        let (total, external, items) = if out { self.out_links(url) } else { self.in_links(url, from, limit)? };
        let items: Vec<_> = if out { items.into_iter().skip(from).take(limit).collect() } else { items };
        let behind = from.saturating_add(limit) as u64;
        let next = (total > behind).then(|| cursor(&behind.to_be_bytes()));
        let direction = if out { "out" } else { "in" };
        Ok(LinksView { url: url.to_string(), direction: direction.into(), total, external, items, next })
    }

    fn in_links(&self, url: &PageUrl, from: usize, limit: usize) -> Result<(u64, u64, Vec<LinkView>), NoAnswer> {
        let linking = self.reader.linking_to(self.key(url), &self.hidden, from, limit)?;
        let items = linking.cards.iter().filter_map(|card| {
            let kept: Kept = serde_json::from_str(card).ok()?;
            let page = PageUrl::from_canonical(&kept.url).ok()?;
            let link = self.of(&page).into_iter().find(|(target, _)| target == url).map(|(_, link)| link);
            let external = registrable_domain(page.host()) != registrable_domain(url.host());
            Some(LinkView { url: kept.url, title: kept.title, external, ..link.unwrap_or_default() })
        });
        Ok((linking.total, linking.external, items.collect()))
    }

    fn out_links(&self, url: &PageUrl) -> (u64, u64, Vec<LinkView>) {
        let items: Vec<_> = self.of(url).into_iter().map(|(_, link)| link).collect();
        let external = items.iter().filter(|link| link.external).count() as u64;
        (items.len() as u64, external, items)
    }

    /// The links of a page as it is stored, each target once.
    fn of(&self, url: &PageUrl) -> Vec<(PageUrl, LinkView)> {
        let Some((_, look)) = self.page(url) else { return Vec::new() };
        let head = HeaderDirectives::default();
        let mut places: HashMap<PageUrl, usize> = HashMap::new();
        let mut links: Vec<(PageUrl, LinkView)> = Vec::new();
        for lead in leads(self.source.making.canon, url, Some(&look.page), &head) {
            let Ok(target) = lead.url else { continue };
            if lead.nofollow || look.nofollow || target == *url || !lead.kind.leads() || places.contains_key(&target) {
                continue;
            }
            places.insert(target.clone(), links.len());
            let external = registrable_domain(target.host()) != registrable_domain(url.host());
            let (text, kind) = (lead.text.to_owned(), lead.kind.as_str().to_owned());
            links.push((target.clone(), LinkView { url: target.to_string(), title: None, text, kind, external }));
        }
        links
    }
}
