//! `lycosa diff URL --data DIR` and `lycosa ctl diff URL`: what changed between two captures of a page, as lines with `+` and `-`.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use clap::Args;

use super::args::{DiffArgs, RulesArgs};
use super::exit::{CliError, Safe, unless_gone};
use crate::admin::pages::diff::{DiffLine, DiffSide, PageDiff};
use crate::base::time::UnixMillis;
use crate::base::units::counted;
use crate::telemetry::log::escaped;
use crate::warc::date::iso;

/// Which two captures of which page.
#[derive(Clone, Debug, Default, Args)]
pub struct Which {
    /// Its URL
    pub url: String,
    /// The older capture: the newest of this moment or before: 2026-11-28T12:00:00Z, 2026-11-28, milliseconds since 1970, or how long ago such as 2h
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// The newer capture, named likewise; the newest of all when absent
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
}

/// Compares two captures of a crawl at rest.
///
/// # Errors
/// No crawl there, one that runs; a capture or its bytes that are not there.
pub(super) fn run(args: &DiffArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let DiffArgs { which, data, json, rules } = args;
    let found = compared(rules, data.as_deref(), which)?;
    let text = if *json { serde_json::to_string(&found).map_err(CliError::new)? + "\n" } else { String::new() };
    if *json { unless_gone(Safe(out).write_all(text.as_bytes())) } else { show(&found, out) }
}

/// Where it is said, of a crawl at rest, why there is no capture.
#[cfg(feature = "rocksdb")]
const AT_REST: &str = "its line in crawl.jsonl of the data folder says what became of it, when it was asked for";

#[cfg(feature = "rocksdb")]
fn compared(rules: &RulesArgs, data: Option<&std::path::Path>, which: &Which) -> Result<PageDiff, CliError> {
    use crate::admin::pages::EXPLAINED;

    let node = super::at_rest::node(super::at_rest::settings(rules, data)?, "ask it with `lycosa ctl diff`")?;
    crate::admin::pages::diff::of(&node, &which.url, which.from.as_deref(), which.to.as_deref()).map_err(|problem| {
        match problem.status {
            400 => CliError::usage(problem.detail),
            404 => CliError::new(problem.detail.replace(EXPLAINED, AT_REST)),
            _ => CliError::new(problem.detail),
        }
    })
}

#[cfg(not(feature = "rocksdb"))]
fn compared(_: &RulesArgs, _: Option<&std::path::Path>, _: &Which) -> Result<PageDiff, CliError> {
    Err(CliError::usage("built without RocksDB: there is no data folder to look into"))
}

/// Shows it to people, in colours on a terminal.
pub(super) fn show(found: &PageDiff, out: &mut dyn Write) -> Result<(), CliError> {
    unless_gone(out.write_all(told(found, std::io::stdout().is_terminal()).as_bytes()))
}

/// The captures, the changes, and how much of the text they are. What is of the page is escaped.
fn told(found: &PageDiff, coloured: bool) -> String {
    let mut text = format!("{}\n", escaped(&found.url));
    let mut line = |sign: char, line: &str| {
        let (begin, end) = match (coloured, sign) {
            (true, '-') => ("\u{1b}[31m", "\u{1b}[0m"),
            (true, '+') => ("\u{1b}[32m", "\u{1b}[0m"),
            _ => ("", ""),
        };
        let _ = writeln!(text, "{begin}{sign} {}{end}", escaped(line));
    };
    line('-', &side(&found.from));
    line('+', &side(&found.to));
    for DiffLine { sign, text } in &found.lines {
        match sign {
            '…' => line('…', &counted(text.parse().unwrap_or_default(), "block")),
            sign => line(*sign, text),
        }
    }
    let cut = if found.cut { "; there is more than is shown" } else { "" };
    let _ = writeln!(
        text,
        "{} removed, {} added, {} as before{cut}",
        counted(found.removed, "block"),
        found.added,
        found.same
    );
    text
}

fn side(side: &DiffSide) -> String {
    let DiffSide { captured_ms, status, title, target } = side;
    let target = target.as_deref().map(|target| format!(" -> {target}")).unwrap_or_default();
    format!("{} {status}{target}  {}", iso(UnixMillis(*captured_ms)), title.as_deref().unwrap_or("(no title)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_lines_with_signs_coloured_only_on_a_terminal_and_no_page_steers_it() {
        let side = |status, title: Option<&str>| DiffSide {
            captured_ms: 1_714_979_289_012,
            status,
            title: title.map(str::to_owned),
            target: (status == 301).then(|| "http://a.test/b".to_owned()),
        };
        let line = |sign, text: &str| DiffLine { sign, text: text.to_owned() };
        let lines =
            vec![line('…', "3"), line(' ', "before"), line('-', "old\u{1b}[2J"), line('+', "新聞"), line('…', "1")];
        let (url, from, to) = ("http://a.test/".to_owned(), side(200, Some("A")), side(301, None));
        let found = PageDiff { url, from, to, lines, removed: 1, added: 1, same: 5, cut: true };
        let expected = "http://a.test/\n\
                        - 2024-05-06T07:08:09.012Z 200  A\n\
                        + 2024-05-06T07:08:09.012Z 301 -> http://a.test/b  (no title)\n\
                        … 3 blocks\n  before\n- old\\u{1b}[2J\n+ 新聞\n… 1 block\n\
                        1 block removed, 1 added, 5 as before; there is more than is shown\n";
        assert_eq!(told(&found, false), expected);
        let coloured = told(&found, true);
        assert!(
            coloured.contains("\n\u{1b}[31m- old\\u{1b}[2J\u{1b}[0m\n\u{1b}[32m+ 新聞\u{1b}[0m\n… 1 block\n"),
            "{coloured:?}"
        );
    }
}
