//! TCP to the web: straight to the pinned address, or through a proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use crate::domain::reason::Failure;
use crate::domain::url::Scheme;

use super::super::protocol::{FetchRequest, Timings};
use super::super::proxy::Proxy;
use super::tunnel::{self, Refused};
use super::{Fault, HttpConfig, literal, socks};

/// The addresses of this machine that connections come from (`fetch.source_address`); where there is none for the family
/// of the target the system chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Towards IPv4.
    pub v4: Option<Ipv4Addr>,
    /// Towards IPv6.
    pub v6: Option<Ipv6Addr>,
}

impl Source {
    fn towards(self, target: SocketAddr) -> Option<IpAddr> {
        if target.is_ipv4() { self.v4.map(IpAddr::V4) } else { self.v6.map(IpAddr::V6) }
    }

    /// Whether this machine has the addresses.
    ///
    /// # Errors
    /// One that it does not have, with what the system says.
    pub fn check(self) -> Result<(), (IpAddr, io::Error)> {
        let all = [self.v4.map(IpAddr::V4), self.v6.map(IpAddr::V6)];
        let try_it = |ip: IpAddr| std::net::UdpSocket::bind((ip, 0)).map(drop).map_err(|error| (ip, error));
        all.into_iter().flatten().try_for_each(try_it)
    }
}

/// What connections are opened with.
#[derive(Clone, Copy)]
pub(super) struct Dial<'a> {
    pub(super) request: &'a FetchRequest,
    pub(super) config: &'a HttpConfig,
}

/// Why no connection came about, and whether another address may do better.
struct Miss {
    fault: Fault,
    elsewhere: bool,
}

/// One target after the other, for one connection at a time is polite (I1). Each has its share of the time that is left, so
/// that a dead one does not use up that of the next. A target without address is one whose name the proxy looks up.
pub(super) async fn open(
    dial: Dial<'_>,
    targets: &[Option<SocketAddr>],
    timings: &mut Timings,
) -> Result<(TcpStream, Option<SocketAddr>), Fault> {
    let (start, limit) = (Instant::now(), dial.request.limits.timeouts.connect);
    let mut first = None;
    for (target, left) in targets.iter().zip((1..=targets.len()).rev()) {
        let share = limit.saturating_sub(start.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX);
        let opened = dial.open_one(*target, share).await;
        timings.connect = start.elapsed();
        match opened {
            Ok(tcp) => return Ok((tcp, *target)),
            Err(Miss { fault, elsewhere }) => {
                log::debug!("no connection: {} others={}", fault.detail, left - 1);
                first = first.or(Some(fault));
                if !elsewhere {
                    break;
                }
            }
        }
    }
    Err(first.unwrap_or_else(|| Fault::new(Failure::AddressRefused, "the name has no address")))
}

impl Dial<'_> {
    async fn open_one(self, target: Option<SocketAddr>, limit: Duration) -> Result<TcpStream, Miss> {
        match (&self.request.via, target) {
            (Some(proxy), target) => {
                let late = || format!("no way through the proxy {proxy} within {} s", limit.as_secs_f32());
                let through = timeout(limit, self.through(proxy, target)).await;
                // It may be the far end that does not answer.
                through.unwrap_or_else(|_| Err(Miss { fault: Fault::new(Failure::Proxy, late()), elsewhere: true }))
            }
            (None, Some(address)) => {
                let opened = straight(address, self.config.source, limit).await;
                opened.map_err(|fault| Miss { fault, elsewhere: true })
            }
            (None, None) => {
                let fault = Fault::new(Failure::AddressRefused, "the name has no address");
                Err(Miss { fault, elsewhere: false })
            }
        }
    }

    /// To the proxy, and where it shall not look the name up, or shall not see what is said, through it.
    async fn through(self, proxy: &Proxy, target: Option<SocketAddr>) -> Result<TcpStream, Miss> {
        let mut tcp = self.to_proxy(proxy).await.map_err(|detail| Miss {
            fault: Fault::new(Failure::Proxy, format!("the proxy {proxy} cannot be reached: {detail}")),
            elsewhere: false,
        })?;
        let url = &self.request.url;
        let place = match target {
            Some(address) => address.to_string(),
            None if proxy.is_socks() || url.scheme() == Scheme::Https => format!("{}:{}", url.host(), url.port()),
            None => return Ok(tcp),
        };
        let dug = if proxy.is_socks() {
            let place = (url.host(), url.port());
            socks::dig(tcp, proxy, target.or_else(|| literal(place.0, place.1)), place).await
        } else {
            tunnel::dig(&mut tcp, proxy, &place).await.map(|()| tcp)
        };
        dug.map_err(|refused @ Refused { elsewhere, .. }| {
            let detail = format!("the proxy {proxy} does not connect to {place}: {refused}");
            Miss { fault: Fault::new(Failure::Proxy, detail), elsewhere }
        })
    }

    /// The operator has named the proxy, so its address needs no other leave; our own listeners stay closed (I7).
    async fn to_proxy(self, proxy: &Proxy) -> Result<TcpStream, String> {
        let bare = proxy.host.trim_start_matches('[').trim_end_matches(']');
        let addresses = lookup_host((bare, proxy.port)).await.map_err(|error| error.to_string())?;
        let mut last = "its name has no address".to_owned();
        for address in addresses {
            match self.config.policy.check(&proxy.host, address) {
                Err(refused) if refused.own => last = refused.to_string(),
                _ => match connect(address, self.config.source).await {
                    Ok(tcp) => return Ok(tcp),
                    Err(error) => last = error.to_string(),
                },
            }
        }
        Err(last)
    }
}

async fn straight(address: SocketAddr, source: Source, limit: Duration) -> Result<TcpStream, Fault> {
    match timeout(limit, connect(address, source)).await {
        Ok(Ok(tcp)) => Ok(tcp),
        Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut => {
            Err(Fault::new(Failure::ConnectTimeout, format!("{address}: {error}")))
        }
        Ok(Err(error)) => Err(Fault::new(Failure::ConnectRefused, format!("{address}: {error}"))),
        Err(_) => {
            let detail = format!("{address}: no connection within {} s", limit.as_secs_f32());
            Err(Fault::new(Failure::ConnectTimeout, detail))
        }
    }
}

async fn connect(address: SocketAddr, source: Source) -> io::Result<TcpStream> {
    let tcp = match source.towards(address) {
        None => TcpStream::connect(address).await?,
        Some(from) => {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            // Else every connection that has just ended would keep a port of that address from being used again.
            socket.set_reuseaddr(true)?;
            socket.bind(SocketAddr::new(from, 0))?;
            socket.connect(address).await?
        }
    };
    // One small write a request; waiting to fill a packet would only delay it.
    tcp.set_nodelay(true)?;
    Ok(tcp)
}
