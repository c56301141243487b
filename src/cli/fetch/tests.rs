//! One fetch from a server of a few lines on loopback: the cases of `tests/data/cli/fetch.txt`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use super::*;
use crate::cli::args::Command;
use crate::cli::tests::{check_end, typed};
use crate::domain::cases::{Block, blocks, unescaped};

/// A page and its path.
type Page = (String, Vec<u8>);

/// The pages of a case or site: `at` has status, head and body, apart by an empty line, `raw` the bytes themselves.
fn pages(block: &Block<'_>) -> Vec<Page> {
    let bytes = |text: &str| {
        let (path, answer) = text.split_once(' ').unwrap();
        (path.to_owned(), unescaped(answer))
    };
    let at = block.all("at").map(bytes).map(|(path, answer)| (path, whole(&String::from_utf8(answer).unwrap())));
    at.chain(block.all("raw").map(bytes)).collect()
}

fn whole(answer: &str) -> Vec<u8> {
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    let head: String = head.lines().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    format!("HTTP/1.1 {head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// What is at a path: of that name; a link of a chain; no robots.txt; or what everything else is.
fn page(pages: &[Page], path: &str) -> Vec<u8> {
    let named = |name: &str| pages.iter().find(|(at, _)| at == name).map(|(_, answer)| answer.clone());
    let number: Option<u32> = path[1..].parse().ok();
    let link =
        |n: u32| named("/N").map(|page| String::from_utf8(page).unwrap().replace("{next}", &(n + 1).to_string()));
    let rules = || (path == "/robots.txt").then(|| whole("404 X"));
    let other = || named(path).or_else(rules).or_else(|| named("*")).unwrap();
    number.and_then(link).map_or_else(other, String::into_bytes)
}

/// Answers on one thread until the test's process ends.
fn serve(pages: Vec<Page>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4_096];
            let n = stream.read(&mut head).unwrap_or(0);
            let asked = String::from_utf8_lossy(&head[..n]).into_owned();
            let _ = stream.write_all(&page(&pages, asked.split(' ').nth(1).unwrap_or("/")));
        }
    });
    address
}

#[test]
fn what_a_fetch_finds_and_tells() {
    let table = include_str!("../../../tests/data/cli/fetch.txt");
    let all = blocks(table, &["$", "exit", "error", "site", "at", "raw", "alone"]);
    let mut wrong = Vec::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for case in &all {
        let Some(line) = case.one("$") else { continue }; // a site
        let site = case.one("site").map(|site| all.iter().find(|block| block.name == site).unwrap());
        let address = serve([case].into_iter().chain(site).flat_map(pages).collect());
        let at = address.to_string();
        let mut line = line.replace("{at}", &at).replace("{closed}", &closed);
        if case.one("alone").is_none() {
            let port = address.port();
            line += &format!(" --set politeness.min_delay=0s --allow-net 127.0.0.1/32:{port}");
        }
        let Command::Fetch(args) = typed(&line) else { panic!("{line}") };
        let mut out = Vec::new();
        wrong.extend(check_end(case, run(&args, &mut out)));
        wrong.extend(case.check(&String::from_utf8(out).unwrap().replace(&at, "{at}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
