//! TLS: what to do about certificates that cannot be trusted, as the configuration says.
//!
//! A crawler reads what anybody may read; a site with an expired certificate is still a site. So the default `record`
//! fetches, notes what is wrong, and leaves it to others to withhold credentials there.

mod old;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use crate::domain::note::Note;
use crate::domain::reason::Failure;

pub use old::{TlsOld, is_no_common_ground};
use serde::{Deserialize, Serialize};

/// Servers whose sessions are kept to be resumed: more than hosts are active at once by default.
const SESSIONS: usize = 1_024;

/// What a certificate that cannot be trusted leads to (`tls.verify`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsVerify {
    /// The fetch goes on; the fault is noted in [`Fetched::tls_fault`](super::Fetched::tls_fault).
    #[default]
    Record,
    /// The fetch fails.
    Strict,
    /// The fetch goes on; nothing is checked.
    Off,
}

/// TLS could not be set up; a fault of the program or its configuration, not of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum TlsSetupError {
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    #[error("the root certificates cannot be used: {0}")]
    Roots(#[from] rustls::client::VerifierBuilderError),
    #[cfg(feature = "old-tls")]
    #[error("old TLS cannot be set up: {0}")]
    Old(#[from] boring::error::ErrorStack),
    #[error("tls.roots: {}: {why}", path.display())]
    File { path: PathBuf, why: String },
}

/// The certificates of PEM files (`tls.roots`).
///
/// # Errors
/// A file that cannot be read, that holds no certificate, or one that cannot be trusted.
pub fn read_roots(files: &[PathBuf]) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let mut all = Vec::new();
    for path in files {
        let before = all.len();
        let wrong = |why: String| TlsSetupError::File { path: path.clone(), why };
        for certificate in certificates(path).map_err(wrong)? {
            RootCertStore::empty().add(certificate.clone()).map_err(|e| wrong(e.to_string()))?;
            all.push(certificate);
        }
        if all.len() == before {
            return Err(wrong("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)".into()));
        }
    }
    Ok(all)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>().map_err(|e| format!("is no PEM file: {e}"))
}

/// The client side of TLS for one fetcher: configuration, roots, session memory.
#[derive(Clone, Debug)]
pub struct TlsClient {
    /// What to do about bad certificates.
    verify: TlsVerify,
    /// The configuration for a connection.
    pub config: Arc<ClientConfig>,
    judge: Arc<WebPkiServerVerifier>,
    /// What is done about servers of old TLS.
    pub old: TlsOld,
    /// The servers that speak old TLS only.
    pub known_old: old::Known,
    /// What speaks old TLS.
    #[cfg(feature = "old-tls")]
    pub speaker: old::Speaker,
}

impl TlsClient {
    /// With Mozilla's root certificates, and others beside them.
    ///
    /// # Errors
    /// rustls refuses its own parts, or one of the others.
    pub fn new(verify: TlsVerify, others: &[CertificateDer<'static>]) -> Result<Self, TlsSetupError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for root in others {
            roots.add(root.clone())?;
        }
        Self::with_roots(verify, roots)
    }

    /// With root certificates of your own.
    ///
    /// # Errors
    /// There are none, or rustls refuses its own parts.
    pub fn with_roots(verify: TlsVerify, roots: RootCertStore) -> Result<Self, TlsSetupError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let judge = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
        let verifier = Arc::new(Verifier { verify, judge: Arc::clone(&judge) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Self {
            verify,
            config: Arc::new(config),
            judge,
            old: TlsOld::default(),
            known_old: old::Known::default(),
            #[cfg(feature = "old-tls")]
            speaker: old::Speaker::new()?,
        })
    }

    /// The same with another answer to servers of old TLS.
    #[must_use]
    pub fn with_old(self, old: TlsOld) -> Self {
        Self { old, ..self }
    }

    /// Whether the server of `origin` spoke nothing newer when it was last asked.
    pub fn is_known_old(&self, origin: &str) -> bool {
        self.old.is_spoken() && self.known_old.has(origin)
    }

    /// Whether the server proved its key in a way that is too weak for rustls (RSA of 1,024 bits, say), which is no reason not to
    /// fetch unless `strict` is asked for.
    pub fn is_weak(&self, error: &std::io::Error) -> bool {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        self.verify != TlsVerify::Strict && matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
    }

    /// What is wrong with the certificates of a finished handshake, under `strict`.
    pub fn refused(&self, name: &ServerName<'_>, chain: &[CertificateDer<'_>]) -> Option<TlsFault> {
        if self.verify == TlsVerify::Strict { self.judged(name, Some(chain)) } else { None }
    }

    /// What is wrong with the certificates of a finished handshake, under `record`; asked for resumed sessions too.
    pub fn fault(&self, name: &ServerName<'_>, chain: Option<&[CertificateDer<'_>]>) -> Option<TlsFault> {
        if self.verify == TlsVerify::Record { self.judged(name, chain) } else { None }
    }

    fn judged(&self, name: &ServerName<'_>, chain: Option<&[CertificateDer<'_>]>) -> Option<TlsFault> {
        let Some((leaf, others)) = chain.and_then(<[_]>::split_first) else {
            return Some(TlsFault::other("the server sent no certificate"));
        };
        let Some(now) = self.config.time_provider.current_time() else {
            return Some(TlsFault::other("the time is not known"));
        };
        self.judge.verify_server_cert(leaf, others, name, &[], now).err().map(|error| TlsFault::of(&error, leaf))
    }
}

/// How the advice begins on a certificate that was refused.
pub const STRICT: &str = "tls.verify = strict refuses it";

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct TlsFault {
    /// The remark on a capture, under `record`.
    pub note: Note,
    /// The reason of the failure, under `strict`.
    pub failure: Failure,
    /// The fault in words; never the library's, which are for its developers.
    pub words: &'static str,
}

impl TlsFault {
    /// A key or a signature that only old TLS takes.
    pub const WEAK: Self = Self::other("the certificate's key or its signatures are too weak");

    /// One that is not told apart from others.
    const fn other(words: &'static str) -> Self {
        Self { note: Note::TlsCertificate, failure: Failure::TlsCertificate, words }
    }

    /// What the verifier's error on `leaf` means.
    fn of(error: &rustls::Error, leaf: &CertificateDer<'_>) -> Self {
        use CertificateError as C;
        let rustls::Error::InvalidCertificate(fault) = error else {
            return Self::other("the certificate cannot be checked");
        };
        let (note, failure, words) = match fault {
            C::Expired | C::ExpiredContext { .. } => {
                (Note::TlsExpired, Failure::TlsExpired, "the certificate has expired")
            }
            C::NotValidYet | C::NotValidYetContext { .. } => {
                (Note::TlsExpired, Failure::TlsExpired, "the certificate is not valid yet")
            }
            C::NotValidForName | C::NotValidForNameContext { .. } => {
                (Note::TlsName, Failure::TlsName, "the certificate is for another name")
            }
            // webpki calls a self-signed certificate of an authority, used as a server's, something of its own.
            C::UnknownIssuer | C::Other(_) if is_self_signed(leaf) => {
                (Note::TlsSelfSigned, Failure::TlsSelfSigned, "the certificate is signed by itself")
            }
            C::UnknownIssuer => (Note::TlsIssuer, Failure::TlsIssuer, "the certificate is signed by an unknown issuer"),
            C::Revoked => return Self::other("the certificate has been revoked"),
            C::BadEncoding | C::BadSignature => return Self::other("the certificate is damaged"),
            C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
                return Self::other("the certificate is not one for servers");
            }
            _ => return Self::other("the certificate is malformed or of a kind that is not supported"),
        };
        Self { note, failure, words }
    }
}

/// Whether a certificate names itself as its issuer (RFC 5280 section 3.2).
fn is_self_signed(leaf: &CertificateDer<'_>) -> bool {
    webpki::EndEntityCert::try_from(leaf).is_ok_and(|cert| cert.issuer() == cert.subject())
}

/// The reason and the words for a handshake that failed.
pub fn handshake_fault(error: &std::io::Error) -> (Failure, String) {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause)))) => {
            match cause.downcast_ref::<TlsFault>() {
                Some(fault) => (fault.failure, format!("{fault}; {STRICT}")),
                None => (Failure::Tls, "the certificate cannot be used".to_owned()),
            }
        }
        // The certificate itself was judged before this.
        Some(rustls::Error::InvalidCertificate(_)) => {
            (Failure::Tls, "the server does not prove that the certificate it shows is its own".to_owned())
        }
        _ => (Failure::Tls, error.to_string()),
    }
}

/// Looks at certificates during the handshake: `strict` refuses what is not good, and says why in words that are ours; otherwise every
/// certificate passes, and `record` judges it afterwards.
#[derive(Debug)]
struct Verifier {
    verify: TlsVerify,
    judge: Arc<WebPkiServerVerifier>,
}

impl Verifier {
    /// Whether the server must prove that it owns the certificate it shows: else the fault noted would say nothing. A certificate that
    /// cannot be read at all is let pass: `record` notes it as a fault in any case, and `strict` has refused it before.
    fn wants_proof(&self, cert: &CertificateDer<'_>) -> bool {
        self.verify != TlsVerify::Off && ParsedCertificate::try_from(cert).is_ok()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.verify != TlsVerify::Strict {
            return Ok(ServerCertVerified::assertion());
        }
        self.judge.verify_server_cert(leaf, others, name, ocsp, now).map_err(|error| {
            let fault = TlsFault::of(&error, leaf);
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let proof = || self.judge.verify_tls12_signature(message, cert, dss);
        if self.wants_proof(cert) { proof() } else { Ok(HandshakeSignatureValid::assertion()) }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let proof = || self.judge.verify_tls13_signature(message, cert, dss);
        if self.wants_proof(cert) { proof() } else { Ok(HandshakeSignatureValid::assertion()) }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}
