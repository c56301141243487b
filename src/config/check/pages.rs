//! What is read of a page: `[parse] [traps] [sitemaps] [[extract]]`.

use std::time::Duration;

use super::{Checked, ensure, within};
use crate::config::sections::{ExtractSection, ParseSection, SitemapsSection, TrapsSection};
use crate::content::extract::RuleError;
use crate::domain::found_as::DEEPEST_NESTING;

pub(super) fn check_pages(parse: &ParseSection, traps: &TrapsSection) -> Checked {
    parse.threads.map_or(Ok(()), |n| within("parse.threads", n, 1, 256))?;
    within("parse.max_parse", parse.max_parse, 1_024, 1 << 30)?;
    within("parse.max_extract", parse.max_extract, 1_024, 64 << 20)?;
    within("parse.max_links_per_page", parse.max_links_per_page, 1, 1_000_000)?;
    within("traps.max_url_length", traps.max_url_length, 64, 65_535)?;
    traps.max_segments.map_or(Ok(()), |n| within("traps.max_segments", n, 1, 1_000))?;
    traps.max_repeats.map_or(Ok(()), |n| within("traps.max_repeats", n, 1, 1_000))?;
    traps.max_params.map_or(Ok(()), |n| within("traps.max_params", n, 0, 1_000))?;
    ensure(traps.pages_per_host != Some(0), "traps.pages_per_host", || {
        "must be at least 1; leave it out for no limit".into()
    })
}

pub(super) fn check_sitemaps(sitemaps: &SitemapsSection) -> Checked {
    within("sitemaps.max_urls", sitemaps.max_urls, 1, 1_000_000)?;
    within("sitemaps.max_bytes", sitemaps.max_bytes, 1_024, 1 << 30)?;
    within("sitemaps.max_nesting", sitemaps.max_nesting, 0, DEEPEST_NESTING)?;
    within("sitemaps.max_files", sitemaps.max_files, 1, 50_000)?;
    let least = Duration::from_secs(1);
    ensure(sitemaps.revisit.is_none_or(|after| after >= least), "sitemaps.revisit", || {
        "must be at least 1s; leave it out to read each sitemap once".into()
    })
}

/// Rules of `[[extract]]` at most; each is tried on every element.
const MAX_RULES: usize = 64;

pub(super) fn check_extract(rules: &[ExtractSection]) -> Checked {
    ensure(rules.len() <= MAX_RULES, "extract", || format!("{} rules are more than {MAX_RULES}", rules.len()))?;
    for (i, rule) in rules.iter().enumerate() {
        let named = !rule.name.is_empty()
            && rule.name.len() <= 64
            && rule.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        ensure(named, &format!("extract[{i}].name"), || {
            format!("{:?} is no name of letters, digits, _, - and .", rule.name)
        })?;
        if let Err(e) = rule.compiled() {
            let key = match e {
                RuleError::Take(_) => "take",
                RuleError::Selector(_) => "selector",
                RuleError::Urls(_) => "urls",
            };
            ensure(false, &format!("extract[{i}].{key}"), || e.to_string())?;
        }
    }
    Ok(())
}
