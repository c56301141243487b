//! `lycosa inspect robots`: what a robots.txt says about URLs, one line each.

use std::borrow::Cow;
use std::io::{self, Write};

use url::Url;

use crate::domain::robots::{RobotsGroup, RobotsRules};

/// Writes `allow URL` or `disallow URL`, a tab and the line that decided, for each of `urls`. A URL may be absolute or
/// begin with `/`; it is brought into the form a crawler would ask for, but printed as given. Host and scheme are not
/// looked at: the file is taken to be the right one. `agent` may be a full User-Agent; its product token counts.
///
/// # Errors
/// Only those of `out`.
pub fn run(agent: &str, robots: &[u8], urls: &[String], out: &mut dyn Write) -> io::Result<()> {
    let rules = RobotsRules::parse(robots, &[agent]);
    for url in urls {
        let (allowed, why) = match tail(url) {
            Some(tail) => {
                let verdict = rules.verdict(&tail);
                (verdict.allowed, verdict.line.map_or_else(|| no_line(&rules, &tail).into(), Cow::from))
            }
            None => (false, "neither an http or https URL nor a path that begins with /".into()),
        };
        writeln!(out, "{} {}\t{why}", if allowed { "allow" } else { "disallow" }, one_line(url))?;
    }
    Ok(())
}

fn no_line(rules: &RobotsRules, tail: &str) -> &'static str {
    match rules.group() {
        _ if tail.starts_with("/robots.txt") && tail.split('?').next() == Some("/robots.txt") => {
            "/robots.txt may always be fetched"
        }
        RobotsGroup::None => "no group for this agent",
        _ => "no rule matches",
    }
}

/// Path and query as they would be asked for.
fn tail(text: &str) -> Option<String> {
    let text = text.trim();
    let url = match text.starts_with('/') {
        true => Url::parse(&format!("http://robots.invalid{text}")),
        false => Url::parse(text),
    };
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

/// A URL with control characters must not make two lines of one.
fn one_line(url: &str) -> Cow<'_, str> {
    if url.chars().any(char::is_control) { url.escape_debug().to_string().into() } else { url.into() }
}
