//! What keys of the settings hold now, for the words about a change.

use std::collections::BTreeMap;

use serde_json::Value;

use super::door::{Ask, Door, send};
use crate::admin::settings::{SettingView, SettingsView};

/// Under this name they travel beside an answer.
const NAME: &str = "in_force";

/// The settings in force; empty when they could not be had.
#[derive(Debug, Default)]
pub(super) struct InForce(BTreeMap<String, SettingView>);

impl InForce {
    /// Those that came with an answer.
    pub fn read(answer: &str) -> Self {
        let answer: Option<Value> = serde_json::from_str(answer).ok();
        let settings = answer.and_then(|mut answer| Some(answer.get_mut(NAME)?.take()));
        let view: Option<SettingsView> = settings.and_then(|settings| serde_json::from_value(settings).ok());
        Self(view.into_iter().flat_map(|view| view.settings).map(|one| (one.key.clone(), one)).collect())
    }

    /// The value of a key now.
    pub fn now(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|one| shown(&one.value))
    }

    /// A value that a change gives a key: of an empty one the built-in default; null is what is configured.
    pub fn given(&self, key: &str, value: &Value) -> String {
        match (value, self.0.get(key)) {
            (Value::Null, _) => "as configured".to_owned(),
            (Value::String(text), Some(one)) if text.is_empty() => format!("{} (built in)", shown(&one.default)),
            _ => shown(value),
        }
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "not set".to_owned() } else { value.to_string() }
}

/// Puts the settings in force beside an answer. What was done stands, also when they cannot be had.
pub(super) async fn beside(door: &Door, answer: String) -> String {
    let settings =
        send(door, Ask::get("/api/v1/settings")).await.ok().and_then(|text| serde_json::from_str(&text).ok());
    let whole: Option<Value> = serde_json::from_str(&answer).ok();
    let Some((Value::Object(mut whole), settings)) = whole.zip(settings) else { return answer };
    whole.insert(NAME.to_owned(), settings);
    Value::Object(whole).to_string()
}
