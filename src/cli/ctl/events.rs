//! `lycosa ctl events`: what happens, line by line, until interrupted.

use std::io::Write;

use futures_util::StreamExt;
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::door::{Door, stream};
use crate::cli::exit::CliError;
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

impl EventsArgs {
    fn path(&self) -> String {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let pair = |name: &str, value: &Option<String>| value.as_ref().map(|v| format!("{name}={}", encoded(v)));
        let query: Vec<String> = [pair("kind", &self.kind), pair("host", &self.host)].into_iter().flatten().collect();
        format!("/api/v1/events?{}", query.join("&"))
    }
}

/// Shows events as they come, until the crawl ends.
///
/// # Errors
/// Nobody listens, the endpoint refuses, or the connection breaks; whoever reads went away, which is no fault.
pub(super) async fn follow(door: &Door, args: &EventsArgs, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let mut chunks = stream(door, &args.path()).await?;
    let mut buffer = Vec::new();
    while let Some(chunk) = chunks.next().await {
        buffer.extend_from_slice(&chunk.map_err(|e| CliError::new(format!("the stream of events broke off: {e}")))?);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if let Some(told) = tell(&String::from_utf8_lossy(&line), json) {
                writeln!(out, "{told}").and_then(|()| out.flush())?;
            }
        }
        if buffer.len() > LONGEST {
            return Err(CliError::new("the stream of events has a line that does not end; is it a lycosa?"));
        }
    }
    Ok(())
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
