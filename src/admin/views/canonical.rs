//! A URL's canonical form and its parts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::host::registrable_domain;
use crate::domain::partition::Partition;
use crate::domain::url::{PageUrl, changes};

/// A URL in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CanonicalView {
    /// The canonical form.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host.
    pub host: String,
    /// Its registrable domain.
    pub domain: String,
    /// The effective port.
    pub port: u16,
    /// Path and query.
    pub tail: String,
    /// The partition of its host.
    pub partition: u16,
    /// What canonicalisation changed, in words.
    pub changed: Vec<String>,
}

impl CanonicalView {
    /// Of `url`, the canonical form of `input`.
    #[must_use]
    pub fn new(input: &str, url: &PageUrl) -> Self {
        Self {
            url: url.as_str().to_owned(),
            scheme: url.scheme().as_str().to_owned(),
            host: url.host().to_owned(),
            domain: registrable_domain(url.host()).to_owned(),
            port: url.port(),
            tail: url.tail().to_owned(),
            partition: Partition::of_host(url.host()).0,
            changed: changes(input, url),
        }
    }
}
