//! TLS over a fresh connection: with rustls, and with old TLS where a server speaks nothing newer (`tls.old`).

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::domain::reason::Failure;

use super::super::protocol::Timings;
use super::super::tap::Wire;
#[cfg(feature = "old-tls")]
use super::super::tls::STRICT;
use super::super::tls::{TlsClient, TlsFault, handshake_fault, is_no_common_ground};
use super::Fault;
use super::open::{Dial, open};

/// A connection after its handshake.
pub(super) struct Secured {
    pub(super) stream: Box<dyn Wire>,
    /// What is wrong with the certificate, under `tls.verify = record`.
    pub(super) fault: Option<TlsFault>,
    /// It speaks old TLS, and nothing newer.
    pub(super) old: bool,
}

/// The handshake over `tcp`, which leads to `target`; where rustls has no suite or version in common with the server, another one
/// over a connection of its own.
pub(super) async fn secure(
    dial: Dial<'_>,
    tcp: TcpStream,
    target: Option<SocketAddr>,
    tls: &TlsClient,
    timings: &mut Timings,
) -> Result<Secured, Fault> {
    let name = server_name(dial.request.url.host())?;
    let origin = dial.request.url.authority();
    if tls.is_known_old(&origin) {
        return speak_old(dial, tcp, &name, tls, timings).await;
    }
    let failed =
        match in_time(dial, TlsConnector::from(Arc::clone(&tls.config)).connect(name.clone(), tcp), timings).await? {
            Ok(stream) => {
                let fault = tls.fault(&name, stream.get_ref().1.peer_certificates());
                return Ok(Secured { stream: Box::new(stream), fault, old: false });
            }
            Err(error) => error,
        };
    let (failure, detail) = handshake_fault(&failed);
    let weak = tls.is_weak(&failed);
    if !weak && !is_no_common_ground(&failed) {
        return Err(Fault::new(failure, detail));
    }
    if !tls.old.is_spoken() {
        return Err(unspoken(tls, &failed, failure, detail, weak));
    }
    log::debug!("no common TLS with rustls, trying old TLS: host={} why={detail:?}", dial.request.url.host());
    let (tcp, _) = open(dial, &[target], timings).await?;
    let again = speak_old(dial, tcp, &name, tls, timings).await;
    let mut secured = again.map_err(|second| match second.failure {
        Failure::Tls => Fault::new(failure, format!("{detail}; with old TLS too: {}", second.detail)),
        _ => second,
    })?;
    if weak {
        secured.fault = secured.fault.or(Some(TlsFault::WEAK));
    }
    Ok(secured)
}

/// The failure of a server that may speak old TLS, where it is not spoken. One that closed without a word may have other reasons.
fn unspoken(tls: &TlsClient, failed: &io::Error, failure: Failure, detail: String, weak: bool) -> Fault {
    if weak || failed.get_ref().is_none_or(|inner| !inner.is::<rustls::Error>()) {
        return Fault::new(failure, detail);
    }
    let advice = tls.old.advice();
    Fault::new(
        Failure::TlsOld,
        format!("the server offers none of the modern suites of TLS 1.2 and 1.3 ({detail}); {advice}"),
    )
}

#[cfg(feature = "old-tls")]
async fn speak_old(
    dial: Dial<'_>,
    tcp: TcpStream,
    name: &ServerName<'_>,
    tls: &TlsClient,
    timings: &mut Timings,
) -> Result<Secured, Fault> {
    let origin = dial.request.url.authority();
    let shaken = in_time(dial, tls.speaker.connect(name, tcp), timings).await?;
    let stream = shaken.map_err(|error| {
        tls.known_old.set(&origin, false);
        Fault::new(Failure::Tls, error.to_string())
    })?;
    let old = !stream.is_modern();
    tls.known_old.set(&origin, old);
    let chain = stream.chain();
    if let Some(fault) = tls.refused(name, &chain) {
        return Err(Fault::new(fault.failure, format!("{fault}; {STRICT}")));
    }
    log::debug!("connected with old TLS: host={} spoken={:?}", dial.request.url.host(), stream.spoken());
    let fault = tls.fault(name, Some(&chain));
    Ok(Secured { stream: Box::new(stream), fault, old })
}

#[cfg(not(feature = "old-tls"))]
async fn speak_old(
    _: Dial<'_>,
    _: TcpStream,
    _: &ServerName<'_>,
    tls: &TlsClient,
    _: &mut Timings,
) -> Result<Secured, Fault> {
    Err(Fault::new(Failure::TlsOld, tls.old.advice()))
}

/// A handshake within its time, which is added to the timings.
async fn in_time<T>(
    dial: Dial<'_>,
    handshake: impl Future<Output = io::Result<T>>,
    timings: &mut Timings,
) -> Result<io::Result<T>, Fault> {
    let (start, limit) = (Instant::now(), dial.request.limits.timeouts.tls);
    let result = timeout(limit, handshake).await;
    timings.tls += start.elapsed();
    result.map_err(|_| Fault::new(Failure::TlsTimeout, format!("no TLS within {} s", limit.as_secs_f32())))
}

fn server_name(host: &str) -> Result<ServerName<'static>, Fault> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    ServerName::try_from(bare.to_owned())
        .map_err(|_| Fault::new(Failure::Tls, format!("{host} is no name that TLS can ask for")))
}
