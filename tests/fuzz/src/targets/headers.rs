//! What single headers say. Input: their values, a line each.

use super::base::time::UnixMillis;
use super::content::challenge::{Sign, of_headers};
use super::content::html::{Directives, parse_refresh};
use super::content::link_header::links;
use super::domain::politeness::RetryAfter;
use super::domain::usage::{MAX_USAGE, Signal, Statements};
use super::input::text;

const NAMES: [&str; 5] = ["set-cookie", "server", "x-cdn", "cf-mitigated", "X-Robots-Tag"];
const TOKENS: [&str; 1] = ["lycosa"];
const NOW: UnixMillis = UnixMillis(1_796_000_000_000);

/// A wait has its bound, a refresh and a link point into their values, statements on usage are one line, and one more header never takes anything back.
pub fn check(data: &[u8]) {
    let text = text(data);
    let values: Vec<&str> = text.lines().collect();
    for value in &values {
        assert!(RetryAfter::parse(value, NOW).is_none_or(|wait| wait <= RetryAfter::MAX));
        assert!(parse_refresh(value).is_none_or(|(_, url)| value.contains(url)));
        let meta = Directives::from_meta(value);
        assert_eq!(meta.and(meta), meta);
    }
    for link in links(values.iter().copied()) {
        assert!(link.target.trim() == link.target && values.iter().any(|value| value.contains(&link.target)));
    }
    directives(&values);
    usage(&values);
    challenge(&values);
}

fn directives(values: &[&str]) {
    let all = Directives::from_header(values.iter().copied(), &TOKENS);
    let each = values.iter().map(|value| Directives::from_header([*value], &TOKENS));
    assert_eq!(each.fold(Directives::default(), Directives::and), all, "header lines add up");
}

fn challenge(values: &[&str]) {
    let headers = || values.iter().zip(NAMES.iter().cycle()).map(|(value, name)| (*name, value.as_bytes()));
    let signs: Vec<_> = headers().map(|header| of_headers([header])).collect();
    let all = of_headers(headers());
    assert_eq!(all == Sign::None, signs.iter().all(|sign| *sign == Sign::None));
    assert_eq!(all == Sign::Challenge, signs.contains(&Sign::Challenge));
}

fn usage(values: &[&str]) {
    let mut statements = Statements::default();
    values.iter().for_each(|value| statements.add("header", Signal::Content, value));
    let said = statements.finish();
    assert!(said.is_none_or(|said| said.len() <= MAX_USAGE && !said.contains(|c: char| c.is_control())));
}
