//! A page that was fetched before, for a sitemap says that it has changed: it is asked for on the condition that it has.

use crate::crawl::lease::Lease;
use crate::domain::revisit::RequeueReason;
use crate::net::protocol::Conditional;
use crate::storage::values::PageRecord;

/// Longest validators that are sent; longer ones are kept in part only.
const LONGEST: [usize; 2] = [255, 63];

/// The condition, where the last capture was whole and its server gave validators. A recrawl that the operator has ordered asks for
/// everything, and so do one for the sake of the page's links and a sitemap that says what was not heeded yet.
pub(super) fn condition(lease: &Lease, last: Option<&PageRecord>) -> Option<Conditional> {
    let (again, last) = (lease.entry.again.as_ref()?, last?);
    let needed = matches!(again.why, RequeueReason::Recrawl | RequeueReason::Depth)
        || again.why.is_led()
        || last.sitemap.as_ref().is_some_and(|sitemap| sitemap.put_off);
    if needed { None } else { validators(last) }
}

fn validators(last: &PageRecord) -> Option<Conditional> {
    let whole = matches!(last.status, 200 | 304) && last.cut.is_none() && last.content.is_some();
    let sendable =
        |value: &String, longest| value.len() <= longest && value.bytes().all(|b| (b' '..=b'~').contains(&b));
    let [etag, date] = LONGEST;
    let known = Conditional {
        etag: last.etag.clone().filter(|value| sendable(value, etag)),
        last_modified: last.last_modified.clone().filter(|value| sendable(value, date)),
    };
    Some(known).filter(|known| whole && *known != Conditional::default())
}
