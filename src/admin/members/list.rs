//! One list of many: page after page, and member after member. A cursor holds whose page comes next, and where that begins.

use std::cmp::Reverse;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde_json::{Value, json};

use super::passing::{Answered, Call};
use super::{Members, nobody, told, without};
use crate::admin::paging::{MOST, USUAL};
use crate::admin::problem::Problem;

/// A page of the list of all members.
///
/// # Errors
/// A cursor that is none; nobody answers; what the first one refuses.
pub(super) async fn listed(members: &Members, call: &Call) -> Result<HttpResponse, Problem> {
    if let Some(order) = call.value("sort").filter(|_| call.path.ends_with("/hosts")) {
        return sorted(members, call, order).await;
    }
    let (mut at, mut cursor) = begin(members, call.value("cursor"))?;
    // A limit that is none is told by whoever is asked.
    let limit = call.value("limit").map_or(Ok(USUAL), str::parse::<usize>).unwrap_or(MOST);
    let is_table = call.value("format") == Some("csv");
    let (mut page, mut missing) = (None::<Value>, Vec::new());
    let mut next = None;
    while let Some(name) = members.names.get(at) {
        let had = page.as_ref().map_or(0, |page| rows(page).len());
        let room =
            if page.is_some() { Some((limit - had).to_string()) } else { call.value("limit").map(str::to_owned) };
        let asked = call.with("cursor", cursor.take()).with("limit", room);
        let answer = match members.asked(name, asked).await {
            Ok(answer) if answer.status < 500 => answer,
            _ => {
                missing.push(name.clone());
                at += 1;
                continue;
            }
        };
        if answer.status >= 300 {
            return Ok(without(answer.response(), &missing));
        }
        if is_table {
            return Ok(without(table(members, at, answer), &missing));
        }
        let Ok(more) = serde_json::from_slice::<Value>(&answer.body) else { return Err(nobody()) };
        let of_more = more.get("next").and_then(Value::as_str).map(str::to_owned);
        page = Some(page.map_or_else(|| more.clone(), |page| joined(page, &more)));
        next = of_more.map(|cursor| format!("{name}:{cursor}"));
        let is_full = page.as_ref().is_some_and(|page| rows(page).len() >= limit);
        if next.is_some() || is_full {
            at += 1;
            break;
        }
        at += 1;
    }
    let mut page = page.ok_or_else(nobody)?;
    let next = next.or_else(|| members.names.get(at).map(|name| format!("{name}:")));
    if let Some(page) = page.as_object_mut() {
        page.remove("next");
        page.extend(next.map(|next| ("next".to_owned(), json!(next))));
    }
    Ok(without(HttpResponse::Ok().json(page), &missing))
}

/// Whose page is wanted, and its own cursor.
fn begin(members: &Members, cursor: Option<&str>) -> Result<(usize, Option<String>), Problem> {
    let Some(cursor) = cursor else { return Ok((0, None)) };
    let wrong = || Problem::new(StatusCode::BAD_REQUEST, "cursor: expected `next` of the page before");
    let (name, own) = cursor.split_once(':').ok_or_else(wrong)?;
    let at = members.names.iter().position(|other| other == name).ok_or_else(|| {
        let detail = format!("cursor: member {name} is none any more; begin the list again");
        Problem::new(StatusCode::CONFLICT, detail)
    })?;
    Ok((at, Some(own.to_owned()).filter(|own| !own.is_empty())))
}

/// A page as a table: of one member at a time.
fn table(members: &Members, at: usize, answer: Answered) -> HttpResponse {
    let name = members.names.get(at).cloned().unwrap_or_default();
    let behind = || members.names.get(at + 1).map(|name| format!("{name}:"));
    let next = answer.next.as_ref().map(|next| format!("{name}:{next}")).or_else(behind);
    let mut response = Answered { next, ..answer }.response();
    told(&mut response, super::MEMBER, &name);
    response
}

fn rows(page: &Value) -> &[Value] {
    let rows = page.get("items").unwrap_or(page);
    rows.as_array().map_or(&[], Vec::as_slice)
}

/// A page, and more rows behind it; what was looked at is added up.
fn joined(mut page: Value, more: &Value) -> Value {
    let rows_of_more = rows(more).to_vec();
    if let Some(looked) = page.get("looked_at").and_then(Value::as_u64) {
        page["looked_at"] = json!(looked + more["looked_at"].as_u64().unwrap_or_default());
    }
    if page.get("items").is_some() { page["items"].as_array_mut() } else { page.as_array_mut() }
        .into_iter()
        .for_each(|rows| rows.extend(rows_of_more.iter().cloned()));
    page
}

/// The first hosts of all members in an order.
async fn sorted(members: &Members, call: &Call, order: &str) -> Result<HttpResponse, Problem> {
    if call.value("cursor").is_some() {
        let detail =
            "cursor: hosts of several members have one sorted page: raise limit, or ask one of them with node=NAME";
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let (answers, missing) = members.all(call).await;
    let (mut page, mut all) = (None::<Value>, true);
    for (_, answer) in answers {
        if answer.status >= 300 {
            return Ok(without(answer.response(), &missing));
        }
        let Ok(more) = serde_json::from_slice::<Value>(&answer.body) else { return Err(nobody()) };
        all &= more["all_looked_at"] == true;
        page = Some(page.map_or_else(|| more.clone(), |page| joined(page, &more)));
    }
    let mut page = page.ok_or_else(nobody)?;
    page["all_looked_at"] = json!(all);
    page.as_object_mut().map(|page| page.remove("next"));
    if let Some(rows) = page["items"].as_array_mut() {
        let count = |row: &Value, field: &str| row[field].as_f64().unwrap_or_default();
        match order {
            "queue" => rows.sort_by(|a, b| count(b, "queued").total_cmp(&count(a, "queued"))),
            "rate" | "errors" => rows.sort_by(|a, b| count(b, order).total_cmp(&count(a, order))),
            "next" => rows.sort_by_key(due),
            _ => rows.sort_by_key(|row| row["name"].as_str().unwrap_or_default().to_owned()),
        }
        rows.truncate(call.value("limit").and_then(|limit| limit.parse().ok()).unwrap_or(USUAL));
    }
    Ok(without(HttpResponse::Ok().json(page), &missing))
}

/// When a host is asked next: those that are not come last.
fn due(row: &Value) -> (bool, u64, Reverse<u64>) {
    let is_asked = !matches!(row["state"].as_str(), Some("idle" | "held"));
    let until = row.pointer("/wait/until_ms").and_then(Value::as_u64).unwrap_or_default();
    (!is_asked, until, Reverse(row["queued"].as_u64().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use actix_web::HttpRequest;
    use actix_web::body::to_bytes;
    use actix_web::rt::System;
    use actix_web::web::{Data, Query, ServiceConfig, get};
    use serde::Deserialize;

    use super::super::inside::Inside;
    use super::super::passing::{Answers, answer};
    use super::*;
    use crate::admin::auth::Role;
    use crate::base::clock::Clock;
    use crate::cluster::Who;
    use crate::cluster::engine::{Memory, Shared};

    #[derive(Deserialize)]
    struct Asked {
        limit: Option<usize>,
        cursor: Option<String>,
    }

    /// A list of so many numbers, each with its member's name; its cursor is the next number.
    fn numbers(name: &'static str, count: usize) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
        move |app| {
            let page = move |_: HttpRequest, asked: Query<Asked>| async move {
                let from: usize = asked.cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
                let until = (from + asked.limit.unwrap_or(USUAL)).min(count);
                let items: Vec<String> = (from..until).map(|n| format!("{name}{n}")).collect();
                let next = (until < count).then(|| until.to_string());
                HttpResponse::Ok().json(json!({ "items": items, "looked_at": until - from, "next": next }))
            };
            app.route("/list", get().to(page));
        }
    }

    /// The members `a`, which is asked, and `b` and `c`, with lists so long.
    fn members(lengths: [usize; 3]) -> (Members, Vec<Answers>) {
        let engine: Shared = Arc::new(Memory::new(Clock::real()).connect());
        let who = Who {
            engine: engine.clone(),
            cluster: "test".into(),
            name: "a".into(),
            data: "data".into(),
            lease: Duration::from_secs(900),
            weight: 1,
            machine: String::new(),
        };
        let start = |name, count| Inside::start(numbers(name, count)).unwrap();
        let others = [("b", lengths[1]), ("c", lengths[2])];
        let answers = others.map(|(name, count)| answer(&*engine, name, &start(name, count)).unwrap());
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        (Members { who, names, inside: Data::new(start("a", lengths[0])) }, answers.into_iter().collect())
    }

    async fn page(members: &Members, limit: usize, cursor: Option<String>) -> Value {
        let (method, path) = ("GET".to_owned(), "/list".to_owned());
        let query = vec![("limit".to_owned(), limit.to_string())];
        let call = Call { method, path, query, kind: None, role: Role::Read, body: Default::default() };
        let response = listed(members, &call.with("cursor", cursor)).await.unwrap();
        serde_json::from_slice(&to_bytes(response.into_body()).await.unwrap()).unwrap()
    }

    #[test]
    fn all_pages_together_are_the_lists_of_all_members_whatever_their_lengths() {
        for lengths in [[0, 0, 0], [1, 0, 2], [0, 0, 3], [3, 3, 3], [7, 1, 0]] {
            let (members, _answers) = members(lengths);
            for limit in 1..9 {
                let (mut all, mut cursor) = (Vec::new(), None);
                System::new().block_on(async {
                    loop {
                        let page = page(&members, limit, cursor).await;
                        let items = page["items"].as_array().unwrap();
                        assert!(items.len() <= limit && page["looked_at"] == items.len());
                        all.extend(items.iter().map(|item| item.as_str().unwrap().to_owned()));
                        cursor = page["next"].as_str().map(str::to_owned);
                        if cursor.is_none() {
                            break;
                        }
                        assert_eq!(items.len(), limit, "a page that is not the last is full");
                    }
                });
                let of =
                    |(name, count): (&str, usize)| (0..count).map(move |n| format!("{name}{n}")).collect::<Vec<_>>();
                let wanted: Vec<String> = ["a", "b", "c"].into_iter().zip(lengths).flat_map(of).collect();
                assert_eq!(all, wanted, "{lengths:?} {limit}");
            }
        }
    }

    #[test]
    fn who_does_not_answer_is_left_out_and_named_and_a_cursor_of_nobody_is_refused() {
        let (mut members, _answers) = members([1, 1, 1]);
        members.names.push("d".to_owned());
        System::new().block_on(async {
            let call = |cursor: &str| Call {
                method: "GET".into(),
                path: "/list".into(),
                query: vec![("cursor".into(), cursor.into())],
                kind: None,
                role: Role::Read,
                body: Default::default(),
            };
            let response = listed(&members, &call("b:")).await.unwrap();
            assert_eq!(response.headers().get(super::super::MISSING).unwrap(), "d");
            assert_eq!(listed(&members, &call("e:00")).await.unwrap_err().status, 409);
            assert_eq!(listed(&members, &call("00")).await.unwrap_err().status, 400);
        });
    }
}
