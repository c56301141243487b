//! Conditions on a page that are no words.

use crate::base::time::UnixMillis;
use crate::base::units::parse_duration;
use crate::domain::host::parse_host;
use crate::domain::w3c_date::w3c_date;
use crate::domain::words::tag;

/// A condition on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// It is of this host, in canonical form.
    Host(String),
    /// It is of this host, or of one below it.
    Site(String),
    /// It is in this language (ISO 639), and declares so what stands behind it: `zh-hant`, `pt-br`.
    Language(String),
    /// It is of this media type, or of one that begins so when it ends with `/`; lower case.
    Mime(String),
    /// It links to this URL, as it was typed.
    Links(String),
    /// It was captured then or later.
    Since(UnixMillis),
    /// It was captured before.
    Before(UnixMillis),
}

impl Filter {
    /// The filter of this name, or what its value is expected to be; nothing when there is none of this name.
    pub(super) fn read(name: &str, value: &str, now: UnixMillis) -> Option<Result<Self, &'static str>> {
        let host = || {
            let bare = value.split_once("://").map_or(value, |(_, rest)| rest);
            let bare = bare.split('/').next().unwrap_or_default().trim_start_matches("*.").trim_start_matches('.');
            parse_host(bare).ok_or("a host such as example.org")
        };
        Some(match name {
            "host" => host().map(Self::Host),
            "site" => host().map(Self::Site),
            "lang" => tag(value).map(Self::Language).ok_or("a language such as en, zh or zh-TW"),
            "mime" => mime(value).map(Self::Mime).ok_or("a media type such as text/html, or text/"),
            "links" => Some(value).filter(|url| !url.is_empty()).map(|url| Self::Links(url.into())).ok_or("a URL"),
            "since" => time(value, now).map(Self::Since).ok_or(TIME),
            "before" => time(value, now).map(Self::Before).ok_or(TIME),
            _ => return None,
        })
    }
}

const TIME: &str = "a date such as 2026-11-30, or a time from now back such as 7d";

fn time(value: &str, now: UnixMillis) -> Option<UnixMillis> {
    let back = || {
        let back = parse_duration(value).ok()?.as_millis();
        Some(UnixMillis(now.0.saturating_sub(u64::try_from(back).ok()?)))
    };
    w3c_date(value).or_else(back)
}

fn mime(value: &str) -> Option<String> {
    let value = value.trim_end_matches('*').to_ascii_lowercase();
    value.split_once('/').is_some_and(|(kind, _)| !kind.is_empty()).then_some(value)
}
