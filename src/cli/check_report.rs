//! What `lycosa check` says: for people and as JSON, with the same content (docs/operations.md).

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::FolderArgs;
use super::check::shown;
use crate::recovery::check::{Event, Fault, Report, Told};
use crate::telemetry::log::escaped;

/// A data folder in which no crawl has begun: a first start was killed.
pub fn empty(dir: &Path, json: bool) -> String {
    if json {
        return format!("{}\n", json!({ "data": dir.display().to_string(), "urls": 0, "clean": true, "findings": [] }));
    }
    format!("{}: no crawl has begun here\nclean\n", shown(dir))
}

/// The line of a change; nothing for other events.
pub fn change(event: &Event<'_>, json: bool) -> Option<String> {
    let (fault, subject, detail) = match event {
        Event::Read { .. } => return None,
        Event::Mended { fault, subject, detail } => (fault.name(), *subject, *detail),
        Event::Dropped { key } => ("dropped", *key, "the next link to it finds it anew"),
    };
    Some(if json {
        json!({ "mended": fault, "subject": subject, "detail": detail }).to_string()
    } else {
        format!("mended {fault}: {}: {}", escaped(subject), escaped(detail))
    })
}

/// The report for people; the last line is the verdict.
pub fn table(dir: &Path, args: &FolderArgs, report: &Report, took: Duration) -> String {
    let mut text = format!("{}\n\n", shown(dir));
    for (family, count) in &report.records {
        let _ = writeln!(text, "  {family:<12} {count:>12}");
    }
    if let Some(files) = &report.files {
        let read = if args.full { format!(", {} records read", files.records) } else { String::new() };
        let away = if files.elsewhere > 0 { format!(", {} kept elsewhere", files.elsewhere) } else { String::new() };
        let _ = writeln!(text, "  {:<12} {:>12}{away}{read}", "warc files", files.warcs);
        let _ = writeln!(text, "  {:<12} {:>12}", "index lines", files.index_lines);
        let _ = writeln!(text, "  {:<12} {:>12}", "crawl.jsonl", files.lines);
    }
    for (note, told) in &report.notes {
        let _ = writeln!(text, "\nnote {} ({}): {}", note.name(), told.count, note.what());
        examples(&mut text, told);
    }
    for (fault, told) in &report.findings {
        let _ = writeln!(text, "\n{} {} ({}): {}", fault.invariant(), fault.name(), told.count, fault.what());
        examples(&mut text, told);
        let _ = writeln!(text, "  --repair {}", fault.repair());
    }
    if !report.repaired.is_empty() {
        let each: Vec<String> =
            report.repaired.iter().map(|(f, told)| format!("{} {}", told.count, f.name())).collect();
        let _ = writeln!(text, "\nmended: {}; marks dropped: {}", each.join(", "), report.dropped);
    }
    let _ = writeln!(text, "\n{}", verdict(report, took));
    text
}

fn examples(text: &mut String, told: &Told) {
    for example in &told.examples {
        let _ = writeln!(text, "  {}", escaped(example));
    }
    let more = told.count.saturating_sub(told.examples.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
}

fn verdict(report: &Report, took: Duration) -> String {
    let urls = report.urls();
    let found = report.total();
    let seconds = took.as_secs_f64();
    match (found, report.repaired.is_empty()) {
        (0, true) => format!("clean: {urls} URLs checked in {seconds:.1} s"),
        (0, false) => {
            format!("repaired: {urls} URLs, nothing is left to mend ({} rounds, {seconds:.1} s)", report.rounds)
        }
        (n, _) => format!("{n} findings: {urls} URLs checked in {seconds:.1} s; --repair mends them"),
    }
}

/// The report as one line of JSON.
pub fn json(dir: &Path, args: &FolderArgs, report: &Report, took: Duration) -> String {
    let told = |t: &Told| json!({ "count": t.count, "examples": t.examples });
    let with = |mut value: Value, fields: Value| {
        if let (Value::Object(into), Value::Object(from)) = (&mut value, fields) {
            into.extend(from);
        }
        value
    };
    let fault = |(f, t): (&Fault, &Told)| {
        let about = json!({ "name": f.name(), "invariant": f.invariant(), "what": f.what(), "repair": f.repair() });
        with(about, told(t))
    };
    let notes: Vec<Value> =
        report.notes.iter().map(|(n, t)| with(json!({ "name": n.name(), "what": n.what() }), told(t))).collect();
    let value = json!({
        "data": dir.display().to_string(),
        "full": args.full,
        "clean": report.is_clean(),
        "urls": report.urls(),
        "seconds": took.as_secs_f64(),
        "rounds": report.rounds,
        "records": report.records,
        "files": report.files,
        "findings": report.findings.iter().map(fault).collect::<Vec<_>>(),
        "notes": notes,
        "repaired": report.repaired.iter().map(fault).collect::<Vec<_>>(),
        "dropped": report.dropped,
    });
    format!("{value}\n")
}
