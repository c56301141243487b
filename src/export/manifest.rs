//! What an export holds, beside it or in it. There is no time in it: the same folder and selection give the same bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::row::Row;
use super::{Options, Select};

/// Pages named that could not be read.
const NAMED: usize = 100;
/// Media types counted by their names; servers write what they like.
const TYPES: usize = 1_000;
/// What the others are counted as.
const OTHERS: &str = "(others)";

/// What an export holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Manifest {
    /// The program and its version.
    pub software: String,
    /// The format.
    pub format: String,
    /// What the format was told.
    pub options: Options,
    /// Which pages were asked for.
    pub select: Select,
    /// The part of the feed it is of.
    pub feed: FeedPart,
    /// How much of what.
    pub counts: Counts,
    /// Its files.
    pub files: Vec<FileSaid>,
    /// The first hundred pages of which something could not be read.
    pub unread: Vec<Unread>,
}

/// A part of the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedPart {
    /// Which feed: `--log` of the next export.
    pub log: String,
    /// It begins behind this entry.
    pub after: u64,
    /// Number of the first page in it; none when it is empty.
    pub first: Option<u64>,
    /// The last entry that was looked at: `--after` of the next export.
    pub last: u64,
}

/// How much of what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    /// Entries of the feed that were looked at.
    pub entries: u64,
    /// Pages that are in the export.
    pub pages: u64,
    /// Entries of pages that failed or were turned away: nothing was captured.
    pub without_capture: u64,
    /// Captures left out because there is a newer one.
    pub older_captures: u64,
    /// Captures that are gone from the database.
    pub captures_gone: u64,
    /// Captures that the filters leave out.
    pub filtered_out: u64,
    /// Pages of which something could not be read.
    pub unread: u64,
    /// Pages in the export by what became of them, as the feed says it.
    pub by_kind: BTreeMap<String, u64>,
    /// Pages in the export by status.
    pub by_status: BTreeMap<String, u64>,
    /// Pages in the export by media type; beyond a thousand types as `(others)`.
    pub by_mime: BTreeMap<String, u64>,
    /// What a format counts beside these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub of_format: BTreeMap<String, u64>,
}

/// A file of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSaid {
    /// Its name, in the export's folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// A page of which something could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unread {
    /// Number of its entry.
    pub seq: u64,
    /// Its URL.
    pub url: String,
    /// Why.
    pub why: String,
}

impl Manifest {
    /// Counts a page. `taken`: it is in the export.
    pub fn note(&mut self, row: &Row<'_>, taken: bool) {
        if let Some(why) = row.unread() {
            self.counts.unread += 1;
            if self.unread.len() < NAMED {
                self.unread.push(Unread { seq: row.number, url: row.page.url.clone(), why: why.to_owned() });
            }
        }
        if !taken {
            return;
        }
        self.feed.first.get_or_insert(row.number);
        let counts = &mut self.counts;
        counts.pages += 1;
        count(&mut counts.by_kind, row.entry.kind.as_str());
        count(&mut counts.by_status, &row.page.status.to_string());
        let mime = row.page.mime.as_deref().filter(|mime| !mime.is_empty()).unwrap_or("(none)");
        let is_full = counts.by_mime.len() >= TYPES && !counts.by_mime.contains_key(mime);
        count(&mut counts.by_mime, if is_full { OTHERS } else { mime });
    }
}

impl Counts {
    /// Adds what a walk has counted.
    pub(super) fn add_to(&self, counts: &mut Self) {
        counts.entries += self.entries;
        counts.without_capture += self.without_capture;
        counts.older_captures += self.older_captures;
        counts.captures_gone += self.captures_gone;
        counts.filtered_out += self.filtered_out;
    }
}

fn count(by: &mut BTreeMap<String, u64>, name: &str) {
    match by.get_mut(name) {
        Some(n) => *n += 1,
        None => _ = by.insert(name.to_owned(), 1),
    }
}
