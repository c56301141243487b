//! How the web is reached, and who is asked for: `[proxy] [cookies] [[credentials]]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::section;
use crate::config::secrets::{ProxyUrl, Secret};

/// Who looks names up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyDns {
    /// We do, and check the address; the proxy is told the address.
    #[default]
    Local,
    /// The proxy does.
    Remote,
}

section! {
    /// `[proxy]`: proxies of HTTP and SOCKS 5.
    ProxySection {
        /// For http: `http://[user:password@]host:port`, or `socks5://…`, or `socks5h://…`.
        http: Option<ProxyUrl> = None;
        /// For https.
        https: Option<ProxyUrl> = None;
        /// Who looks names up.
        dns: ProxyDns = ProxyDns::default();
        /// Hosts that are reached without: `intranet.example`, `*.intranet.example`.
        except: Vec<String> = Vec::new();
    }
}

section! {
    /// `[cookies]`: kept in memory, to the end of the process.
    CookiesSection {
        /// Whether cookies are kept and sent.
        enabled: bool = false;
        /// Cookies of one host or domain.
        per_host: usize = 50;
        /// Bytes of one cookie.
        max_bytes: usize = 4_096;
        /// Hosts and domains with cookies.
        max_hosts: usize = 500;
    }
}

/// `[[credentials]]`: who is asked for below a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialSection {
    /// Scheme, host, port and the beginning of the path, in whole segments.
    pub url: String,
    /// A user name, for basic credentials.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// A file with the password.
    pub password_file: Option<PathBuf>,
    /// A bearer token.
    pub token: Option<Secret>,
    /// A file with the token.
    pub token_file: Option<PathBuf>,
}
