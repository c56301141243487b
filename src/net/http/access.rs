//! Who we are to a server: credentials and cookies, chosen for one URL over one connection and never carried anywhere else.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, header};

use crate::base::clock::Clock;
use crate::domain::url::PageUrl;

use super::super::cookies::Jar;
use super::super::credentials::Credentials;

/// Credentials and cookies of a node.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Credentials by URL prefix.
    pub credentials: Arc<Credentials>,
    /// Cookies, when they are kept, with the clock they end by.
    pub cookies: Option<(Arc<Jar>, Clock)>,
}

impl Access {
    /// The headers for a URL; whoever calls knows that the server is who it says.
    pub(super) fn headers(&self, url: &PageUrl) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::new();
        if let Some(value) = self.credentials.of(url) {
            headers.push((header::AUTHORIZATION, value.clone()));
        }
        let cookies = self.cookies.as_ref().and_then(|(jar, clock)| jar.header(url, clock.date()));
        headers.extend(cookies.map(|value| (header::COOKIE, value)));
        headers
    }

    /// Takes in the cookies that an answer sets.
    pub(super) fn learn(&self, url: &PageUrl, headers: &[(String, Vec<u8>)]) {
        let Some((jar, clock)) = &self.cookies else { return };
        for (_, value) in headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            jar.take(url, value, clock.date());
        }
    }
}
