//! What several rooms show.

mod canonical;
mod capture;
mod robots;
mod wait;

pub use canonical::CanonicalView;
pub use capture::{CaptureView, WarcView};
pub use robots::{RobotsStanding, RobotsView, VerdictView};
pub use wait::{HostState, WaitView, WaitWhy};
