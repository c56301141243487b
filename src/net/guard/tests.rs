use super::*;
use crate::domain::cases::{rows, unescaped};

fn policy(rules: &[&str]) -> AddressPolicy {
    AddressPolicy::new(rules.iter().map(|rule| parse_allow(rule).unwrap()).collect(), Vec::new())
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
fn a_rule_permits_its_networks_hosts_and_ports_only_and_never_the_daemons_own_listener() {
    for row in rows(include_str!("../../../tests/data/http/address_rules.txt"), 5) {
        let [rule, own, host, address, want] = [0, 1, 2, 3, 4].map(|n| row.cells[n]);
        let own = Some(own).filter(|own| *own != "-").map(|own| own.parse().unwrap());
        let verdict = match parse_allow(&String::from_utf8(unescaped(rule)).unwrap()) {
            Ok(rule) => AddressPolicy::new(vec![rule], own.into_iter().collect()).check(host, address.parse().unwrap()),
            Err(error) => {
                assert!(want == "none" && error.to_string().contains("CIDR[:PORT]"), "line {}: {error}", row.line);
                continue;
            }
        };
        let told = verdict.as_ref().map_or_else(|refused| if refused.own { "own" } else { "no" }, |()| "yes");
        assert_eq!(told, want, "line {}: {}: {verdict:?}", row.line, row.text);
        let text = verdict.err().map(|refused| refused.to_string()).unwrap_or_default();
        assert_eq!(text.contains("--allow-net"), want == "no", "{text}");
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
        let refused = policy(&[]).check("h0.test", address).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains(typed) && text.contains("h0.test") && text.contains("loopback"), "{text}");
        let rule = typed.trim_start_matches("--allow-net ").trim_matches('\'');
        assert!(policy(&[rule]).check("h0.test", address).is_ok());
    }
}
