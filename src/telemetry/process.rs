//! What the operating system says about this process, read anew on each scrape.

use std::fmt;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::base::time::UnixMillis;

/// CPU seconds, resident bytes, open files, threads: Linux' `/proc/self`; what cannot be read is left out.
#[derive(Debug)]
pub struct ProcessCollector {
    started: UnixMillis,
}

impl ProcessCollector {
    /// `started`: when this process began.
    pub fn new(started: UnixMillis) -> Self {
        Self { started }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let metric = ConstCounter::new(seconds);
            put(&mut encoder, "process_cpu_seconds", "Processor time, user and system, seconds", &metric)?;
        }
        let fields = [
            ("process_resident_memory_bytes", "Memory in use, bytes", resident_bytes()),
            ("process_virtual_memory_bytes", "Address space, bytes", status_field("VmSize:").map(|kib| kib * 1024)),
            ("process_threads", "Threads", status_field("Threads:")),
            ("process_max_fds", "Files and sockets that may be open", max_fds()),
            ("process_open_fds", "Open files and sockets", open_fds()),
        ];
        for (name, help, value) in fields {
            if let Some(value) = value {
                put(&mut encoder, name, help, &ConstGauge::new(value as f64))?;
            }
        }
        let started = ConstGauge::new(self.started.0 as f64 / 1_000.0);
        put(&mut encoder, "process_start_time_seconds", "Start of the process, seconds since 1970", &started)
    }
}

fn put(encoder: &mut DescriptorEncoder, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

/// Processor time of this process so far, user and system together, seconds.
pub fn cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    Some(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Memory resident now, bytes.
pub fn resident_bytes() -> Option<u64> {
    status_field("VmRSS:").map(|kib| kib * 1024)
}

/// Memory resident now that nobody can have back but this process, bytes: without the pages of files, which the system drops when it
/// needs them. An index is read through such pages.
pub fn own_bytes() -> Option<u64> {
    status_field("RssAnon:").map(|kib| kib * 1024).or_else(resident_bytes)
}

fn status_field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn max_fds() -> Option<u64> {
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft)
}

fn open_fds() -> Option<u64> {
    // The folder's own handle is one of them.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as u64)
}
