//! Which parameters say nothing about the page: tracking marks and session ids.

use std::borrow::Cow;
use std::collections::HashMap;

use percent_encoding::{CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::percent::normal;
use super::session::looks_like_session;
use crate::domain::text::cut;

/// Parameters that campaigns, mailers and advertisers append; the page is the same without them.
const TRACKING: &str = "utm_* gclid gclsrc gbraid wbraid dclid fbclid msclkid twclid ttclid igshid yclid ysclid _openstat mc_cid \
     mc_eid _ga _gl _hsenc _hsmi hsctatracking mkt_tok oly_anon_id oly_enc_id vero_id wickedid pk_campaign pk_kwd \
     mtm_* spm_id_from srsltid";

/// Names that session ids have. By their name alone nothing is known: `session_id=12` names a session of a conference, `sid=42` a
/// story. The value tells ([`looks_like_session`]).
const SESSION: &str = "jsessionid phpsessid aspsessionid* asp.net_sessionid cfid cftoken sessionid session_id sessid zenid osclsid \
     oscsid sid session sess s_id";

/// Those of them that are words enough to name something else; the others are names that servers and shops give.
const WORDS: &[&str] = &["sessionid", "session_id", "sessid", "sid", "session", "sess", "s_id"];

/// What is removed from a URL besides what the standards say, and how long it may be.
///
/// Names are compared without regard to ASCII case; a `*` at the end stands for any rest. The lists apply to query
/// parameters; those of sessions also to path parameters (`/page;jsessionid=1A2B`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CleanRules {
    /// Tracking parameters; removed from the query.
    pub tracking: Vec<String>,
    /// Removed from query and path whatever the value; empty unless somebody says so.
    pub sessions: Vec<String>,
    /// Removed from query and path only when the value looks like a session id, so that `?sid=42` keeps naming its page.
    pub session_tokens: Vec<String>,
    /// The longest canonical URL, in bytes.
    pub max_url_length: usize,
}

impl Default for CleanRules {
    fn default() -> Self {
        let owned = |names: &str| names.split(' ').map(str::to_owned).collect();
        Self { tracking: owned(TRACKING), sessions: Vec::new(), session_tokens: owned(SESSION), max_url_length: 2_000 }
    }
}

impl CleanRules {
    /// Removes nothing; the length limit is the default.
    pub fn keep_all() -> Self {
        Self { tracking: Vec::new(), sessions: Vec::new(), session_tokens: Vec::new(), ..Self::default() }
    }
}

/// A list of names as it is asked: lower-case, as they stand in a canonical URL, exact ones apart from prefixes.
#[derive(Clone, Debug, Default)]
struct Names {
    exact: Vec<Box<[u8]>>,
    prefixes: Vec<Box<[u8]>>,
}

impl Names {
    fn new(names: &[String]) -> Self {
        let mut made = Self::default();
        let known = names.iter().map(|name| utf8_percent_encode(name.trim(), CONTROLS).to_string());
        for name in known.map(|name| name.to_ascii_lowercase()).filter(|name| !name.is_empty()) {
            match name.strip_suffix('*') {
                Some(prefix) => made.prefixes.push(prefix.as_bytes().into()),
                None => made.exact.push(name.as_bytes().into()),
            }
        }
        made
    }

    fn contain(&self, name: &[u8]) -> bool {
        self.exact.iter().any(|known| known.eq_ignore_ascii_case(name))
            || self.prefixes.iter().any(|p| name.get(..p.len()).is_some_and(|start| start.eq_ignore_ascii_case(p)))
    }
}

/// [`CleanRules`] ready for use.
#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    tracking: Names,
    sessions: Names,
    session_tokens: Names,
    /// Such names that name pages here.
    page_names: Names,
}

impl Cleaner {
    pub(super) fn new(rules: &CleanRules) -> Self {
        Self {
            tracking: Names::new(&rules.tracking),
            sessions: Names::new(&rules.sessions),
            session_tokens: Names::new(&rules.session_tokens),
            page_names: Names::default(),
        }
    }

    /// The same for links of one page of `host`, where some of them show that what looks like session ids names pages. A visitor has one
    /// id, and it stands on all links of a page: links that differ in the value alone lead to several pages, and so does a link whose
    /// value no other has, when others have none at all.
    pub(super) fn for_links<'l>(&self, links: impl Iterator<Item = &'l str>, host: &str) -> Option<Self> {
        let mut known: HashMap<(&str, &str), &str> = HashMap::new();
        let mut names = Vec::new();
        let mut carriers: HashMap<&str, (&str, Option<Cow<'_, str>>)> = HashMap::new();
        let mut others_have_none = false;
        for link in links {
            let link = cut(link, b'#').map_or(link, |(link, _)| link);
            let mut marks = values(link).filter(|(_, value, _)| looks_like_session(&normal(value))).peekable();
            others_have_none = others_have_none || !link.is_empty() && marks.peek().is_none() && is_of(link, host);
            for (before, value, behind) in marks {
                let name = before.rsplit(['?', '&']).next().and_then(|name| name.strip_suffix('=')).unwrap_or_default();
                let name = normal(name);
                let may_name_pages = WORDS.iter().any(|word| word.eq_ignore_ascii_case(&name));
                let is_token = may_name_pages && self.session_tokens.contain(name.as_bytes());
                if is_token && *known.entry((before, behind)).or_insert(value) != value {
                    names.push(name.clone().into_owned());
                }
                let carrier = carriers.entry(value).or_insert_with(|| (link, is_token.then_some(name)));
                if carrier.0 != link {
                    carrier.1 = None;
                }
            }
        }
        if others_have_none {
            names.extend(carriers.into_values().filter_map(|(_, name)| Some(name?.into_owned())));
        }
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then(|| Self { page_names: Names::new(&names), ..self.clone() })
    }

    /// Appends to `out` the parameters of `query` that stay, in their order and as they are written.
    pub(super) fn push_query(&self, query: &str, out: &mut String) {
        for (nth, part) in query.split('&').filter(|part| !self.drops_from_query(part)).enumerate() {
            out.push_str(if nth > 0 { "&" } else { "" });
            out.push_str(part);
        }
    }

    /// Appends `path` to `out` without its session parameters, the rest as it is written.
    pub(super) fn push_path(&self, path: &str, out: &mut String) {
        if !path.contains(';') {
            out.push_str(path);
            return;
        }
        for (nth, segment) in path.split('/').enumerate() {
            out.push_str(if nth > 0 { "/" } else { "" });
            self.push_segment(segment, out);
        }
    }

    /// A segment that would become `.` or `..` is left whole: without its parameter it would mean another path.
    fn push_segment(&self, segment: &str, out: &mut String) {
        let mut parts = segment.split(';');
        let name = parts.next().unwrap_or_default();
        if matches!(&*normal(name), "." | "..") {
            out.push_str(segment);
            return;
        }
        out.push_str(name);
        for part in parts.filter(|part| !self.is_session(&normal(part))) {
            out.push(';');
            out.push_str(part);
        }
    }

    /// Whether [`Cleaner::push_query`] would leave `query` as it is.
    pub(super) fn keeps_query(&self, query: &str) -> bool {
        !query.split('&').any(|part| self.drops_from_query(part))
    }

    fn drops_from_query(&self, part: &str) -> bool {
        let part = normal(part);
        self.tracking.contain(pair(&part).0.as_bytes()) || self.is_session(&part)
    }

    fn is_session(&self, part: &str) -> bool {
        let (name, value) = pair(part);
        let name = name.as_bytes();
        let is_token = || self.session_tokens.contain(name) && !self.page_names.contain(name);
        self.sessions.contain(name) || (is_token() && looks_like_session(value))
    }
}

/// Name and value of a parameter.
fn pair(part: &str) -> (&str, &str) {
    part.split_once('=').unwrap_or((part, ""))
}

/// Whether a link leads to `host` or names none.
fn is_of(link: &str, host: &str) -> bool {
    let Some((scheme, rest)) = link.split_once("//") else { return !link.contains(':') };
    match scheme {
        "" | "http:" | "https:" => {
            rest.split(['/', '?', ':']).next().is_some_and(|named| named.eq_ignore_ascii_case(host))
        }
        path => !path.contains(':'),
    }
}

/// The values in the query of a link, each with what stands before and behind it.
fn values(link: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let query = cut(link, b'?').map_or("", |(_, query)| query);
    let mut at = link.len() - query.len();
    let parts = query.split('&');
    parts.filter_map(move |part| {
        let (name, value) = pair(part);
        let (from, to) = (at + name.len() + 1, at + part.len());
        at = to + 1;
        (!value.is_empty()).then(|| Some((link.get(..from)?, value, link.get(to..)?)))?
    })
}
