//! Panics and hanging waits of single tasks.
//!
//! Waits for a slot, an earliest time, a permit or news have no bound; waits for an answer end by themselves ([`bounded`]).

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".into())
}

/// A future whose panic becomes `Err(message)`; the only way in which rooms spawn tasks.
pub struct Contained<F>(Pin<Box<F>>);

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let fut = &mut self.0;
        match catch_unwind(AssertUnwindSafe(|| fut.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(v)) => Poll::Ready(Ok(v)),
            Err(panic) => Poll::Ready(Err(panic_text(&*panic))),
        }
    }
}

/// Spawns `fut` on the current arbiter; its panic costs this task alone and is handed to `on_panic`.
pub fn spawn_contained<F>(fut: F, on_panic: impl FnOnce(String) + 'static)
where
    F: Future<Output = ()> + 'static,
{
    actix_rt::spawn(async move {
        if let Err(why) = Contained(Box::pin(fut)).await {
            on_panic(why);
        }
    });
}

/// Waits for something that has time-outs of its own. What is still not there after `limit` hangs: its task dies of it, and
/// what it holds comes back by Drop.
pub async fn bounded<T>(limit: Duration, what: &str, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, wait).await {
        Ok(out) => out,
        Err(_) => die(format!("hung for {} s: {what}", limit.as_secs_f32())),
    }
}

/// Unwinds to the guard of this actor or task, as a panic does, but without a trace: nothing is wrong with the code here.
pub fn die(why: String) -> ! {
    std::panic::resume_unwind(Box::new(why))
}
