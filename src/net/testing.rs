//! What several tests of this room and of the configuration need.

use std::time::Duration;

use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};

/// What a test waits for at most before it calls the code hung.
pub(crate) const HUNG: Duration = Duration::from_secs(60);

/// Runs a test that waits.
pub(crate) fn on_runtime<R>(test: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(HUNG, test).await.expect("the test hangs") })
}

/// A URL, nothing of it left out.
pub(crate) fn url(text: &str) -> PageUrl {
    Canonicaliser::new(CleanRules::keep_all()).parse(text).unwrap()
}
