//! Dates in URLs: calendars lead on for ever.

use crate::domain::url::PageUrl;

/// Names of parameters that hold a date or a part of it, in lower case.
const NAMES: &str = "y year yr m mon month d day date cal ical caldate week start startdate from eventdate";

/// Whether the URL names a month, a week or a day. `y=2031&m=5`, `date=2031-05-01`, `/2031/05/` and `/2031-05/` do; `/2031/` and
/// `?id=2031` do not.
pub(super) fn is_calendar(url: &PageUrl) -> bool {
    year_of_query(url).is_some() || year_of_path(url).is_some()
}

/// The names and values of the query's parameters.
fn params(url: &PageUrl) -> impl Iterator<Item = (&str, &str)> {
    url.query().unwrap_or_default().split('&').filter_map(|part| part.split_once('='))
}

fn is_date_name(name: &str) -> bool {
    NAMES.split(' ').any(|known| known.eq_ignore_ascii_case(name))
}

/// Of a parameter that holds a whole date, or of a year beside another part of a date.
fn year_of_query(url: &PageUrl) -> Option<u64> {
    let dates = || params(url).filter(|(name, _)| is_date_name(name));
    if let Some(year) = dates().find_map(|(_, value)| year_of_date(value)) {
        return Some(year);
    }
    let year = dates().find_map(|(_, value)| four_digits(value));
    let part = dates().any(|(_, value)| matches!(value.len(), 1 | 2) && value.parse::<u8>().is_ok_and(|n| n <= 53));
    year.filter(|_| part)
}

/// `2031-05`, `2031-05-01`, `2031/5`, `20310501`, `203105`.
fn year_of_date(value: &str) -> Option<u64> {
    let (year, rest) = value.split_at_checked(4)?;
    let year = four_digits(year)?;
    let month = rest.strip_prefix(['-', '/', '.', '_']).unwrap_or(rest);
    let compact = month.len() == rest.len();
    let end = month.find(|c: char| !c.is_ascii_digit()).unwrap_or(month.len());
    let digits = month.get(..end)?;
    let first = if compact { matches!(rest.len(), 2 | 4).then(|| digits.get(..2)).flatten()? } else { digits };
    first.parse::<u8>().is_ok_and(|month| (1..=12).contains(&month)).then_some(year)
}

/// Of a folder of four digits that is followed by one of a month, or of one that is a month or a day.
fn year_of_path(url: &PageUrl) -> Option<u64> {
    let mut segments = url.path().split('/').peekable();
    while let Some(segment) = segments.next() {
        let month = segments
            .peek()
            .is_some_and(|next| next.len() == 2 && next.parse().is_ok_and(|n: u8| (1..=12).contains(&n)));
        if let Some(year) = year_of_dashes(segment) {
            return Some(year);
        }
        if let Some(year) = four_digits(segment).filter(|year| month && (1000..3000).contains(year)) {
            return Some(year);
        }
    }
    None
}

/// `2031-05` and `2031-05-01`, whole.
fn year_of_dashes(segment: &str) -> Option<u64> {
    let mut parts = segment.split('-');
    let year = four_digits(parts.next()?).filter(|year| (1000..3000).contains(year))?;
    let mut small = |most: u8| {
        let part = parts.next()?;
        Some(part.len() == 2 && part.parse().is_ok_and(|n: u8| (1..=most).contains(&n)))
    };
    let date = small(12)? && small(31).unwrap_or(true);
    (date && parts.next().is_none()).then_some(year)
}

fn four_digits(text: &str) -> Option<u64> {
    (text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}
