//! Two captures of a page compared: status, title, and the text they show.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Query};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};

use super::query::absent;
use super::snapshot::turn;
use crate::admin::bounded::reading;
use crate::admin::control::ControlError;
use crate::admin::find::{Target, unread};
use crate::admin::problem::{Answer, Problem, Refusal, ok};
use crate::admin::urls::UrlQuery;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::crawl::stored::{Capture, MOST, captures, stored};
use crate::domain::diff::{Compared, Piece, compare};
use crate::domain::text::cut_at;
use crate::storage::values::{DoneKind, PageRecord};
use crate::warc::date::{MOMENT, iso, typed_moment};

/// Captures looked at for one with another content.
const LOOKED_AT: usize = 1_000;
/// Lines told, and bytes of each.
const LINES: usize = 1_000;
const LINE: usize = 2_000;

/// Which captures.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::admin) struct Between {
    /// The older one: the newest of this moment or before. Milliseconds since 1970, a time such as 2026-11-28T12:00:00Z, a day, or how long
    /// ago such as 2h. Without it the newest whose content is another than that of the newer one.
    from: Option<String>,
    /// The newer one: the newest of this moment or before. Without it the newest of all.
    to: Option<String>,
}

/// One of two captures. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffSide {
    /// When its request was sent.
    pub captured_ms: u64,
    /// HTTP status.
    pub status: u16,
    /// The page's title.
    pub title: Option<String>,
    /// Where it leads at once.
    pub target: Option<String>,
}

/// A block of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLine {
    /// `-` in the older capture alone, `+` in the newer one alone, a space in both, `…` for blocks of both that are left out.
    pub sign: char,
    /// The text, or how many are left out.
    pub text: String,
}

/// What changed between two captures of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageDiff {
    /// The URL.
    pub url: String,
    /// The older capture.
    pub from: DiffSide,
    /// The newer capture.
    pub to: DiffSide,
    /// The changes of its text, each with the block before and the block behind it.
    pub lines: Vec<DiffLine>,
    /// Blocks that are in the older one alone.
    pub removed: u64,
    /// Blocks that are in the newer one alone.
    pub added: u64,
    /// Blocks that are in both.
    pub same: u64,
    /// There is more than is told: 1000 blocks, of 2000 bytes each, and 2000 blocks on each side are compared.
    pub cut: bool,
}

/// What changed between two captures of a page, by the blocks of its text. Made of their records in the archive.
#[utoipa::path(get, path = "/api/v1/diff", tag = "pages", params(UrlQuery, Between), responses(
    (status = 200, body = PageDiff),
    Refusal<400>, Refusal<404>, Refusal<410>, Refusal<413>, Refusal<415>, Refusal<503>,
))]
pub(in crate::admin) async fn diff(
    query: Query<UrlQuery>,
    between: Query<Between>,
    node: Data<Node>,
    turns: Data<Semaphore>,
) -> Answer {
    let turn = turn(turns)?;
    let read = reading(move || {
        let _turn = turn;
        let Between { from, to } = between.into_inner();
        Ok(of(&node, &query.url, from.as_deref(), to.as_deref()))
    });
    ok(read.await??)
}

/// What changed between two captures of a URL, each named by a moment.
///
/// # Errors
/// A [`Problem`] that says what is missing: a second capture, or another content; a file of the archive; text.
pub fn of(node: &Node, url: &str, from: Option<&str>, to: Option<&str>) -> Result<PageDiff, Problem> {
    let moment = |name, text: Option<&str>| text.map(|text| moment(node, name, text)).transpose();
    let (from, to) = (moment("from", from)?, moment("to", to)?);
    let target = Target::typed(node, url)?.target;
    let (older, newer) = pair(node, &target, from, to)?;
    let (old, new) = (Shown::of(node, &target, &older)?, Shown::of(node, &target, &newer)?);
    let (old_text, new_text) = (old.text(), new.text());
    let compared = compare(&old_text, &new_text);
    let lines = lines(&compared, &old_text, &new_text);
    let cut = compared.cut || compared.pieces.len() > LINES || old_text.iter().chain(&new_text).any(|t| t.len() > LINE);
    let Compared { removed, added, same, .. } = compared;
    let [removed, added, same] = [removed, added, same].map(|n| n as u64);
    let url = target.url.as_str().to_owned();
    Ok(PageDiff { url, from: old.side, to: new.side, lines, removed, added, same, cut })
}

fn moment(node: &Node, name: &str, text: &str) -> Result<UnixMillis, ControlError> {
    typed_moment(text, node.clock.date())
        .ok_or_else(|| ControlError::Invalid(format!("{name}={text}: expected {MOMENT}")))
}

/// The captures that are compared, the older one first.
fn pair(
    node: &Node,
    target: &Target,
    from: Option<UnixMillis>,
    to: Option<UnixMillis>,
) -> Result<(Capture, Capture), Problem> {
    let until = |at: Option<UnixMillis>, most| captures(&*node.storage, target.key, at, most).map_err(unread);
    let newest = |at: Option<UnixMillis>| -> Result<Capture, Problem> {
        until(at, 1)?.pop().ok_or_else(|| absent(target, at.map(|at| at.0)).into())
    };
    let newer = newest(to)?;
    if let Some(from) = from {
        let older = newest(Some(from))?;
        if older.1.fetched >= newer.1.fetched {
            let [from, to] = [&older, &newer].map(|(_, page)| iso(page.fetched));
            return Err(ControlError::Invalid(match from == to {
                true => format!("both moments name one capture, of {from}: there is nothing to compare it with"),
                false => format!("`from` names the capture of {from} and `to` an older one, of {to}: turn them round"),
            })
            .into());
        }
        return Ok((older, newer));
    }
    let before = UnixMillis(newer.1.fetched.0.saturating_sub(1));
    let older = until(Some(before), LOOKED_AT)?;
    let seen = older.len();
    older.into_iter().find(|(_, page)| is_another(page, &newer.1)).map(|older| (older, newer.clone())).ok_or_else(
        || {
            let (url, at) = (&target.url, iso(newer.1.fetched));
            ControlError::Absent(match seen {
                0 => format!("there is one capture of {url} only, of {at}: nothing before it to compare it with"),
                n => format!("the content of {url} is the same in the capture of {at} and in the {n} before it"),
            })
            .into()
        },
    )
}

/// Whether the older of two captures has another content or status. That a page has not changed since is no status of it.
fn is_another(older: &PageRecord, newer: &PageRecord) -> bool {
    let content = match (older.content, newer.content) {
        (Some(older), Some(newer)) => older != newer,
        _ => older.payload_digest != newer.payload_digest,
    };
    let not_modified = [older, newer].iter().any(|page| page.how == DoneKind::NotModified);
    older.how != DoneKind::NotModified && (content || !not_modified && older.status != newer.status)
}

/// What a capture shows.
struct Shown {
    side: DiffSide,
    blocks: Vec<crate::domain::card::Block>,
}

impl Shown {
    fn of(node: &Node, target: &Target, capture: &Capture) -> Result<Self, Problem> {
        let (rules, page) = (&node.crawl.rules, &capture.1);
        let picked = stored(&*node.storage, &rules.settings.warc_dir(), capture, MOST)?;
        let looked = rules.again().read(&picked, &target.url);
        let blocks = looked.and_then(|page| page.facts.for_card).map(|card| card.blocks);
        let blocks = blocks.or_else(|| picked.body.is_empty().then(Vec::new)).ok_or_else(|| {
            let kind = page.mime.as_deref().unwrap_or("no type that is known");
            let what = format!("there is no text in the capture of {}, which is {kind}", iso(page.fetched));
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what)
        })?;
        let (title, target) = (page.title.clone(), page.remarks.target.clone());
        let side = DiffSide { captured_ms: page.fetched.0, status: page.status, title, target };
        Ok(Self { side, blocks })
    }

    fn text(&self) -> Vec<&str> {
        self.blocks.iter().map(|block| block.text.as_str()).collect()
    }
}

fn lines(compared: &Compared, old: &[&str], new: &[&str]) -> Vec<DiffLine> {
    let line = |piece: &Piece| {
        let (sign, text) = match *piece {
            Piece::Same(n) => (' ', new[n]),
            Piece::Removed(n) => ('-', old[n]),
            Piece::Added(n) => ('+', new[n]),
            Piece::Skipped(n) => return DiffLine { sign: '…', text: n.to_string() },
        };
        let shown = cut_at(text, LINE);
        let more = if shown.len() < text.len() { "…" } else { "" };
        DiffLine { sign, text: format!("{shown}{more}") }
    };
    compared.pieces.iter().take(LINES).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::ContentDigest;
    use crate::domain::url::PageUrl;

    #[test]
    fn a_capture_is_another_by_its_content_whatever_the_coding_and_by_its_status() {
        let page = |status, content: Option<u8>, payload, how| {
            let url = PageUrl::from_canonical("http://h.test/").unwrap();
            let content = content.map(|n| ContentDigest([n; 16]));
            PageRecord { status, content, payload_digest: [payload; 20], ..PageRecord::new(&url, UnixMillis(1), how) }
        };
        let stored = |status, content, payload| page(status, content, payload, DoneKind::Stored);
        let not_modified = |content, payload| page(304, content, payload, DoneKind::NotModified);
        for (older, newer, expected) in [
            (stored(200, Some(1), 1), stored(200, Some(2), 2), true),
            (stored(200, Some(1), 1), stored(200, Some(1), 2), false),
            (stored(200, Some(1), 1), stored(404, Some(1), 1), true),
            (stored(200, None, 1), stored(200, None, 1), false),
            (stored(200, None, 1), stored(200, Some(1), 2), true),
            (stored(200, Some(1), 1), not_modified(Some(1), 1), false),
            (stored(200, Some(1), 1), not_modified(Some(2), 2), true),
            (not_modified(Some(1), 1), stored(200, Some(2), 2), false),
        ] {
            assert_eq!(is_another(&older, &newer), expected, "{older:?} {newer:?}");
        }
    }
}
