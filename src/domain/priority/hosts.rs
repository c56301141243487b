//! Weights of hosts, by the first pattern that covers one.

use std::collections::HashMap;

use super::Weight;

/// Patterns of hosts (`example.org`, `*.example.org`), of which the first that covers a host says its weight.
#[derive(Clone, Debug, Default)]
pub struct HostWeights {
    exact: HashMap<Box<str>, (usize, Option<Weight>)>,
    below: HashMap<Box<str>, (usize, Option<Weight>)>,
}

impl HostWeights {
    /// Patterns in their order, in the form of DNS and small letters; one without a weight covers its hosts all the same.
    pub fn new<'p>(patterns: impl IntoIterator<Item = (&'p str, Option<Weight>)>) -> Self {
        let all: Vec<_> = patterns.into_iter().collect();
        let last = all.iter().rposition(|(_, weight)| weight.is_some()).map_or(0, |last| last + 1);
        let mut made = Self::default();
        for (nth, (pattern, weight)) in all.into_iter().take(last).enumerate() {
            let pattern = pattern.to_ascii_lowercase();
            let (map, name) = match pattern.strip_prefix("*.") {
                Some(below) => (&mut made.below, below),
                None => (&mut made.exact, pattern.as_str()),
            };
            map.entry(name.into()).or_insert((nth, weight));
        }
        made
    }

    /// No host has one.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty()
    }

    /// What is said of a host.
    pub fn of(&self, host: &str) -> Option<Weight> {
        if self.is_empty() {
            return None;
        }
        let dots = host.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
        let parents = dots.filter_map(|(at, _)| self.below.get(host.get(at + 1..)?));
        let (_, weight) = parents.chain(self.exact.get(host)).min_by_key(|(nth, _)| *nth)?;
        *weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_that_covers_a_host_decides_also_when_it_says_nothing() {
        let weight = |of: f64| Weight::try_from(of).ok();
        let hosts = HostWeights::new([
            ("a.test", None),
            ("*.a.test", weight(2.0)),
            ("x.a.test", weight(9.0)),
            ("B.test", weight(3.0)),
            ("a.test", weight(9.0)),
            ("c.test", None),
        ]);
        for (host, expected) in [("a.test", None), ("x.a.test", weight(2.0)), ("y.x.a.test", weight(2.0))] {
            assert_eq!(hosts.of(host), expected, "{host}");
        }
        assert_eq!((hosts.of("b.test"), hosts.of("xa.test"), hosts.of("c.test")), (weight(3.0), None, None));
        assert!(HostWeights::new([("a.test", None)]).is_empty() && !hosts.is_empty());
    }
}
