//! Dates in URLs: calendars lead on for ever.

use crate::domain::url::PageUrl;

/// Names of parameters that hold a date or a part of it, in lower case.
const NAMES: &str = "y year yr m mon month d day date cal ical caldate week start startdate from eventdate";

/// Whether the URL names a month, a week or a day. `y=2031&m=5`, `date=2031-05-01`, `/2031/05/` and `/2031-05/` do; `/2031/` and
/// `?id=2031` do not.
pub(super) fn is_calendar(url: &PageUrl) -> bool {
    is_in_query(url) || is_in_path(url)
}

/// Whether a parameter holds a whole date, or one a year and another a part of a date.
fn is_in_query(url: &PageUrl) -> bool {
    let is_name = |name: &str| NAMES.split(' ').any(|known| known.eq_ignore_ascii_case(name));
    let params = || url.query().unwrap_or_default().split('&').filter_map(|part| part.split_once('='));
    let values = || params().filter(|(name, _)| is_name(name)).map(|(_, value)| value);
    let is_part = |value: &str| matches!(value.len(), 1 | 2) && value.parse::<u8>().is_ok_and(|n| n <= 53);
    values().any(is_date) || values().any(is_four_digits) && values().any(is_part)
}

/// `2031-05`, `2031-05-01`, `2031/5`, `20310501`, `203105`.
fn is_date(value: &str) -> bool {
    let Some((_, rest)) = value.split_at_checked(4).filter(|(year, _)| is_four_digits(year)) else { return false };
    let month = rest.strip_prefix(['-', '/', '.', '_']).unwrap_or(rest);
    let end = month.find(|c: char| !c.is_ascii_digit()).unwrap_or(month.len());
    let digits = match month.len() == rest.len() {
        true => month.get(..end.min(2)).filter(|digits| digits.len() == 2 && matches!(rest.len(), 2 | 4)),
        false => month.get(..end),
    };
    digits.is_some_and(|digits| digits.parse::<u8>().is_ok_and(|month| (1..=12).contains(&month)))
}

/// Whether a folder of four digits is followed by one of a month, or one is a month or a day.
fn is_in_path(url: &PageUrl) -> bool {
    let mut segments = url.path().split('/').peekable();
    while let Some(segment) = segments.next() {
        let month = segments.peek().is_some_and(|next| is_of_two_digits(next, 12));
        if is_dashed(segment) || is_year(segment) && month {
            return true;
        }
    }
    false
}

/// `2031-05` and `2031-05-01`, whole.
fn is_dashed(segment: &str) -> bool {
    let mut parts = segment.split('-');
    parts.next().is_some_and(is_year)
        && parts.next().is_some_and(|month| is_of_two_digits(month, 12))
        && parts.next().is_none_or(|day| is_of_two_digits(day, 31))
        && parts.next().is_none()
}

fn is_of_two_digits(text: &str, most: u8) -> bool {
    text.len() == 2 && text.parse().is_ok_and(|n: u8| (1..=most).contains(&n))
}

fn is_year(text: &str) -> bool {
    is_four_digits(text) && text.starts_with(['1', '2'])
}

fn is_four_digits(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit())
}
