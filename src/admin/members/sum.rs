//! One answer of many: counts are added up, lists joined, and of rows with one key one row is made.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::passing::{Answered, Call};
use super::{Members, nobody, without};
use crate::admin::csv::table;
use crate::admin::problem::Problem;
use crate::admin::reports::{StatusLine, TypeLine};

/// Fields of which the greatest is told.
const GREATEST: [&str; 3] = ["uptime_seconds", "step_seconds", "generation"];
/// Fields of which the least is told.
const LEAST: [&str; 1] = ["next_try_seconds"];
/// Fields by which rows are the same.
const KEYS: [&str; 2] = ["media_type", "status"];

/// What all of them answer, as one.
///
/// # Errors
/// Nobody answers; the first refusal, when all refuse.
pub(super) async fn summed(members: &Members, path: &str, call: &Call) -> Result<HttpResponse, Problem> {
    let is_table = call.value("format") == Some("csv");
    let (mut answers, missing) = members.all(&call.with("format", None)).await;
    answers.sort_by_key(|(name, _)| !members.is_own(name));
    let (read, refused) = parsed(answers);
    let Some(mut sum) = total(path, read) else {
        return refused.map(|answer| without(answer.response(), &missing)).ok_or_else(nobody);
    };
    if path == "/api/v1/status" {
        sum["role"] = json!(call.role);
        if !missing.is_empty() {
            sum["missing"] = json!(missing);
        }
    }
    let answer = match path {
        "/api/v1/reports/statuses" if is_table => of_table(&lines::<StatusLine>(sum)),
        "/api/v1/reports/types" if is_table => of_table(&lines::<TypeLine>(sum)),
        _ => HttpResponse::Ok().json(sum),
    };
    Ok(without(answer, &missing))
}

/// An order that each carries out. What is answered is what the one asked says, with the jobs that the others began.
pub(super) async fn carried_out(members: &Members, call: &Call) -> HttpResponse {
    let (mut answers, missing) = members.ordered(call).await;
    // What one knows nothing of another may.
    answers.sort_by_key(|(_, answer)| answer.status >= 400);
    let mut answers = answers.into_iter();
    let Some((name, first)) = answers.next() else { return without(HttpResponse::BadGateway().finish(), &missing) };
    let Ok(Value::Object(mut whole)) = serde_json::from_slice::<Value>(&first.body) else {
        return without(first.response(), &missing);
    };
    let job = |(name, answer): (String, Answered)| {
        let id = serde_json::from_slice::<Value>(&answer.body).ok()?.get("id")?.as_u64()?;
        Some(json!({ "node": name, "id": id }))
    };
    if whole.contains_key("id") {
        let others: Vec<Value> = answers.filter(|(_, answer)| answer.status < 300).filter_map(job).collect();
        whole.insert("node".to_owned(), json!(name));
        whole.insert("others".to_owned(), json!(others));
    }
    let body = serde_json::to_vec(&whole).unwrap_or_default().into();
    without(Answered { body, ..first }.response(), &missing)
}

/// Answers with what was asked for, and the first without.
fn parsed(answers: Vec<(String, Answered)>) -> (Vec<(String, Value)>, Option<Answered>) {
    let (mut read, mut refused) = (Vec::new(), None);
    for (name, answer) in answers {
        match serde_json::from_slice(&answer.body) {
            Ok(value) if answer.status < 300 => read.push((name, value)),
            _ => refused = refused.or(Some(answer)),
        }
    }
    (read, refused)
}

fn lines<T: serde::de::DeserializeOwned>(rows: Value) -> Vec<T> {
    serde_json::from_value(rows).unwrap_or_default()
}

fn of_table<R: crate::admin::csv::Row>(rows: &[R]) -> HttpResponse {
    HttpResponse::build(StatusCode::OK).content_type("text/csv; charset=utf-8; header=present").body(table(rows))
}

/// All answers as one; none of none.
fn total(path: &str, answers: Vec<(String, Value)>) -> Option<Value> {
    let names: Vec<String> = answers.iter().map(|(name, _)| name.clone()).collect();
    let prepared = answers.into_iter().enumerate().map(|(nth, (name, answer))| match path {
        "/api/v1/status" => of_status(&name, answer, nth == 0),
        "/api/v1/jobs" => named(&name, answer),
        "/api/v1/why-idle" => of_idle(&name, answer),
        "/api/v1/statistics" => in_steps(answer),
        _ => answer,
    });
    let mut sum = prepared.reduce(|mut sum, answer| {
        add("", &mut sum, answer);
        sum
    })?;
    match path {
        "/api/v1/status" => settle_status(&mut sum, &names),
        "/api/v1/why-idle" => settle_idle(&mut sum),
        "/api/v1/statistics" => settle_points(&mut sum, names.len()),
        "/api/v1/reports/types" => descending(&mut sum, "captures"),
        _ => {}
    }
    Some(sum)
}

/// Adds one answer to another.
fn add(field: &str, to: &mut Value, more: Value) {
    match (to, more) {
        (to @ Value::Null, more) => *to = more,
        (Value::Object(to), Value::Object(more)) => {
            for (name, value) in more {
                match to.get_mut(&name) {
                    Some(there) => add(&name, there, value),
                    None => _ = to.insert(name, value),
                }
            }
        }
        (Value::Array(to), Value::Array(more)) => join(to, more),
        (Value::Bool(to), Value::Bool(more)) => *to &= more,
        (to @ Value::Number(_), more @ Value::Number(_)) => *to = number(field, to, &more),
        _ => {}
    }
}

fn number(field: &str, a: &Value, b: &Value) -> Value {
    let (x, y) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
    if GREATEST.contains(&field) || LEAST.contains(&field) {
        return if (x >= y) == GREATEST.contains(&field) { a.clone() } else { b.clone() };
    }
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => json!(a.saturating_add(b)),
        _ => json!(x + y),
    }
}

/// Numbers are added place by place, rows of one key to each other, and all else comes behind.
fn join(to: &mut Vec<Value>, more: Vec<Value>) {
    for (nth, value) in more.into_iter().enumerate() {
        let same = match (&value, key(&value)) {
            (Value::Number(_), _) => to.get_mut(nth),
            (_, Some((field, key))) => to.iter_mut().find(|row| row.get(field) == Some(key)),
            _ => None,
        };
        match (same, &value) {
            (Some(there), Value::Number(_)) => add("", there, value),
            (Some(Value::Object(there)), Value::Object(_)) => {
                let keep = key(&value).map(|(field, key)| (field, key.clone()));
                let mut row = Value::Object(std::mem::take(there));
                add("", &mut row, value);
                if let Some((field, key)) = keep {
                    row[field] = key;
                }
                *there = row.as_object().cloned().unwrap_or_default();
            }
            _ => to.push(value),
        }
    }
}

/// What a row of counts is of; none of rows that say more than counts.
fn key(row: &Value) -> Option<(&'static str, &Value)> {
    let row = row.as_object()?;
    if row.contains_key("at_ms") {
        return Some(("at_ms", row.get("at_ms")?));
    }
    KEYS.iter().find_map(|field| Some((*field, row.get(*field).filter(|_| row.contains_key("captures"))?)))
}

/// Says of each row whose it is.
fn named(name: &str, mut rows: Value) -> Value {
    for row in rows.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        row.insert("node".to_owned(), json!(name));
    }
    rows
}

/// Says of a sentence whose it is; an empty one stays so.
fn said(name: &str, sentence: &mut Value) {
    let of = sentence.as_str().filter(|text| !text.is_empty()).map(|text| vec![format!("{name}: {text}")]);
    *sentence = json!(of.unwrap_or_default());
}

/// Of the one that is asked it stays which member it is.
fn of_status(name: &str, mut status: Value, is_own: bool) -> Value {
    said(name, &mut status["idle_reason"]);
    status["state"] = json!([status["state"]]);
    if !is_own {
        status.as_object_mut().map(|status| status.remove("member"));
    }
    status
}

fn settle_status(sum: &mut Value, names: &[String]) {
    let is_any_busy = sum["in_flight"].as_u64().unwrap_or_default() > 0;
    sum["idle_reason"] = if is_any_busy { json!("") } else { sentences(&sum["idle_reason"]) };
    let states = sum["state"].as_array().cloned().unwrap_or_default();
    let running = states.iter().find(|state| *state == "running");
    sum["state"] = running.or(states.first()).cloned().unwrap_or_default();
    sum["members"] = json!(names);
}

fn of_idle(name: &str, mut answer: Value) -> Value {
    said(name, &mut answer["answer"]);
    let findings = std::mem::take(&mut answer["findings"]);
    answer["findings"] = named(name, findings);
    answer
}

/// While one of them fetches, what it says is that nothing is idle.
fn settle_idle(sum: &mut Value) {
    sum["answer"] = if sum["idle"] == true { sentences(&sum["answer"]) } else { json!("") };
}

fn sentences(all: &Value) -> Value {
    let all: Vec<&str> = all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    json!(all.join("; "))
}

/// Has the points stand at whole steps, so that those of all members meet.
fn in_steps(mut statistics: Value) -> Value {
    let step = statistics["step_seconds"].as_u64().unwrap_or_default().max(1) * 1_000;
    let mut points: Map<String, Value> = Map::new();
    for mut point in statistics["points"].as_array_mut().map(std::mem::take).into_iter().flatten() {
        let at = point["at_ms"].as_u64().unwrap_or_default() / step * step;
        point["at_ms"] = json!(at);
        point["points_of"] = json!(1);
        points.insert(format!("{at:020}"), point); // of two in one step the later one
    }
    statistics["points"] = Value::Array(points.into_iter().map(|(_, point)| point).collect());
    statistics
}

/// In their order; those at the end that not all members have are not told yet.
fn settle_points(sum: &mut Value, members: usize) {
    let mut points = sum["points"].as_array().cloned().unwrap_or_default();
    points.sort_by_key(|point| point["at_ms"].as_u64());
    while points.last().is_some_and(|last| last["points_of"].as_u64() < u64::try_from(members).ok()) && points.len() > 1
    {
        points.pop();
    }
    for point in &mut points {
        point.as_object_mut().map(|point| point.remove("points_of"));
    }
    sum["points"] = Value::Array(points);
}

fn descending(rows: &mut Value, field: &str) {
    if let Some(rows) = rows.as_array_mut() {
        rows.sort_by_key(|row| std::cmp::Reverse(row[field].as_u64()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_of(path: &str, answers: &[Value]) -> Value {
        let names = ["n1", "n2", "n3"].map(str::to_owned);
        total(path, names.into_iter().zip(answers.iter().cloned()).collect()).unwrap()
    }

    #[test]
    fn counts_are_added_and_what_cannot_be_added_is_that_of_the_first() {
        let one = json!({ "crawl": "c", "state": "running", "in_flight": 0, "done": 3, "uptime_seconds": 9.5, "rate": 0.5,
            "frontier": [1, 2], "statuses": { "200": 4 }, "next_try_seconds": 7.0, "idle_reason": "all are parked", "near": null });
        let two = json!({ "crawl": "c", "state": "paused", "in_flight": 0, "done": 4, "uptime_seconds": 2.0, "rate": 1,
            "frontier": [5, 0, 1], "statuses": { "200": 1, "404": 2 }, "next_try_seconds": 3.0, "idle_reason": "paused", "near": 2 });
        let sum = total_of("/api/v1/status", &[two, one]);
        let expected = json!({ "crawl": "c", "state": "running", "in_flight": 0, "done": 7, "uptime_seconds": 9.5, "rate": 1.5,
            "frontier": [6, 2, 1], "statuses": { "200": 5, "404": 2 }, "next_try_seconds": 3.0, "near": 2,
            "idle_reason": "n1: paused; n2: all are parked", "members": ["n1", "n2"] });
        assert_eq!(sum, expected);
    }

    #[test]
    fn rows_of_one_status_or_type_are_one_row() {
        let one = json!([{ "status": 200, "captures": 4 }, { "status": 404, "captures": 1 }]);
        let two = json!([{ "status": 200, "captures": 2 }]);
        let expected = json!([{ "status": 200, "captures": 6 }, { "status": 404, "captures": 1 }]);
        assert_eq!(total_of("/api/v1/reports/statuses", &[one, two]), expected);
        let one = json!([{ "media_type": "a/b", "captures": 4, "bytes": 1 }]);
        let two = json!([{ "media_type": "c/d", "captures": 9, "bytes": 1 }, { "media_type": "a/b", "captures": 4, "bytes": 7 }]);
        let expected = json!([{ "media_type": "c/d", "captures": 9, "bytes": 1 }, { "media_type": "a/b", "captures": 8, "bytes": 8 }]);
        assert_eq!(total_of("/api/v1/reports/types", &[one, two]), expected);
    }

    #[test]
    fn jobs_and_findings_say_whose_they_are_and_none_is_lost_by_being_like_another() {
        let job = |id: u64| json!([{ "id": id, "status": "x" }]);
        let expected = json!([{ "id": 1, "status": "x", "node": "n1" }, { "id": 1, "status": "x", "node": "n2" }]);
        assert_eq!(total_of("/api/v1/jobs", &[job(1), job(1)]), expected);
        let idle =
            |idle: bool, answer: &str| json!({ "idle": idle, "answer": answer, "findings": [{ "code": answer }] });
        let sum = total_of("/api/v1/why-idle", &[idle(true, "parked"), idle(true, "paused")]);
        assert_eq!((&sum["answer"], &sum["idle"]), (&json!("n1: parked; n2: paused"), &json!(true)));
        assert_eq!(sum["findings"][1], json!({ "code": "paused", "node": "n2" }));
        let sum = total_of("/api/v1/why-idle", &[idle(true, "parked"), idle(false, "")]);
        assert_eq!((&sum["answer"], &sum["idle"]), (&json!(""), &json!(false)));
    }

    #[test]
    fn points_of_all_members_meet_at_whole_steps_and_the_newest_is_told_when_all_have_it() {
        let points = |at: &[u64]| {
            let points: Vec<_> =
                at.iter().map(|at| json!({ "at_ms": at, "pages": 1, "queues": { "store": 2 } })).collect();
            json!({ "step_seconds": 5, "points": points })
        };
        let sum = total_of("/api/v1/statistics", &[points(&[5_001, 10_002, 15_003]), points(&[9_999, 14_000])]);
        let point = |at: u64| json!({ "at_ms": at, "pages": 2, "queues": { "store": 4 } });
        assert_eq!(sum, json!({ "step_seconds": 5, "points": [point(5_000), point(10_000)] }));
    }
}
