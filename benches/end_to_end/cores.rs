//! Which core the crawler works on, and which the servers.

use std::process::{Command, Stdio};

/// The crawler has a core of its own where there are two or more; this process and the servers have the others.
pub struct Cores {
    crawler: Option<String>,
}

impl Cores {
    /// Divides the cores that this process may use, and moves it.
    pub fn divide() -> Self {
        let allowed = allowed();
        let Some((crawler, others)) = allowed.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Self { crawler: None };
        };
        let moved = Command::new("taskset")
            .args(["--cpu-list", "--pid", &others.join(","), &std::process::id().to_string()])
            .stdout(Stdio::null())
            .status();
        Self { crawler: moved.is_ok_and(|status| status.success()).then(|| crawler.clone()) }
    }

    /// The words before a command that runs on the crawler's core.
    pub fn crawlers(&self) -> Vec<String> {
        self.crawler.iter().flat_map(|core| ["taskset", "--cpu-list", core]).map(str::to_owned).collect()
    }
}

/// The numbers of the cores that this process may use.
fn allowed() -> Vec<String> {
    let status = read("/proc/self/status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        number(first).zip(number(last)).map(|(first, last)| first..=last)
    };
    list.split(',').filter_map(range).flatten().map(|core| core.to_string()).collect()
}

/// The machine, and how busy it is at the start.
pub fn machine(cores: &Cores) -> String {
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let count = cpu.lines().filter(|line| line.starts_with("processor")).count();
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    let place = match &cores.crawler {
        Some(core) => format!("crawler and wget on core {core}, servers on the others"),
        None => "crawler and servers on the same cores".to_owned(),
    };
    format!("Machine: {count} cores of {model}, {place}; load average at the start {load}.")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
