//! Every answer comes in time: an actor or a disk that does not answer gives 503.

use std::future::Future;
use std::time::Duration;

use actix_web::web;

use super::control::ControlError;

/// Longest wait for an actor or for a read of the database.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What a crawl answers, in time.
///
/// # Errors
/// Its own, or [`ControlError::Unavailable`] when it does not come within ten seconds.
pub(super) async fn within<T>(answer: impl Future<Output = Result<T, ControlError>>) -> Result<T, ControlError> {
    let late = |_| ControlError::Unavailable(format!("no answer within {} s; see /api/v1/actors", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, answer).await.map_err(late)?
}

/// What a read of the database gives, on a thread that may block. `look` must be bounded in what it reads.
///
/// # Errors
/// Its own, or [`ControlError::Unavailable`] when it takes longer than ten seconds or panics.
pub(super) async fn reading<T, F>(look: F) -> Result<T, ControlError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, ControlError> + Send + 'static,
{
    let gone = |_| ControlError::Unavailable("the read was given up; see the log".into());
    within(async { web::block(look).await.map_err(gone)? }).await
}
