//! https in front of the synthetic web: it ends TLS, with a certificate for each host that is asked for, signed by an
//! authority made at the start, and hands the bytes on.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{HandshakeKind, ServerConfig};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::Result;

/// What the crawler's connections began with.
#[derive(Clone, Copy)]
pub struct Handshakes {
    pub all: u64,
    /// Those of them that resumed an earlier session.
    pub resumed: u64,
}

#[derive(Default)]
struct Counts {
    all: AtomicU64,
    resumed: AtomicU64,
}

/// It serves as long as the benchmark runs.
pub struct Front {
    pub port: u16,
    /// The certificate of the authority, a PEM file.
    pub root: PathBuf,
    counts: Arc<Counts>,
}

impl Front {
    /// In front of the web at this port of loopback; `folder` is for the certificate.
    pub fn start(behind: u16, folder: &Path) -> Result<Self> {
        let hosts = Hosts::new()?;
        let root = folder.join("root.pem");
        std::fs::write(&root, hosts.authority.pem())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(hosts));
        config.ticketer = rustls::crypto::ring::Ticketer::new()?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let (port, counts) = (listener.local_addr()?.port(), Arc::<Counts>::default());
        let (acceptor, counted) = (TlsAcceptor::from(Arc::new(config)), Arc::clone(&counts));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || runtime.block_on(accept(listener, acceptor, behind, counted)));
        Ok(Self { port, root, counts })
    }

    /// So far.
    pub fn handshakes(&self) -> Handshakes {
        let [all, resumed] = [&self.counts.all, &self.counts.resumed].map(|count| count.load(Ordering::Relaxed));
        Handshakes { all, resumed }
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, behind: u16, counts: Arc<Counts>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, counts) = (acceptor.clone(), Arc::clone(&counts));
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mut front = acceptor.accept(stream).await?;
            counts.all.fetch_add(1, Ordering::Relaxed);
            let resumed = front.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            counts.resumed.fetch_add(u64::from(resumed), Ordering::Relaxed);
            let mut back = TcpStream::connect(("127.0.0.1", behind)).await?;
            back.set_nodelay(true)?;
            copy_bidirectional(&mut front, &mut back).await
        });
    }
}

/// Certificates by host, made when a host is first asked for.
struct Hosts {
    authority: CertifiedIssuer<'static, KeyPair>,
    key: KeyPair,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Hosts {
    fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { authority, key: KeyPair::generate()?, made: Mutex::default() })
    }

    fn make(&self, host: &str) -> Result<Arc<CertifiedKey>> {
        let certificate = CertificateParams::new(vec![host.to_owned()])?.signed_by(&self.key, &self.authority)?;
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der()).into();
        let key = rustls::crypto::ring::default_provider().key_provider.load_private_key(key)?;
        Ok(Arc::new(CertifiedKey::new(vec![certificate.der().clone()], key)))
    }
}

impl ResolvesServerCert for Hosts {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name()?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(host) {
            return Some(Arc::clone(known));
        }
        let new = self.make(host).ok()?;
        made.insert(host.to_owned(), Arc::clone(&new));
        Some(new)
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hosts")
    }
}
