//! Somebody who looks at the counts all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lycosa::admin::status;
use lycosa::crawl::node::Node;
use lycosa::telemetry::StatusSnapshot;

/// Looks at the counts all the time (I2).
pub struct Looker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Result<u64, String>>>,
}

impl Looker {
    /// `may_go_back`: once; `again`: at any time.
    pub fn start(node: Arc<Node>, mut may_go_back: bool, again: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let over = stop.clone();
        let look = move || {
            let mut looks = 0;
            let (mut discovered, mut finished) = (0, 0);
            loop {
                let last = over.load(Ordering::Acquire);
                let Some(s) = look_at(&node) else { continue };
                looks += 1;
                if !s.adds_up() {
                    return Err(format!("I2: a look at which the states do not add up: {s:?}"));
                }
                let back = s.discovered < discovered || s.done + s.errors < finished;
                if back && !again && !std::mem::take(&mut may_go_back) {
                    return Err(format!(
                        "I2: counts went back, discovered was {discovered}, finished {finished}: {s:?}"
                    ));
                }
                (discovered, finished) = (s.discovered, s.done + s.errors);
                if last {
                    return Ok(looks);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        Self { stop, thread: Some(std::thread::spawn(look)) }
    }

    /// Ends, and fails if ever the counts did not add up.
    pub fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let said = |panic: Box<dyn std::any::Any + Send>| {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                format!("a look at the status died: {}", text.unwrap_or("without a word"))
            };
            thread.join().map_err(said).unwrap().unwrap();
        }
    }
}

/// A look at the counts; none when it met a fault that was injected into the database, which was not meant for it.
fn look_at(node: &Node) -> Option<StatusSnapshot> {
    let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| status(node)));
    let is_injected = |panic: &Box<dyn std::any::Any + Send>| {
        panic.downcast_ref::<String>().is_some_and(|text| text.starts_with("fault point"))
    };
    match looked {
        Ok(status) => Some(status),
        Err(panic) if is_injected(&panic) => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}
