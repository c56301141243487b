//! The budgets of a crawl: pages, bytes, time, failures. The run ends when one of them is used up, by all its members together.

use std::time::Duration;

use crate::base::units::{format_duration, format_size};
use crate::config::CrawlSection;
use crate::crawl::node::Stop;
use crate::crawl::together::Spent;

/// The budget that is used up, with a sentence of what stands against what.
pub(crate) fn used_up(crawl: &CrawlSection, spent: Spent, ran: Duration) -> Option<(Stop, String)> {
    if let Some(max) = crawl.max_pages.filter(|max| spent.pages >= *max) {
        return Some((Stop::Pages, format!("{} pages are stored, crawl.max_pages is {max}", spent.pages)));
    }
    if let Some(max) = crawl.max_bytes.filter(|max| spent.bytes >= *max) {
        let (is, max) = (spent.bytes, format_size(max));
        return Some((Stop::Bytes, format!("the bodies received have {is} bytes, crawl.max_bytes is {max}")));
    }
    if let Some(max) = crawl.max_time.filter(|max| ran >= *max) {
        let (is, max) = (format_duration(Duration::from_secs(ran.as_secs())), format_duration(max));
        return Some((Stop::Time, format!("the run is {is} old, crawl.max_time is {max}")));
    }
    let max = crawl.max_failures.filter(|max| spent.failures >= *max)?;
    Some((Stop::Failures, format!("{} URLs were given up, crawl.max_failures is {max}", spent.failures)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_used_up_when_it_is_reached_and_the_sentence_has_both_figures() {
        let spent = Spent { pages: 512, bytes: 3_000_000, failures: 0 };
        let ran = Duration::from_millis(90_500);
        let none = CrawlSection { max_pages: Some(513), max_bytes: Some(3_000_001), ..CrawlSection::default() };
        assert!(used_up(&none, spent, ran).is_none());
        assert!(used_up(&CrawlSection::default(), spent, ran).is_none());
        let told = |crawl: CrawlSection| used_up(&crawl, spent, ran).unwrap();
        let (stop, why) = told(CrawlSection { max_pages: Some(512), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Pages) && why == "512 pages are stored, crawl.max_pages is 512", "{why}");
        let (stop, why) = told(CrawlSection { max_bytes: Some(1_000_000), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Bytes) && why.contains("3000000") && why.contains("1MB"), "{why}");
        let (stop, why) = told(CrawlSection { max_time: Some(Duration::from_secs(60)), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Time) && why.contains("90s") && why.contains("1m"), "{why}");
    }
}
