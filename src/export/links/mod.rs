//! `links`: the graph of pages, hosts or registrable domains, in the form of Common Crawl's web graphs. Links are those that the metadata
//! records of the archive list, so nothing is parsed again.

mod graph;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::Write;

use super::coded::Coded;
use super::{Begin, ExportError, Format, Output, Row};
use crate::base::kinds::kinds;
use crate::domain::host::{is_ip_literal, registrable_domain, without_www};
use crate::domain::url::PageUrl;
use crate::warc::metadata::{omitted_links, outlinks};
use graph::Graph;

kinds! {
    /// What the vertices of a graph are.
    Level {
        /// URLs.
        Page = "page",
        /// Hosts without `www.`.
        Host = "host",
        /// Registrable domains.
        Domain = "domain",
    }
}

struct Links<'a> {
    level: Level,
    graph: Graph,
    anchors: Option<Coded<'a>>,
    /// Links that metadata records leave out, for there were too many.
    omitted: u64,
}

pub(super) fn begin<'a>(begin: &Begin<'a>, out: &mut Output<'a>) -> Result<Box<dyn Format<'a> + 'a>, ExportError> {
    let anchors = if begin.options.anchors { Some(Coded::gzip(out.file("anchors.tsv.gz")?)) } else { None };
    let level = begin.options.level.unwrap_or(Level::Host);
    Ok(Box::new(Links { level, graph: Graph::new(out.scratch()), anchors, omitted: 0 }))
}

impl<'a> Format<'a> for Links<'a> {
    fn page(&mut self, row: &Row<'_>, _: &mut Output<'a>) -> Result<bool, ExportError> {
        let Some((from, member)) = self.level.vertex(&row.page.url) else { return Ok(false) };
        self.graph.vertex(&from, &member)?;
        let Some(fields) = row.metadata()? else {
            row.fail("its metadata record, which lists its links, cannot be read");
            return Ok(true);
        };
        self.omitted += omitted_links(&fields);
        let mut known = BTreeSet::new();
        for link in outlinks(&fields) {
            if let Some(anchors) = self.anchors.as_mut().filter(|_| !link.text.is_empty()) {
                writeln!(anchors, "{}\t{}\t{}", row.page.url, link.url, link.text.replace('\t', " "))?;
            }
            if let Some((to, member)) = self.level.vertex(&link.url)
                && known.insert(to.clone())
            {
                self.graph.vertex(&to, &member)?;
                self.graph.edge(&from, &to)?;
            }
        }
        Ok(true)
    }

    fn end(self: Box<Self>, out: &mut Output<'a>) -> Result<BTreeMap<String, u64>, ExportError> {
        let Self { level, graph, anchors, omitted } = *self;
        let (mut vertices, mut edges) =
            (Coded::gzip(out.file("vertices.txt.gz")?), Coded::gzip(out.file("edges.txt.gz")?));
        let mut records = 0_u64;
        let size = graph.write(level == Level::Domain, &mut vertices, &mut edges, || {
            records += 1;
            if records.is_multiple_of(ASK) { out.goes_on() } else { Ok(()) }
        })?;
        for coded in [vertices, edges].into_iter().chain(anchors) {
            out.keep(coded.finish()?)?;
        }
        let counts = [("vertices", size.vertices), ("edges", size.edges), ("links_omitted", omitted)];
        Ok(counts.map(|(name, count)| (name.to_owned(), count)).into())
    }
}

/// Records after which the owner is asked again whether it goes on.
const ASK: u64 = 10_000;

impl Level {
    /// The vertex that a URL belongs to, and its host where vertices are domains. Addresses are no names, and in no graph but that of pages.
    fn vertex(self, url: &str) -> Option<(String, String)> {
        let url = PageUrl::from_canonical(url).ok()?;
        let host = url.host();
        match self {
            Self::Page => Some((url.as_str().to_owned(), String::new())),
            _ if is_ip_literal(host) => None,
            Self::Host => Some((reversed(without_www(host)), String::new())),
            Self::Domain => Some((reversed(registrable_domain(host)), without_www(host).to_owned())),
        }
    }
}

fn reversed(host: &str) -> String {
    host.rsplit('.').collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_reversed_and_addresses_are_none() {
        let name = |level: Level, url: &str| level.vertex(url).map(|(name, _)| name);
        let url = "https://www.news.example.co.uk:8443/a?b";
        assert_eq!(name(Level::Page, url).as_deref(), Some(url));
        assert_eq!(name(Level::Host, "http://www.example.org/").as_deref(), Some("org.example"));
        assert_eq!(name(Level::Host, url).as_deref(), Some("uk.co.example.news"));
        assert_eq!(name(Level::Domain, url).as_deref(), Some("uk.co.example"));
        assert_eq!([Level::Host, Level::Domain].map(|level| name(level, "http://127.0.0.1/")), [None, None]);
        assert_eq!(name(Level::Page, "ftp://x/"), None);
    }
}
