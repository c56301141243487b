//! A change of the settings is answered when it is in force at all members; who is slow, or away, is named.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::Method;
use serde_json::Value;

use super::passing::{Answered, Call};
use super::{Members, alone, without};
use crate::admin::problem::Problem;
use crate::base::clock::Stopwatch;

/// The others are waited for so long. One that is away takes it up when it comes back.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(100);

/// Changes settings here, and waits for the others.
///
/// # Errors
/// As the route's.
pub(super) async fn changed(members: &Members, call: Call) -> Result<HttpResponse, Problem> {
    let role = call.role;
    let response = alone(members, &members.who.name, call).await?;
    if !response.status().is_success() {
        return Ok(response);
    }
    let (method, path) = (Method::GET.to_string(), "/api/v1/settings".to_owned());
    let look = Call { method, path, query: Vec::new(), kind: None, role, body: Default::default() };
    let began = Stopwatch::start();
    loop {
        let (answers, mut missing) = members.all(&look).await;
        let agreed: Vec<(String, u64)> = answers.into_iter().map(|(name, answer)| (name, agreed(&answer))).collect();
        let newest = agreed.iter().find(|(name, _)| members.is_own(name)).map_or(0, |(_, number)| *number);
        missing.extend(agreed.into_iter().filter(|(_, number)| *number < newest).map(|(name, _)| name));
        if missing.is_empty() || began.elapsed() >= PATIENCE {
            return Ok(without(response, &missing));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The number of the last change that a member has.
fn agreed(answer: &Answered) -> u64 {
    let settings = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    settings["agreed"].as_u64().unwrap_or_default()
}
