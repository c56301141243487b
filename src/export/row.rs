//! One capture that is to be exported; its record is read only when something of it is asked for, and then once.

use std::cell::OnceCell;
use std::path::PathBuf;

use super::ExportError;
use super::item::{FeedItem, Include, Included, LinkOf, Rights};
use crate::config::Settings;
use crate::content::html::Page;
use crate::content::mime::{Kind, sniff};
use crate::content::modules::MimeModules;
use crate::domain::card::Card;
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::storage::tables::Pages;
use crate::storage::values::{DoneKind, FeedEntry, FileLengths, PageRecord, WarcPlace};
use crate::storage::{Storage, read};
use crate::warc::again::Again;
use crate::warc::group::{Group, group_at};
use crate::warc::metadata::{MAX_OUTLINK_BYTES, MAX_TEXT_BYTES, Outlink, outlinks};
use crate::warc::pick::{PickError, Picked, head_at, metadata_at, response_at};
use crate::warc::robots::RobotsCaptures;

/// Most bytes of a record that are read into memory.
const MOST: u64 = 64 << 20;
/// Most bytes of a metadata record.
const MOST_METADATA: u64 = (2 * MAX_OUTLINK_BYTES + MAX_TEXT_BYTES) as u64;

/// Why there is no record.
pub(super) const NOT_KEPT: &str =
    "no record of it was kept (store.skip_types, store.statuses, dedup.near_store), or its first copy is not known";

/// The folder that is exported.
pub struct Source<'s> {
    /// Its database.
    pub storage: &'s dyn Storage,
    /// Its settings.
    pub settings: &'s Settings,
    /// The folder of its archive.
    pub warc_dir: PathBuf,
    /// The last entry of the feed that was shown: a loss of power takes back nothing up to it.
    pub shown: u64,
    most: u64,
    again: Again,
    lengths: OnceCell<FileLengths>,
    robots: OnceCell<RobotsCaptures>,
}

impl<'s> Source<'s> {
    /// Of a folder whose feed was shown up to `shown`.
    pub fn new(storage: &'s dyn Storage, settings: &'s Settings, shown: u64) -> Self {
        let (again, lengths, robots) = (settings.again(), OnceCell::new(), OnceCell::new());
        Self { storage, settings, warc_dir: settings.warc_dir(), shown, most: MOST, again, lengths, robots }
    }

    /// With other modules for documents.
    #[must_use]
    pub fn reading(mut self, modules: MimeModules) -> Self {
        self.again.modules = modules;
        self
    }

    /// Reads records, and bodies with content codings taken off, of at most so many bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Self {
        (self.most, self.again.max_decoded) = (bytes.min(MOST), self.again.max_decoded.min(bytes));
        self
    }

    /// How many bytes of an archive file count; none of one that is closed.
    ///
    /// # Errors
    /// The storage's own.
    pub fn committed(&self, file: &str) -> Result<Option<u64>, ExportError> {
        let lengths = once(&self.lengths, || Ok(read::meta(self.storage, ())?.unwrap_or_default()))?;
        Ok(lengths.warc.as_ref().filter(|(open, _)| open == file).map(|(_, length)| *length))
    }

    /// The records of a capture as they lie in its file; none when no record of it was kept.
    ///
    /// # Errors
    /// The storage's own.
    pub fn group(&self, page: &PageRecord) -> Result<Option<Result<Group, PickError>>, ExportError> {
        let Some(WarcPlace { file, offset, .. }) = &page.warc else { return Ok(None) };
        Ok(Some(group_at(&self.warc_dir, file, *offset, self.committed(file)?)))
    }
}

impl Source<'_> {
    /// Canonical form of links, as the crawl has it.
    pub(super) fn canon(&self) -> &Canonicaliser {
        &self.again.canon
    }
}

/// A capture with its entry in the feed.
pub struct Row<'s> {
    /// Number of the entry.
    pub number: u64,
    /// The entry.
    pub entry: FeedEntry,
    /// The capture.
    pub page: PageRecord,
    source: &'s Source<'s>,
    holder: OnceCell<Option<PageRecord>>,
    stored: OnceCell<Option<Picked>>,
    document: OnceCell<Vec<u8>>,
    read: OnceCell<Option<Page>>,
    card: OnceCell<Option<Card>>,
    language: OnceCell<Option<String>>,
    unread: OnceCell<String>,
}

/// The value of a cell, which `make` makes first.
fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, ExportError>) -> Result<&T, ExportError> {
    match cell.get() {
        Some(value) => Ok(value),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

impl<'s> Row<'s> {
    /// A capture of the page that an entry is of.
    pub fn new(source: &'s Source<'s>, number: u64, entry: FeedEntry, page: PageRecord) -> Self {
        let (holder, stored, document) = Default::default();
        let (read, card, language, unread) = Default::default();
        Self { number, entry, page, source, holder, stored, document, read, card, language, unread }
    }

    /// As the feed tells it.
    pub fn item(&self) -> FeedItem {
        FeedItem::of(self.number, &self.entry, Some(self.page.url.clone()), Some(&self.page))
    }

    /// Its URL in canonical form; none when the database has it in no such form.
    pub fn url(&self) -> Option<PageUrl> {
        PageUrl::from_canonical(&self.page.url).ok()
    }

    /// The capture whose record holds its body: itself, or for a revisit the one that it refers to, as far as that is known.
    ///
    /// # Errors
    /// The storage's own.
    pub fn holder(&self) -> Result<Option<&PageRecord>, ExportError> {
        let find = || Ok(read::holder(self.source.storage, self.entry.page, &self.page)?);
        Ok(once(&self.holder, find)?.as_ref())
    }

    /// Its status; of one that has not changed (304) that of the capture which it confirms.
    ///
    /// # Errors
    /// The storage's own.
    pub fn status(&self) -> Result<u16, ExportError> {
        if self.page.how != DoneKind::NotModified {
            return Ok(self.page.status);
        }
        Ok(self.holder()?.map_or(self.page.status, |holder| holder.status))
    }

    /// Head and body as stored, transfer coding undone and content coding kept; of a revisit those of the capture that it refers to. None
    /// when they cannot be read: then [`unread`](Self::unread) says why.
    ///
    /// # Errors
    /// The storage's own.
    pub fn stored(&self) -> Result<Option<&Picked>, ExportError> {
        let pick = || {
            let Some(WarcPlace { file, offset, .. }) = self.holder()?.and_then(|holder| holder.warc.as_ref()) else {
                self.fail(NOT_KEPT);
                return Ok(None);
            };
            let picked = response_at(&self.source.warc_dir, file, *offset, self.source.most);
            Ok(picked.inspect_err(|why| self.fail(why)).ok())
        };
        Ok(once(&self.stored, pick)?.as_ref())
    }

    /// Its body with content codings taken off, as far as that goes; nothing when it cannot be read.
    ///
    /// # Errors
    /// The storage's own.
    pub fn document(&self) -> Result<&[u8], ExportError> {
        let undo = || Ok(self.stored()?.map(|stored| self.source.again.document(stored)).unwrap_or_default());
        Ok(once(&self.document, undo)?)
    }

    /// What it says, read as the crawl reads a page; none for what no module reads, redirects, and what cannot be read. The records of what
    /// is plainly no text are not read.
    ///
    /// # Errors
    /// The storage's own.
    pub fn read(&self) -> Result<Option<&Page>, ExportError> {
        let look = || {
            let is_text = sniff(self.page.mime.as_deref(), b"") != Kind::Other;
            let (true, Some(url)) = (is_text && self.page.how != DoneKind::Redirect, self.url()) else {
                return Ok(None);
            };
            let Some(stored) = self.stored()? else { return Ok(None) };
            Ok(self.source.again.page(stored, self.document()?, &url, self.page.sitemap.is_some()))
        };
        Ok(once(&self.read, look)?.as_ref())
    }

    /// Its card; none where there is no text in it, or it cannot be read.
    ///
    /// # Errors
    /// The storage's own.
    pub fn card(&self) -> Result<Option<&Card>, ExportError> {
        let make =
            || Ok(self.read()?.and_then(|page| page.facts.card(&self.page.url, self.source.settings.index.keywords)));
        Ok(once(&self.card, make)?.as_ref())
    }

    /// The language that its card says, without making one.
    ///
    /// # Errors
    /// As [`Row::card`].
    pub fn language(&self) -> Result<Option<&str>, ExportError> {
        let make = || Ok(self.read()?.and_then(|page| page.facts.language(&self.page.url)));
        Ok(once(&self.language, make)?.as_deref())
    }

    /// The records of its capture as they lie in their file, and those of the captures that it refers to if it is a revisit, each with its
    /// capture. Nothing when its own cannot be read.
    ///
    /// # Errors
    /// The storage's own.
    pub fn groups(&self) -> Result<Vec<(PageRecord, Group)>, ExportError> {
        let Some(own) = self.group_of(&self.page, "")? else { return Ok(Vec::new()) };
        let (refers_to, mut groups) = (own.refers_to, vec![(self.page.clone(), own)]);
        if !self.page.how.is_revisit() {
            return Ok(groups);
        }
        let holder = self.holder()?;
        // A page that has not changed may refer to a capture that is another than the first with its content, in another coding.
        let other = refers_to.filter(|date| holder.is_none_or(|holder| holder.fetched != *date));
        let other =
            other.map(|date| read::get::<Pages>(self.source.storage, &self.entry.page.page(date))).transpose()?;
        for page in holder.cloned().into_iter().chain(other.flatten()) {
            if let Some(group) = self.group_of(&page, "what it refers to: ")? {
                groups.push((page, group));
            }
        }
        if groups.len() == 1 {
            self.fail(format_args!("what it refers to: {NOT_KEPT}"));
        }
        Ok(groups)
    }

    fn group_of(&self, page: &PageRecord, whose: &str) -> Result<Option<Group>, ExportError> {
        let group = self.source.group(page)?;
        if group.is_none() {
            self.fail(format_args!("{whose}{NOT_KEPT}"));
        }
        let group = group.transpose().unwrap_or_else(|why| {
            self.fail(format_args!("{whose}{why}"));
            None
        });
        if let Some(why) = group.as_ref().and_then(|group| group.damaged.as_ref()) {
            self.fail(format_args!("{whose}{why}"));
        }
        Ok(group)
    }

    /// What is told of it beside its entry.
    ///
    /// # Errors
    /// The storage's own; an index of the archive that cannot be read.
    pub fn included(&self, include: Include) -> Result<Included, ExportError> {
        let mut included = Included::default();
        if include.card {
            included.card = Some(serde_json::to_value(self.card()?).unwrap_or_default());
        }
        if let Some(page) = include.text.then(|| self.read()).transpose()?.flatten() {
            (included.text, included.text_cut) = (Some(page.facts.text.clone()), page.facts.text_cut);
        }
        if include.links {
            let fields = self.metadata()?;
            if fields.is_none() {
                self.fail("its metadata record cannot be read");
            }
            let link = |link: Outlink<'_>| LinkOf {
                url: link.url.into_owned(),
                kind: link.hop,
                context: link.context.to_owned(),
                text: link.text.to_owned(),
            };
            included.links = fields.map(|fields| outlinks(&fields).map(link).collect());
        }
        if include.rights {
            included.rights = Some(self.rights()?);
        }
        included.unread = self.unread().map(str::to_owned);
        Ok(included)
    }

    /// What is known of the rights to it, with the record of the robots.txt that was in force.
    ///
    /// # Errors
    /// The storage's own; an index of the archive that cannot be read.
    pub fn rights(&self) -> Result<Rights, ExportError> {
        let Source { warc_dir, robots, .. } = self.source;
        let place = self.page.warc.as_ref();
        let head = place.map(|at| head_at(warc_dir, &at.file, at.offset)).transpose();
        let head = head.unwrap_or_else(|why| {
            self.fail(why);
            None
        });
        let unread = |source| ExportError::Read { path: warc_dir.clone(), source };
        let robots = once(robots, || RobotsCaptures::of(warc_dir).map_err(unread))?;
        let of =
            self.url().and_then(|url| PageUrl::from_parts(url.scheme(), url.host(), url.port(), "/robots.txt").ok());
        let found = of.map(|of| robots.in_force(of.as_str(), self.page.fetched, place.map(|at| &*at.file)));
        Ok(Rights {
            robots_tag: head.and_then(|head| head.field_list("x-robots-tag")),
            robots: found.transpose().map_err(unread)?.flatten(),
        })
    }

    /// The text of its metadata record; of one that has not changed that of the capture which it confirms.
    ///
    /// # Errors
    /// The storage's own.
    pub fn metadata(&self) -> Result<Option<String>, ExportError> {
        let of = if self.page.how == DoneKind::NotModified { self.holder()? } else { Some(&self.page) };
        let Some((of, place)) = of.and_then(|of| Some((of, of.warc.as_ref()?))) else { return Ok(None) };
        Ok(metadata_at(&self.source.warc_dir, &place.file, place.offset, &of.asked(), MOST_METADATA))
    }

    /// Says that something of it that is to be exported cannot be read; the first reason stays.
    pub fn fail(&self, why: impl std::fmt::Display) {
        let _ = self.unread.set(why.to_string());
    }

    /// Why something of it that was asked for cannot be read.
    pub fn unread(&self) -> Option<&str> {
        self.unread.get().map(String::as_str)
    }
}
