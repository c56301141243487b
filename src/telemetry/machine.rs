//! How much memory this process may have: the machine's, or what its control group is held to.

use std::path::{Path, PathBuf};

/// Memory there is, and what says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes.
    pub bytes: u64,
    /// `machine` or `cgroup`.
    pub by: &'static str,
}

/// The least of the machine's memory and the limits of the control groups around this process; `None` where Linux' `/proc` is
/// not to be had.
pub fn memory_limit() -> Option<MemoryLimit> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = limit_files(&groups).iter().filter_map(|file| limit_in(file)).min();
    let machine = machine.map(|bytes| MemoryLimit { bytes, by: "machine" });
    let group = group.map(|bytes| MemoryLimit { bytes, by: "cgroup" });
    machine.into_iter().chain(group).min_by_key(|limit| limit.bytes)
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that may hold a limit: those of the group named in `/proc/self/cgroup` and of all groups above it, of both
/// versions. In a container the group's own path may not exist; its root then is the group.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (root, name) = match fields.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(list) if list.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let path = fields.next().unwrap_or_default().trim_start_matches('/');
        let above = Path::new(path).ancestors();
        files.extend(above.map(|group| Path::new(root).join(group).join(name)));
    }
    files
}

/// `max` is no limit, nor is what version 1 says for none.
fn limit_in(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_all_groups_around_are_looked_at() {
        let files = limit_files("12:cpu,memory:/a/b\n3:cpuset:/x\n0::/c\n");
        let files: Vec<_> = files.iter().map(|f| f.to_string_lossy()).collect();
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/c/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
    }

    #[test]
    fn a_limit_is_a_number_of_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.max");
        for (text, wanted) in [("536870912\n", Some(512 << 20)), ("max\n", None), ("9223372036854771712", None)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(limit_in(&file), wanted, "{text}");
        }
        assert_eq!(mem_total("MemTotal:  2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_limit().unwrap().bytes > 1 << 26);
    }
}
