//! `lycosa ctl explain`: the verdict, and the facts that decide.

use serde_json::Value;

use super::table::{cell, facts, pairs};

/// The verdict, then the handful of deciding facts; with `all` everything else too.
pub(super) fn told(mut explanation: Value, all: bool) -> String {
    let mut taken = |name: &str| explanation.as_object_mut().and_then(|facts| facts.remove(name)).unwrap_or_default();
    let (answer, deciding) = (taken("answer"), taken("facts"));
    let text = |fact: &Value, name: &str| fact.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let deciding: Vec<(String, String)> =
        deciding.as_array().into_iter().flatten().map(|fact| (text(fact, "name"), text(fact, "text"))).collect();
    let rest = if all { format!("\n{}", facts(&explanation)) } else { String::new() };
    format!("{}\n\n{}{rest}", cell(&answer), pairs(&deciding))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_verdict_comes_first_the_rest_when_asked_for_and_no_site_steers_the_terminal() {
        let answer = json!({
            "answer": "Crawled.",
            "facts": [{"name": "URL", "text": "http://a.test/"}, {"name": "page", "text": "\u{1b}[2J"}],
            "page": {"title": "\u{1b}[2J", "status": 200},
        });
        assert_eq!(told(answer.clone(), false), "Crawled.\n\nURL   http://a.test/\npage  \\u{1b}[2J\n");
        let all = told(answer, true);
        assert!(all.contains("\n\npage.status  200\n") && !all.contains('\u{1b}'), "{all}");
    }
}
