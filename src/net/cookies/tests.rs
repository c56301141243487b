//! The case table, and the bounds.

use super::*;
use crate::net::testing::url;

/// 2026-01-01T00:00:00Z
const NOW: UnixMillis = UnixMillis(1_767_225_600_000);
const LATER: UnixMillis = UnixMillis(NOW.0 + 1_000);
const LIMITS: Limits = Limits { per_host: 50, max_bytes: 4096, max_hosts: 10_000 };

fn sent(jar: &Jar, to: &str, now: UnixMillis) -> String {
    jar.header(&url(to), now).map_or("-".into(), |value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[test]
fn every_row_of_the_table_holds() {
    let table = include_str!("../../../tests/data/http/cookies.tsv");
    let rows: Vec<Vec<&str>> = table.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect()).collect();
    assert!(rows.len() > 50);
    for row in rows {
        let [section, name, from, set, to, header] = row[..] else { panic!("six cells: {row:?}") };
        let jar = Jar::new(LIMITS);
        for line in set.split(" || ") {
            jar.take(&url(from), line.replace("\\t", "\t").as_bytes(), NOW);
        }
        assert_eq!(sent(&jar, to, LATER), header.replace("\\t", "\t"), "{section} {name}");
    }
}

#[test]
fn over_http_no_cookie_takes_the_place_of_one_for_https_alone() {
    let jar = Jar::new(LIMITS);
    jar.take(&url("https://a.example.org/x/"), b"a=1; Secure; Domain=example.org; Path=/x", NOW);
    for line in
        [&b"a=2; Path=/x"[..], b"a=2; Domain=example.org; Path=/x/y", b"a=2; Max-Age=0; Domain=example.org; Path=/x"]
    {
        jar.take(&url("http://a.example.org/x/"), line, NOW);
    }
    assert_eq!(sent(&jar, "https://a.example.org/x/y", NOW), "a=1");
    jar.take(&url("http://a.example.org/"), b"a=2; Path=/", NOW);
    assert_eq!(sent(&jar, "http://a.example.org/", NOW), "a=2", "another path is another cookie");
    jar.take(&url("https://a.example.org/x/"), b"a=3; Domain=example.org; Path=/x", NOW);
    assert_eq!(sent(&jar, "https://a.example.org/x", NOW), "a=3; a=2");
    jar.take(&url("https://b.example.org/"), b"s=1; Secure", NOW);
    jar.take(&url("http://c.example.org/"), b"s=2; Domain=example.org", NOW);
    assert_eq!(sent(&jar, "https://b.example.org/", NOW), "s=1", "nor does one for the domain above");
}

#[test]
fn a_cookie_ends_when_its_time_is_over() {
    let jar = Jar::new(LIMITS);
    jar.take(&url("http://a.test/"), b"a=1; Max-Age=10", NOW);
    assert_eq!(sent(&jar, "http://a.test/", UnixMillis(NOW.0 + 9_999)), "a=1");
    assert_eq!(sent(&jar, "http://a.test/", UnixMillis(NOW.0 + 10_000)), "-");
}

#[test]
fn of_one_domain_those_used_last_are_kept() {
    let jar = Jar::new(Limits { per_host: 3, ..LIMITS });
    for i in 0..3 {
        jar.take(&url("http://a.test/"), format!("c{i}={i}; Path=/p{i}").as_bytes(), NOW);
    }
    assert_eq!(sent(&jar, "http://a.test/p0", NOW), "c0=0");
    jar.take(&url("http://a.test/"), b"new=1", NOW);
    assert_eq!((jar.len(), sent(&jar, "http://a.test/p1", NOW)), (3, "new=1".into()));
    assert_eq!(sent(&jar, "http://a.test/p0", NOW), "c0=0; new=1");
}

#[test]
fn of_all_domains_those_used_last_are_kept() {
    let jar = Jar::new(Limits { max_hosts: 2, ..LIMITS });
    jar.take(&url("http://a.test/"), b"a=1", NOW);
    jar.take(&url("http://b.test/"), b"b=1", NOW);
    assert_eq!(sent(&jar, "http://a.test/", NOW), "a=1");
    jar.take(&url("http://c.test/"), b"c=1", NOW);
    let all = ["a", "b", "c"].map(|host| sent(&jar, &format!("http://{host}.test/"), NOW));
    assert_eq!(all, ["a=1", "-", "c=1"]);
}

#[test]
fn a_cookie_that_is_too_long_is_not_kept_and_a_header_does_not_grow_without_end() {
    let jar = Jar::new(LIMITS);
    for (name, value) in [("a", 4_096), ("", 4_097)] {
        jar.take(&url("http://a.test/"), format!("{name}={}", "x".repeat(value)).as_bytes(), NOW);
        assert!(jar.is_empty(), "{name} {value}");
    }
    for line in [format!("a={}; Path=/{}", "x".repeat(4_095), "y".repeat(1_023)), format!("={}", "x".repeat(4_096))] {
        let jar = Jar::new(LIMITS);
        jar.take(&url("http://a.test/"), line.as_bytes(), NOW);
        assert_eq!(jar.len(), 1, "4,096 bytes and an attribute of 1,024");
    }
    for i in 0..50 {
        jar.take(&url("http://a.test/"), format!("c{i}={}", "x".repeat(4_000)).as_bytes(), NOW);
    }
    assert_eq!(jar.len(), 50);
    assert!(sent(&jar, "http://a.test/", NOW).len() <= MAX_HEADER);
}

#[test]
fn an_attribute_that_is_too_long_is_as_if_it_were_not_there() {
    let long = "y".repeat(1_024);
    for (line, to) in [
        (format!("a=1; Path=/x; Path=/{long}"), "http://a.test/x"),
        (format!("a=1; Path=/{long}"), "http://a.test/"),
        (format!("a=1; Domain={long}x"), "http://a.test/"),
        (format!("a=1; Max-Age=-{}", "1".repeat(1_024)), "http://a.test/"),
    ] {
        let jar = Jar::new(LIMITS);
        jar.take(&url("http://a.test/"), line.as_bytes(), NOW);
        assert_eq!(sent(&jar, to, LATER), "a=1", "{}", line.len());
    }
}

#[test]
fn a_control_character_anywhere_is_the_end_of_a_cookie_but_a_tab() {
    for byte in (0..=0x1f).chain([0x7f]) {
        for line in [[b"a=1", &[byte][..], b"2"].concat(), [b"a=1; x=", &[byte][..], b"2"].concat()] {
            let jar = Jar::new(LIMITS);
            jar.take(&url("http://a.test/"), &line, NOW);
            assert_eq!(jar.len(), usize::from(byte == b'\t'), "{byte:#x}");
        }
    }
}

#[test]
fn no_cookie_lives_longer_than_400_days() {
    let jar = Jar::new(LIMITS);
    jar.take(&url("http://a.test/"), b"a=1; Max-Age=99999999999", NOW);
    jar.take(&url("http://a.test/"), b"b=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", NOW);
    let end = NOW.plus(MAX_AGE);
    assert_eq!(sent(&jar, "http://a.test/", UnixMillis(end.0 - 1)), "a=1; b=1");
    assert_eq!(sent(&jar, "http://a.test/", end), "-");
}

#[test]
fn nothing_of_a_cookie_is_shown() {
    let jar = Jar::new(LIMITS);
    jar.take(&url("http://a.test/"), b"session=hidden", NOW);
    let shown = format!("{jar:?} {:?}", jar.header(&url("http://a.test/"), NOW).unwrap());
    assert!(!shown.contains("hidden"), "{shown}");
}

proptest::proptest! {
    #[test]
    fn any_line_can_be_looked_at(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
        let jar = Jar::new(LIMITS);
        jar.take(&url("http://a.test/x"), &line, NOW);
        let _ = jar.header(&url("http://a.test/x"), NOW);
    }
}
