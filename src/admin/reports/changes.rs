//! What changed: pages that are new, another than before (and by how much), gone, back, elsewhere, or given up; as the feed tells it, with what each was before.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admin::body::query;
use crate::admin::control::ControlError;
use crate::admin::csv::Row;
use crate::admin::feed::query::shown;
use crate::admin::find::unread;
use crate::admin::hosts::query::named;
use crate::admin::paging::{How, Page, Paging, cursor};
use crate::admin::problem::{Answer, Refusal};
use crate::base::kinds::names;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::domain::statuses::is_gone;
use crate::domain::visit::Visit;
use crate::export::item::reason;
use crate::storage::feed::{Item, Part, capture_before, items, last_before, log};
use crate::storage::keys::{FeedKey, Key as _, KeyRange};
use crate::storage::values::{DoneKind, FeedEntry, PageRecord};
use crate::storage::{Storage, StorageError};
use crate::warc::date::{MOMENT, iso, typed_moment};

/// Entries read at a time.
const CHUNK: usize = 500;
/// Entries looked at for one answer.
const LOOKED_AT: usize = 5_000;

names! {
    /// What happened to a page.
    Word {
        /// Its content was fetched, and none before.
        New = "new";
        /// Its text is another than before, or it leads to a URL that nobody knew.
        Changed = "changed";
        /// A little of its long text is another.
        Little = "little";
        /// Only words with digits are others: clocks, counters, prices.
        Numbers = "numbers";
        /// Its text is what it was, its bytes are not.
        Markup = "markup";
        /// It is not there: 404, 410 or 451.
        Gone = "gone";
        /// Its content was fetched, after it had been given up.
        Back = "back";
        /// It redirects, and did not before, or elsewhere.
        Moved = "moved";
        /// It was given up.
        Failed = "failed";
    }
}

/// Which changes.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichChanges {
    /// Committed at this moment or later: milliseconds since 1970, a time such as 2026-11-28T12:00:00Z, a day, or how long ago such as 2h.
    since: Option<String>,
    /// Committed before this moment.
    until: Option<String>,
    /// Only these, separated by commas: new, changed, little, numbers, markup, gone, back, moved, failed; when none is named all but markup.
    kind: Option<String>,
    /// Only of this host.
    host: Option<String>,
}

/// A page that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedPage {
    /// The number of its entry in the feed.
    pub seq: u64,
    /// When that was committed, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub when: UnixMillis,
    /// `new`, `changed`, `little`, `numbers`, `markup`, `gone`, `back`, `moved` or `failed`.
    pub kind: String,
    /// The URL; none when nothing of the page is left.
    pub url: Option<String>,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// The page's title.
    pub title: Option<String>,
    /// Where it leads at once.
    pub target: Option<String>,
    /// Why it was given up.
    pub reason: Option<String>,
    /// HTTP status of the capture before.
    pub status_before: Option<u16>,
    /// Title of the capture before.
    pub title_before: Option<String>,
    /// When that was fetched, milliseconds since 1970.
    #[schema(value_type = Option<u64>)]
    pub when_before: Option<UnixMillis>,
}

impl Row for ChangedPage {
    const NAMES: &'static [&'static str] =
        &["when", "kind", "url", "status", "title", "target", "reason", "status_before", "title_before", "when_before"];
}

/// Pages that are new, changed, gone, back, moved or given up, in the order of the commits, each with what it was before. What was fetched
/// again and is as it was is not told.
#[utoipa::path(get, path = "/api/v1/reports/changes", tag = "reports", params(WhichChanges, Paging, How), responses(
    (status = 200, content((Page<ChangedPage> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<404>, Refusal<503>,
))]
pub(in crate::admin) async fn changes(request: HttpRequest, node: Data<Node>) -> Answer {
    let which: WhichChanges = query(&request)?;
    super::page(&request, move |paging| read(&node, &which, paging)).await
}

fn read(node: &Node, which: &WhichChanges, paging: &Paging) -> Result<Page<ChangedPage>, ControlError> {
    let words = words(which.kind.as_deref().unwrap_or_default())?;
    let host = which.host.as_deref().map(|host| named(node, host)).transpose()?.map(|found| found.at.host);
    let moment = |name, text: &Option<String>| text.as_deref().map(|text| moment(node, name, text)).transpose();
    let (since, until) = (moment("since", &which.since)?, moment("until", &which.until)?);
    let (storage, oldest) = (&*node.storage, log(&*node.storage).map_err(unread)?.trimmed);
    if let Some((since, until)) = since.zip(until)
        && since >= until
    {
        return Err(ControlError::Invalid(format!(
            "since={}: expected a moment before until={}",
            iso(since),
            iso(until)
        )));
    }
    let bound = |(low, high), at: Option<UnixMillis>, without| match at {
        Some(at) => last_before(storage, (low, high), at),
        None => Ok(without),
    };
    let high = shown(node)?;
    let begin = bound((oldest, high), since, oldest).map_err(unread)?;
    let end = bound((begin, high), until, high).map_err(unread)?;
    let (limit, range) = paging.part(KeyRange::feed(begin, end.max(begin)))?;
    let mut next = paging.cursor.as_ref().and_then(|_| number_before(&range)).unwrap_or(begin);
    let wanted = |entry: &FeedEntry| host.is_none_or(|host| entry.page.host == host) && may_be(entry.kind, &words);
    let (mut found, mut looked) = (Vec::new(), 0);
    while found.len() < limit && looked < LOOKED_AT {
        let part = Part { after: next, until: end, most: CHUNK.min(limit - found.len()) };
        let (items, last) = items(storage, part, wanted).map_err(unread)?;
        let Some(last) = last else { return Ok(Page { items: found, next: None }) };
        (next, looked) = (last, looked + part.most);
        for item in items {
            found.extend(changed(storage, item, &words).map_err(unread)?);
        }
    }
    let next = (next < end).then(|| cursor(&FeedKey { number: next }.encode()));
    Ok(Page { items: found, next })
}

fn moment(node: &Node, name: &str, text: &str) -> Result<UnixMillis, ControlError> {
    typed_moment(text, node.clock.date())
        .ok_or_else(|| ControlError::Invalid(format!("{name}={text}: expected {MOMENT}")))
}

fn words(text: &str) -> Result<Vec<Word>, ControlError> {
    let named = |name: &str| {
        let all: Vec<&str> = Word::ALL.iter().map(|word| word.as_str()).collect();
        let unknown = || ControlError::Invalid(format!("kind={name}: expected some of {}", all.join(", ")));
        Word::ALL.iter().find(|word| word.as_str() == name).copied().ok_or_else(unknown)
    };
    let words: Vec<Word> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(named).collect::<Result<_, _>>()?;
    let told = || Word::ALL.iter().copied().filter(|word| *word != Word::Markup).collect();
    Ok(if words.is_empty() { told() } else { words })
}

/// The number that a range of the feed follows.
fn number_before(range: &KeyRange) -> Option<u64> {
    let first: [u8; 8] = range.from.get(..8)?.try_into().ok()?;
    // A cursor's range begins at its key and one byte more, any other at the next number.
    Some(u64::from_be_bytes(first) - u64::from(range.from.len() == 8))
}

/// Whether an entry of this kind can be one of these.
fn may_be(kind: Visit, words: &[Word]) -> bool {
    let of = |word: &Word| match kind {
        Visit::First => *word == Word::New,
        Visit::Back => *word == Word::Back,
        Visit::Changed => *word == Word::Changed,
        Visit::Little => *word == Word::Little,
        Visit::Numbers => *word == Word::Numbers,
        Visit::Markup => *word == Word::Markup,
        Visit::Redirect => *word == Word::Moved,
        Visit::Gone => *word == Word::Gone,
        Visit::Failed => *word == Word::Failed,
        Visit::Unchanged | Visit::Rejected | Visit::Erased => false,
    };
    words.iter().any(of)
}

/// What an entry says, when it is a change and one of these.
fn changed(
    storage: &dyn Storage,
    Item { number, entry, url, page }: Item,
    words: &[Word],
) -> Result<Option<ChangedPage>, StorageError> {
    let before = capture_before(storage, &entry)?;
    let Some(word) = word(entry.kind, page.as_ref(), before.as_ref()).filter(|word| words.contains(word)) else {
        return Ok(None);
    };
    Ok(Some(ChangedPage {
        seq: number,
        when: entry.at,
        kind: word.as_str().to_owned(),
        url,
        status: page.as_ref().map(|page| page.status),
        title: page.as_ref().and_then(|page| page.title.clone()),
        target: page.and_then(|page| page.remarks.target),
        reason: reason(&entry).map(str::to_owned),
        status_before: before.as_ref().map(|page| page.status),
        when_before: before.as_ref().map(|page| page.fetched),
        title_before: before.and_then(|page| page.title),
    }))
}

/// The word for an entry of this kind, of which the capture and the one before are known; none for what is as it was.
fn word(kind: Visit, page: Option<&PageRecord>, before: Option<&PageRecord>) -> Option<Word> {
    let leads = |page: &PageRecord| (page.how == DoneKind::Redirect).then(|| page.remarks.target.clone());
    match kind {
        Visit::First => Some(Word::New),
        Visit::Back => Some(Word::Back),
        Visit::Changed => Some(Word::Changed),
        Visit::Little => Some(Word::Little),
        Visit::Numbers => Some(Word::Numbers),
        Visit::Markup => Some(Word::Markup),
        Visit::Gone => (!before.is_some_and(|before| is_gone(before.status))).then_some(Word::Gone),
        Visit::Redirect => {
            let same = before.and_then(leads).is_some_and(|was| page.and_then(leads) == Some(was));
            (!same).then_some(Word::Moved)
        }
        Visit::Failed => Some(Word::Failed),
        Visit::Unchanged | Visit::Rejected | Visit::Erased => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::PageUrl;

    fn page(status: u16, how: DoneKind, target: Option<&str>) -> PageRecord {
        let url = PageUrl::from_canonical("http://h.test/a").unwrap();
        let mut page = PageRecord { status, ..PageRecord::new(&url, UnixMillis(5), how) };
        page.remarks.target = target.map(str::to_owned);
        page
    }

    #[test]
    fn the_word_for_an_entry_is_by_its_kind_and_by_what_the_page_was_before() {
        let content = || page(200, DoneKind::Stored, None);
        let leads = |to| page(301, DoneKind::Redirect, Some(to));
        let dead = |status| page(status, DoneKind::Stored, None);
        for (kind, now, before, expected) in [
            (Visit::First, Some(content()), None, Some(Word::New)),
            (Visit::Back, Some(content()), Some(dead(404)), Some(Word::Back)),
            (Visit::Numbers, Some(content()), Some(content()), Some(Word::Numbers)),
            (Visit::Markup, Some(content()), Some(content()), Some(Word::Markup)),
            (Visit::Changed, Some(content()), Some(content()), Some(Word::Changed)),
            (Visit::Unchanged, Some(content()), Some(content()), None),
            (Visit::Redirect, Some(leads("http://h.test/b")), None, Some(Word::Moved)),
            (Visit::Redirect, Some(leads("http://h.test/b")), Some(content()), Some(Word::Moved)),
            (Visit::Redirect, Some(leads("http://h.test/b")), Some(leads("http://h.test/c")), Some(Word::Moved)),
            (Visit::Redirect, Some(leads("http://h.test/b")), Some(leads("http://h.test/b")), None),
            (Visit::Redirect, None, Some(leads("http://h.test/b")), Some(Word::Moved)),
            (Visit::Gone, Some(dead(404)), None, Some(Word::Gone)),
            (Visit::Gone, Some(dead(410)), Some(content()), Some(Word::Gone)),
            (Visit::Gone, Some(dead(410)), Some(dead(404)), None),
            (Visit::Gone, Some(dead(404)), Some(dead(503)), Some(Word::Gone)),
            (Visit::Failed, None, Some(content()), Some(Word::Failed)),
            (Visit::Rejected, None, None, None),
        ] {
            assert_eq!(word(kind, now.as_ref(), before.as_ref()), expected, "{kind} {before:?}");
            assert!(expected.is_none_or(|word| may_be(kind, &[word])), "{kind}");
        }
    }

    #[test]
    fn words_are_those_named_or_all_and_a_page_goes_on_behind_its_cursor() {
        assert!(words("").unwrap().len() + 1 == Word::ALL.len() && !words("").unwrap().contains(&Word::Markup));
        assert_eq!(words("gone, new").unwrap(), [Word::Gone, Word::New]);
        assert!(words("gone,lost").is_err_and(|e| e.to_string().contains("expected some of new, changed, little")));
        let behind = |cursor: Option<String>| {
            number_before(&Paging { limit: None, cursor }.part(KeyRange::feed(3, 900)).unwrap().1)
        };
        assert_eq!(behind(None), Some(3));
        assert_eq!(behind(Some(cursor(&FeedKey { number: 41 }.encode()))), Some(41));
    }
}
