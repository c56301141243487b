//! The pages of a data folder in forms that others read.
//!
//! | file | concept |
//! |---|---|
//! | [`select`], [`options`] | which pages; what a format is told |
//! | [`run`](mod@run), `walk`, `newest` | one export: the feed's entries, their captures, the newest of each page |
//! | [`row`] | a capture whose record is read when something of it is asked for |
//! | [`out`], `coded` | what is written: `.lycosa-part` until it is whole, digests, compression |
//! | [`manifest`], [`item`] | what an export holds; an entry of the feed as it is told outside |
//! | `derived` | WARC files made of the crawl's |
//! | `pack`, `part`, `zip` | records copied into WARC files of their own; parts of packages |
//! | `jsonl`, `cdxj`, `warc`, `wacz`, `sitemap`, `wet`, `wat`, `links`, `parquet`, `mirror` | one file a format |
//!
//! A format is a file here with a [`Format`], and a row of [`FORMATS`]. `docs/export.md` tells users what is in each.

mod cdxj;
mod coded;
mod derived;
mod error;
pub mod item;
pub mod jsonl;
mod links;
pub mod manifest;
mod mirror;
mod newest;
pub mod options;
pub mod out;
mod pack;
mod parquet;
mod part;
pub mod row;
pub mod run;
pub mod select;
mod sitemap;
mod wacz;
mod walk;
mod warc;
mod wat;
mod wet;
mod zip;

use std::collections::BTreeMap;

pub use error::ExportError;
pub use manifest::Manifest;
pub use options::Options;
pub use out::{Output, Sink};
pub use row::{Row, Source};
pub use run::{Asked, run};
pub use select::Select;

/// Every format, by name.
pub const FORMATS: &[Form] = &[
    Form {
        name: "jsonl",
        about: "One JSON object a page: its capture as in the feed, and its card; compressed when PATH ends in .gz or .zst",
        shape: Shape::File,
        options: &["text", "links", "rights"],
        begin: jsonl::begin,
    },
    Form {
        name: "wet",
        about: "The text of each page, in a folder of WARC files as Common Crawl's WET",
        shape: Shape::Folder,
        options: &[],
        begin: wet::begin,
    },
    Form {
        name: "wat",
        about: "Heads and links of each response as JSON, in a folder of WARC files as Common Crawl's WAT",
        shape: Shape::Folder,
        options: &[],
        begin: wat::begin,
    },
    Form {
        name: "links",
        about: "The graph of pages, hosts or domains in a folder, as Common Crawl's web graphs: vertices, edges, and texts of links",
        shape: Shape::Folder,
        options: &["level", "anchors"],
        begin: links::begin,
    },
    Form {
        name: "parquet",
        about: "A table of captures with the columns of Common Crawl's index, sorted by URL",
        shape: Shape::File,
        options: &["rights"],
        begin: parquet::begin,
    },
    Form {
        name: "cdxj",
        about: "One index of the captures, sorted, as pywb reads it; compressed when PATH ends in .gz or .zst",
        shape: Shape::File,
        options: &[],
        begin: cdxj::begin,
    },
    Form {
        name: "warc",
        about: "A folder of WARC files: the records as they are, with those that revisits refer to, each file with its index",
        shape: Shape::Folder,
        options: &["size"],
        begin: warc::begin,
    },
    Form {
        name: "wacz",
        about: "One file for replay in a browser: WARC files, index, list of pages, digests",
        shape: Shape::File,
        options: &["size", "text"],
        begin: wacz::begin,
    },
    Form {
        name: "sitemap",
        about: "A folder of sitemaps: the pages that are there, with the time of their last change",
        shape: Shape::Folder,
        options: &["base"],
        begin: sitemap::begin,
    },
    Form {
        name: "mirror",
        about: "A folder of files that a browser shows without a server, links between them relative",
        shape: Shape::Folder,
        options: &[],
        begin: mirror::begin,
    },
];

/// A format.
#[derive(Debug)]
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// A file or a folder.
    pub shape: Shape,
    /// Which [`Options`] it knows, by name.
    pub options: &'static [&'static str],
    /// Begins to write one.
    pub begin: BeginFn,
}

/// Begins to write an export.
pub type BeginFn = for<'a> fn(&Begin<'a>, &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError>;

/// What others call a format, and its name here.
pub const ALSO: &[(&str, &str)] = &[("warc-wet", "wet")];

/// The format of this name.
pub fn form(name: &str) -> Option<&'static Form> {
    let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, name)| name);
    FORMATS.iter().find(|form| form.name == name)
}

/// What an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One file, with its manifest beside it (`PATH.MANIFEST.json`).
    File,
    /// A folder, with its manifest in it (`MANIFEST.json`).
    Folder,
}

/// What a format begins with.
pub struct Begin<'a> {
    /// What it is told; only what its row names.
    pub options: &'a Options,
    /// The folder that is exported.
    pub source: &'a Source<'a>,
    /// Behind which entry of the feed it begins.
    pub after: u64,
}

/// An export of one format being written.
pub trait Format<'a> {
    /// Takes a page; false when it is not in the export. What of it cannot be read is said to the row ([`Row::fail`]), not an error.
    ///
    /// # Errors
    /// What ends the export.
    fn page(&mut self, row: &Row<'_>, out: &mut Output<'a>) -> Result<bool, ExportError>;

    /// There are no more pages. Gives what it has counted, for the manifest.
    ///
    /// # Errors
    /// What ends the export.
    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError>;
}

/// How far an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// Entries of the feed that were passed.
    pub looked: u64,
    /// Of so many.
    pub of: u64,
    /// Pages in the export.
    pub pages: u64,
}

/// Who has an export made.
pub trait Owner {
    /// Whether it goes on; asked at each page and each mebibyte that is written. May rest.
    fn goes_on(&self) -> bool;

    /// Hears how far it is, after each page.
    fn far(&self, _far: Far) {}
}
