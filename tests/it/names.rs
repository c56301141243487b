//! Names: a server of ours whose answers change, and dnsmasq.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lycosa::crawl::node::Stop;
use lycosa::net::Resolver;
use lycosa::net::dns::{DnsFault, DnsSection};
use lycosa::testweb::TestWebConfig;

use crate::site::{Site, html, none};
use crate::support::Sandbox;

/// A name server that gives each name what `addresses` says at that moment, for no time at all; ended when dropped.
struct Names {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Names {
    fn start(addresses: impl Fn(&str) -> Vec<Ipv4Addr> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, ended) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let end = ended.clone();
        std::thread::spawn(move || {
            let mut query = [0; 1_500];
            while let Ok((n, client)) = socket.recv_from(&mut query) {
                if end.load(Ordering::Acquire) {
                    return;
                }
                let _ = socket.send_to(&answer(&query[..n], &addresses), client);
            }
        });
        Self { address, ended }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(&[], self.address));
    }
}

/// RFC 1035, 4: the question, then one record of TTL 0 an address.
fn answer(query: &[u8], addresses: &impl Fn(&str) -> Vec<Ipv4Addr>) -> Vec<u8> {
    let (mut at, mut labels) = (12, Vec::new());
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..end]).into_owned());
        at = end;
    }
    let ipv4 = query[at + 2] == 1;
    let found = if ipv4 { addresses(&labels.join(".")) } else { Vec::new() };
    let record = |ip: &Ipv4Addr| [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4][..], &ip.octets()].concat();
    let records: Vec<u8> = found.iter().flat_map(record).collect();
    [&query[..2], &[0x81, 0x80, 0, 1, 0, found.len() as u8, 0, 0, 0, 0], &query[12..at + 5], &records].concat()
}

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const INSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A crawl of one host at `site`, whose name `names` knows; only that address is allowed.
fn sandbox(site: &Site, names: &Names) -> Sandbox {
    Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set("dns.overrides={}")
        .set(&format!("dns.servers=[\"{}\"]", names.address))
        .set("dns.min_ttl=0s")
        .set(&format!("net.allow=[\"127.0.0.1/32:{}\"]", site.port()))
        .set("agent.email=test@example.org")
        .set(&format!("crawl.seeds=[\"http://a.test:{}/\"]", site.port()))
}

#[test]
fn a_name_that_begins_to_lead_inside_is_not_followed_there() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        path => html(&format!("<a href={path}x>on</a>")),
    });
    let inside = TcpListener::bind((INSIDE, site.port())).unwrap();
    inside.set_nonblocking(true).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let names = Names::start(move |_| vec![if count.fetch_add(1, Ordering::AcqRel) < 6 { HERE } else { INSIDE }]);
    let live_web = sandbox(&site, &names);
    let ended = live_web.crawl();
    assert!(ended.status.pages_stored > 1, "{}", ended.report());
    assert_eq!(ended.status.rejected_by_reason.get("address"), Some(&1), "{}", ended.report());
    assert_eq!(inside.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "I7: connected to inside");
}

#[test]
fn of_several_addresses_only_those_allowed_are_used_and_a_dead_one_costs_no_attempt() {
    let site = Site::http(|_, path| if path == "/robots.txt" { none() } else { html("alone") });
    let dead = Ipv4Addr::new(127, 0, 0, 3);
    let names = Names::start(move |_| vec![Ipv4Addr::new(10, 0, 0, 1), dead, HERE]);
    let port = site.port();
    let sandbox = sandbox(&site, &names).set(&format!("net.allow=[\"127.0.0.1/32:{port}\",\"127.0.0.3/32:{port}\"]"));
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    assert_eq!((ended.status.pages_stored, ended.status.errors), (1, 0), "{}", ended.report());
    assert!(ended.file("crawl.jsonl").contains("\"attempt\":1"));
}

/// dnsmasq on loopback; ended when dropped.
struct Dnsmasq(Child, SocketAddr);

impl Dnsmasq {
    fn start(arguments: &[&str]) -> Option<Self> {
        let program = ["/usr/sbin/dnsmasq", "/sbin/dnsmasq"].into_iter().map(Path::new).find(|path| path.exists());
        let Some(program) = program else {
            eprintln!("SKIPPED: dnsmasq is not installed (config/setup.sh test installs it)");
            assert!(std::env::var_os("CI").is_none(), "CI has dnsmasq");
            return None;
        };
        // It has no port 0: one that is free just now, and another when somebody else was faster.
        let tries = std::iter::repeat_with(|| Self::on_a_free_port(program, arguments)).take(10);
        Some(tries.flatten().next().expect("dnsmasq answers on none of ten ports"))
    }

    /// None when it ended by itself.
    fn on_a_free_port(program: &Path, arguments: &[&str]) -> Option<Self> {
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new(program);
        command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file="]);
        command.args(["--bind-interfaces", "--listen-address=127.0.0.1", "--user=", "--log-facility=-"]);
        command.arg(format!("--port={}", address.port())).args(arguments);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut dnsmasq = Self(child, address);
        // It speaks TCP on the same port, where a connection tells that it is there.
        let is_there = || match dnsmasq.0.try_wait().unwrap() {
            Some(_) => Some(false),
            None => std::net::TcpStream::connect(address).ok().map(|_| true),
        };
        crate::sandbox::until("dnsmasq", is_there, String::new).then_some(dnsmasq)
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn dnsmasq_and_the_resolver_understand_each_other() {
    let zone = [
        "--address=/wild.test/192.0.2.1", // every name below it, too
        "--host-record=both.test,192.0.2.2,2001:db8::2",
        "--cname=alias.test,both.test",
        "--local=/test/",             // what is not there does not exist
        "--server=/refused.example/", // nobody to ask
    ];
    let Some(dnsmasq) = Dnsmasq::start(&zone) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let resolver =
        || Resolver::new(DnsSection { servers: vec![dnsmasq.1.to_string()], ..DnsSection::default() }).unwrap();
    let ask = |name: &str| runtime.block_on(resolver().resolve(name, 80));
    for (name, wanted) in [
        ("wild.test", Ok("192.0.2.1:80")),
        ("made.up.wild.test", Ok("192.0.2.1:80")),
        ("both.test", Ok("192.0.2.2:80")),
        ("alias.test", Ok("192.0.2.2:80")),
        ("nobody.test", Err(true)),
        ("elsewhere.example", Err(false)),
    ] {
        match (ask(name), wanted) {
            (Ok(found), Ok(address)) => assert_eq!(found, [address.parse().unwrap()], "{name}"),
            (Err(fault), Err(missing)) => assert_eq!(fault == DnsFault::NotFound, missing, "{name}: {fault}"),
            (found, wanted) => panic!("{name}: {found:?}, wanted {wanted:?}"),
        }
    }
}
