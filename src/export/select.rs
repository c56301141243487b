//! Which pages are exported: from which entry of the feed on, which captures, and filters.

use clap::Args;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ExportError;
use crate::base::time::UnixMillis;
use crate::content::mime;
use crate::domain::host::{is_registrable, parse_host, registrable_domain};
use crate::domain::statuses;
use crate::domain::url::PageUrl;
use crate::storage::values::PageRecord;
use crate::warc::date::{iso, parse_iso};

/// Which pages. Of a list one must hold, of different filters all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Select {
    /// Only what follows this entry of the feed: `last` in the manifest of the export before
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The feed that this entry is of: `log` in that manifest
    #[arg(long, value_name = "ID", requires = "after")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// All captures of each page, not the newest alone
    #[arg(long, conflicts_with = "newest")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The newest capture of each page; so it is without this too
    #[arg(long)]
    #[serde(skip)]
    pub newest: bool,
    /// Only of these hosts, by their exact names
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// Only of these registrable domains, with all hosts in them
    #[arg(long, value_name = "DOMAIN,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub site: Vec<String>,
    /// Only with these statuses, such as 200,4xx; a page that has not changed (304) has that of the capture it confirms
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<String>,
    /// Only of these media types, such as text/html,image/*
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mime: Vec<String>,
    /// Only in these languages, as cards name them, such as en,zh; each page is read for it
    #[arg(long, value_name = "LANG,…", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lang: Vec<String>,
    /// Only what was captured at this time or later: a time such as 2026-11-28T12:00:00Z, a day, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = moment)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub since: Option<UnixMillis>,
    /// Only what was captured before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub until: Option<UnixMillis>,
}

/// Reads a moment as people type it.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn moment(text: &str) -> Result<UnixMillis, String> {
    let day = || parse_iso(&format!("{text}T00:00:00Z"));
    let found = text.parse().ok().map(UnixMillis).or_else(|| parse_iso(text)).or_else(day);
    found.ok_or_else(|| {
        "expected a time such as 2026-11-28T12:00:00Z, a day such as 2026-11-28, or milliseconds since 1970".into()
    })
}

impl Select {
    /// With host names as canonical URLs have them.
    ///
    /// # Errors
    /// What is no host, status, media type or language, and what would be.
    pub fn checked(mut self) -> Result<Self, ExportError> {
        for name in self.host.iter_mut().chain(&mut self.site) {
            let host = parse_host(name.trim());
            *name = host.ok_or_else(|| wrong(name, "is no host name, such as www.example.org"))?;
        }
        for name in &self.site {
            let why = match registrable_domain(name) {
                _ if is_registrable(name) => continue,
                domain if domain == name => "has sites under it and is none: name those, or a host with --host".into(),
                domain => format!("is a host of the site {domain}: name that, or the host with --host"),
            };
            return Err(wrong(name, &why));
        }
        each(&mut self.status, statuses::is_status_glob, "is no status, such as 200 or 4xx")?;
        each(&mut self.mime, mime::is_type_glob, "is no media type, such as text/html or image/*")?;
        if let Some((since, until)) = self.since.zip(self.until)
            && since >= until
        {
            let why = format!("nothing was captured since {} and before {}", iso(since), iso(until));
            return Err(ExportError::Asked(format!("{why}: `since` must be the earlier one")));
        }
        let is_language = |name: &str| matches!(name.len(), 2 | 3) && name.bytes().all(|b| b.is_ascii_lowercase());
        each(&mut self.lang, is_language, "is no language, such as en or zh")?;
        Ok(self)
    }

    /// Whether a capture is wanted, as far as that is known without reading it. `confirmed`: the status of the capture that it confirms, if
    /// it does.
    pub fn wants(&self, page: &PageRecord, confirmed: Option<u16>) -> bool {
        let is_among = |names: &[String], name: &str| names.is_empty() || names.iter().any(|one| one == name);
        let url = PageUrl::from_canonical(&page.url);
        let host = url.as_ref().map(PageUrl::host).unwrap_or_default();
        let mime = page.mime.as_deref().unwrap_or_default();
        is_among(&self.host, host)
            && (self.site.is_empty() || is_among(&self.site, registrable_domain(host)))
            && (self.status.is_empty() || statuses::is_among(&self.status, confirmed.unwrap_or(page.status)))
            && (self.mime.is_empty() || mime::is_among(&self.mime, mime))
            && self.since.is_none_or(|since| page.fetched >= since)
            && self.until.is_none_or(|until| page.fetched < until)
    }

    /// Whether a page in this language is wanted.
    pub fn wants_language(&self, language: Option<&str>) -> bool {
        self.lang.is_empty() || language.is_some_and(|language| self.lang.iter().any(|one| one == language))
    }
}

/// All of them in lower case and without blanks, if they are such.
fn each(names: &mut [String], is: impl Fn(&str) -> bool, what: &str) -> Result<(), ExportError> {
    for name in names {
        *name = name.trim().to_ascii_lowercase();
        if !is(name) {
            return Err(wrong(name, what));
        }
    }
    Ok(())
}

fn wrong(name: &str, what: &str) -> ExportError {
    ExportError::Asked(format!("{name:?} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn each_filter_narrows_and_all_of_them_must_hold() {
        let page = PageRecord {
            url: "http://www.b.example.org/x".into(),
            status: 304,
            fetched: UnixMillis(1_000),
            mime: Some("text/html".into()),
            ..PageRecord::default()
        };
        let at = |ms| Some(UnixMillis(ms));
        for (what, select, wanted) in [
            ("nothing said", Select::default(), true),
            ("host", Select { host: list("a.test WWW.B.example.org"), ..Select::default() }, true),
            ("part of a host", Select { host: list("example.org"), ..Select::default() }, false),
            ("site", Select { site: list("example.org"), ..Select::default() }, true),
            ("another site", Select { site: list("example.com"), ..Select::default() }, false),
            ("status that is confirmed", Select { status: list("404 2xx"), ..Select::default() }, true),
            ("status of its own", Select { status: list("304"), ..Select::default() }, false),
            ("type", Select { mime: list("image/* Text/*"), ..Select::default() }, true),
            ("another type", Select { mime: list("text/plain"), ..Select::default() }, false),
            ("since its moment", Select { since: at(1_000), ..Select::default() }, true),
            ("since later", Select { since: at(1_001), ..Select::default() }, false),
            ("until its moment", Select { until: at(1_000), ..Select::default() }, false),
            ("until later", Select { until: at(1_001), ..Select::default() }, true),
            ("all but one", Select { site: list("example.org"), until: at(5), ..Select::default() }, false),
        ] {
            assert_eq!(select.checked().unwrap().wants(&page, Some(200)), wanted, "{what}");
        }
        let lang = Select { lang: list("ZH en"), ..Select::default() }.checked().unwrap();
        assert_eq!([Some("en"), Some("de"), None].map(|it| lang.wants_language(it)), [true, false, false]);
        assert!(Select::default().wants_language(None));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for (select, words) in [
            (Select { host: list("a/b"), ..Select::default() }, "\"a/b\" is no host name"),
            (Select { site: list("www.example.org"), ..Select::default() }, "is a host of the site example.org"),
            (Select { site: list("co.uk"), ..Select::default() }, "\"co.uk\" has sites under it"),
            (Select { status: list("2x"), ..Select::default() }, "\"2x\" is no status"),
            (Select { mime: list("html"), ..Select::default() }, "\"html\" is no media type"),
            (Select { lang: list("english"), ..Select::default() }, "\"english\" is no language"),
            (
                Select { since: Some(UnixMillis(9)), until: Some(UnixMillis(9)), ..Select::default() },
                "since 1970-01-01T00:00:00.009Z and before 1970-01-01T00:00:00.009Z: `since` must be the earlier one",
            ),
        ] {
            let told = select.checked().unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
        assert_eq!(
            Select { host: list("bücher.example"), ..Select::default() }.checked().unwrap().host,
            ["xn--bcher-kva.example"]
        );
    }

    #[test]
    fn a_moment_is_a_time_a_day_or_milliseconds() {
        let times = ["2024-05-06T07:08:09.012Z", "2024-05-06T09:08:09.012+02:00", "2024-05-06", "1714979289012"];
        let ms = times.map(|text| moment(text).unwrap().0);
        assert_eq!(ms, [1_714_979_289_012, 1_714_979_289_012, 1_714_953_600_000, 1_714_979_289_012]);
        for wrong in ["", "yesterday", "2024-13-01", "2024-05-06 07:08", "-1"] {
            assert!(moment(wrong).unwrap_err().starts_with("expected"), "{wrong}");
        }
    }
}
