//! Real pages: the HTML of Debian's `python3-doc` and `debian-reference`, served by nginx on loopback.
//!
//! What the daemon fetches must be what an independent walk of the links finds (`tests/tools/walk.py`: Python's own HTML
//! parser and URL functions). `LYCOSA_PAGES` names the folder with both; `make test` unpacks them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sha1::{Digest, Sha1};

use crate::sandbox::{Daemon, judge_archive, left_out, lines_of, program, python, until};

/// Host, folder below `LYCOSA_PAGES`, first page.
const SITES: [(&str, &str, &str); 2] =
    [("python.test", "python3-doc", "/"), ("debian.test", "debian-reference", "/index.en.html")];

/// nginx on loopback; ended when dropped.
struct Nginx {
    child: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Nginx {
    fn start(program: &Path, pages: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // nginx has no port 0: one that is free just now.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = folder.path().join("nginx.conf");
        fs::write(&config, nginx_config(folder.path(), address, pages)).unwrap();
        let log = folder.path().join("error.log");
        let child = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&config)
            .arg("-e")
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = || fs::read_to_string(&log).unwrap_or_default();
        until("nginx", || TcpStream::connect(address).ok(), said);
        Self { child, address, folder }
    }

    /// Its log: URL, status, bytes, seconds, connection and its request, user agent.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("access.log")).unwrap()
    }

    /// URLs that `agent` asked for, with their number of times.
    fn asked(&self, agent: &str) -> BTreeMap<String, u32> {
        let mut urls = BTreeMap::new();
        for line in self.log().lines() {
            let (url, by) = line.split_once(' ').unwrap();
            if by.contains(agent) {
                *urls.entry(url.to_owned()).or_insert(0) += 1;
            }
        }
        urls
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // TERM, so that the master ends its worker too.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

fn nginx_config(folder: &Path, address: SocketAddr, pages: &Path) -> String {
    // The pages may lie where only root reads.
    let user = if fs::metadata(folder).unwrap().uid() == 0 { "user root;" } else { "" };
    let mut servers = String::new();
    for (host, root, _) in SITES {
        let root = pages.join(root);
        let root = root.display();
        servers += &format!(
            "server {{ listen {address}; server_name {host}; root {root}; index index.html; absolute_redirect off; }}\n"
        );
    }
    let mut temporary = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        temporary += &format!("{kind}_temp_path {}/{kind};\n", folder.display());
    }
    format!(
        "daemon off; {user} pid {0}/pid; worker_processes 1; events {{ worker_connections 128; }}\n\
         http {{\n{temporary}include /etc/nginx/mime.types; default_type application/octet-stream;\n\
         log_format asked '$scheme://$host$request_uri $status $body_bytes_sent $request_time $connection/$connection_requests $http_user_agent'; access_log {0}/access.log asked;\n{servers}}}\n",
        folder.display()
    )
}

/// Python, nginx and the pages; `None` where the test may be left out.
fn tools() -> Option<(std::ffi::OsString, PathBuf, PathBuf)> {
    let python = python()?;
    let found =
        ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].into_iter().find(|p| Path::new(p).exists());
    let Some(nginx) = found else {
        left_out("PATH", "one with nginx");
        return None;
    };
    let pages = std::env::var_os("LYCOSA_PAGES").map(PathBuf::from).filter(|p| p.join("complete").exists());
    let Some(pages) = pages else {
        left_out("LYCOSA_PAGES", "a folder with python3-doc and debian-reference");
        return None;
    };
    Some((python, nginx.into(), pages))
}

/// What the walk says of one site.
#[derive(Default)]
struct Walk {
    /// To be asked for, with the status.
    urls: BTreeMap<String, u64>,
    /// The page that led there.
    via: BTreeMap<String, String>,
    skipped: BTreeSet<String>,
}

fn walk(python: &OsStr, address: SocketAddr, host: &str, start: &str) -> Walk {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/walk.py");
    let done = Command::new(python).arg(script).arg(address.to_string()).arg(host).arg(start).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut walk = Walk::default();
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let url = line["url"].as_str().unwrap().to_owned();
        walk.via.insert(url.clone(), line["via"].to_string());
        match line["status"].as_u64() {
            Some(status) => drop(walk.urls.insert(url, status)),
            None => drop(walk.skipped.insert(url)),
        }
    }
    walk
}

fn crawl(nginx: &Nginx, data: &Path) -> String {
    let seeds = SITES.map(|(host, _, start)| ["--seed".to_owned(), format!("http://{host}{start}")]).concat();
    let mut command = program();
    command.arg("run").args(seeds).arg("--until-done").arg("--no-progress").arg("--data").arg(data);
    let address = nginx.address;
    for set in [
        format!("dns.overrides={{ \"*.test\" = \"{address}\" }}"),
        format!("net.allow=[\"127.0.0.1/32:{}\"]", address.port()),
        "politeness.min_delay=1ms".into(),
        "politeness.delay_factor=0".into(),
        "admin.listen=off".into(),
        "disk.pause_below=1MB".into(),
        "store.memory=64MiB".into(),
        "log.level=info,lycosa::crawl::fetcher=debug".into(),
    ] {
        command.arg("--set").arg(set);
    }
    let mut daemon = Daemon::spawn(command, nginx.folder.path().join("crawl.log"));
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    daemon.log()
}

#[test]
fn the_crawl_of_real_sites_fetches_what_an_independent_walk_finds() {
    let Some((python, program, pages)) = tools() else { return };
    let nginx = Nginx::start(&program, &pages);
    let data = nginx.folder.path().join("data");
    let log = crawl(&nginx, &data);
    assert!(!log.contains(" ERROR "), "{log}");
    let asked = nginx.asked("Lycosa");
    let twice: Vec<_> = asked.iter().filter(|(_, n)| **n > 1).collect();
    assert!(twice.is_empty(), "asked for twice: {twice:?}\n{log}\n{}", nginx.log());
    let lines: BTreeMap<String, serde_json::Value> =
        lines_of(&data).into_iter().map(|l| (l["url"].as_str().unwrap().to_owned(), l)).collect();
    for (host, root, start) in SITES {
        let walk = walk(&python, nginx.address, host, start);
        let of_host = |url: &&String| url.starts_with(&format!("http://{host}/")) && !url.ends_with("/robots.txt");
        let crawled: BTreeSet<&String> = asked.keys().filter(of_host).collect();
        let wanted: BTreeSet<&String> = walk.urls.keys().collect();
        let missing: Vec<_> = wanted.difference(&crawled).map(|u| format!("{u} on {}", walk.via[*u])).collect();
        let extra: Vec<_> = crawled.difference(&wanted).map(|u| lines.get(*u)).collect();
        println!(
            "{host}: {} walked, {} crawled, {} skipped by ending",
            wanted.len(),
            crawled.len(),
            walk.skipped.len()
        );
        assert!(missing.is_empty() && extra.is_empty(), "{host}: missing {missing:#?}, too many {extra:#?}");
        for (url, status) in &walk.urls {
            let line = &lines[url];
            assert_eq!(line["status"].as_u64(), Some(*status), "{line}");
            same_bytes(&pages.join(root), host, url, line);
        }
    }
    println!("{}", judge_archive(&python, &data.join("warc"), None));
}

/// The digest of a page is that of its file.
fn same_bytes(root: &Path, host: &str, url: &str, line: &serde_json::Value) {
    if line["status"] != 200 {
        return;
    }
    let path = url.strip_prefix(&format!("http://{host}/")).unwrap();
    let path = if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path.to_owned() };
    let Ok(file) = fs::read(root.join(path.split('?').next().unwrap())) else { return };
    let digest = data_encoding::BASE32.encode(&Sha1::digest(&file));
    assert_eq!(line["digest"], format!("sha1:{digest}"), "{url}");
}
