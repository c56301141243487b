//! A site's own name, which many pages put behind their title.

use url::Url;

use super::Said;
use crate::domain::host::registrable_domain;
use crate::domain::words::{fold, is_han};

/// What may stand between a title and the name of its site. A plain hyphen also without white space, in Han.
const SEPARATORS: [&str; 8] = [" - ", "|", "–", "—", "·", "::", "_", "-"];
/// Parts of a title that are looked at.
const MOST_PARTS: usize = 4;

/// The title without parts at its end that are only the site's name: `og:site_name`, the label of the registered domain, or that domain.
pub(super) fn off<'t>(title: &'t str, said: &Said<'_>) -> &'t str {
    let url = Url::parse(said.url).ok();
    let domain = url.as_ref().and_then(Url::host_str).map(registrable_domain);
    let label = domain.and_then(|domain| domain.split('.').next());
    let names: Vec<String> = [said.site_name, label, domain].into_iter().flatten().map(bare).collect();
    let mut rest = title;
    for _ in 0..MOST_PARTS {
        match last_part(rest) {
            Some((before, behind)) if names.contains(&bare(behind)) => rest = before.trim_end(),
            _ => break,
        }
    }
    rest
}

/// Before and behind the last separator that leaves something on both sides.
fn last_part(title: &str) -> Option<(&str, &str)> {
    let found = SEPARATORS.iter().filter_map(|separator| {
        let at = title.rfind(separator)?;
        let (before, behind) = (title.get(..at)?, title.get(at + separator.len()..)?);
        let of_han = || before.ends_with(is_han) || behind.starts_with(is_han);
        (*separator != "-" || of_han()).then_some((before, behind))
    });
    found.filter(|(before, behind)| !before.trim().is_empty() && !behind.trim().is_empty()).min_by_key(|(_, b)| b.len())
}

/// Letters and digits, folded.
fn bare(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}
