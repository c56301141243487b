//! In which form metrics are written: OpenMetrics, or the text form of Prometheus, as the one who asks wants it.

use std::borrow::Cow;

/// A form of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text, version 0.0.4: what every tool reads.
    Text,
}

impl Form {
    /// The form that an `Accept` header prefers (RFC 9110, 12.5.1); the text form when it is absent, or has no preference.
    pub fn accepted(accept: Option<&str>) -> Self {
        let weight = |of: &str| {
            let ranges = accept.unwrap_or("*/*").split(',').filter_map(range);
            // The most specific range that fits counts.
            ranges.filter(|(name, _)| fits(name, of)).max_by_key(|(name, _)| name.len() - name.matches('*').count())
        };
        let of = |kind: &str| weight(kind).map_or(0.0, |(_, q)| q);
        let named = accept.is_some_and(|accept| accept.to_ascii_lowercase().contains("application/openmetrics-text"));
        let (open, text) = (of("application/openmetrics-text"), of("text/plain"));
        if open > text || (open == text && named && open > 0.0) { Self::OpenMetrics } else { Self::Text }
    }

    /// Its content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// A text of OpenMetrics in this form.
    pub fn write(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Text => plain(&open_metrics),
        }
    }
}

/// A media range with its weight; one of a version that is not spoken here counts all the same.
fn range(text: &str) -> Option<(String, f64)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let q = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    Some((name, q.map_or(1.0, |q| q.trim().parse::<f64>().ok().filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0))))
}

fn fits(range: &str, kind: &str) -> bool {
    range == kind
        || range == "*/*"
        || range.strip_suffix('*').is_some_and(|start| start.ends_with('/') && kind.starts_with(start))
}

/// OpenMetrics as Prometheus text: counters and infos go by the names of their samples, there are no units, and no end.
fn plain(open_metrics: &str) -> String {
    let kinds = |line: &str| -> Option<(String, &'static str)> {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some((
            name.to_owned(),
            match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            },
        ))
    };
    let suffixes: std::collections::HashMap<String, &str> = open_metrics.lines().filter_map(kinds).collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let line: Cow<'_, str> = match line.strip_prefix("# ").and_then(|rest| rest.split_once(' ')) {
            Some(("HELP" | "TYPE", rest)) => {
                let what = line.get(..7).unwrap_or_default();
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let suffix = suffixes.get(name).copied().unwrap_or_default();
                let rest = match (what, rest) {
                    ("# TYPE ", "info" | "stateset") => "gauge",
                    ("# TYPE ", "unknown") => "untyped",
                    _ => rest,
                };
                format!("{what}{name}{suffix} {rest}").into()
            }
            Some(_) => continue,
            None if line.starts_with('#') => continue,
            None => line.into(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::rows;

    #[test]
    fn the_one_who_asks_says_which_form() {
        for row in rows(include_str!("../../../tests/data/http/accept_metrics.txt"), 2) {
            let accept = Some(row.cells[0]).filter(|accept| *accept != "-");
            assert_eq!(format!("{:?}", Form::accepted(accept)), row.cells[1], "line {}: {accept:?}", row.line);
        }
    }

    #[test]
    fn the_text_form_names_counters_by_their_samples() {
        let open = "# HELP a Pages.\n# TYPE a counter\n# UNIT a pages\na_total{x=\"# TYPE a\"} 1\n# HELP b Build.\n# TYPE b info\nb_info{v=\"1\"} 1\n\
                    # HELP c_seconds Time.\n# TYPE c_seconds histogram\n# UNIT c_seconds seconds\nc_seconds_bucket{le=\"+Inf\"} 2\n# EOF\n";
        let text = "# HELP a_total Pages.\n# TYPE a_total counter\na_total{x=\"# TYPE a\"} 1\n# HELP b_info Build.\n# TYPE b_info gauge\nb_info{v=\"1\"} 1\n\
                    # HELP c_seconds Time.\n# TYPE c_seconds histogram\nc_seconds_bucket{le=\"+Inf\"} 2\n";
        assert_eq!(Form::Text.write(open.into()), text);
    }
}
