//! Against a name server of our own on loopback.

use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{CNAME, SOA};
use hickory_resolver::proto::rr::{Name, RData, Record};

use super::*;
use crate::net::testing::on_runtime;

/// For how many seconds an answer holds.
const HOLDS: u32 = 256;

/// What the name server answers for a name and record type.
#[derive(Clone)]
enum Reply {
    /// Those of the last name in a chain of aliases.
    Addresses(Vec<&'static str>, Vec<IpAddr>),
    Code(ResponseCode),
    Silence,
    /// "No such name", with a zone that says for how many seconds.
    Gone(u32),
}

struct NameServer {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
}

impl NameServer {
    fn start(zone: &[(&str, Reply)]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let zone: HashMap<String, Reply> =
            zone.iter().map(|(name, reply)| ((*name).to_owned(), reply.clone())).collect();
        let (asked, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stop) = (Arc::clone(&asked), Arc::clone(&done));
        std::thread::spawn(move || {
            let mut buf = [0; 1500];
            while let Ok((n, client)) = socket.recv_from(&mut buf) {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                if let Some(answer) = answer(&buf[..n], &zone) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        Self { address, asked, done }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        let _ = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(&[], self.address));
    }
}

/// The question, then one record an address.
fn answer(query: &[u8], zone: &HashMap<String, Reply>) -> Option<Vec<u8>> {
    let query = Message::from_vec(query).unwrap();
    let (kind, mut owner) = (query.queries[0].query_type(), query.queries[0].name().clone());
    let reply = zone.get(owner.to_ascii().trim_end_matches('.'))?;
    let mut out = Message::response(query.metadata.id, OpCode::Query);
    out.metadata.recursion_available = true;
    out.queries = query.queries;
    match reply {
        Reply::Silence => return None,
        Reply::Code(code) => out.metadata.response_code = *code,
        Reply::Addresses(chain, ips) => {
            for next in chain {
                let next = Name::from_ascii(format!("{next}.")).unwrap();
                let alias = Record::from_rdata(owner, HOLDS, RData::CNAME(CNAME(next.clone())));
                out.add_answer(alias);
                owner = next;
            }
            let records = ips.iter().map(|ip| Record::from_rdata(owner.clone(), HOLDS, RData::from(*ip)));
            out.add_answers(records.filter(|record| record.record_type() == kind));
        }
        // The last number of the zone's SOA says how long it holds (RFC 2308, 3).
        Reply::Gone(seconds) => {
            out.metadata.response_code = ResponseCode::NXDomain;
            let soa = SOA::new(Name::root(), Name::root(), 1, 1, 1, 1, *seconds);
            out.add_authority(Record::from_rdata(Name::root(), *seconds, RData::SOA(soa)));
        }
    }
    Some(out.to_vec().unwrap())
}

fn resolver(server: &NameServer, overrides: &[(&str, &str)]) -> Resolver {
    let overrides = overrides.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect();
    let timeout = Duration::from_millis(300);
    Resolver::new(DnsSection { overrides, timeout, ..section(server) }).unwrap()
}

fn section(server: &NameServer) -> DnsSection {
    DnsSection { servers: vec![server.address.to_string()], ..DnsSection::default() }
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn ips(texts: &[&str]) -> Reply {
    Reply::Addresses(Vec::new(), texts.iter().map(|t| t.parse().unwrap()).collect())
}

#[test]
fn a_name_is_asked_for_once_and_then_known_on_every_thread() {
    let server = NameServer::start(&[("a.test", ips(&["192.0.2.1", "192.0.2.2"]))]);
    let resolver = resolver(&server, &[]);
    let mut found = on_runtime(resolver.resolve("a.test", 80)).unwrap();
    found.sort();
    assert_eq!(found, [at("192.0.2.1:80"), at("192.0.2.2:80")]);
    let asked = server.asked();
    for _ in 0..3 {
        let resolver = resolver.clone();
        let again = std::thread::spawn(move || on_runtime(resolver.resolve("a.test", 443)));
        assert_eq!(again.join().unwrap().unwrap().len(), 2);
    }
    assert_eq!(server.asked(), asked);
    assert_eq!(resolver.stats(), DnsStats { hits: 3, misses: 1, ..DnsStats::default() });
}

#[test]
fn ipv6_is_asked_for_when_there_is_no_ipv4() {
    let server = NameServer::start(&[("six.test", ips(&["2001:db8::1"]))]);
    let found = on_runtime(resolver(&server, &[]).resolve("six.test", 80));
    assert_eq!(found, Ok(vec![at("[2001:db8::1]:80")]));
}

#[test]
fn faults_are_told_apart_and_remembered() {
    let zone = [
        ("gone.test", Reply::Code(ResponseCode::NXDomain)),
        ("empty.test", ips(&[])),
        ("broken.test", Reply::Code(ResponseCode::ServFail)),
        ("refused.test", Reply::Code(ResponseCode::Refused)),
        ("silent.test", Reply::Silence),
    ];
    let server = NameServer::start(&zone);
    let resolver = resolver(&server, &[]);
    for (name, _) in zone {
        let fault = on_runtime(resolver.resolve(name, 80)).unwrap_err();
        let not_found = ["gone.test", "empty.test"].contains(&name);
        assert_eq!(fault == DnsFault::NotFound, not_found, "{name}: {fault}");
        let asked = server.asked();
        assert_eq!(on_runtime(resolver.resolve(name, 80)), Err(fault), "{name}");
        assert_eq!(server.asked(), asked, "{name} was asked for again");
    }
    assert_eq!(resolver.stats(), DnsStats { hits: 5, misses: 5, not_found: 2, failed: 2, timed_out: 1, pending: 0 });
}

#[test]
fn literals_and_localhost_need_no_server() {
    let server = NameServer::start(&[]);
    let resolver = resolver(&server, &[]);
    let cases = [
        ("192.0.2.7", &["192.0.2.7:80"][..]),
        ("[2001:db8::7]", &["[2001:db8::7]:80"]),
        ("localhost", &["127.0.0.1:80", "[::1]:80"]),
        ("a.localhost", &["127.0.0.1:80", "[::1]:80"]),
    ];
    for (host, want) in cases {
        let want: Vec<_> = want.iter().map(|w| at(w)).collect();
        assert_eq!(on_runtime(resolver.resolve(host, 80)), Ok(want), "{host}");
    }
    assert_eq!((server.asked(), resolver.stats()), (0, DnsStats::default()));
}

#[test]
fn an_override_replaces_address_and_port() {
    let server = NameServer::start(&[("real.example", ips(&["192.0.2.9"]))]);
    let overrides = [("*.test", "127.0.0.1:8500"), ("keep.test", "127.0.0.2"), ("alias.test", "real.example:81")];
    let resolver = resolver(&server, &overrides);
    for (host, want) in [("h0.test", "127.0.0.1:8500"), ("keep.test", "127.0.0.2:80"), ("alias.test", "192.0.2.9:81")] {
        assert_eq!(on_runtime(resolver.resolve(host, 80)), Ok(vec![at(want)]), "{host}");
    }
}

#[test]
fn many_names_at_once_from_several_threads_all_get_their_own_answer() {
    let names: Vec<String> = (0..600).map(|i| format!("h{i}.test")).collect();
    let address = |i: usize| IpAddr::from([10, 0, (i / 256) as u8, (i % 256) as u8]);
    let zone: Vec<_> =
        names.iter().enumerate().map(|(i, n)| (n.as_str(), Reply::Addresses(Vec::new(), vec![address(i)]))).collect();
    let server = NameServer::start(&zone);
    let resolver = Resolver::new(section(&server)).unwrap();
    let threads: Vec<_> = (0..3)
        .map(|turn| {
            let (resolver, names) = (resolver.clone(), names.clone());
            std::thread::spawn(move || {
                on_runtime(async {
                    let mine = names.iter().enumerate().skip(turn).step_by(3);
                    let asks: Vec<_> = mine.map(|(i, name)| (i, resolver.resolve(name, 80))).collect();
                    for (i, ask) in asks {
                        assert_eq!(ask.await, Ok(vec![SocketAddr::new(address(i), 80)]));
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn both_families_are_asked_for_when_that_is_wanted() {
    let zone = [
        ("both.test", ips(&["192.0.2.1", "192.0.2.2", "2001:db8::1"])),
        ("four.test", ips(&["192.0.2.1"])),
        ("six.test", ips(&["2001:db8::1"])),
    ];
    let server = NameServer::start(&zone);
    let of = |family, name: &str| {
        let resolver = Resolver::new(DnsSection { family, ..section(&server) }).unwrap();
        let found = on_runtime(resolver.resolve(name, 80));
        found.map(|found| found.iter().map(|at| at.is_ipv6()).collect::<Vec<_>>()).map_err(|e| e.to_string())
    };
    assert_eq!(of(Family::Both, "both.test"), Ok(vec![false, true, false]));
    assert_eq!(of(Family::Auto, "both.test"), Ok(vec![false, false]));
    assert_eq!(of(Family::V6, "both.test"), Ok(vec![true]));
    assert_eq!(of(Family::Both, "four.test"), Ok(vec![false]));
    assert_eq!(of(Family::Both, "six.test"), Ok(vec![true]));
    assert!(of(Family::V4, "six.test").is_err() && of(Family::V6, "four.test").is_err());
}

#[test]
fn aliases_are_followed_and_rings_and_loose_ends_have_no_address() {
    let address = || vec!["192.0.2.5".parse().unwrap()];
    let zone = [
        ("one.test", Reply::Addresses(vec!["a.test"], address())),
        ("many.test", Reply::Addresses(vec!["a.test", "b.test", "c.test"], address())),
        ("ring.test", Reply::Addresses(vec!["ring2.test"], Vec::new())),
        ("ring2.test", Reply::Addresses(vec!["ring.test"], Vec::new())),
        ("loose.test", Reply::Addresses(vec!["nobody.test"], Vec::new())),
        ("nobody.test", Reply::Code(ResponseCode::NXDomain)),
    ];
    let server = NameServer::start(&zone);
    let resolver = resolver(&server, &[]);
    for name in ["one.test", "many.test"] {
        assert_eq!(on_runtime(resolver.resolve(name, 80)), Ok(vec![at("192.0.2.5:80")]), "{name}");
    }
    for name in ["ring.test", "loose.test"] {
        assert!(on_runtime(resolver.resolve(name, 80)).is_err(), "{name}");
    }
}

#[test]
fn the_wire_says_how_long_an_answer_and_an_absence_hold() {
    let server = NameServer::start(&[("a.test", ips(&["192.0.2.1"])), ("gone.test", Reply::Gone(77))]);
    let worker = Worker::start(&section(&server));
    let (_, ttl) = on_runtime(worker.look_up("a.test")).unwrap();
    assert!((200..=256).contains(&ttl.as_secs()), "{ttl:?}");
    let (fault, ttl) = on_runtime(worker.look_up("gone.test")).unwrap_err();
    assert_eq!((fault, ttl), (DnsFault::NotFound, Some(Duration::from_secs(77))));
}

#[test]
fn who_asks_for_a_name_that_is_being_asked_for_waits_for_that_answer() {
    let server = NameServer::start(&[("silent.test", Reply::Silence)]);
    let resolver = resolver(&server, &[]);
    let alone = {
        let _ = on_runtime(resolver.resolve("silent.test", 80));
        server.asked()
    };
    let resolver = self::resolver(&server, &[]);
    let all = on_runtime(async {
        let asks = (0..20).map(|_| {
            let resolver = resolver.clone();
            tokio::spawn(async move { resolver.resolve("silent.test", 80).await })
        });
        let asks: Vec<_> = asks.collect();
        let mut faults = Vec::new();
        for ask in asks {
            faults.push(ask.await.unwrap().unwrap_err());
        }
        faults
    });
    assert!(all.iter().all(|fault| *fault == DnsFault::NoAnswer), "{all:?}");
    assert_eq!(server.asked(), 2 * alone, "twenty asked as one");
    assert_eq!(resolver.stats().pending, 0);
}

#[test]
fn name_servers_have_the_port_53_unless_another_is_named() {
    for (text, address) in
        [("9.9.9.9", "9.9.9.9:53"), ("127.0.0.1:5353", "127.0.0.1:5353"), ("::1", "[::1]:53"), ("[::1]:5", "[::1]:5")]
    {
        assert_eq!(super::server(text), Some(at(address)), "{text}");
    }
    assert_eq!(super::server("dns.example"), None);
}
