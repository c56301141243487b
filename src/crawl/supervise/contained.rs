//! Panics and hanging waits of single tasks.
//!
//! Waits for a slot, an earliest time, a permit or news have no bound; waits for an answer end by themselves ([`bounded`]).

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".into())
}

/// Spawns `fut` on the current arbiter, the only way in which rooms spawn tasks; its panic costs this task alone and is handed to
/// `on_panic`.
pub fn spawn_contained<F>(fut: F, on_panic: impl FnOnce(String) + 'static)
where
    F: Future<Output = ()> + 'static,
{
    actix_rt::spawn(async move {
        if let Err(panic) = AssertUnwindSafe(fut).catch_unwind().await {
            on_panic(panic_text(&*panic));
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
