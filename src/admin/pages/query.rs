//! Pages: captures from storage, bytes from the archive.

use std::io::Read;

use actix_web::http::StatusCode;
use serde_json::json;

use crate::admin::ControlError;
use crate::admin::find::{Target, unread};
use crate::admin::hosts::query::named;
use crate::admin::pages::{CapturePage, Form, PageDetail, PageQuery, Snapshot};
use crate::admin::paging::{Paging, records};
use crate::admin::problem::Problem;
use crate::admin::search;
use crate::admin::views::CaptureView;
use crate::base::time::UnixMillis;
use crate::content::charset::detect_in_domain;
use crate::content::html::{ExtractOptions, PageReader};
use crate::content::mime::{Kind, sniff};
use crate::crawl::node::Node;
use crate::crawl::stored::{Capture, MOST, StoredError, captures, stored};
use crate::document::decoded;
use crate::storage::keys::KeyRange;
use crate::storage::tables;
use crate::storage::values::PageRecord;
use crate::warc::date::iso;
use crate::warc::pick::{PickError, Picked};

/// Captures shown of one URL.
const CAPTURES: usize = 100;
/// A page of captures, in key order.
pub(super) fn pages(node: &Node, query: &PageQuery, paging: &Paging) -> Result<CapturePage, ControlError> {
    let range = match &query.host {
        Some(host) => KeyRange::host_crawl(named(node, host)?.at.crawl(node.crawl.id)),
        None => KeyRange::all(),
    };
    let oldest =
        query.since.map(|seconds| UnixMillis(node.clock.date().0.saturating_sub(seconds.saturating_mul(1_000))));
    let wanted = |page: &PageRecord| {
        query.status.is_none_or(|status| page.status == status)
            && query.mime.as_ref().is_none_or(|mime| is_of(page.mime.as_deref().unwrap_or_default(), mime))
            && oldest.is_none_or(|oldest| page.fetched >= oldest)
    };
    let looked = records::<tables::Pages>(node, paging.part(range)?, wanted).map_err(unread)?;
    let items = looked.items.iter().map(|(_, page)| CaptureView::from(page)).collect();
    Ok(CapturePage { items, next: looked.next(), looked_at: looked.looked_at })
}

/// One capture of a URL, and the list of all.
pub(super) fn page(node: &Node, url: &str, at: Option<u64>, with_card: bool) -> Result<PageDetail, Problem> {
    let target = Target::typed(node, url)?.target;
    let captures = captures(&*node.storage, target.key, None, CAPTURES).map_err(unread)?;
    let capture = pick(&captures, at).ok_or_else(|| absent(&target, at))?;
    let (mut card, mut linked) = (None, None);
    if with_card {
        let rules = &node.crawl.rules;
        let page = rules.again().read(&bytes(node, capture)?, &target.url);
        let made = page.and_then(|page| page.facts.card(target.url.as_str(), rules.settings.index.keywords));
        linked = made.as_ref().and_then(|card| search::linked_of(node, &target.url, card.out_links.into()));
        card = Some(json!(made));
    }
    let captures = captures.iter().map(|(_, page)| CaptureView::from(page)).collect();
    Ok(PageDetail { capture: CaptureView::from(&capture.1), captures, card, linked })
}

/// The bytes of one capture.
pub(super) fn snapshot(node: &Node, url: &str, at: Option<u64>, form: Form) -> Result<Snapshot, Problem> {
    let target = Target::typed(node, url)?.target;
    let captures = captures(&*node.storage, target.key, None, CAPTURES).map_err(unread)?;
    let capture = pick(&captures, at).ok_or_else(|| absent(&target, at))?;
    shown(bytes(node, capture)?, &target, &capture.1, form)
}

/// `text/html` is of `text/html` and of `text/`.
fn is_of(mime: &str, wanted: &str) -> bool {
    if wanted.ends_with('/') { mime.starts_with(wanted) } else { mime.eq_ignore_ascii_case(wanted) }
}

/// The newest that is not after `at`.
fn pick(captures: &[Capture], at: Option<u64>) -> Option<&Capture> {
    captures.iter().find(|(_, page)| at.is_none_or(|at| page.fetched.0 <= at))
}

/// The response that holds the bytes of a capture.
fn bytes(node: &Node, capture: &Capture) -> Result<Picked, Problem> {
    Ok(stored(&*node.storage, &node.crawl.rules.settings.warc_dir(), capture, MOST)?)
}

impl From<StoredError> for Problem {
    fn from(error: StoredError) -> Self {
        match error {
            StoredError::Storage(error) => unread(error).into(),
            StoredError::Nowhere => ControlError::Absent(error.to_string()).into(),
            StoredError::Pick(PickError::Gone(_)) => Self::new(StatusCode::GONE, error.to_string()),
            StoredError::Pick(PickError::TooLarge { .. }) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            StoredError::Pick(PickError::Damaged { .. }) => ControlError::Unavailable(error.to_string()).into(),
        }
    }
}

/// Where a running crawl says why there is no capture.
pub const EXPLAINED: &str = "`lycosa ctl explain` says why";

pub(super) fn absent(target: &Target, at: Option<u64>) -> ControlError {
    let time = at.map(|at| format!(" of {} or before", iso(UnixMillis(at)))).unwrap_or_default();
    ControlError::Absent(format!("there is no capture of {}{time}; {EXPLAINED}", target.url))
}

fn shown(picked: Picked, target: &Target, capture: &PageRecord, form: Form) -> Result<Snapshot, Problem> {
    let (content_type, content_encoding) = (picked.field("content-type"), picked.field("content-encoding"));
    let (kind, body) = match form {
        Form::Stored => ("application/octet-stream", picked.body),
        Form::Text | Form::Rendered => {
            readable(picked, target, content_type.as_deref(), content_encoding.as_deref(), form)?
        }
    };
    Ok(Snapshot { body, kind, capture: CaptureView::from(capture), content_type, content_encoding })
}

/// It cannot be shown in the form asked for.
fn unshown(why: String) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
}

/// Codings taken off, in UTF-8.
fn readable(
    picked: Picked,
    target: &Target,
    content_type: Option<&str>,
    coding: Option<&str>,
    form: Form,
) -> Result<(&'static str, Vec<u8>), Problem> {
    let mut body = Vec::new();
    let coded = decoded(&*picked.body, coding.unwrap_or_default(), MOST).read_to_end(&mut body);
    coded.map_err(|e| unshown(format!("its content coding cannot be taken off: {e}; ask with as=stored")))?;
    let url = target.url.to_url();
    match (sniff(content_type, &body), form) {
        (kind @ (Kind::Html | Kind::Xhtml), form) => {
            let mut reader = PageReader::of_kind(kind, content_type, &url, ExtractOptions::default(), MOST);
            reader.push(&body);
            let page = reader.finish();
            Ok(match form {
                Form::Rendered => ("text/html; charset=utf-8", inert(&page.charset.decode(&body).0).into_bytes()),
                _ => ("text/plain; charset=utf-8", page.facts.text.into_bytes()),
            })
        }
        (Kind::Text | Kind::Xml, _) => {
            let top_level = url.domain().and_then(|domain| domain.rsplit('.').next());
            let (charset, _) = detect_in_domain(content_type, &body, top_level);
            Ok(("text/plain; charset=utf-8", charset.decode(&body).0.into_owned().into_bytes()))
        }
        (Kind::Other, _) => {
            let kind = content_type.unwrap_or("no type that is known");
            Err(unshown(format!("there is no text in {kind}: ask with as=stored")))
        }
    }
}

/// A page whose `link` elements mean nothing: a preconnect would reach its server, which no policy of ours forbids.
fn inert(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        let is_link = tag.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case("link"));
        out.push_str(before);
        out.push_str(if is_link { "<x-" } else { "<" });
        rest = &tag[1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_rendered_page_has_no_link_element_that_could_reach_a_server() {
        let page = "<head><LINK rel=preconnect href=//a.test><link\n rel=x><a href=x>é</a><";
        let inert = super::inert(page);
        assert_eq!(inert, "<head><x-LINK rel=preconnect href=//a.test><x-link\n rel=x><a href=x>é</a><");
    }
}
