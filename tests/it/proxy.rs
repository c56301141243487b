//! Crawls through a proxy on loopback, http and https, with names looked up here or there; and what else belongs to the
//! connections of a whole program.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use lycosa::testweb::TestWebConfig;

use crate::sandbox::program;
use crate::site::{Site, html, none};
use crate::support::{Sandbox, truth_any};

/// A proxy of a few lines: tunnels, and requests in absolute form, one a connection. Every name leads to loopback.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// `names` all lead there.
    fn start(names: SocketAddr) -> Self {
        Self::speaking(names, serve)
    }

    /// The same in another protocol.
    fn speaking(names: SocketAddr, serve: fn(TcpStream, SocketAddr, &Mutex<Vec<String>>)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, end) = (asked.clone(), ended.clone());
        let thread = std::thread::spawn(move || {
            for near in listener.incoming() {
                if end.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(near), log) = (near, log.clone()) else { continue };
                std::thread::spawn(move || serve(near, names, &log));
            }
        });
        Self { address, asked, ended, thread: Some(thread) }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes it
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(mut near: TcpStream, names: SocketAddr, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match near.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    log.lock().unwrap().push(head.clone());
    let target = head.split(' ').nth(1).unwrap();
    if head.starts_with("CONNECT ") {
        let Ok(far) = TcpStream::connect(target.parse().unwrap_or(names)) else {
            let _ = near.write_all(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n");
            return;
        };
        near.write_all(b"HTTP/1.1 200 Yes\r\n\r\n").unwrap();
        let (up, down) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        std::thread::spawn(move || pour(up, down));
        return pour(far, near);
    }
    let tail = target.splitn(4, '/').nth(3).unwrap();
    let own = head.replacen(target, &format!("/{tail}"), 1).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let mut far = TcpStream::connect(names).unwrap();
    far.write_all(own.as_bytes()).unwrap();
    pour(far, near);
}

fn pour(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 3, pages: 20, links: 8, min_size: 500, max_size: 3_000, ..TestWebConfig::default() }
}

/// All there is in the archive, as text.
fn archive(ended: &crate::support::Ended, folder: &std::path::Path) -> String {
    let files = ended.files_of("warc");
    let warcs = files.iter().filter(|name| name.ends_with(".warc.gz"));
    let mut all = Vec::new();
    for name in warcs {
        let file = std::fs::File::open(folder.join("warc").join(name)).unwrap();
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut all).unwrap();
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_web_is_crawled_whole_through_a_proxy_that_is_told_checked_addresses() {
    let sandbox = Sandbox::new(small());
    let proxy = Proxy::start(sandbox.web.addr());
    let sandbox = sandbox.set(&format!("proxy.http=http://{}", proxy.address));
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    let asked = proxy.asked();
    let place = format!("CONNECT {} ", sandbox.web.addr());
    assert!(!asked.is_empty() && asked.iter().all(|head| head.starts_with(&place)), "{asked:?}");
    assert!(archive(&ended, sandbox.data()).contains("\r\nWARC-IP-Address: 127.0.0.1\r\n"));
}

#[test]
fn a_web_is_crawled_whole_through_a_proxy_that_looks_names_up_and_no_address_is_told() {
    let sandbox = Sandbox::new(small());
    let proxy = Proxy::start(sandbox.web.addr());
    // Nothing is looked up here: a name server that does not answer is never asked.
    let sandbox = sandbox
        .set(&format!("proxy.http=http://me:hidden-pass@{}", proxy.address))
        .set("proxy.dns=remote")
        .set("dns.overrides={}")
        .set("dns.servers=127.0.0.1:1");
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    let asked = proxy.asked();
    assert!(!asked.is_empty() && asked.iter().all(|head| head.starts_with("GET http://")), "{asked:?}");
    assert!(asked.iter().all(|head| head.contains("\r\nProxy-Authorization: Basic ")), "{asked:?}");
    let archive = archive(&ended, sandbox.data());
    assert!(archive.contains("WARC-Type: response") && !archive.contains("WARC-IP-Address"), "an address is told");
    assert!(archive.contains("Proxy-Authorization: [redacted]") && !archive.contains("bWU6aGlkZGVu"));
}

/// A SOCKS 5 proxy of a few lines, without a password. Every name leads to `names`; what it was asked for is kept in `asked`.
fn speak_socks(mut near: TcpStream, names: SocketAddr, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut read = |n: usize| {
        let mut bytes = vec![0; n];
        near.read_exact(&mut bytes).map(|()| bytes)
    };
    let methods = read(2)?[1];
    read(methods.into())?;
    near.write_all(&[5, 0])?;
    let mut read = |n: usize| {
        let mut bytes = vec![0; n];
        near.read_exact(&mut bytes).map(|()| bytes)
    };
    let named = read(4)?[3] == 3;
    let n = if named { read(1)?[0].into() } else { 4 };
    let place = read(n)?;
    let port = read(2)?;
    let port = u16::from_be_bytes([port[0], port[1]]);
    let (asked, far) = if named {
        (format!("{}:{port}", String::from_utf8_lossy(&place)), names)
    } else {
        let address = SocketAddr::from(([place[0], place[1], place[2], place[3]], port));
        (address.to_string(), address)
    };
    log.lock().unwrap().push(asked);
    let far = TcpStream::connect(far)?;
    near.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
    let (up, down) = (near.try_clone()?, far.try_clone()?);
    std::thread::spawn(move || pour(up, down));
    pour(far, near);
    Ok(())
}

#[test]
fn a_web_is_crawled_whole_through_a_socks_proxy_whoever_looks_names_up() {
    for (scheme, remote) in [("socks5", false), ("socks5h", true)] {
        let sandbox = Sandbox::new(small());
        let proxy = Proxy::speaking(sandbox.web.addr(), |near, names, log| {
            let _ = speak_socks(near, names, log);
        });
        let mut sandbox = sandbox.set(&format!("proxy.http={scheme}://{}", proxy.address));
        if remote {
            sandbox = sandbox.set("dns.overrides={}").set("dns.servers=127.0.0.1:1");
        }
        let ended = sandbox.crawl();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        let (asked, checked) = (proxy.asked(), sandbox.web.addr().to_string());
        assert!(!asked.is_empty() && asked.iter().all(|place| (*place == checked) != remote), "{scheme}: {asked:?}");
        let archive = archive(&ended, sandbox.data());
        assert_eq!(archive.contains("\r\nWARC-IP-Address: 127.0.0.1\r\n"), !remote, "{scheme}");
        assert!(!archive.contains("GET http://"), "the request is the site's, not the proxy's");
    }
}

/// Runs the program in a folder of its own; gives its exit code and all it said.
fn run(arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.current_dir(folder.path()).args(["run", "--until-done", "--allow-net", "127.0.0.1/32"]);
    command.args(["--allow-net", "::1/128"]);
    let sets = ["admin.listen=off", "politeness.min_delay=10ms", "disk.pause_below=1MB", "store.memory=32MiB"];
    for set in sets.iter().chain(&["dns.overrides={\"*.test\"=\"127.0.0.1\"}", "fetch.retries=0"]) {
        command.args(["--set", set]);
    }
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    let text = [stderr, stdout].map(|t| String::from_utf8(t).unwrap()).concat();
    (status.code().unwrap(), text)
}

#[test]
fn https_goes_through_a_tunnel_and_hosts_without_a_proxy_go_straight() {
    let site = Site::https(|_, path| if path == "/robots.txt" { none() } else { html("fine") });
    let proxy = Proxy::start(site.address);
    let seed = format!("https://self.test:{}/", site.port());
    let (https, host) =
        (format!("proxy.https=http://{}", proxy.address), r#"host=[{match="self.test", proxy="none"}]"#);
    let (code, text) = run(&["--seed", &seed, "--set", &https]);
    assert_eq!(code, 0, "{text}");
    let place = format!("CONNECT {} HTTP/1.1\r\n", site.address);
    let asked = proxy.asked();
    assert!(!asked.is_empty() && asked.iter().all(|head| head.starts_with(&place)), "{asked:?}");
    assert_eq!(site.asked(), ["self.test /robots.txt", "self.test /"]);
    for direct in [host, "proxy.except=*.test"] {
        let (code, text) = run(&["--seed", &seed, "--set", &https, "--set", direct]);
        assert_eq!(code, 0, "{text}");
        assert_eq!(proxy.asked().len(), asked.len(), "{direct}");
    }
}

#[test]
fn a_dead_proxy_is_told_as_such() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let site = Site::http(|_, _| none());
    let seed = format!("http://a.test:{}/", site.port());
    let set = format!("proxy.http=http://me:hidden@{dead}");
    let (code, text) = run(&["--seed", &seed, "--set", &set, "--set", "log.level=debug"]);
    assert!(code == 9 && text.contains("proxy") && text.contains("see [proxy]"), "{text}");
    assert!(site.asked().is_empty() && !text.contains("hidden"), "{text}");
}

#[test]
fn headers_languages_and_the_source_address_reach_the_server() {
    let site = Site::http(|_, path| if path == "/robots.txt" { none() } else { html("fine") });
    let seed = format!("http://a.test:{}/", site.port());
    let (code, text) = run(&[
        "--seed",
        &seed,
        "--set",
        "fetch.headers={X-Crawl=\"library\", Accept=\"text/html\"}",
        "--set",
        "fetch.accept_language=en, de;q=0.5",
        "--set",
        "fetch.source_address=127.0.0.5",
        "--set",
        r#"host=[{match="a.test", headers={x-crawl="own", X-More="more"}}]"#,
    ]);
    assert_eq!(code, 0, "{text}");
    let heads = site.heads();
    assert_eq!(heads.len(), 2, "robots.txt and the page");
    for head in &heads {
        for line in ["X-Crawl: own", "X-More: more", "Accept: text/html", "Accept-Language: en, de;q=0.5"] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line} in {head}");
        }
        assert_eq!(head.matches("Accept: ").count(), 1, "{head}");
    }
    assert!(site.peers().iter().all(|peer| peer.ip().to_string() == "127.0.0.5"), "{:?}", site.peers());
    let (code, text) = run(&["--seed", &seed, "--set", "fetch.source_address=192.0.2.9"]);
    assert!(code == 2 && text.contains("fetch.source_address") && text.contains("192.0.2.9"), "{text}");
}

#[test]
fn a_host_at_an_address_of_ipv6_is_crawled() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return }; // a machine without IPv6
    let address = listener.local_addr().unwrap();
    drop(listener);
    let site = Site::http_at(address, |_, path| if path == "/robots.txt" { none() } else { html("fine") });
    let seed = format!("http://[::1]:{}/", site.port());
    let (code, text) = run(&["--seed", &seed, "--set", "fetch.source_address=127.0.0.5,::1"]);
    assert_eq!(code, 0, "{text}");
    let heads = site.heads();
    assert!(heads.iter().all(|head| head.contains(&format!("\r\nHost: [::1]:{}\r\n", site.port()))), "{heads:?}");
}

#[test]
fn the_bandwidth_of_a_crawl_is_bounded_and_nothing_is_lost_by_it() {
    let config = TestWebConfig { hosts: 4, pages: 8, min_size: 20_000, max_size: 20_000, ..small() };
    let sandbox = Sandbox::new(config).set("fetch.max_bandwidth=400KB").set("fetch.timeouts.min_rate=0");
    let begun = std::time::Instant::now();
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    let bytes = ended.asked().len() as u64 * 20_000;
    // As long as these bytes take at that rate, or longer; a quarter less for what is given on credit and begun at the end.
    let least = std::time::Duration::from_millis(bytes * 1_000 / 400_000 * 3 / 4);
    assert!(begun.elapsed() > least, "{:?} for {bytes} bytes", begun.elapsed());
}
