//! What `lycosa run --dry-run` checks beyond the settings: the data folder, the admin endpoint's token, addresses of seeds.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::exit::CliError;
use super::run::failed;
use crate::admin::AdminError;
use crate::admin::auth::Keys;
use crate::admin::own::is_loopback;
use crate::app::{RunError, StartError};
use crate::config::{Settings, admin_token_in_environment, without_credentials};
use crate::storage::folder::MARKER;
use crate::warc::{WarcError, folder};

/// Looks at what a run would stumble over at its start; contacts and makes nothing.
///
/// # Errors
/// What the run would say, with its exit code.
pub fn check(settings: &Settings) -> Result<(), CliError> {
    startable(settings)?;
    addresses(settings)
}

/// The same without a look at the seeds: what keeps a run from its start.
///
/// # Errors
/// What the run would say, with its exit code.
pub fn startable(settings: &Settings) -> Result<(), CliError> {
    let folder = crate::storage::folder::look(&settings.store.data_dir).map_err(StartError::from);
    folder.map_err(|e| failed(RunError::from(e)))?;
    if let Some(listen) = settings.admin_listen {
        token(settings, listen).map_err(|e| failed(RunError::from(e)))?;
    }
    let access = settings.access(&crate::base::clock::Clock::real());
    access.map_err(|e| failed(StartError::from(e).into()))?;
    settings.tls_roots().map_err(|e| failed(StartError::from(e).into()))?;
    let source = settings.source().check();
    source.map_err(|(address, source)| failed(StartError::Source { address, source }.into()))?;
    crate::app::memory_plan(settings).map_err(|e| failed(StartError::from(e).into()))?;
    crate::app::check_webhooks(settings).map_err(|e| failed(e.into()))?;
    archive(settings).map_err(|e| failed(StartError::from(e).into()))
}

/// The archive of a crawl that begins must not be that of another one.
fn archive(settings: &Settings) -> Result<(), WarcError> {
    let dir = settings.warc_dir();
    let begins = !settings.store.data_dir.join(MARKER).exists();
    match begins.then(|| folder::owner(&dir)).flatten() {
        Some(note) => Err(WarcError::Foreign { dir, note }),
        None => Ok(()),
    }
}

fn token(settings: &Settings, listen: SocketAddr) -> Result<(), AdminError> {
    Keys::check(settings)?;
    let files = settings.admin.token_file.is_some() || settings.admin.read_token_file.is_some();
    let any = files || admin_token_in_environment();
    if any || is_loopback(listen) { Ok(()) } else { Err(AdminError::NeedsToken(listen)) }
}

/// Seeds whose host is an address need no name server to be judged.
fn addresses(settings: &Settings) -> Result<(), CliError> {
    let policy = settings.address_policy(settings.admin_listen.into_iter().collect()).map_err(CliError::usage)?;
    for url in settings.crawl.seeds.iter().filter_map(|seed| Url::parse(&seed.url).ok()) {
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            _ => continue,
        };
        let address = SocketAddr::new(ip, url.port_or_known_default().unwrap_or(80));
        let shown = without_credentials(url.as_str());
        let refused = |why| CliError::usage(format!("the seed {shown} would not be crawled: {why}"));
        policy.check(url.host_str().unwrap_or_default(), address).map_err(refused)?;
    }
    Ok(())
}
