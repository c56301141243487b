//! The whole crawler as its users run it: `lycosa run --until-done` in a process of its own against `lycosa testweb` or
//! nginx, everything on: robots.txt, politeness, seen test, WARC with CDXJ, durability as by default.
//!
//! Prints rows for `benches/RESULTS.md`. CPU is that of the crawler's process alone, user and system; it is the figure to
//! compare, because pages a second depend on what else the machine does, the server of the pages included.
//!
//! `cargo bench --profile release --bench end_to_end -- [--full] [--only NAME,…] [--runs N] [--binary LYCOSA]…`
//!
//! Several `--binary` are compared in alternating runs. The workload `real` wants nginx and the folder `LYCOSA_PAGES`.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if_eq("--measure").is_some() {
        return measure(args);
    }
    let plan = Plan::read(args)?;
    println!("{}\n", machine());
    println!(
        "| workload | binary | pages | URLs found | MB received | MB of WARC | CPU µs a page | user s | system s | pages/s | peak RSS MB |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for workload in workloads(plan.full).iter().filter(|w| plan.only.is_empty() || plan.only.contains(&w.name.into())) {
        for _ in 0..plan.runs {
            for binary in &plan.binaries {
                match workload.run(binary) {
                    Ok(row) => println!("{}", row.line(workload.name, binary)),
                    Err(e) => println!("| {} | not run: {e} |", workload.name),
                }
            }
        }
    }
    Ok(())
}

/// What was asked for on the command line.
struct Plan {
    full: bool,
    runs: usize,
    only: Vec<String>,
    binaries: Vec<PathBuf>,
}

impl Plan {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan = Self { full: false, runs: 1, only: Vec::new(), binaries: Vec::new() };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--full" => plan.full = true,
                "--runs" => plan.runs = value()?.parse()?,
                "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
                "--binary" => plan.binaries.push(value()?.into()),
                _ => {} // what cargo itself hands on
            }
        }
        if plan.binaries.is_empty() {
            plan.binaries.push(env!("CARGO_BIN_EXE_lycosa").into());
        }
        Ok(plan)
    }
}

/// Who serves the pages.
enum Web {
    /// `lycosa testweb` with so many hosts, pages a host, and pages of this shape.
    Test { hosts: &'static str, pages: &'static str, shape: &'static [&'static str] },
    /// The real pages below `LYCOSA_PAGES`, by nginx.
    Nginx,
}

struct Workload {
    name: &'static str,
    web: Web,
    crawler: &'static [&'static str],
}

/// 12 KB pages with 50 links, half of them to other hosts.
const PAGES: &[&str] = &[
    "--links",
    "50",
    "--min-size",
    "12000",
    "--max-size",
    "12288",
    "--robots",
    "allow",
    "--seed",
    "7",
    "--off-host",
    "0.5",
];
/// Crawled as a site of one's own: no pause after an answer.
const OWN: &[&str] = &["--set", "politeness.delay_factor=0"];
/// Small pages with many links to other hosts: a frontier that grows.
const GROWING: &[&str] = &[
    "--links",
    "200",
    "--min-size",
    "1000",
    "--max-size",
    "1024",
    "--robots",
    "404",
    "--seed",
    "7",
    "--off-host",
    "0.8",
];

fn web(hosts: &'static str, pages: &'static str, shape: &'static [&'static str]) -> Web {
    Web::Test { hosts, pages, shape }
}

fn workloads(full: bool) -> Vec<Workload> {
    let real = Workload { name: "real", web: Web::Nginx, crawler: OWN };
    if !full {
        return vec![
            Workload { name: "broad-quick", web: web("1000", "3", PAGES), crawler: &[] },
            Workload { name: "one-host-quick", web: web("1", "1000", PAGES), crawler: OWN },
            real,
        ];
    }
    vec![
        Workload { name: "broad", web: web("10000", "3", PAGES), crawler: &[] },
        Workload { name: "one-host", web: web("1", "10000", PAGES), crawler: OWN },
        real,
        Workload {
            name: "queue-250k",
            web: web("20000", "100", GROWING),
            crawler: &["--max-pages", "1500", "--set", "store.memory=64MiB"],
        },
        Workload {
            name: "queue-1M",
            web: web("20000", "100", GROWING),
            crawler: &["--max-pages", "8000", "--set", "store.memory=64MiB"],
        },
    ]
}

impl Workload {
    fn run(&self, binary: &Path) -> Result<Row> {
        let folder = tempfile::tempdir()?;
        let server = match self.web {
            Web::Test { hosts, pages, shape } => {
                Server::testweb(&[&["--hosts", hosts, "--pages", pages], shape].concat())?
            }
            Web::Nginx => Server::nginx(folder.path())?,
        };
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--measure").arg(binary).args(["run", "--until-done", "--no-progress", "--data"]);
        command.arg(folder.path().join("data"));
        for seed in &server.seeds {
            command.args(["--seed", seed]);
        }
        command.args(["--allow-net", &format!("127.0.0.1/32:{}", server.port)]);
        let everywhere = format!("dns.overrides={{ \"*.test\" = \"127.0.0.1:{}\" }}", server.port);
        let settings = ["politeness.min_delay=0s", "admin.listen=off", "log.level=warn", "disk.pause_below=100MB"];
        for setting in settings.into_iter().chain([everywhere.as_str(), server.scope]) {
            command.args(["--set", setting]);
        }
        let output = command.args(self.crawler).stderr(Stdio::inherit()).output()?;
        let mut row = Row::read(&String::from_utf8_lossy(&output.stdout))?;
        for entry in std::fs::read_dir(folder.path().join("data/warc"))? {
            row.warc += entry?.metadata()?.len() as f64;
        }
        Ok(row)
    }
}

/// A web server that ends with this value.
struct Server {
    process: Child,
    port: u16,
    seeds: Vec<String>,
    scope: &'static str,
}

impl Server {
    fn testweb(options: &[&str]) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lycosa"));
        command.args(["testweb", "--listen", "127.0.0.1:0"]).args(options).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let port = line
            .split("127.0.0.1:")
            .nth(1)
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()));
        let port = port.ok_or(format!("the test web says no port: {line:?}"))?;
        Ok(Self { process, port, seeds: vec!["http://h0.test/".into()], scope: "scope.mode=any" })
    }

    fn nginx(folder: &Path) -> Result<Self> {
        let pages = std::env::var("LYCOSA_PAGES").map_err(|_| "LYCOSA_PAGES is not set")?;
        if !Path::new(&pages).join("python3-doc").is_dir() {
            return Err(format!("{pages} holds no python3-doc; `make test` puts it there").into());
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let here = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
            .concat();
        // A worker that gave up being root could not read what lies below root's home.
        let user =
            if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(folder)?) == 0 { "user root;" } else { "" };
        let config = format!(
            "{user} worker_processes 1; daemon off; pid {here}/pid; error_log /dev/null;\n\
             events {{ worker_connections 256; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; {temporary}\
             types {{ text/html html; text/css css; application/javascript js; image/png png; }}\n\
             server {{ listen 127.0.0.1:{port}; root {pages}; }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config)?;
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|p| Path::new(p).exists());
        let mut command = Command::new(nginx.ok_or("nginx is not installed")?);
        let process = command.arg("-c").arg(folder.join("nginx.conf")).stderr(Stdio::null()).spawn()?;
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > Duration::from_secs(5) {
                return Err("nginx did not start".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let seed = |path: &str| format!("http://127.0.0.1:{port}/{path}/");
        let seeds = vec![seed("python3-doc") + "index.html", seed("debian-reference") + "index.en.html"];
        Ok(Self { process, port, seeds, scope: "scope.mode=hosts" })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx's master process takes its worker with it on TERM only.
        let pid = i32::try_from(self.process.id()).map(nix::unistd::Pid::from_raw);
        let _ = pid.map(|pid| nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM));
        let _ = self.process.wait();
    }
}

/// Runs one command and says what it used: `getrusage` knows all children together, so each has a process like this one.
fn measure(mut args: impl Iterator<Item = String>) -> Result<()> {
    let binary = args.next().ok_or("--measure needs a command")?;
    let start = Instant::now();
    let output = Command::new(binary).args(args).stderr(Stdio::inherit()).output()?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("measured_seconds {seconds}");
    println!("measured_user {}", micros(usage.user_time()));
    println!("measured_system {}", micros(usage.system_time()));
    println!("measured_rss {}", usage.max_rss());
    Ok(())
}

/// One result.
struct Row {
    pages: f64,
    urls: f64,
    bytes: f64,
    warc: f64,
    seconds: f64,
    user: f64,
    system: f64,
    rss_kib: f64,
}

impl Row {
    /// From the summary of `lycosa run` and what [`measure`] adds.
    fn read(text: &str) -> Result<Self> {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let word =
                line.and_then(|rest| rest.split_whitespace().next()).ok_or(format!("no {name:?} in {text:?}"))?;
            word.parse::<f64>().map_err(|e| format!("{name} is {word:?}: {e}"))
        };
        Ok(Self {
            pages: number("pages stored")?,
            urls: number("URLs discovered")?,
            bytes: number("bytes received")?,
            warc: 0.0,
            seconds: number("measured_seconds")?,
            user: number("measured_user")?,
            system: number("measured_system")?,
            rss_kib: number("measured_rss")?,
        })
    }

    fn line(&self, workload: &str, binary: &Path) -> String {
        let name = binary.file_name().unwrap_or_default().to_string_lossy();
        let pages = self.pages.max(1.0);
        format!(
            "| {workload} | {name} | {} | {} | {:.1} | {:.1} | {:.0} | {:.2} | {:.2} | {:.0} | {:.0} |",
            self.pages,
            self.urls,
            self.bytes / 1e6,
            self.warc / 1e6,
            (self.user + self.system) / pages,
            self.user / 1e6,
            self.system / 1e6,
            self.pages / self.seconds,
            self.rss_kib / 1024.0,
        )
    }
}

/// The machine, and how busy it is at the start.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    format!("Machine: {cores} cores of {model}; load average at the start {load}.")
}
