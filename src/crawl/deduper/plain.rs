//! A seed that was written without a scheme: https is asked first, http in its place when https does not answer.

use super::Deduper;
use crate::crawl::admit::admit;
use crate::crawl::lease::Lease;
use crate::storage::StorageError;
use crate::storage::ledger::{Ending, LinkChange, NewUrl};
use crate::storage::values::SeedValue;

impl Deduper {
    /// The same seed by http, judged, with what was said of it, when https does not answer: its URL then ends with the first
    /// failure, in the same commit. A bad certificate is an answer, and no reason to go on without TLS.
    pub(super) fn by_http(
        &self,
        lease: &Lease,
        ending: &mut Ending,
    ) -> Result<Option<(LinkChange, SeedValue)>, StorageError> {
        let (Ending::Retry { reason, .. } | Ending::Error(reason)) = *ending else { return Ok(None) };
        if !reason.is_no_https() {
            return Ok(None);
        }
        let Some(said) = self.node.guess_of(lease)? else { return Ok(None) };
        let rest = lease.url.as_str().trim_start_matches("https:");
        let Ok(url) = self.node.crawl.live().canon.parse(&format!("http:{rest}")) else { return Ok(None) };
        log::warn!(
            "https does not answer for a seed without a scheme, http is asked: url={} reason={reason} instead={url}",
            lease.url
        );
        *ending = Ending::Error(reason);
        let said = SeedValue { url: url.as_str().to_owned(), guessed: false, ..(*said).clone() };
        let via = Some(lease.url.as_str().into());
        let new = NewUrl { via, hops: lease.entry.hops, ..NewUrl::seed(url) };
        Ok(Some((admit(&self.node, [new]), said)))
    }
}
