//! A way through a SOCKS 5 proxy (RFC 1928; user name and password: RFC 1929).

use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio_socks::tcp::Socks5Stream;
use tokio_socks::{Error, TargetAddr};

use super::super::proxy::Proxy;
use super::tunnel::Refused;

/// Asks the proxy at the other end of `stream` for a way to an address, or to a name that the proxy looks up.
pub(super) async fn dig(
    stream: TcpStream,
    proxy: &Proxy,
    address: Option<SocketAddr>,
    (name, port): (&str, u16),
) -> Result<TcpStream, Refused> {
    let target = match address {
        Some(address) => TargetAddr::Ip(address),
        None if name.len() > 255 => return Err(Refused::new("SOCKS takes no name so long")),
        None => TargetAddr::Domain(name.into(), port),
    };
    let way = match proxy.socks_login() {
        Some((user, password)) => Socks5Stream::connect_with_password_and_socket(stream, target, user, password).await,
        None => Socks5Stream::connect_with_socket(stream, target).await,
    };
    way.map(Socks5Stream::into_inner).map_err(refused)
}

fn refused(error: Error) -> Refused {
    let why = match &error {
        Error::NoAcceptableAuthMethods | Error::UnknownAuthMethod | Error::AuthorizationRequired => {
            "it wants to know who asks: set user and password in its URL".to_owned()
        }
        Error::PasswordAuthFailure(_) => "it does not take this user and password".to_owned(),
        Error::InvalidResponseVersion => "it does not answer in SOCKS 5".to_owned(),
        Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        error => format!("it answered: {error}"),
    };
    match error {
        Error::GeneralSocksServerFailure
        | Error::NetworkUnreachable
        | Error::HostUnreachable
        | Error::ConnectionRefused
        | Error::TtlExpired => Refused::of_the_far_end(why),
        _ => Refused::new(why),
    }
}
