//! Log set-up: `env_logger` decides what is written, this file how a line looks and where it goes.
//!
//! Text: `2026-11-27T12:00:00.000Z info  lycosa::store: page committed url=…`, lower-case. JSON: one object a line
//! with `ts`, `level`, `target`, `msg`, and a key for each field of the message. Control characters from outside never reach a terminal or split a line.

mod fields;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use env_logger::fmt::Formatter;
use env_logger::{Builder, Logger, Target};
use log::{Level, Log, Metadata, Record};
use serde::{Deserialize, Serialize};

use crate::base::section::section;
use crate::base::sync::lock;
use crate::base::units::duration;
use fields::parted;

/// Form of the log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

section! {
    /// `[log]`.
    LogSection {
        /// `error`, `warn`, `info`, `debug`, `trace`, or `RUST_LOG` directives.
        level: String = "info".into();
        /// Form.
        format: LogFormat = LogFormat::Text;
        /// A summary line is written this often; `0s` for never.
        summary: Duration as "duration" = Duration::from_secs(60);
    }
}

type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

static ERRORS: AtomicU64 = AtomicU64::new(0);
static INSTALLED: OnceLock<&'static Counting> = OnceLock::new();
static SINK: Mutex<Option<Sink>> = Mutex::new(None);

/// Lines logged at level error since the process began, whatever the level written; tests assert on it.
pub fn errors_logged() -> u64 {
    ERRORS.load(Ordering::Relaxed)
}

/// Sends complete lines to `sink` instead of stderr, so that a progress display is not torn; `None` undoes it.
pub fn redirect(sink: Option<Sink>) {
    *lock(&SINK) = sink;
}

/// Starts logging; `RUST_LOG` (`rust_log`, as the caller read it) wins over the configured level.
///
/// Does nothing when a logger is already set (a second call, or a program that embeds the library).
pub fn init(section: &LogSection, rust_log: Option<&str>) {
    let inner = build(section, rust_log);
    let widest = inner.filter().max(log::LevelFilter::Error);
    let logger: &'static Counting =
        Box::leak(Box::new(Counting { inner: RwLock::new(inner), rust_log: rust_log.map(str::to_owned) })); // lives as long as the process
    if log::set_logger(logger).is_ok() {
        log::set_max_level(widest);
        let _ = INSTALLED.set(logger);
    }
}

/// Takes up another level (or form) while running; the one of `RUST_LOG` holds unless it is overruled. Does nothing when
/// [`init`] did not set the logger.
pub fn reconfigure(section: &LogSection, overrules_rust_log: bool) {
    let Some(logger) = INSTALLED.get() else { return };
    let rust_log = logger.rust_log.as_deref().filter(|_| !overrules_rust_log);
    let inner = build(section, rust_log);
    log::set_max_level(inner.filter().max(log::LevelFilter::Error));
    *logger.inner.write().unwrap_or_else(PoisonError::into_inner) = inner;
}

fn build(section: &LogSection, rust_log: Option<&str>) -> Logger {
    let json = section.format == LogFormat::Json;
    Builder::new()
        // Only benches and tests use that parser, and it complains about every hostile page.
        .filter_module("html5ever", log::LevelFilter::Off)
        .parse_filters(&directives(rust_log.filter(|d| !d.trim().is_empty()).unwrap_or(&section.level)))
        .target(Target::Pipe(Box::new(Lines)))
        .format(move |out, record| if json { json_line(out, record) } else { text_line(out, record) })
        .build()
}

/// Crates whose own workings are nobody's business here: below warn they are heard only when directives name them.
const QUIET: &str = "actix_http actix_rt actix_server actix_web async_nats awc h2 hyper hyper_util mio rustls want";

/// Crates that warn of each packet that is no answer to them: whoever can send packets could fill the disk. What comes of a look-up
/// is told by this crate. They are heard below error only when directives name them.
const OPEN_TO_ALL: &str = "hickory_net hickory_proto hickory_resolver";

/// The directives with those of other crates in front, so that a general level does not let them speak.
fn directives(asked: &str) -> String {
    use log::LevelFilter;
    let level = |d: &str| d.trim().rsplit('=').next().unwrap_or_default().parse::<LevelFilter>().ok();
    let general = asked.split(',').rfind(|d| !d.contains('=') && level(d).is_some()).and_then(level);
    let general = general.unwrap_or(LevelFilter::Off);
    let named = |name: &str| asked.split(',').any(|d| d.trim().split('=').next() == Some(name));
    let kept_to = |names: &'static str, most: LevelFilter| {
        let names = names.split(' ').filter(|name| general > most && !named(name));
        names.map(|name| format!("{name}={most}")).collect::<Vec<_>>()
    };
    let mut all = kept_to(QUIET, LevelFilter::Warn);
    all.extend(kept_to(OPEN_TO_ALL, LevelFilter::Error));
    all.push(asked.to_owned());
    all.join(",")
}

/// Counts errors before handing on.
struct Counting {
    inner: RwLock<Logger>,
    rust_log: Option<String>,
}

impl Counting {
    fn inner(&self) -> std::sync::RwLockReadGuard<'_, Logger> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The HTTP server logs a request that it cannot read as an error; that is its client's, and nobody here is to be woken.
fn is_client_fault(record: &Record<'_>) -> bool {
    record.level() == Level::Error && record.target().starts_with("actix_http::h1") && {
        let said = record.args().to_string();
        said.starts_with("stream error: ") || said.starts_with("MAX_BUFFER_SIZE ")
    }
}

impl Log for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Error || self.inner().enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if is_client_fault(record) {
            let quiet = Metadata::builder().level(Level::Debug).target(record.target()).build();
            return self.inner().log(&Record::builder().metadata(quiet).args(*record.args()).build());
        }
        if record.level() == Level::Error {
            ERRORS.fetch_add(1, Ordering::Relaxed);
        }
        self.inner().log(record);
    }

    fn flush(&self) {
        self.inner().flush();
    }
}

/// Receives whole lines from `env_logger`.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let sink = lock(&SINK).clone();
        match sink {
            Some(sink) => sink(line),
            None => io::stderr().lock().write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn level_name(level: Level) -> String {
    level.as_str().to_ascii_lowercase()
}

fn text_line(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let message = escaped(&record.args().to_string());
    let time = out.timestamp_millis();
    writeln!(out, "{time} {:<5} {}: {message}", level_name(record.level()), record.target())
}

fn json_line(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let time = out.timestamp_millis().to_string();
    let line = json_text(&time, record.level(), record.target(), &record.args().to_string());
    writeln!(out, "{line}")
}

/// The names that every object has; a field of one of them comes as `field_NAME`.
const OWN: [&str; 4] = ["ts", "level", "target", "msg"];

fn json_text(time: &str, level: Level, target: &str, message: &str) -> String {
    let (message, fields) = parted(message);
    let text = |value: &serde_json::Value| escaped_json(&value.to_string());
    let mut line = format!(
        r#"{{"ts":{},"level":"{}","target":{},"msg":{}"#,
        text(&time.into()),
        level_name(level),
        text(&target.into()),
        text(&message.into())
    );
    for (i, (name, value)) in fields.iter().enumerate() {
        if fields.iter().take(i).all(|(before, _)| before != name) {
            let own = if OWN.contains(name) { "field_" } else { "" };
            let _ = write!(line, r#","{own}{name}":{}"#, text(value)); // writing to a String cannot fail
        }
    }
    line.push('}');
    line
}

/// Characters that move a cursor, end a line or turn the reading direction.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with unsafe characters written as `\n` or `\u{1b}`.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// JSON text may hold DEL, C1 and direction characters as they are; here they are written as `\u009b`.
fn escaped_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // All of them lie in the basic plane, so four digits suffice; writing to a String cannot fail.
        let _ = if is_unsafe(c) { write!(out, "\\u{:04x}", u32::from(c)) } else { out.write_char(c) };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_cannot_split_a_line_or_move_the_cursor() {
        assert_eq!(escaped("a\nb\u{1b}[2J\u{9b}é\u{202e}x"), "a\\nb\\u{1b}[2J\\u{9b}é\\u{202e}x");
    }

    #[test]
    fn a_json_line_is_one_object_without_raw_control_characters() {
        let message = "a\n\"b\"\u{1b}\u{7f}\u{9b}\u{2028}é";
        let line = json_text("2026-11-27T00:00:00.000Z", Level::Warn, "lycosa::store", message);
        assert!(!line.chars().any(is_unsafe), "{line:?}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["msg"], message);
        assert_eq!(value["level"], "warn");
        assert_eq!(value["ts"], "2026-11-27T00:00:00.000Z");
        let line = json_text("t", Level::Info, "x", "fetched: url=\"a\u{9b} b\" level=9 n=2 n=3");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let expected = serde_json::json!({
            "ts": "t", "level": "info", "target": "x", "msg": "fetched", "url": "a\u{9b} b", "field_level": 9, "n": 2
        });
        assert_eq!(value, expected, "{line}");
        assert!(!line.chars().any(is_unsafe), "{line:?}");
    }

    #[test]
    fn libraries_are_quiet_below_warn_unless_they_are_named() {
        assert_eq!(directives("error"), "error");
        assert_eq!(directives("lycosa=debug"), "lycosa=debug");
        let debug = directives("debug,hyper=trace");
        assert!(debug.contains("actix_server=WARN") && debug.ends_with(",debug,hyper=trace"), "{debug}");
        assert!(!debug.contains("hyper=WARN") && debug.contains("hyper_util=WARN"), "{debug}");
        let inner = Builder::new().parse_filters(&debug).build();
        let enabled = |target: &str, level| inner.enabled(&Metadata::builder().target(target).level(level).build());
        assert!(enabled("lycosa::app", Level::Debug) && enabled("hyper::proto", Level::Trace));
        assert!(!enabled("actix_server::worker", Level::Info) && enabled("actix_server::worker", Level::Warn));
    }

    #[test]
    fn packets_that_anybody_can_send_are_no_warnings() {
        for asked in ["warn", "info", "debug"] {
            let inner = Builder::new().parse_filters(&directives(asked)).build();
            let enabled = |target: &str, level| inner.enabled(&Metadata::builder().target(target).level(level).build());
            assert!(!enabled("hickory_net::udp::udp_client_stream", Level::Warn), "{asked}");
            assert!(enabled("hickory_net::udp", Level::Error) && enabled("lycosa::net::dns", Level::Warn), "{asked}");
        }
        assert!(directives("warn,hickory_net=debug").ends_with("hickory_resolver=ERROR,warn,hickory_net=debug"));
    }

    #[test]
    fn an_error_is_counted_even_when_nothing_is_written() {
        let inner = Builder::new().parse_filters("off").build();
        let logger = Counting { inner: RwLock::new(inner), rust_log: None };
        let before = errors_logged();
        logger.log(&Record::builder().level(Level::Error).args(format_args!("disk\nfull")).build());
        logger.log(&Record::builder().level(Level::Warn).args(format_args!("no error")).build());
        assert!(errors_logged() > before);
        let unreadable = format_args!("stream error: invalid HTTP header");
        let of_client = Record::builder().level(Level::Error).target("actix_http::h1").args(unreadable).build();
        assert!(is_client_fault(&of_client));
        logger.log(&of_client);
    }
}
