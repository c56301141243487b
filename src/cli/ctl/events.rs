//! `lycosa ctl events`: what happens, line by line, until interrupted.

use std::io::Write;

use futures_util::StreamExt;
use serde_json::Value;

use super::door::{Door, stream};
use super::look::path;
use crate::cli::exit::CliError;
use crate::telemetry::events::{EventKind, StateChange};
use crate::telemetry::log::escaped;

/// Longest line of the stream, bytes.
const LONGEST: usize = 1 << 20;

/// Which events.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "Example: lycosa ctl events --kind error,retry --host example.org")]
pub struct EventsArgs {
    /// Kinds, such as page,error: page, error, retry, rejected, blocked, restart, state
    #[arg(long)]
    kind: Option<String>,
    /// Hosts, separated by commas
    #[arg(long)]
    host: Option<String>,
}

/// Shows events as they come, until the crawl says that it has stopped.
///
/// # Errors
/// Nobody listens, the endpoint refuses, or the stream ends before the crawl has said so; whoever reads went away, which is no fault.
pub(super) async fn follow(door: &Door, args: &EventsArgs, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let mut chunks =
        stream(door, &path("/api/v1/events", &[("kind", args.kind.clone()), ("host", args.host.clone())])).await?;
    let (mut buffer, mut stopped) = (Vec::new(), false);
    while let Some(chunk) = chunks.next().await {
        buffer.extend_from_slice(&chunk.map_err(|e| CliError::new(format!("the stream of events broke off: {e}")))?);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            stopped |= is_last(&line);
            if let Some(told) = tell(&line, json) {
                writeln!(out, "{told}").and_then(|()| out.flush())?;
            }
        }
        if buffer.len() > LONGEST {
            return Err(CliError::new("the stream of events has a line that does not end; is it a lycosa?"));
        }
    }
    let broken = || {
        CliError::new(
            "the stream of events ended, and the crawl did not say that it stopped: is the daemon still there?",
        )
    };
    if stopped { Ok(()) } else { Err(broken()) }
}

/// Whether a line of the stream says that the crawl has stopped, which every filter lets pass.
fn is_last(line: &str) -> bool {
    let event: Option<Value> = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok());
    let says = |name: &str, word: &str| event.as_ref().and_then(|event| event.get(name)).is_some_and(|v| v == word);
    says("kind", EventKind::State.as_str()) && says("reason", StateChange::Stopped.as_str())
}

/// A line of the stream, for people or as the JSON it holds; nothing for what is no data.
fn tell(line: &str, json: bool) -> Option<String> {
    let data = line.strip_prefix("data:")?.trim();
    if json {
        return Some(data.to_owned());
    }
    let event: Value = serde_json::from_str(data).ok()?;
    let text = |name: &str| event.get(name).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    let at = event.get("ts_ms").and_then(Value::as_i64).and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let words = [at.map(|at| at.to_string()), text("kind"), text("status"), text("reason"), text("url"), text("text")];
    let words: Vec<String> = words.into_iter().flatten().collect();
    Some(if words.is_empty() { data.to_owned() } else { escaped(&words.join(" ")).to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_and_what_is_no_event_is_none() {
        let data = r#"data: {"id":1,"ts_ms":1700000000000,"kind":"page","url":"http://a.test/","status":200,"reason":"stored"}"#;
        assert_eq!(tell(data, false).unwrap(), "2023-11-14T22:13:20Z page 200 stored http://a.test/");
        assert!(tell(data, true).unwrap().starts_with(r#"{"id":1"#));
        for other in [": still here", "id: 5", "event: page", "", "retry: 2000"] {
            assert_eq!(tell(other, false), None, "{other}");
        }
    }
}
