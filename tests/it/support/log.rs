//! The log of the test process: the latest lines for a failure's report, and every error line.

use std::collections::VecDeque;
use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

/// Error lines that tests with faults cause on purpose; any other fails the test that finds it.
const EXPECTED: [&str; 12] = [
    "commit lost, its pages are taken up again",
    "URL poisoned after repeated crashes",
    "fault point",
    "fault injected",
    "injected",
    "seen test failed",
    "the store cannot open its files",
    "the archive cannot be cut back",
    "the store was not closed cleanly",
    "disk low",
    "panicked; who asked is told so", // one of the engine's promises
    "async_nats",                     // servers that are killed
];
const KEPT: usize = 300;

static LATEST: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static UNEXPECTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static SET: Once = Once::new();

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("lycosa") || metadata.level() == Level::Error
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let thread = std::thread::current().name().unwrap_or("?").to_owned();
        let line = format!("{:<5} [{thread}] {}: {}", record.level(), record.target(), record.args());
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() >= KEPT {
            latest.pop_front();
        }
        latest.push_back(line.clone());
        if record.level() == Level::Error && !EXPECTED.iter().any(|part| line.contains(part)) {
            UNEXPECTED.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    fn flush(&self) {}
}

/// Starts keeping lines.
pub fn init() {
    SET.call_once(|| {
        if log::set_boxed_logger(Box::new(Keeper)).is_ok() {
            log::set_max_level(LevelFilter::Info);
        }
        // Panics at fault points are wanted; their stack traces would hide what matters.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let why = info.payload().downcast_ref::<String>();
            if !why.is_some_and(|why| why.starts_with("fault point")) {
                usual(info);
            }
        }));
    });
}

/// The latest lines of all tests of this process.
pub fn latest() -> String {
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    latest.iter().cloned().collect::<Vec<_>>().join("\n")
}

/// Fails when an error was logged that no test wants.
pub fn assert_no_unexpected_errors() {
    let lines = UNEXPECTED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(lines.is_empty(), "errors were logged: {lines:#?}");
}
