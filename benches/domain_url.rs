//! Canonical URLs, joins and keys: the parts of a page's cost that grow with its links.
//!
//! A page of a documentation site is the model: 137 links, most of them relative, some with fragments, a few abroad.

#![expect(clippy::expect_used, reason = "the bench's own data")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lycosa::domain::fingerprint::Fingerprinter;
use lycosa::domain::partition::Partition;
use lycosa::domain::scope::{Scope, ScopeRules};
use lycosa::domain::traps::TrapRules;
use lycosa::domain::url::{Canonicaliser, PageUrl};
use url::Url;

/// How many links the mean page of the documentation set has.
const LINKS: usize = 137;

fn base() -> Url {
    Url::parse("https://docs.example.org/3/library/asyncio-task.html").expect("the base parses")
}

fn links() -> Vec<String> {
    let link = |n: usize| match n % 8 {
        0 => format!("../tutorial/page{n}.html"),
        1 => format!("asyncio-{n}.html#asyncio.run{n}"),
        2 => format!("#section-{n}"),
        3 => format!("/3/whatsnew/{n}.html"),
        4 => format!("https://docs.example.org/3/{n}.html"),
        5 => format!("https://www.other{}.example/path/{n}?q=a{n}&utm_source=docs", n % 5),
        6 => format!("../c-api/intro.html#x{n}"),
        _ => format!("../library/%7estdtypes.html#str.{n}"),
    };
    (0..LINKS).map(link).collect()
}

fn joined() -> Vec<PageUrl> {
    let canonicaliser = Canonicaliser::default();
    let (base, links) = (base(), links());
    links.iter().filter_map(|link| canonicaliser.join(&base, link, None).ok()).collect()
}

fn canonicalise(c: &mut Criterion) {
    let canonicaliser = Canonicaliser::default();
    let (base, links) = (base(), links());
    let texts: Vec<String> = joined().iter().map(PageUrl::to_string).collect();
    let mut group = c.benchmark_group("url");
    group.throughput(Throughput::Elements(LINKS as u64));
    group.bench_function("parse 137 canonical", |b| {
        b.iter(|| texts.iter().filter(|text| canonicaliser.parse(black_box(text)).is_ok()).count());
    });
    group.bench_function("join 137 links", |b| {
        b.iter(|| links.iter().filter(|link| canonicaliser.join(&base, black_box(link), None).is_ok()).count());
    });
    group.bench_function("join 137 links of one page", |b| {
        b.iter(|| {
            let joiner = canonicaliser.joiner(base.clone(), None);
            links.iter().filter(|link| joiner.join(black_box(link)).is_ok()).count()
        });
    });
    group.bench_function("join 137 links, url crate alone", |b| {
        b.iter(|| links.iter().filter(|link| base.join(black_box(link)).is_ok()).count());
    });
    group.finish();
}

fn keys(c: &mut Criterion) {
    let urls = joined();
    let keys = Fingerprinter::new(42);
    let mut group = c.benchmark_group("keys");
    group.throughput(Throughput::Elements(urls.len() as u64));
    group.bench_function("host and url keys, partitions", |b| {
        b.iter(|| {
            for url in &urls {
                black_box((keys.host(url.host()), keys.url(url), Partition::of_host(url.host())));
            }
        });
    });
    group.finish();
}

fn filters(c: &mut Criterion) {
    let urls = joined();
    let (traps, scope) =
        (TrapRules::default(), Scope::new(&ScopeRules::default(), false, None, &urls).expect("default rules"));
    let mut group = c.benchmark_group("filters");
    group.throughput(Throughput::Elements(urls.len() as u64));
    group.bench_function("scope and traps", |b| {
        b.iter(|| urls.iter().filter(|url| scope.judge(url, 1).is_ok() && traps.judge(url).is_ok()).count());
    });
    group.finish();
}

criterion_group!(benches, canonicalise, keys, filters);
criterion_main!(benches);
