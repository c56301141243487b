//! Disks that are full or broken: what kind of fault it is, when to try again, how much room is needed, the reserve.
//!
//! | file | what lives there |
//! |---|---|
//! | [`fault`] | the kinds of fault, told from errors |
//! | [`policy`] | pure decisions: pause, try again, end |
//! | [`probe`](mod@probe) | looks at file systems: room left, whether a write goes through |
//! | [`reserve`] | the file that is given up when a write finds no space |
//! | [`state`] | what a node knows of its disks; outlives every actor |

pub mod fault;
pub mod policy;
pub mod probe;
pub mod reserve;
pub mod state;

pub use fault::DiskFault;
pub use reserve::Reserve;
pub use state::DiskState;
