//! A status for people: one line for the log, a table for the end.

use std::fmt::Write as _;
use std::time::Duration;

use super::StatusSnapshot;
use super::trouble::CERTIFICATE;
use crate::base::units::human_size;
use crate::domain::reason::Rejection;

/// The counts in one line, with fields: for the log.
pub fn line(s: &StatusSnapshot) -> String {
    let StatusSnapshot { discovered, waiting, processing, done, errors, rejected, pages_stored, bytes, .. } = s;
    let StatusSnapshot { pages_per_second, hosts_active, hosts_waiting, hosts_parked, in_flight, .. } = s;
    let mut text = format!(
        "discovered={discovered} waiting={waiting} processing={processing} done={done} errors={errors} \
         rejected={rejected} captures={pages_stored} bytes={bytes} pages_per_second={pages_per_second:.1} \
         hosts_active={hosts_active} hosts_waiting={hosts_waiting} hosts_parked={hosts_parked} in_flight={in_flight}"
    );
    if !s.idle_reason.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, " idle={:?}", s.idle_reason);
    }
    text
}

/// The table printed when a crawl ends. `outcome`: why it ended.
pub fn table(s: &StatusSnapshot, outcome: &str) -> String {
    let mut rows = vec![
        ("outcome".to_owned(), outcome.to_owned()),
        ("time".to_owned(), clock_time(s.uptime_seconds)),
        ("URLs discovered".to_owned(), s.discovered.to_string()),
        ("URLs visited".to_owned(), s.visited().to_string()),
        ("still waiting".to_owned(), s.waiting.saturating_add(s.processing).to_string()),
        ("rejected".to_owned(), s.rejected.to_string()),
        ("captures".to_owned(), s.pages_stored.to_string()),
        ("known content".to_owned(), s.revisits.to_string()),
        ("bytes received".to_owned(), format!("{} ({})", s.bytes, human_size(s.bytes))),
        ("mean time per page".to_owned(), s.mean_fetch().map_or_else(|| "-".to_owned(), mean)),
    ];
    rows.extend(s.statuses.iter().map(|(status, n)| (format!("  status {status}"), n.to_string())));
    rows.extend(s.errors_by_reason.iter().map(|(reason, n)| (format!("  error {reason}"), n.to_string())));
    rows.extend(s.rejected_by_reason.iter().map(|(reason, n)| (format!("  rejected {reason}"), n.to_string())));
    rows.extend(s.held_back.shapes.iter().map(|held| {
        (format!("  held back {}", held.reason), format!("{} of {}, such as {}", held.urls, held.host, held.example))
    }));
    rows.extend(s.troubles.iter().filter(|(reason, _)| !has_its_own(reason)).map(|(reason, trouble)| {
        (format!("  trouble {reason}"), format!("{}, such as {}", trouble.count, trouble.example))
    }));
    if let Some(member) = &s.member {
        rows.push(("member".to_owned(), format!("{}, with {} of 1024 partitions", member.name, member.partitions)));
        if !s.members.is_empty() {
            let of = s.members.join(", ");
            let without =
                if s.missing.is_empty() { String::new() } else { format!("; without {}", s.missing.join(", ")) };
            rows.push(("counts of".to_owned(), format!("{of}{without}")));
        }
        rows.extend(member.outbox.iter().filter(|out| out.rows > 0).map(|out| {
            let kept = format!("{} in {} rows ({})", out.links, out.rows, human_size(out.bytes));
            (format!("  links for {}", out.to), kept)
        }));
    }
    if !s.warc_dir.is_empty() {
        rows.push(("WARC files".to_owned(), s.warc_dir.clone()));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<width$}  {}", super::log::escaped(value));
        text
    })
}

/// Rejections have rows of their own, certificates a note.
fn has_its_own(reason: &str) -> bool {
    reason == CERTIFICATE || Rejection::ALL.iter().any(|r| r.as_str() == reason)
}

/// What a terminal shows while crawling.
pub fn short(s: &StatusSnapshot) -> String {
    let left = s.waiting.saturating_add(s.processing);
    let counts = format!("{} done, {} errors, {left} left", s.done, s.errors);
    let time = clock_time(s.uptime_seconds);
    let text = if s.idle_reason.is_empty() {
        let (hosts, rate, bytes) = (s.hosts_active, s.pages_per_second, human_size(s.bytes));
        format!("{counts}, {hosts} hosts | {rate:.1} pages/s, {bytes} | {time}")
    } else {
        format!("{counts} | {time} | {}", s.idle_reason) // the reason first, a terminal is not wide
    };
    super::log::escaped(&text)
}

fn mean(d: Duration) -> String {
    format!("{:.1} ms", d.as_secs_f64() * 1_000.0)
}

/// `1:02:03`, or `2.3 s` below a minute.
fn clock_time(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds as u64;
    format!("{}:{:02}:{:02}", whole / 3_600, whole / 60 % 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> StatusSnapshot {
        StatusSnapshot {
            uptime_seconds: 3_723.4,
            discovered: 13,
            waiting: 2,
            done: 7,
            errors: 2,
            rejected: 2,
            pages_stored: 6,
            bytes: 3 << 20,
            fetch_seconds: 0.4,
            statuses: [(200, 6), (500, 2)].into(),
            errors_by_reason: [("tls".to_owned(), 1), ("status_5xx".to_owned(), 1)].into(),
            warc_dir: "data/warc".into(),
            idle_reason: "every host waits".into(),
            ..StatusSnapshot::default()
        }
    }

    #[test]
    fn the_table_shows_times_counts_and_where_the_files_are() {
        let text = table(&snapshot(), "done");
        let rows = [
            "time                1:02:03",
            "URLs visited        8",
            "captures            6",
            "bytes received      3145728 (3.0 MiB)",
            "mean time per page  50.0 ms",
            "  status 500        2",
            "  error tls         1",
            "WARC files          data/warc",
        ];
        for row in rows {
            assert!(text.lines().any(|l| l == row), "{row:?} in\n{text}");
        }
        assert!(snapshot().adds_up());
        assert!(table(&StatusSnapshot::default(), "done").contains("mean time per page  -"));
    }

    #[test]
    fn the_log_line_has_fields_and_the_terminals_line_no_control_characters() {
        let s = StatusSnapshot { idle_reason: "a\u{1b}b".into(), ..snapshot() };
        assert!(line(&s).contains("waiting=2") && line(&s).contains("idle="));
        assert!(!line(&s).contains('\u{1b}') && !short(&s).contains('\u{1b}'));
    }
}
