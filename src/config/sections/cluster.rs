//! One crawl on several machines: `[cluster]`.

use std::path::PathBuf;
use std::time::Duration;

use super::section;
use crate::base::units::duration;

section! {
    /// `[cluster]`: this data folder is a member of a crawl on several machines. Without `servers` there is none of it.
    ClusterSection {
        /// The crawl's name: what belongs to it in engine and store goes by it.
        name: Option<String> = None;
        /// The member's name; the machine's when absent.
        node: Option<String> = None;
        /// NATS servers with JetStream: `nats://HOST:PORT` or `tls://HOST:PORT`.
        servers: Vec<String> = Vec::new();
        /// File of credentials (`.creds`) for them.
        credentials: Option<PathBuf> = None;
        /// File of certificates (PEM) that sign those of the servers; the system's when absent.
        authority: Option<PathBuf> = None;
        /// This member's own certificate (PEM), where the servers want one.
        certificate: Option<PathBuf> = None;
        /// And its key.
        key: Option<PathBuf> = None;
        /// Where members keep copies of their checkpoints and archives: a folder that all see, or `s3://BUCKET/PREFIX`.
        store: Option<String> = None;
        /// How often a checkpoint is made and copied there.
        checkpoint: Duration as "duration" = Duration::from_secs(15 * 60);
        /// How long a member works without word from the engine, and stays away before it is replaced.
        lease: Duration as "duration" = Duration::from_secs(15 * 60);
        /// How many times the part of another member this one takes, where it joins: for machines that are larger than others.
        weight: u16 = 1;
        /// This machine holds nothing, and takes the place of a member that is lost.
        spare: bool = false;
    }
}
