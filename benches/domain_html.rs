//! HTML: from markup to facts, beside `select`, which builds a tree.
//!
//! `LYCOSA_BENCH_PAGES=DIR` adds the pages of a folder (`*.html`, not below), for instance those of a documentation package.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lycosa::content::html::{DEFAULT_MAX_PARSE, ExtractOptions, Extractor, PageReader};
use lycosa::domain::textprint::Printer;
use select::document::Document;
use select::predicate::Name;
use url::Url;

/// A page of documentation: 137 links and 52 KB, much as the pages of Debian's documentation packages have on average.
fn documentation() -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>Built-in &amp; other types</title>\
         <link rel=\"stylesheet\" href=\"_static/style.css\"/><script>let a = \"<b>\" < 1 && 2;</script></head><body>\n",
    );
    for n in 0..137 {
        let _ = writeln!(
            page,
            "<section id=\"s{n}\" class=\"section\"><p>The <code class=\"xref py py-class docutils literal notranslate\">\
             <span class=\"pre\">type{n}</span></code> is <em>described</em> in <a class=\"reference internal\" \
             href=\"../library/part{n}.html?a=1&amp;b=2#s{n}\" title=\"Part {n}\"><span class=\"std std-ref\">Part {n}</span></a> \
             of this manual &mdash; it has been there since the first version.</p></section>"
        );
    }
    page.push_str("</body></html>\n");
    page
}

/// Mostly script.
fn script() -> String {
    let code = "if (a < b && c > d) { e.innerHTML = '<a href=\"x\">' + f[i] + '<\\/a>'; }\n".repeat(600);
    format!("<html><body><a href=x>x</a><script>{code}</script><a href=y>y</a>")
}

/// Unclosed quotes, stray signs, references without end.
fn broken() -> String {
    "<p <a href=x class='a\"b' <b>a < b &amp &copy <a href='y>z</a> <!- x -> </ x> <td width=1%/height=\"2\"c=d>"
        .repeat(450)
}

fn pages() -> Vec<(String, Vec<u8>)> {
    let mut pages: Vec<(String, Vec<u8>)> =
        [("documentation", documentation()), ("script", script()), ("broken", broken())]
            .map(|(name, page)| (name.to_owned(), page.into_bytes()))
            .into();
    if let Some(folder) = std::env::var_os("LYCOSA_BENCH_PAGES") {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let html = files.filter(|path| path.extension().is_some_and(|e| e == "html"));
        let bytes: Vec<u8> = html.filter_map(|path| std::fs::read(path).ok()).flatten().collect();
        pages.push(("folder".into(), bytes));
    }
    pages
}

/// What stands between tags, roughly: the part of a page that its print is made of.
fn between_tags(page: &str) -> Vec<&str> {
    page.split('<').filter_map(|part| Some(part.split_once('>')?.1)).filter(|text| !text.is_empty()).collect()
}

fn extract(c: &mut Criterion) {
    let Ok(url) = Url::parse("http://h.test/dir/page.html") else { return };
    let mut group = c.benchmark_group("html");
    for (name, bytes) in pages() {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        group.bench_function(format!("facts/{name}"), |b| {
            b.iter(|| {
                let mut extractor = Extractor::new(&url, ExtractOptions::default());
                extractor.feed(black_box(&text));
                extractor.finish()
            });
        });
        group.bench_function(format!("facts_from_bytes/{name}"), |b| {
            b.iter(|| {
                let mut reader = PageReader::new(None, &url, ExtractOptions::default(), DEFAULT_MAX_PARSE);
                for piece in bytes.chunks(32 * 1024) {
                    reader.push(black_box(piece));
                }
                reader.finish()
            });
        });
        let shown = between_tags(&text);
        group.bench_function(format!("print_of_text/{name}"), |b| {
            b.iter(|| {
                let mut printer = Printer::new(url.path());
                shown.iter().for_each(|piece| printer.push(black_box(piece)));
                printer.finish()
            });
        });
        group.bench_function(format!("links_by_select/{name}"), |b| {
            b.iter(|| {
                let document = Document::from(black_box(text.as_str()));
                document.find(Name("a")).filter_map(|node| node.attr("href")).count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, extract);
criterion_main!(benches);
