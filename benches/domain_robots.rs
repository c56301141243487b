//! robots.txt: reading one, and verdicts over one rule, ten thousand rules and rules made to be slow.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lycosa::domain::robots::RobotsRules;

const PATH: &str = "/shop/category/shoes/item-4711?colour=red&size=42&page=3";

fn small() -> String {
    "User-agent: *\nDisallow: /cart\nDisallow: /*?sort=\nAllow: /cart/help\nCrawl-delay: 1\nSitemap: https://a.example/s.xml\n"
        .to_owned()
}

/// As many literal rules as asked for, none of which matches.
fn literal(count: usize) -> String {
    let mut text = String::from("User-agent: *\n");
    for n in 0..count {
        let _ = writeln!(text, "Disallow: /shop/category/{n:05}/");
    }
    text
}

/// One rule of many stars that fails at its end only.
fn hostile() -> String {
    format!("User-agent: *\nDisallow: /{}b$\n", "*a".repeat(4000))
}

fn parse(c: &mut Criterion) {
    let (small, large) = (small(), literal(10_000));
    c.bench_function("robots/parse/6_lines", |b| {
        b.iter(|| RobotsRules::parse(black_box(small.as_bytes()), &["lycosa"]))
    });
    c.bench_function("robots/parse/10000_rules", |b| {
        b.iter(|| RobotsRules::parse(black_box(large.as_bytes()), &["lycosa"]));
    });
}

fn verdict(c: &mut Criterion) {
    let long_path = format!("/{}", "a".repeat(2000));
    for (name, text, path) in [
        ("robots/verdict/3_rules", small(), PATH),
        ("robots/verdict/10000_rules", literal(10_000), PATH),
        ("robots/verdict/4000_stars", hostile(), long_path.as_str()),
    ] {
        let rules = RobotsRules::parse(text.as_bytes(), &["lycosa"]);
        c.bench_function(name, |b| b.iter(|| rules.allows(black_box(path))));
    }
}

criterion_group!(benches, parse, verdict);
criterion_main!(benches);
