//! Old TLS: servers with which rustls has no suite or version in common are spoken to with BoringSSL, as Chrome would be
//! (ADR 15). It offers TLS 1.0 to 1.3 and the suites with CBC and RSA key exchange; certificates are judged by the caller.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use rustls::{AlertDescription, PeerMisbehaved};
use serde::{Deserialize, Serialize};

use crate::base::sync::lock;

#[cfg(feature = "old-tls")]
pub use speak::Speaker;

/// What is done about servers that offer only old TLS (`tls.old`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsOld {
    /// They are fetched from, which is noted; credentials and cookies do not go there.
    #[default]
    Record,
    /// The fetch fails.
    Strict,
    /// They are like others.
    Off,
}

impl TlsOld {
    /// Whether this build can speak with them, and shall.
    pub fn is_spoken(self) -> bool {
        cfg!(feature = "old-tls") && self != Self::Strict
    }

    /// What to do about a server that is not spoken to.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Strict => "tls.old = strict refuses it; \"record\" fetches and notes tls_old",
            _ => "this program was built without the feature old-tls, which speaks it",
        }
    }
}

/// Origins remembered at most; beyond that one is forgotten, and found out again.
#[cfg(feature = "old-tls")]
const MAX_KNOWN: usize = 4_096;

/// The origins that spoke nothing newer, so that rustls need not be tried each time.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<BTreeSet<String>>>);

impl Known {
    /// Whether `origin` is one.
    pub fn has(&self, origin: &str) -> bool {
        lock(&self.0).contains(origin)
    }

    /// Remembers or forgets one.
    #[cfg(feature = "old-tls")]
    pub fn set(&self, origin: &str, old: bool) {
        let mut known = lock(&self.0);
        if !old {
            known.remove(origin);
        } else if known.insert(origin.to_owned()) && known.len() > MAX_KNOWN {
            known.pop_first();
        }
    }
}

/// Whether a failed handshake may mean that there is no suite or version in common. Servers of Windows 2003 and 2008, and some
/// appliances, close or reset the connection then in place of an alert.
pub fn is_no_common_ground(error: &io::Error) -> bool {
    use rustls::Error as E;
    match error.get_ref().and_then(|inner| inner.downcast_ref::<E>()) {
        Some(E::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::HandshakeFailure
                | AlertDescription::ProtocolVersion
                | AlertDescription::InsufficientSecurity
        ),
        Some(E::PeerIncompatible(_) | E::PeerMisbehaved(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)) => {
            true
        }
        Some(_) => false,
        None => matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset),
    }
}

#[cfg(feature = "old-tls")]
mod speak {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use boring::error::ErrorStack;
    use boring::ssl::{Ssl, SslContext, SslMethod, SslVersion};
    use rustls::pki_types::{CertificateDer, ServerName};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio::net::TcpStream;
    use tokio_boring::{SslStream, SslStreamBuilder};

    use crate::net::tap::writes_to;

    /// All that BoringSSL has but for pre-shared keys; the last three only when they are named.
    const SUITES: &str = "ALL:!PSK:ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256:DES-CBC3-SHA";

    /// What rustls offers of TLS 1.2 (RFC 5289, RFC 7905).
    const MODERN: [&str; 6] = [
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    ];

    /// What old connections are made with.
    #[derive(Clone)]
    pub struct Speaker(SslContext);

    impl std::fmt::Debug for Speaker {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Speaker")
        }
    }

    impl Speaker {
        pub fn new() -> Result<Self, ErrorStack> {
            let mut context = SslContext::builder(SslMethod::tls())?;
            // With 1.3 on offer a server that is not old cannot be pushed down by whoever breaks our first handshake.
            context.set_min_proto_version(Some(SslVersion::TLS1))?;
            context.set_max_proto_version(Some(SslVersion::TLS1_3))?;
            context.set_cipher_list(SUITES)?;
            // Small: old servers and what stands before them stumble over the long hello of post-quantum groups.
            context.set_curves_list("X25519:P-256:P-384:P-521")?;
            context.set_alpn_protos(b"\x08http/1.1")?;
            Ok(Self(context.build()))
        }

        /// A finished handshake. The server has proven that the key of its certificate is its own; nobody has judged the
        /// certificate.
        pub async fn connect(&self, name: &ServerName<'_>, tcp: TcpStream) -> io::Result<OldStream> {
            let mut ssl = Ssl::new(&self.0)?;
            if let ServerName::DnsName(name) = name {
                ssl.set_hostname(name.as_ref())?;
            }
            let bridge = SslStreamBuilder::new(ssl, Ending { tcp, ended: false });
            let stream = bridge.connect().await.map_err(|error| io::Error::other(error.to_string()))?;
            Ok(OldStream(stream))
        }
    }

    /// A connection.
    #[derive(Debug)]
    pub struct OldStream(SslStream<Ending>);

    impl OldStream {
        /// The server's certificate, and those it sent with it.
        pub fn chain(&self) -> Vec<CertificateDer<'static>> {
            let sent = self.0.ssl().peer_cert_chain().into_iter().flatten();
            sent.filter_map(|certificate| certificate.to_der().ok()).map(CertificateDer::from).collect()
        }

        /// Whether rustls could have spoken so.
        pub fn is_modern(&self) -> bool {
            let ssl = self.0.ssl();
            let suite = ssl.current_cipher().and_then(|cipher| cipher.standard_name());
            match ssl.version2() {
                Some(SslVersion::TLS1_3) => true,
                Some(SslVersion::TLS1_2) => suite.is_some_and(|suite| MODERN.contains(&suite)),
                _ => false,
            }
        }

        /// Version and suite, for people.
        pub fn spoken(&self) -> String {
            let ssl = self.0.ssl();
            let suite = ssl.current_cipher().and_then(|cipher| cipher.standard_name()).unwrap_or("unknown suite");
            format!("{} {suite}", ssl.version_str())
        }
    }

    impl AsyncRead for OldStream {
        /// As rustls has it: an end without the closing alert is an error. BoringSSL reads no further than that alert, so where
        /// TCP was read to its end there was none.
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.0).poll_read(cx, buf))?;
            if buf.filled().len() == before && buf.remaining() > 0 && self.0.get_ref().ended {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            Poll::Ready(Ok(()))
        }
    }

    writes_to!(OldStream.0);

    /// TCP that knows whether it was read to its end.
    #[derive(Debug)]
    struct Ending {
        tcp: TcpStream,
        ended: bool,
    }

    impl AsyncRead for Ending {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.tcp).poll_read(cx, buf))?;
            self.ended |= buf.filled().len() == before && buf.remaining() > 0;
            Poll::Ready(Ok(()))
        }
    }

    writes_to!(Ending.tcp);
}
