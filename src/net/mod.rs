//! The net room: names to addresses, which addresses may be spoken to, connections, protocols.
//!
//! | file | what |
//! |---|---|
//! | [`guard`] | the address policy (I7): pure, asked before every connect |
//! | [`dns`] | [`Resolver`]: names to addresses, cached |
//! | [`protocol`] | what every protocol module gives and takes |
//! | [`answer`] | what the rules are told of an answer |
//! | [`http`] | http and https |
//! | [`framing`] | where bodies end |
//! | [`head`] | request and response heads as bytes |
//! | [`tap`] | the stream under a connection, which counts what passes |
//! | [`proxy`] | which URLs go through which proxy |
//! | [`credentials`] | the operator's credentials by URL prefix |
//! | [`cookies`] | cookies, when they are kept |
//! | [`throttle`] | the bandwidth that all fetches share |
//! | [`pool`] | connections kept for the next request |
//! | [`robots`] | the text of a robots.txt |
//! | [`tls`] | TLS and what to do about bad certificates |

pub mod answer;
pub mod cookies;
pub mod credentials;
pub mod dns;
pub mod framing;
pub mod guard;
pub mod head;
pub mod http;
pub mod pool;
pub mod protocol;
pub mod proxy;
pub mod robots;
pub mod tap;
#[cfg(test)]
pub(crate) mod testing;
pub mod throttle;
pub mod tls;

pub use dns::{DnsFault, DnsSection, Resolver};
pub use guard::{AddressPolicy, Refused, parse_allow};
pub use http::{Http, HttpConfig};
pub use protocol::{FetchFault, FetchLimits, FetchRequest, Fetched, HttpVersion, Timings};
pub use tls::{TlsOld, TlsVerify};
