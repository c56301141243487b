//! What the machine counts by itself since it booted, sleep included: Linux says it, and by what name it knows that boot.

use crate::base::time::SinceBoot;

/// This moment.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Option<SinceBoot> {
    use std::sync::LazyLock;
    static BOOT: LazyLock<Option<u64>> = LazyLock::new(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        u64::from_str_radix(&name.trim().replace('-', "").chars().take(16).collect::<String>(), 16).ok()
    });
    let since = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).ok()?;
    Some(SinceBoot { boot: (*BOOT)?, ms: super::whole_millis(since.into()) })
}

/// Elsewhere nothing is known.
#[cfg(not(target_os = "linux"))]
pub(super) fn now() -> Option<SinceBoot> {
    None
}
