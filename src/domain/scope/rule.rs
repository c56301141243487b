//! The rule that decided, for people.

use std::fmt;

/// The rule that decided, in words for people.
#[derive(Clone, Debug)]
pub(super) enum Rule<'a> {
    Denied(&'a str),
    Allowed(&'a str),
    Host(&'a str),
    Domain(&'a str),
    Any,
    Prefix(&'a str),
    OtherHost(&'a str),
    OtherDomain(&'a str),
    NoPrefix,
    Exclude(&'a str),
    NoInclude,
    Extension(&'a str),
    Depth(u16, u16),
}

impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(pattern) => write!(f, "deny_hosts names {pattern}"),
            Self::Allowed(pattern) => write!(f, "allow_hosts names {pattern}"),
            Self::Host(host) => write!(f, "{host} is a host of the scope"),
            Self::Domain(domain) => write!(f, "{domain} is a domain of the scope"),
            Self::Any => f.write_str("the scope is any host"),
            Self::Prefix(prefix) => write!(f, "prefix {prefix} covers it"),
            Self::OtherHost(host) => write!(f, "{host} is no host of the scope"),
            Self::OtherDomain(domain) => write!(f, "{domain} is no domain of the scope"),
            Self::NoPrefix => f.write_str("no prefix of the scope covers it"),
            Self::Exclude(pattern) => write!(f, "exclude pattern {pattern} matches"),
            Self::NoInclude => f.write_str("no include pattern matches"),
            Self::Extension(ending) => write!(f, "skip_extensions names {ending}"),
            Self::Depth(depth, max) => write!(f, "depth {depth} is more than max_depth {max}"),
        }
    }
}
