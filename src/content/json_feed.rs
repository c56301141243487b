//! Links of JSON Feed (<https://www.jsonfeed.org/version/1.1/>).
//!
//! As of other feeds: what stands inside the content of an item is not looked into. Read as far as it is JSON: a file that is cut has
//! the items before the cut. A value of another type than the format says is as good as none.

use std::fmt;

use serde::Deserializer;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::content::feed::{Feed, FeedLimits, MAX_TEXT, link_text};
use crate::content::html::{Link, LinkKind};
use crate::content::sitemap::begins_as_url;

/// How the version of every such feed begins, without its scheme.
const VERSION: &str = "jsonfeed.org/version/";

/// Whether a body that begins so is such a feed: an object that names the format, slashes escaped or not; `typed`: its media type
/// says so too.
pub fn begins_as_json_feed(head: &[u8], typed: bool) -> bool {
    let head = String::from_utf8_lossy(head);
    let start = head.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    start.starts_with('{') && (typed || start.replace("\\/", "/").contains(VERSION))
}

/// What a feed says; nothing when it turns out to be some other object.
pub fn read(text: &str, limits: FeedLimits) -> Feed {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut found = Found { limits, is_feed: false, feed: Feed::default() };
    // Where it ends being JSON, what came before counts.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Whole(&mut found));
    if found.is_feed { found.feed } else { Feed::default() }
}

struct Found {
    limits: FeedLimits,
    is_feed: bool,
    feed: Feed,
}

impl Found {
    fn put(&mut self, href: Option<&str>, kind: LinkKind, text: &str) {
        let Some(href) = href.map(str::trim).filter(|href| !href.is_empty() && href.len() <= MAX_TEXT) else { return };
        if self.feed.links.len() >= self.limits.max_links {
            self.feed.cut = true;
            return;
        }
        self.feed.links.push(Link { href: href.to_owned(), kind, nofollow: false, text: text.to_owned() });
    }

    fn item(&mut self, item: &Value) {
        let said = |key: &str| item.get(key).and_then(Value::as_str);
        let text = said("title").map(link_text).unwrap_or_default();
        let before = self.feed.links.len();
        self.put(said("url"), LinkKind::Feed, &text);
        self.put(said("external_url"), LinkKind::Feed, &text);
        // "Ideally, the id is the full URL of the resource" (section "Items").
        if self.feed.links.len() == before {
            self.put(said("id").filter(|id| begins_as_url(id)), LinkKind::Feed, &text);
        }
        if self.limits.assets {
            let attached = item.get("attachments").and_then(Value::as_array).into_iter().flatten();
            attached.for_each(|file| self.put(file.get("url").and_then(Value::as_str), LinkKind::Asset, ""));
            ["image", "banner_image"].into_iter().for_each(|key| self.put(said(key), LinkKind::Asset, ""));
        }
    }
}

/// Whether a version is one of this format.
fn is_version(text: &str) -> bool {
    let behind = text.split_once("//").map_or("", |(_, behind)| behind);
    begins_as_url(text) && behind.trim_start_matches("www.").starts_with(VERSION)
}

/// The object that is the feed.
struct Whole<'f>(&'f mut Found);

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "items" => map.next_value_seed(Items(self.0))?,
                "version" => self.0.is_feed = map.next_value::<Value>()?.as_str().is_some_and(is_version),
                "title" => {
                    let title = map.next_value::<Value>()?;
                    self.0.feed.title =
                        title.as_str().map(str::trim).filter(|t| (1..=MAX_TEXT).contains(&t.len())).map(str::to_owned);
                }
                "home_page_url" | "feed_url" | "next_url" => {
                    let url = map.next_value::<Value>()?;
                    self.0.put(url.as_str(), LinkKind::Feed, "");
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The items, one at a time.
struct Items<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while !self.0.feed.cut {
            let Some(item) = all.next_element::<Value>()? else { break };
            self.0.item(&item);
        }
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, limits: FeedLimits) -> Vec<String> {
        let feed = read(text, limits);
        let title = feed.title.iter().map(|title| format!("title {title}"));
        let link = |link: &Link| format!("{} {} | {}", link.kind.as_str(), link.href, link.text);
        title.chain(feed.links.iter().map(link)).chain(feed.cut.then(|| "cut".to_owned())).collect()
    }

    const ALL: FeedLimits = FeedLimits { max_links: 100, assets: true };
    const FEED: &str = r#"{"version": "https:\/\/jsonfeed.org\/version\/1.1", "title": "My  feed", "home_page_url": "https://h.test/",
        "feed_url": "https://h.test/feed.json", "next_url": "/feed.json?p=2", "hubs": [{"url": "no"}],
        "items": [{"id": "http://h.test/no", "url": "/1", "external_url": "http://o.test/x", "title": " One \n two ", "content_html": "<a href='/no'>",
        "attachments": [{"url": "/1.mp3"}]}, {"id": "http://h.test/2"}, {"id": "3"}, {"id": 4, "url": null, "title": []}, null, 5, "x", [], {"url": "/6"}]}"#;

    #[test]
    fn what_a_feed_names_is_a_link() {
        let wanted = [
            "title My  feed",
            "feed https://h.test/ | ",
            "feed https://h.test/feed.json | ",
            "feed /feed.json?p=2 | ",
            "feed /1 | One two",
            "feed http://o.test/x | One two",
            "asset /1.mp3 | ",
            "feed http://h.test/2 | ",
            "feed /6 | ",
        ];
        assert_eq!(told(FEED, ALL), wanted);
        let plain = told(FEED, FeedLimits { max_links: 4, assets: false });
        assert_eq!(plain[1..], [&wanted[1..5], &["cut"]].concat());
    }

    #[test]
    fn a_feed_that_is_cut_has_what_came_before() {
        let whole = told(FEED, ALL);
        for at in (0..FEED.len()).filter(|at| FEED.is_char_boundary(*at)) {
            let part = told(&FEED[..at], ALL);
            assert!(whole.starts_with(&part), "{at}: {part:?}");
        }
    }

    #[test]
    fn another_object_says_nothing_and_the_version_may_come_last() {
        for text in [
            "",
            "{}",
            "[]",
            "{\"items\": [{\"url\": \"/1\"}]}",
            "{\"version\": \"2.0\", \"items\": [{\"url\": \"/1\"}]}",
        ] {
            assert!(told(text, ALL).is_empty(), "{text}");
        }
        let late = "\u{feff}\n{\"items\": [{\"url\": \"/1\"}], \"version\": \"http://www.jsonfeed.org/version/1\"}";
        assert_eq!(told(late, ALL), ["feed /1 | "]);
        let deep = format!("{{\"version\":\"https://jsonfeed.org/version/1\",\"x\":{}", "[".repeat(100_000));
        assert!(told(&deep, ALL).is_empty());
    }

    #[test]
    fn it_is_known_by_its_content_or_its_type() {
        let known = |head: &str, typed| begins_as_json_feed(head.as_bytes(), typed);
        assert!(known(FEED, false) && known("\u{feff} {\"version\":\"https://jsonfeed.org/version/1\"", false));
        assert!(known("{\"items\":", true) && !known("{\"items\":", false) && !known("jsonfeed.org/version/1", true));
    }
}
