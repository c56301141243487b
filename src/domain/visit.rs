//! What a visit of a page brought: the kind of its entry in the feed, told of two captures by their prints.

use super::coded::codes;
use super::textprint::TextPrint;

codes! {
    /// What became of a page.
    #[derive(Default)]
    Visit {
        /// Its content was fetched, and it was new to the crawl.
        #[default]
        First = 1, "first";
        /// Its text is another than before, or it leads to a URL that nobody knew; also where texts cannot be compared.
        Changed = 2, "changed";
        /// It was fetched again, and its content is what it was.
        Unchanged = 3, "unchanged";
        /// It redirects elsewhere.
        Redirect = 4, "redirect";
        /// It is not there any more, or never was: 404, 410 or 451.
        Gone = 5, "gone";
        /// It was given up.
        Failed = 6, "failed";
        /// It was turned away after all.
        Rejected = 7, "rejected";
        /// All that was received of it was erased on somebody's word: the entry has ids only.
        Erased = 8, "erased";
        /// Its bytes are others, its text is what it was: markup, scripts, tokens that nobody sees.
        Markup = 9, "markup";
        /// Of its text only words with digits are others: dates, clocks, counters, prices.
        Numbers = 10, "numbers";
        /// A little of a long text is another: a box, a date in words.
        Little = 11, "little";
        /// Its content was fetched, after it had been gone or given up.
        Back = 12, "back";
    }
}

impl Visit {
    /// True when content came: its capture is that of a page.
    pub fn is_content(self) -> bool {
        matches!(
            self,
            Self::First | Self::Changed | Self::Unchanged | Self::Markup | Self::Numbers | Self::Little | Self::Back
        )
    }

    /// Of a content whose bytes are others than before, by the prints of both texts; none where there is no text, or it did not come
    /// whole. `leads_on`: it leads to a URL that nobody knew.
    pub fn of_texts(before: Option<&TextPrint>, now: Option<&TextPrint>, leads_on: bool) -> Self {
        let (Some(before), Some(now), false) = (before, now, leads_on) else { return Self::Changed };
        if before.whole == now.whole {
            Self::Markup
        } else if before.words == now.words {
            Self::Numbers
        } else if before.is_little_else(now) {
            Self::Little
        } else {
            Self::Changed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::textprint::Printer;

    fn print(text: &str) -> Option<TextPrint> {
        let mut printer = Printer::new("");
        printer.push(text);
        printer.finish().0
    }

    fn of(before: &str, now: &str) -> Visit {
        Visit::of_texts(print(before).as_ref(), print(now).as_ref(), false)
    }

    #[test]
    fn clocks_and_counters_are_numbers_and_words_are_a_change_in_any_script() {
        for (before, now, expected) in [
            ("Read 1,204 times", "Read 1,204 times", Visit::Markup),
            ("Read 1,204 times", "Read 1,311 times", Visit::Numbers),
            ("Read 1,204 times", "Read often", Visit::Changed),
            ("更新时间 2026年11月28日 浏览 31 次", "更新时间 2026年11月30日 浏览 407 次", Visit::Numbers),
            ("更新时间 2026年11月28日", "发布时间 2026年11月28日", Visit::Changed),
            ("", "", Visit::Changed),
            ("", "now it says something", Visit::Changed),
        ] {
            assert_eq!(of(before, now), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_word_of_a_long_text_is_little_unless_the_page_leads_on_and_short_texts_are_never_alike() {
        let words = |n: usize| {
            (0..n).map(|n| format!("word{} ", char::from(b'a' + (n % 26) as u8).to_string().repeat(1 + n / 26)))
        };
        let long: String = words(600).collect();
        let other = long.replacen("wordcc ", "another ", 1);
        assert_eq!(of(&long, &other), Visit::Little);
        assert_eq!(Visit::of_texts(print(&long).as_ref(), print(&other).as_ref(), true), Visit::Changed);
        let short: String = words(60).collect();
        assert_eq!(of(&short, &short.replacen("wordcc ", "another ", 1)), Visit::Changed, "below 64 runs");
    }
}
