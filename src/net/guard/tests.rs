use super::*;

fn policy(rules: &[&str], own: &[&str]) -> AddressPolicy {
    let allow = rules.iter().map(|r| parse_allow(r).unwrap()).collect();
    AddressPolicy::new(allow, own.iter().map(|o| o.parse().unwrap()).collect())
}

#[test]
fn every_special_purpose_block_is_refused_and_its_neighbours_are_not() {
    let table = include_str!("../../../tests/data/http/addresses.tsv");
    let mut rows = 0;
    for line in table.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let mut fields = line.split('\t');
        let (verdict, ip) = (fields.next().unwrap(), fields.next().unwrap());
        let ip: IpAddr = ip.parse().unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(is_public(ip), verdict == "public", "{line}: {:?}", class_of(ip));
        rows += 1;
    }
    assert!(rows > 80, "{rows}");
}

#[test]
fn a_rule_permits_its_networks_hosts_and_ports_only() {
    let cases = [
        ("127.0.0.0/8:8500", "h0.test", "127.0.0.1:8500", true),
        ("127.0.0.0/8:8500", "h0.test", "127.0.0.1:8501", false),
        ("127.0.0.0/8:8500", "h0.test", "[::ffff:127.0.0.1]:8500", true),
        ("127.0.0.0/8", "x", "[::1]:80", false),
        ("10.0.0.0/8", "x", "10.200.3.4:443", true),
        ("10.1.2.3", "x", "10.1.2.3:443", true),
        ("10.1.2.3", "x", "10.1.2.4:443", false),
        ("*.test", "a.b.test", "192.168.1.1:80", true),
        ("*.test", "test", "192.168.1.1:80", false),
        ("*.test", "atest", "192.168.1.1:80", false),
        ("*.test:8080", "a.test", "192.168.1.1:80", false),
        ("intranet.example", "intranet.example", "10.0.0.1:80", true),
        ("Intranet.Example", "www.intranet.example", "10.0.0.1:80", false),
        ("[::1]:80", "x", "[::1]:80", true),
        ("[::1]:80", "x", "[::1]:81", false),
        ("::1", "x", "[::1]:81", true),
        ("[fd00::/8]:80", "x", "[fd12::1]:80", true),
        ("[fd00::]/8:80", "x", "[fd12::1]:80", true),
        ("fd00::/8", "x", "[fd12::1]:1", true),
        ("*", "x", "127.0.0.1:1", true),
        ("*:80", "x", "127.0.0.1:1", false),
        ("bücher.test", "xn--bcher-kva.test", "127.0.0.1:1", true),
    ];
    for (rule, host, address, permitted) in cases {
        let verdict = policy(&[rule], &[]).check(host, address.parse().unwrap());
        assert_eq!(verdict.is_ok(), permitted, "{rule} {host} {address}: {verdict:?}");
    }
}

#[test]
fn a_slip_in_a_rule_is_an_error_that_shows_how_to_write_one() {
    for text in [
        "",
        "127.0.0.0/33",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0:80",
        "[::1",
        "::1]:80",
        "fe80::/10:80x",
        "*.",
        "*x.test",
        "a..b",
        "http://x/",
        "a b",
        "[127.0.0.1]:80",
        "1.2.3.4.5",
        "host:",
        "*.*.test",
    ] {
        let error = parse_allow(text).expect_err(text).to_string();
        assert!(error.contains("CIDR[:PORT]"), "{error}");
    }
}

#[test]
fn a_rule_is_written_as_it_is_read() {
    for text in ["127.0.0.0/8:8500", "10.0.0.0/8", "*.test", "[::1/128]:80", "fd00::/8", "*", "*:80", "a.example:1"] {
        let rule = parse_allow(text).unwrap();
        assert_eq!(rule.to_string(), text);
        assert_eq!(parse_allow(&rule.to_string()).unwrap(), rule);
    }
}

#[test]
fn the_refusal_says_what_to_type_and_typing_it_helps() {
    for (address, typed) in
        [("127.0.0.1:8500", "--allow-net 127.0.0.1/32:8500"), ("[::1]:80", "--allow-net '[::1/128]:80'")]
    {
        let address: SocketAddr = address.parse().unwrap();
        let refused = policy(&[], &[]).check("h0.test", address).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains(typed) && text.contains("h0.test") && text.contains("loopback"), "{text}");
        let rule = typed.trim_start_matches("--allow-net ").trim_matches('\'');
        assert!(policy(&[rule], &[]).check("h0.test", address).is_ok());
    }
}

#[test]
fn the_daemons_own_listener_is_refused_whatever_is_allowed() {
    let cases = [
        ("127.0.0.1:7700", "127.0.0.1:7700", true),
        ("127.0.0.1:7700", "127.0.0.1:7701", false),
        ("127.0.0.1:7700", "[::ffff:127.0.0.1]:7700", true),
        ("127.0.0.1:7700", "0.0.0.0:7700", true),
        ("[::1]:7700", "[::]:7700", true),
        ("0.0.0.0:7700", "127.0.0.5:7700", true),
        ("0.0.0.0:7700", "192.168.1.10:7700", true),
        ("[::]:7700", "10.0.0.1:7700", true),
        ("0.0.0.0:7700", "93.184.216.34:7700", false),
        ("93.184.216.34:7700", "93.184.216.34:7700", true),
    ];
    for (own, address, refused) in cases {
        let verdict = policy(&["*"], &[own]).check("x", address.parse().unwrap());
        assert_eq!(verdict.as_ref().is_err_and(|r| r.own), refused, "{own} {address}: {verdict:?}");
    }
    let text = policy(&["*"], &["127.0.0.1:7700"]).check("x", "127.0.0.1:7700".parse().unwrap()).unwrap_err();
    assert!(!text.to_string().contains("--allow-net"), "{text}");
}
