//! TLS: what to do about certificates that cannot be trusted, as the configuration says.
//!
//! A crawler reads what anybody may read; a site with an expired certificate is still a site. So the default `record`
//! fetches, notes what is wrong, and leaves it to others to withhold credentials there.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// What a certificate that cannot be trusted leads to (`tls.verify`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
pub enum TlsSetupError {
    /// rustls refused its own parts.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    /// The root certificates cannot be used.
    #[error("the root certificates cannot be used: {0}")]
    Roots(#[from] rustls::client::VerifierBuilderError),
}

/// The client side of TLS for one fetcher: configuration, roots, session memory.
#[derive(Clone, Debug)]
pub struct TlsClient {
    /// What to do about bad certificates.
    verify: TlsVerify,
    config: Arc<ClientConfig>,
    judge: Arc<WebPkiServerVerifier>,
}

impl TlsClient {
    /// With Mozilla's root certificates.
    ///
    /// # Errors
    /// rustls refuses its own parts.
    pub fn new(verify: TlsVerify) -> Result<Self, TlsSetupError> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Self::with_roots(verify, roots)
    }

    /// With root certificates of your own.
    ///
    /// # Errors
    /// There are none, or rustls refuses its own parts.
    pub fn with_roots(verify: TlsVerify, roots: RootCertStore) -> Result<Self, TlsSetupError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let judge = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
        let verifier: Arc<dyn ServerCertVerifier> = match verify {
            TlsVerify::Strict => Arc::clone(&judge) as Arc<dyn ServerCertVerifier>,
            TlsVerify::Record | TlsVerify::Off => Arc::new(Lenient::new(verify, &provider)),
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { verify, config: Arc::new(config), judge })
    }

    /// The configuration for a connection.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// What is wrong with the certificates of a finished handshake, under `record`; asked for resumed sessions too.
    #[must_use]
    pub fn fault(&self, name: &ServerName<'_>, chain: Option<&[CertificateDer<'_>]>) -> Option<String> {
        if self.verify != TlsVerify::Record {
            return None;
        }
        let Some((leaf, others)) = chain.and_then(<[_]>::split_first) else {
            return Some("the server sent no certificate".to_owned());
        };
        let Some(now) = self.config.time_provider.current_time() else {
            return Some("the time is not known".to_owned());
        };
        self.judge.verify_server_cert(leaf, others, name, &[], now).err().map(|error| in_words(&error))
    }
}

/// How the advice begins on a certificate that was refused.
pub const STRICT: &str = "tls.verify = strict refuses it";

/// What is wrong with a handshake that failed.
#[must_use]
pub fn handshake_fault(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(fault @ rustls::Error::InvalidCertificate(_)) => format!("{}; {STRICT}", in_words(fault)),
        _ => error.to_string(),
    }
}

/// The fault of a certificate; never the library's words, which are for its developers.
fn in_words(error: &rustls::Error) -> String {
    use rustls::CertificateError as C;
    let rustls::Error::InvalidCertificate(fault) = error else { return error.to_string() };
    match fault {
        C::Expired | C::ExpiredContext { .. } => "the certificate has expired".into(),
        C::NotValidYet | C::NotValidYetContext { .. } => "the certificate is not valid yet".into(),
        C::NotValidForName | C::NotValidForNameContext { .. } => "the certificate is for another name".into(),
        C::UnknownIssuer => "the certificate is signed by itself or by an unknown issuer".into(),
        C::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "the certificate is signed by itself".into()
        }
        C::Revoked => "the certificate has been revoked".into(),
        C::BadEncoding | C::BadSignature => "the certificate is damaged".into(),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => "the certificate is not one for servers".into(),
        _ => "the certificate is malformed or of a kind that is not supported".into(),
    }
}

/// Lets every certificate pass during the handshake; `record` judges it afterwards.
#[derive(Debug)]
struct Lenient {
    verify: TlsVerify,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Lenient {
    fn new(verify: TlsVerify, provider: &CryptoProvider) -> Self {
        Self { verify, algorithms: provider.signature_verification_algorithms }
    }

    /// Under `record` the server must still prove that it owns the certificate it shows, or the fault noted would say
    /// nothing. A certificate that cannot be read at all is let pass: it is noted as a fault in any case.
    fn proof(
        &self,
        cert: &CertificateDer<'_>,
        check: impl FnOnce() -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.verify == TlsVerify::Off || ParsedCertificate::try_from(cert).is_err() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        check()
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.proof(cert, || rustls::crypto::verify_tls12_signature(message, cert, dss, &self.algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.proof(cert, || rustls::crypto::verify_tls13_signature(message, cert, dss, &self.algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
