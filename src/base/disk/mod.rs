//! Disks that are full or broken: what kind of fault it is, when to try again, how much room is needed, the reserve.
//!
//! | file | what lives there |
//! |---|---|
//! | [`fault`] | the kinds of fault, told from errors |
//! | [`own`] | files of fixed names: links in their place are not followed |
//! | [`policy`] | pure decisions: pause, try again, end |
//! | [`probe`](mod@probe) | looks at file systems: room left, whether a write goes through |
//! | [`reserve`] | the file that is given up when a write finds no space |
//! | [`state`] | what a node knows of its disks; outlives every actor |

pub mod fault;
pub mod own;
pub mod policy;
pub mod probe;
pub mod reserve;
pub mod state;

pub use fault::DiskFault;
pub use reserve::Reserve;
pub use state::DiskState;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// True when both names are of one folder or file, also over links and mounts.
pub fn is_same_folder(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    id(a).is_some() && id(a) == id(b)
}

/// From here on a file that grows beyond the process's limit (`ulimit -f`) is a write that fails, not the end of the process:
/// SIGXFSZ is caught, and means nothing.
pub fn outlive_file_limit() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The handler stays when its listener and the runtime are gone.
    runtime.block_on(async { signal(SignalKind::from_raw(nix::libc::SIGXFSZ)).map(drop) })
}
