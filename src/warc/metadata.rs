//! The content of metadata records: how a URL was found and where it leads, in the field names Heritrix made known.

use std::borrow::Cow;

use super::header::{MAX_VALUE, clean_uri, put_field, put_parts};

/// Bytes of links a metadata record holds; what does not fit is counted, not written.
pub const MAX_OUTLINK_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of anchor text beside them.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// A link for a metadata record.
#[derive(Clone, Debug)]
pub struct Outlink<'a> {
    /// Where it leads.
    pub url: Cow<'a, str>,
    /// Kind of hop: `L` a link, `E` an embed, `R` a redirect, `P` a prerequisite, `M` from a manifest as sitemaps.
    pub hop: char,
    /// Element and attribute, as `a/@href`.
    pub context: &'a str,
    /// Its anchor text; may be empty.
    pub text: &'a str,
}

/// What a metadata record says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata<'a> {
    /// The page that led here.
    pub via: Option<&'a str>,
    /// One letter a hop from the seed; empty for a seed.
    pub hops_from_seed: &'a str,
    /// From the request to the last byte, milliseconds.
    pub fetch_time_ms: Option<u64>,
    /// Charset the text was decoded with.
    pub charset: Option<&'a str>,
    /// What is said of the use of the content.
    pub usage: Option<&'a str>,
    /// Links found, in the order of the page.
    pub outlinks: &'a [Outlink<'a>],
}

impl Metadata<'_> {
    /// The record's content, `application/warc-fields`.
    pub fn to_fields(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.outlinks.len().min(10_000) * 80);
        let hops = Some(self.hops_from_seed).filter(|hops| !hops.is_empty());
        let fields = [
            ("via", self.via.map(clean_uri)),
            ("hopsFromSeed", hops.map(Cow::from)),
            ("fetchTimeMs", self.fetch_time_ms.map(|ms| ms.to_string().into())),
            ("charsetForLinkExtraction", self.charset.map(Cow::from)),
            ("contentUsage", self.usage.map(Cow::from)),
        ];
        for (name, value) in fields.iter().filter_map(|(name, value)| Some((name, value.as_deref()?))) {
            put_field(&mut out, name, value);
        }
        self.put_outlinks(&mut out);
        out
    }

    fn put_outlinks(&self, out: &mut Vec<u8>) {
        let (begin, mut room) = (out.len(), MAX_TEXT_BYTES);
        for (written, link) in self.outlinks.iter().enumerate() {
            if out.len() - begin > MAX_OUTLINK_BYTES + MAX_TEXT_BYTES - room {
                put_field(out, "outlinksOmitted", &(self.outlinks.len() - written).to_string());
                return;
            }
            let url = clean_uri(&link.url);
            put(out, "outlink", &[&url, " ", link.hop.encode_utf8(&mut [0; 4]), " ", link.context]);
            let before = out.len();
            if !link.text.is_empty() && link.text.len() + url.len() <= room {
                put(out, "outlinkText", &[&url, " ", link.text.trim_end()]);
                room -= room.min(out.len() - before);
            }
        }
    }
}

/// A field whose value comes in parts; one that is too long is cut.
fn put(out: &mut Vec<u8>, name: &str, parts: &[&str]) {
    match parts.iter().map(|part| part.len()).sum::<usize>() {
        ..=MAX_VALUE => put_parts(out, name, parts),
        _ => put_field(out, name, &parts.concat()),
    }
}

/// The links that such a record holds, with their texts.
pub fn outlinks(fields: &str) -> impl Iterator<Item = Outlink<'_>> {
    let mut lines = fields.lines().peekable();
    std::iter::from_fn(move || {
        loop {
            let mut parts = lines.next()?.strip_prefix("outlink: ").unwrap_or_default().splitn(3, ' ');
            let (Some(url), Some(hop), Some(context)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let Some(hop) = hop.chars().next() else { continue };
            let next = lines.peek().and_then(|line| line.strip_prefix("outlinkText: "));
            let text = next.and_then(|said| said.strip_prefix(url)?.strip_prefix(' ')).unwrap_or_default();
            return Some(Outlink { url: url.into(), hop, context, text });
        }
    })
}

/// How many links it leaves out.
pub fn omitted_links(fields: &str) -> u64 {
    let omitted = fields.lines().find_map(|line| line.strip_prefix("outlinksOmitted: "));
    omitted.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_in_the_form_of_heritrix() {
        let outlinks = [
            Outlink { url: "http://h.test/b c".into(), hop: 'L', context: "a/@href", text: "The next\r\npage: 2" },
            Outlink { url: "http://h.test/i.png".into(), hop: 'E', context: "=EMBED_MISC", text: "" },
        ];
        let metadata = Metadata {
            via: Some("http://h.test/"),
            hops_from_seed: "LL",
            fetch_time_ms: Some(12),
            charset: Some("UTF-8"),
            usage: Some("header: Content-Usage: train-ai=n"),
            outlinks: &outlinks,
        };
        assert_eq!(
            String::from_utf8(metadata.to_fields()).unwrap(),
            "via: http://h.test/\r\nhopsFromSeed: LL\r\nfetchTimeMs: 12\r\ncharsetForLinkExtraction: UTF-8\r\n\
             contentUsage: header: Content-Usage: train-ai=n\r\noutlink: http://h.test/b%20c L a/@href\r\n\
             outlinkText: http://h.test/b%20c The next  page: 2\r\noutlink: http://h.test/i.png E =EMBED_MISC\r\n"
        );
        assert_eq!(Metadata::default().to_fields(), b"");
        let text = String::from_utf8(metadata.to_fields()).unwrap();
        let read: Vec<_> = super::outlinks(&text).map(|link| (link.url, link.hop, link.context, link.text)).collect();
        let a = (Cow::from("http://h.test/b%20c"), 'L', "a/@href", "The next  page: 2");
        let b = (Cow::from("http://h.test/i.png"), 'E', "=EMBED_MISC", "");
        assert_eq!((read, omitted_links(&text)), (vec![a, b], 0));
    }

    #[test]
    fn lines_that_hold_no_link_are_passed_over() {
        let text =
            "outlink: \r\noutlink: http://h.test/ L\r\noutlink: http://h.test/  x\r\nvia: outlink: a L b\r\noutlink";
        assert_eq!(outlinks(text).count(), 0);
    }

    #[test]
    fn links_beyond_the_bound_are_counted_and_not_written() {
        let long = format!("http://h.test/{}", "x".repeat(8000));
        let link = Outlink { url: long.as_str().into(), hop: 'L', context: "a/@href", text: "text" };
        let outlinks = vec![link; 2000];
        let out = Metadata { outlinks: &outlinks, ..Default::default() }.to_fields();
        assert!(out.len() < MAX_OUTLINK_BYTES + MAX_TEXT_BYTES + 20_000);
        let text = String::from_utf8(out).unwrap();
        let omitted: usize = text.rsplit("outlinksOmitted: ").next().unwrap().trim().parse().unwrap();
        assert_eq!(omitted + text.matches("outlink: ").count(), 2000);
        let texts = text.matches("outlinkText: ").count();
        assert!((100..=MAX_TEXT_BYTES / 8000).contains(&texts), "{texts}");
        assert_eq!(omitted_links(&text), omitted as u64);
    }
}
