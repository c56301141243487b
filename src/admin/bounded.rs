//! Every answer comes in time: an actor or a disk that does not answer gives 503.

use std::fmt::Display;
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
    in_time(PATIENCE, answer, || "see `lycosa ctl actors`".into()).await
}

/// What becomes of an order, in time. One that takes longer is not called back: `look` names where it shows whether it was
/// carried out after all.
///
/// # Errors
/// Its own, or [`ControlError::Unavailable`] when it does not come within ten seconds.
pub(super) async fn ordered<T>(
    answer: impl Future<Output = Result<T, ControlError>>,
    look: impl Display,
) -> Result<T, ControlError> {
    in_time(PATIENCE, answer, || still(look)).await
}

fn still(look: impl Display) -> String {
    format!("it may still take effect, look at {look}")
}

async fn in_time<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, ControlError>>,
    advice: impl FnOnce() -> String,
) -> Result<T, ControlError> {
    let late = |_| ControlError::Unavailable(format!("no answer within {} s; {}", patience.as_secs(), advice()));
    tokio::time::timeout(patience, answer).await.map_err(late)?
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_is_late_says_that_it_may_still_take_effect_and_where_to_look() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let never = std::future::pending::<Result<(), ControlError>>();
        let late = in_time(Duration::ZERO, never, || still("`lycosa ctl jobs`"));
        let told = runtime.block_on(late).unwrap_err();
        let expected = "no answer within 0 s; it may still take effect, look at `lycosa ctl jobs`";
        assert_eq!(told, ControlError::Unavailable(expected.into()));
        let refused = || std::future::ready(Err::<(), _>(ControlError::Refused("no".into())));
        assert_eq!(runtime.block_on(ordered(refused(), "x")), refused().into_inner());
    }
}
