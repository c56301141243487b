//! The budgets of a crawl: pages, bytes, time, failures. The run ends when one of them is used up.

use std::time::Duration;

use crate::base::units::{format_duration, format_size};
use crate::config::CrawlSection;
use crate::crawl::node::Stop;
use crate::storage::values::Counters;

/// The budget that is used up, with a sentence of what stands against what.
pub(crate) fn used_up(crawl: &CrawlSection, counters: &Counters, ran: Duration) -> Option<(Stop, String)> {
    if let Some(max) = crawl.max_pages.filter(|max| counters.pages_stored >= *max) {
        return Some((Stop::Pages, format!("{} pages are stored, crawl.max_pages is {max}", counters.pages_stored)));
    }
    if let Some(max) = crawl.max_bytes.filter(|max| counters.bytes >= *max) {
        let (is, max) = (counters.bytes, format_size(max));
        return Some((Stop::Bytes, format!("the bodies received have {is} bytes, crawl.max_bytes is {max}")));
    }
    if let Some(max) = crawl.max_time.filter(|max| ran >= *max) {
        let (is, max) = (format_duration(Duration::from_secs(ran.as_secs())), format_duration(max));
        return Some((Stop::Time, format!("the run is {is} old, crawl.max_time is {max}")));
    }
    let max = crawl.max_failures.filter(|max| counters.error() >= *max)?;
    Some((Stop::Failures, format!("{} URLs were given up, crawl.max_failures is {max}", counters.error())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_used_up_when_it_is_reached_and_the_sentence_has_both_figures() {
        let counters = Counters { pages_stored: 512, bytes: 3_000_000, ..Counters::default() };
        let ran = Duration::from_millis(90_500);
        let none = CrawlSection { max_pages: Some(513), max_bytes: Some(3_000_001), ..CrawlSection::default() };
        assert!(used_up(&none, &counters, ran).is_none());
        assert!(used_up(&CrawlSection::default(), &counters, ran).is_none());
        let told = |crawl: CrawlSection| used_up(&crawl, &counters, ran).unwrap();
        let (stop, why) = told(CrawlSection { max_pages: Some(512), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Pages) && why == "512 pages are stored, crawl.max_pages is 512", "{why}");
        let (stop, why) = told(CrawlSection { max_bytes: Some(1_000_000), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Bytes) && why.contains("3000000") && why.contains("1MB"), "{why}");
        let (stop, why) = told(CrawlSection { max_time: Some(Duration::from_secs(60)), ..CrawlSection::default() });
        assert!(matches!(stop, Stop::Time) && why.contains("90s") && why.contains("1m"), "{why}");
    }
}
