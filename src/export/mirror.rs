//! `mirror`: a folder of files that a browser shows without any server: each page in a file of its own, links between them relative.
//!
//! Which file a URL is must be known before the first link to it is written. So pages get their names as they come, and are written when
//! all have one.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::out::MANIFEST;
use super::{Begin, ExportError, Format, Output, Row, Source};
use crate::content::html::rewrite;
use crate::content::mime::{Kind, sniff};
use crate::domain::mirror_names::Names;
use crate::domain::url::{Joiner, PageUrl};
use crate::storage::keys::FeedKey;
use crate::storage::read;
use crate::storage::tables::{Feed, Pages};
use crate::storage::values::DoneKind;

/// Pages looked up at a time.
const CHUNK: usize = 500;
/// What is escaped in a link to a file.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b'@').remove(b'=');
/// What is escaped in a fragment (URL Standard, fragment percent-encode set).
const FRAGMENT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

struct Mirror<'a> {
    source: &'a Source<'a>,
    names: Names,
    /// Numbers of the entries of the pages in it, by their files: of each page the newest.
    pages: HashMap<String, u64>,
    /// Links to files of the mirror.
    links: u64,
    /// Pages that could not be read when they were to be written.
    unwritten: u64,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, _: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let names = Names::new(&[MANIFEST]);
    Ok(Box::new(Mirror { source: begin.source, names, pages: HashMap::new(), links: 0, unwritten: 0 }))
}

impl<'a> Format<'a> for Mirror<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        let Some(url) = row.url().filter(|_| row.page.warc.is_some()) else { return Ok(false) };
        let mime = match row.page.how {
            DoneKind::Redirect if row.page.remarks.target.is_some() => Some("text/html"),
            DoneKind::Redirect => return Ok(false),
            _ if !(200..300).contains(&row.status()?) => return Ok(false),
            _ => row.page.mime.as_deref(),
        };
        // What cannot be read is to be known before links lead there.
        if row.page.how != DoneKind::Redirect && row.stored()?.is_none() {
            return Ok(false);
        }
        Ok(self.pages.insert(self.names.add(&url, mime), row.number).is_none())
    }

    fn end(mut self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let mut pages: Vec<u64> = std::mem::take(&mut self.pages).into_values().collect();
        pages.sort_unstable();
        let storage = self.source.storage;
        for numbers in pages.chunks(CHUNK) {
            let keys: Vec<FeedKey> = numbers.iter().map(|number| FeedKey { number: *number }).collect();
            let entries = read::get_many::<Feed>(storage, &keys)?;
            for (number, entry) in numbers.iter().zip(entries) {
                out.goes_on()?;
                let key = entry.as_ref().and_then(|entry| Some(entry.page.page(entry.captured?)));
                let page = key.map(|key| read::get::<Pages>(storage, &key)).transpose()?.flatten();
                let written = match entry.zip(page) {
                    Some((entry, page)) => self.write(&Row::new(self.source, *number, entry, page), out)?,
                    None => false,
                };
                self.unwritten += u64::from(!written);
            }
        }
        let counts =
            [("files", pages.len() as u64 - self.unwritten), ("links", self.links), ("unwritten", self.unwritten)];
        Ok(counts.map(|(name, count)| (name.to_owned(), count)).into())
    }
}

impl<'a> Mirror<'a> {
    /// Writes a page into its file; false when it cannot be read.
    fn write(&mut self, row: &Row<'_>, out: &mut Output<'a>) -> Result<bool, ExportError> {
        let Some((url, path)) = row.url().and_then(|url| Some((url.clone(), self.names.path(&url)?))) else {
            return Ok(false);
        };
        let bytes = match row.page.how {
            DoneKind::Redirect => self.redirect(row, &path),
            _ => match row.stored()? {
                None => return Ok(false),
                Some(stored) => {
                    let content_type = stored.field_list("content-type");
                    self.content(row, (&url, &path), content_type.as_deref())?
                }
            },
        };
        let mut sink = out.file(&path)?;
        sink.write_all(&bytes)?;
        out.keep(sink)?;
        Ok(true)
    }

    /// The body of a page or style sheet with other links, of anything else as it is.
    fn content(
        &mut self,
        row: &Row<'_>,
        (url, path): (&PageUrl, &str),
        content_type: Option<&str>,
    ) -> Result<Vec<u8>, ExportError> {
        let document = row.document()?;
        let kind = sniff(content_type, document);
        let is_style = row.page.mime.as_deref().is_some_and(|mime| mime.eq_ignore_ascii_case("text/css"));
        if !matches!(kind, Kind::Html | Kind::Xhtml) && !is_style {
            return Ok(document.to_vec());
        }
        let (page, at) = (row.read()?, url.to_url());
        let base = page.map_or_else(|| at.clone(), |page| page.facts.base_url(&at));
        let links = Links {
            names: &self.names,
            joiner: self.source.canon().joiner(base, page.map(|page| page.charset)),
            own: &at,
            path,
        };
        let top_level = at.domain().and_then(|domain| domain.rsplit('.').next());
        let rewritten = rewrite(kind, content_type, top_level, document, &mut |reference| links.link(reference));
        self.links += rewritten.replaced;
        Ok(rewritten.bytes)
    }

    /// A page that leads where the server led.
    fn redirect(&mut self, row: &Row<'_>, path: &str) -> Vec<u8> {
        let target = row.page.remarks.target.as_deref().unwrap_or_default();
        let (target, fragment) =
            target.split_once('#').map_or((target, None), |(target, fragment)| (target, Some(fragment)));
        let file = PageUrl::from_canonical(target).ok().and_then(|url| self.names.path(&url));
        self.links += u64::from(file.is_some());
        let link = file.map_or_else(|| target.to_owned(), |file| relative(path, &file)) + &written(fragment);
        let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        let head =
            format!("<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={link}\">");
        format!("{head}<title>Moved</title><p><a href=\"{link}\">This page has moved</a>\n").into_bytes()
    }
}

/// The links of one page.
struct Links<'m> {
    names: &'m Names,
    joiner: Joiner<'m>,
    own: &'m Url,
    /// The file of the page.
    path: &'m str,
}

impl Links<'_> {
    /// What is put in the place of a reference: a file of the mirror, or else the whole URL; none where it is that already, and for what
    /// leads nowhere.
    fn link(&self, reference: &str) -> Option<String> {
        let (target, fragment) = match reference.split_once('#') {
            Some((target, fragment)) => (target, Some(fragment)),
            None => (reference, None),
        };
        let base = self.joiner.base();
        if target.is_empty() && base == self.own {
            return None;
        }
        let absolute = base.join(target).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        match self.joiner.join(target).ok().and_then(|url| self.names.path(&url)) {
            Some(file) => Some(relative(self.path, &file) + &written(fragment)),
            None if Url::parse(target).is_ok() => None,
            None => Some(absolute.to_string() + &written(fragment)),
        }
    }
}

/// A fragment as it stands in a link.
fn written(fragment: Option<&str>) -> String {
    fragment.map(|fragment| format!("#{}", utf8_percent_encode(fragment, FRAGMENT))).unwrap_or_default()
}

/// The way from one file to another.
fn relative(from: &str, to: &str) -> String {
    let common: usize = from
        .split_inclusive('/')
        .zip(to.split_inclusive('/'))
        .take_while(|(a, b)| a == b && a.ends_with('/'))
        .map(|(a, _)| a.len())
        .sum();
    let (from, to) = (from.get(common..).unwrap_or_default(), to.get(common..).unwrap_or_default());
    let up = "../".repeat(from.matches('/').count());
    format!("{up}{}", utf8_percent_encode(to, PATH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::Canonicaliser;

    #[test]
    fn the_way_from_a_file_to_another_goes_up_no_further_than_it_must() {
        for (from, to, want) in [
            ("h/a/b.html", "h/a/c.html", "c.html"),
            ("h/a/b.html", "h/a/b.html", "b.html"),
            ("h/a/b.html", "h/d/e f.html", "../d/e%20f.html"),
            ("h/b.html", "i/x%2Fy@q=1.html", "../i/x%252Fy@q=1.html"),
            ("h/ab/c", "h/a/c", "../a/c"),
            ("h/a", "h/a/b", "a/b"),
            ("h/你.html", "h/好.html", "%E5%A5%BD.html"),
        ] {
            assert_eq!(relative(from, to), want, "{from} {to}");
        }
    }

    #[test]
    fn links_lead_to_files_of_the_mirror_and_else_stay_whole() {
        let canon = Canonicaliser::default();
        let url = |text: &str| canon.parse(text).unwrap();
        let mut names = Names::new(&[MANIFEST]);
        let path = names.add(&url("http://h.test/dir/page"), Some("text/html"));
        names.add(&url("http://h.test/dir/other?a=1"), Some("text/html"));
        names.add(&url("https://i.test/"), Some("text/html"));
        let own = url("http://h.test/dir/page").to_url();
        let with_base = |base: &str| Links {
            names: &names,
            joiner: canon.joiner(own.join(base).unwrap(), None),
            own: &own,
            path: &path,
        };
        let plain = with_base("page");
        for (reference, want) in [
            ("other?a=1#x y", Some("other@a=1.html#x%20y")),
            ("//h.test/dir/page#é", Some("page.html#%C3%A9")),
            ("https://I.test", Some("../../i.test/index.html")),
            ("#top", None),
            ("", None),
            ("never?b#c", Some("http://h.test/dir/never?b#c")),
            ("/never", Some("http://h.test/never")),
            ("http://x.test/y", None),
            ("mailto:a@b", None),
            ("javascript:x", None),
            ("data:,x", None),
        ] {
            assert_eq!(plain.link(reference).as_deref(), want, "{reference}");
        }
        let based = with_base("/b/");
        assert_eq!(based.link("../dir/page").as_deref(), Some("page.html"));
        assert_eq!(based.link("#top").as_deref(), Some("http://h.test/b/#top"));
    }
}
