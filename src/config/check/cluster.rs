//! One crawl on several machines: `[cluster]`.

use std::time::Duration;

use super::{Checked, accepted, ensure, within};
use crate::config::file::FileForm;
use crate::config::sections::ClusterSection;
use crate::domain::cluster::map::{HEAVIEST, named};
use crate::recovery::checkpoint::Target;

/// Shorter leases would end whenever the engine chooses another leader.
const SHORTEST: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(86_400);

pub(super) fn check_cluster(form: &FileForm) -> Checked {
    let ClusterSection { name, node, servers, store, checkpoint, lease, spare, credentials, .. } = &form.cluster;
    let is_said = name.is_some() || node.is_some() || store.is_some() || credentials.is_some() || *spare;
    if servers.is_empty() {
        return ensure(!is_said, "cluster.servers", || {
            "names no server: write at least one, as [\"nats://HOST:4222\"], or leave [cluster] out".into()
        });
    }
    ensure(cfg!(feature = "cluster"), "cluster", || "this program was built without the feature `cluster`".into())?;
    for server in servers {
        let is_good = url::Url::parse(server).is_ok_and(|u| matches!(u.scheme(), "nats" | "tls") && u.has_host());
        ensure(is_good, "cluster.servers", || "each must be nats://HOST:PORT or tls://HOST:PORT".into())?;
    }
    let missing = |what: &str| format!("{what} is missing: all members name the same");
    ensure(name.is_some(), "cluster.name", || missing("the crawl's name"))?;
    ensure(store.is_some(), "cluster.store", || missing("the store of checkpoints and archives"))?;
    accepted("cluster.name", name.as_deref().map(named).transpose())?;
    accepted("cluster.node", node.as_deref().map(named).transpose())?;
    accepted("cluster.store", store.as_deref().map(Target::parse).transpose())?;
    let pair = form.cluster.certificate.is_some() == form.cluster.key.is_some();
    ensure(pair, "cluster.certificate", || "goes with cluster.key: set both or none".into())?;
    ensure(*checkpoint >= Duration::from_secs(1), "cluster.checkpoint", || "must be 1s or longer".into())?;
    within("cluster.weight", u64::from(form.cluster.weight), 1, u64::from(HEAVIEST))?;
    within("cluster.lease", lease.as_secs(), SHORTEST.as_secs(), LONGEST.as_secs())
}
