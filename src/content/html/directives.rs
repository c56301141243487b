//! Robots directives in a page (`<meta name=robots>`) and in its answer's head (`X-Robots-Tag`).
//!
//! There is no standard text; this follows what the large search engines document: values separated by commas, names and
//! values without regard to case, a prefix `agent:` in the header limits what follows it in that header line to this agent,
//! and everything that forbids adds up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a page forbids. The default forbids nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// Do not show the page in search results.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not offer a stored copy.
    pub noarchive: bool,
}

/// Directives that carry a value after a colon; their name is no agent's.
const WITH_VALUE: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

impl Directives {
    /// From the `content` of a robots `<meta>`.
    pub fn from_meta(content: &str) -> Self {
        let mut all = Self::default();
        for part in content.split(',').filter(|p| !p.contains(':')) {
            all.add_words(part);
        }
        all
    }

    /// From the values of every `X-Robots-Tag` header of an answer; `tokens` are the names our agent goes by.
    pub fn from_header<'a>(values: impl IntoIterator<Item = &'a str>, tokens: &[impl AsRef<str>]) -> Self {
        let mut all = Self::default();
        for value in values {
            let mut ours = true;
            for part in value.split(',') {
                let mut words = part;
                if let Some((name, rest)) = part.split_once(':') {
                    let name = name.trim();
                    if is_agent_name(name) {
                        ours = tokens.iter().any(|t| t.as_ref().eq_ignore_ascii_case(name))
                            || name.eq_ignore_ascii_case("robots")
                            || name == "*";
                        words = rest;
                    }
                }
                if ours && !words.contains(':') {
                    all.add_words(words);
                }
            }
        }
        all
    }

    /// Both together: what either forbids.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
        }
    }

    /// The names of what is forbidden.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.noindex, "noindex"), (self.nofollow, "nofollow"), (self.noarchive, "noarchive")];
        all.into_iter().filter_map(|(set, name)| set.then_some(name))
    }

    fn add_words(&mut self, part: &str) {
        for word in part.split_ascii_whitespace() {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            let none = is("none");
            self.noindex |= none || is("noindex");
            self.nofollow |= none || is("nofollow");
            self.noarchive |= is("noarchive") || is("nocache");
        }
    }
}

/// The names, or `-` for nothing.
impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.write_str(if names.is_empty() { "-" } else { "" })?;
        f.write_str(&names.join(" "))
    }
}

fn is_agent_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'*'))
        && !WITH_VALUE.iter().any(|v| v.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    #[test]
    fn what_is_forbidden_is_that_of_the_table() {
        check(include_str!("../../../tests/data/directives.txt"), |[place, value]| {
            [match place {
                "meta" => Directives::from_meta(value),
                _ => Directives::from_header(value.split(" ++ "), &["lycosa"]),
            }
            .to_string()]
        });
    }
}
