//! Waits that must end by themselves. Waits for a slot, an earliest time, a permit or news have no bound and are none of
//! these; waits for an answer are.

use std::future::Future;
use std::time::Duration;

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
