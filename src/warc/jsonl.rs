//! `crawl.jsonl`: one line of JSON for every URL that is finished, whatever came of it.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::date::iso;
use super::digest::WarcDigest;
use super::writer::Place;
use crate::base::time::UnixMillis;
use crate::domain::near::Near;
use crate::domain::visit::Visit;
use crate::storage::values::Remarks;

/// One line. Unknown values are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlLine<'a> {
    /// When it was finished, as `2024-05-06T07:08:09.012Z`.
    pub ts: Cow<'a, str>,
    /// The URL.
    pub url: Cow<'a, str>,
    /// The URL as it was asked for, where that is another spelling of it: the `WARC-Target-URI`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<Cow<'a, str>>,
    /// What a visit of a page that was fetched before brought, by the names of [`Visit`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub visit: Option<Cow<'a, str>>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Why there is no page, by the names of `domain::reason`; `revisit` for a payload known before, `unstored` for a page that the
    /// settings leave out of the WARC.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<Cow<'a, str>>,
    /// Bytes of the body as it came.
    #[serde(default)]
    pub bytes: u64,
    /// The MIME type.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mime: Option<Cow<'a, str>>,
    /// One letter a hop from the seed.
    #[serde(default)]
    pub hop_path: Cow<'a, str>,
    /// The page that led here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub via: Option<Cow<'a, str>>,
    /// The seed it goes back to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<Cow<'a, str>>,
    /// What that seed is called.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tags: Vec<String>,
    /// Where it leads at once: by redirect or refresh.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<Cow<'a, str>>,
    /// Why that was turned away: the reason, and the rule in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_refused: Option<Cow<'a, str>>,
    /// What `<link rel=canonical>` or the header `Link` names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub canonical: Option<Cow<'a, str>>,
    /// The page of its domain that its text is near to: the leader of its group.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub near: Option<Cow<'a, str>>,
    /// Bits in which their sketches differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub near_distance: Option<u8>,
    /// What the rules of `[[extract]]` found, by name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub extracted: Option<serde_json::Value>,
    /// Which attempt this was, from 1.
    #[serde(default)]
    pub attempt: u32,
    /// Payload digest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<WarcDigest>,
    /// From the request to the last byte, milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// What was odd about the answer, by the names of `domain::note`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<Cow<'a, str>>,
    /// What is said of the use of the content.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Cow<'a, str>>,
    /// The WARC that holds the response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warc: Option<Cow<'a, str>>,
    /// The response record's first byte there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offset: Option<u64>,
    /// True for a line that was lost and made anew from the database: what only the line knew is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub restored: bool,
}

/// What an erased line begins with; spaces and a brace follow, up to its former length.
const ERASED: &str = "{\"erased\":true";

/// What stands in the place of a line that is erased, of this length without its end.
pub fn erased(length: usize) -> Vec<u8> {
    let mut line = format!("{ERASED:width$}}}", width = length.saturating_sub(1)).into_bytes();
    if line.len() > length {
        line = vec![b' '; length]; // none of ours is so short
    }
    line
}

/// Whether a line was erased.
pub fn is_erased(line: &[u8]) -> bool {
    line.starts_with(ERASED.as_bytes())
}

impl<'a> CrawlLine<'a> {
    /// A line with time and URL; the rest is set by the caller.
    pub fn new(at: UnixMillis, url: &'a str) -> Self {
        Self { ts: iso(at).into(), url: url.into(), attempt: 1, ..Self::default() }
    }

    /// Says what is remarked of a capture.
    pub fn remark(&mut self, remarks: &'a Remarks) {
        self.notes = remarks.notes.iter().map(|note| note.as_str().into()).collect();
        self.usage = remarks.usage.as_deref().map(Into::into);
        let near = remarks.near.as_ref().and_then(Near::like);
        (self.near, self.near_distance) = near.map(|(url, distance)| (url.into(), distance)).unzip();
    }

    /// Says what the visit brought: of a page that was fetched before, for all others the rest of the line says it.
    #[must_use]
    pub fn visited(mut self, visit: Option<Visit>) -> Self {
        let told = visit.filter(|visit| visit.is_content() && *visit != Visit::First);
        self.visit = told.map(|visit| visit.as_str().into());
        self
    }

    /// Says where the response stands.
    #[must_use]
    pub fn placed(mut self, place: &Place) -> Self {
        self.warc = Some(place.file.to_string().into());
        self.offset = Some(place.offset);
        self
    }

    /// Appends the line with its line end to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        // Writing strings and numbers into memory cannot fail; half a line would be worse than none.
        if serde_json::to_writer(&mut *out, self).is_err() {
            out.truncate(begin);
            return;
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_is_known_and_leaves_out_the_rest() {
        let mut out = Vec::new();
        let mut line = CrawlLine::new(UnixMillis(12), "http://h.test/");
        line.reason = Some("dns_failed".into());
        line.write(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{\"ts\":\"1970-01-01T00:00:00.012Z\",\"url\":\"http://h.test/\",\"reason\":\"dns_failed\",\"bytes\":0,\
             \"hop_path\":\"\",\"attempt\":1,\"ms\":0}\n"
        );
    }

    #[test]
    fn a_line_is_read_back_and_is_one_line_whatever_the_values() {
        let mut line = CrawlLine::new(UnixMillis(0), "http://h.test/\n\u{2028}\"");
        line.digest = Some(WarcDigest::of(b"x"));
        let line = line.placed(&Place { file: "f".into(), offset: 7, length: 1 });
        let mut out = Vec::new();
        line.write(&mut out);
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!(serde_json::from_slice::<CrawlLine<'_>>(&out).unwrap(), line);
    }
}
