//! Who serves the pages.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// A web server that ends with this value.
pub struct Server {
    process: Child,
    pub port: u16,
    pub seeds: Vec<String>,
    pub scope: &'static str,
    /// nginx's: status and media type of each answer.
    log: Option<PathBuf>,
}

impl Server {
    /// The synthetic web.
    pub fn testweb(options: &[&str]) -> Result<Self> {
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
        Ok(Self { process, port, seeds: vec!["http://h0.test/".into()], scope: "scope.mode=any", log: None })
    }

    /// The real pages.
    pub fn nginx(folder: &Path) -> Result<Self> {
        let pages = std::env::var("LYCOSA_PAGES").map_err(|_| "LYCOSA_PAGES is not set")?;
        if !Path::new(&pages).join("python3-doc").is_dir() {
            return Err(format!("{pages} holds no python3-doc; `make bench` puts it there").into());
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
             http {{ log_format kind '$status $sent_http_content_type'; access_log {here}/log kind;\n\
             sendfile on; tcp_nopush on; keepalive_requests 1000000; {temporary}\
             types {{ text/html html; text/css css; application/javascript js; image/png png; }}\n\
             server {{ listen 127.0.0.1:{port}; root {pages}; }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config)?;
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|p| Path::new(p).exists());
        let mut command = Command::new(nginx.ok_or("nginx is not installed: apt-get install nginx-light")?);
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
        Ok(Self { process, port, seeds, scope: "scope.mode=hosts", log: Some(folder.join("log")) })
    }

    /// Pages served: answers of status 200 and type text/html. The synthetic web counts none.
    pub fn pages(&self) -> Option<f64> {
        let log = std::fs::read_to_string(self.log.as_ref()?).ok()?;
        Some(log.lines().filter(|line| line.starts_with("200 text/html")).count() as f64)
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
