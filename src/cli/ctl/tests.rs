//! `lycosa ctl` against an endpoint over loopback.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use super::*;
use crate::admin::holders::HoldersAbout;
use crate::admin::tests::start;
use crate::cli::Exit;
use crate::cli::args::{Cli, Command, SeedSaid, SeedsCommand};
use crate::domain::cases::{blocks, rows};

fn ctl(admin: impl ToString, command: CtlCommand) -> CtlArgs {
    CtlArgs {
        admin: Some(admin.to_string()),
        token_file: None,
        config: None,
        node: None,
        timeout: None,
        json: false,
        folder: None,
        command,
    }
}

fn told(args: &CtlArgs) -> Result<String, CliError> {
    let mut out = Vec::new();
    run(args, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn every_command_reaches_the_crawl() {
    let (server, recorder) = start(None);
    let at = server.address();
    assert!(told(&ctl(at, CtlCommand::Status)).unwrap().contains("URLs discovered     3"));
    let json = told(&CtlArgs { json: true, ..ctl(at, CtlCommand::Status) }).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["waiting"], 3);
    let urls = vec!["http://a.test/".to_owned(), "http://b.test/".to_owned()];
    let seeds = CtlCommand::Seeds(SeedsCommand::Add { urls, file: None, said: SeedSaid::default() });
    assert_eq!(told(&ctl(at, seeds)).unwrap(), "2 accepted, 0 known already, 0 rejected\n");
    assert_eq!(told(&ctl(format!("http://{at}/"), CtlCommand::Pause)).unwrap(), "pause: done\n");
    assert_eq!(told(&ctl(at, CtlCommand::Stop)).unwrap(), "stop: done\n");
    assert_eq!(recorder.calls(), ["seeds http://a.test/ http://b.test/", "pause", "stop"]);
}

#[test]
fn a_refusal_is_told_in_the_crawls_own_words() {
    let (server, _) = start(None);
    let error = told(&ctl(server.address(), CtlCommand::Resume)).unwrap_err();
    assert_eq!((error.exit, error.message.as_str()), (Exit::Error, "the disk is full"));
}

#[test]
fn the_token_opens_and_its_absence_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "correct-horse-battery").unwrap();
    let (server, _) = start(Some(&file));
    let closed = ctl(server.address(), CtlCommand::Status);
    assert!(told(&closed).unwrap_err().message.contains("token_file"));
    told(&CtlArgs { token_file: Some(file), ..closed }).unwrap();
}

#[test]
fn when_nobody_listens_the_error_says_what_to_do() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = told(&ctl(free, CtlCommand::Status)).unwrap_err();
    assert!(error.message.contains(&free.to_string()) && error.message.contains("lycosa run"), "{error}");
    let error = told(&ctl("nonsense", CtlCommand::Status)).unwrap_err();
    assert_eq!(error.exit, Exit::Usage);
}

#[test]
fn the_configuration_of_the_crawl_names_its_endpoint() {
    let (server, _) = start(None);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("[admin]\nlisten = \"{}\"\n", server.address())).unwrap();
    let args = CtlArgs { admin: None, config: Some(file.path().into()), ..ctl("", CtlCommand::Status) };
    assert!(told(&args).is_ok());
    std::fs::write(file.path(), "[admin]\nlisten = \"off\"\n").unwrap();
    assert_eq!(told(&args).unwrap_err().exit, Exit::Usage);
}

/// An endpoint that answers a connection with what `answer` gives for the path, or never.
fn endpoint(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 4_096];
            let n = stream.read(&mut asked).unwrap_or(0);
            let path = String::from_utf8_lossy(&asked[..n]).split(' ').nth(1).unwrap_or_default().to_owned();
            match answer(&path) {
                Some(body) => {
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                    let _ = stream.write_all([head, body].concat().as_bytes()); // who reads may have gone
                }
                None => silent.push(stream),
            }
        }
    });
    address
}

/// An endpoint that answers one connection with these bytes, one part after the other, and goes away.
fn dying(parts: impl Iterator<Item = String> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4_096]);
        for part in parts {
            if stream.write_all(part.as_bytes()).is_err() {
                return;
            }
        }
    });
    address
}

/// What was typed, for this endpoint.
fn typed(at: SocketAddr, line: &str) -> CtlArgs {
    let Command::Ctl(args) = crate::cli::tests::typed(line) else { panic!("{line}") };
    CtlArgs { admin: Some(at.to_string()), ..args }
}

/// Nobody is asked here.
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

#[test]
fn each_command_asks_what_it_should_encoded_and_without_what_was_not_said() {
    for row in rows(include_str!("../../../tests/data/cli/asks.txt"), 2) {
        let asked = crawl::ask(&typed(NOBODY, &format!("lycosa ctl {}", row.cells[0])));
        match row.cells[1].strip_prefix("error: ") {
            None => {
                let ask = asked.unwrap();
                let told = format!("{} {} {}", ask.method, ask.path, ask.body);
                assert_eq!(told.trim_end(), row.cells[1], "{}", row.text);
            }
            Some(part) => {
                let error = asked.err().unwrap();
                assert!(error.exit == Exit::Usage && error.message.contains(part), "{error}");
                assert!(!error.message.contains("--set"), "{error}");
            }
        }
    }
    let waits = |line| crawl::waits(&typed(NOBODY, line).command);
    assert!(waits("lycosa ctl urls retry") && !waits("lycosa ctl urls retry --no-wait"));
    assert!(!waits("lycosa ctl urls failed"));
}

#[test]
fn what_an_answer_says_to_people() {
    let mut wrong = Vec::new();
    for case in blocks(include_str!("../../../tests/data/cli/told.txt"), &["$", "<", "now"]) {
        let args = typed(NOBODY, case.one("$").unwrap());
        let now = case.one("now").map(|settings| InForce::of(serde_json::from_str(settings).unwrap()));
        let answer: String = case.all("<").collect();
        let told = crawl::told(&args.command, &answer, &now.unwrap_or_default()).unwrap();
        wrong.extend(case.check(&told));
        assert!(told.ends_with('\n'), "{}", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_that_does_not_arrive_whole_is_an_error_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let line = format!("lycosa ctl snapshot a.test -o {}", dir.path().join("x").display());
    for head in ["Content-Length: 100\r\n", "Connection: close\r\n"] {
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nshort");
        let error = told(&typed(dying([answer].into_iter()), &line)).unwrap_err();
        assert!(error.exit == Exit::Error && error.message.contains("whole"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_time_that_was_named_bounds_a_page_that_drips() {
    let drip = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(20));
        "x".to_owned()
    });
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_owned();
    let args = typed(dying(std::iter::once(head).chain(drip)), "lycosa ctl --timeout 300ms snapshot a.test --as text");
    let error = told(&args).unwrap_err();
    assert!(error.message.contains("did not answer within 300ms"), "{error}");
}

#[test]
fn events_end_well_only_when_the_crawl_has_said_that_it_stopped() {
    let event = |kind: &str, reason: &str| format!("data: {{\"kind\":\"{kind}\",\"reason\":\"{reason}\"}}\n\n");
    let heard = |last: String| {
        let told_before = event("page", "stopped");
        let chunk = format!("{:x}\r\n{told_before}{last}\r\n", told_before.len() + last.len());
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        told(&typed(dying([answer].into_iter()), "lycosa ctl events"))
    };
    assert!(heard(event("state", "stopped")).unwrap().ends_with("state stopped\n"));
    for cut in [String::new(), event("state", "draining")] {
        let error = heard(cut).unwrap_err();
        assert!(error.exit == Exit::Error && error.message.contains("did not say that it stopped"), "{error}");
    }
}

#[test]
fn no_seed_taken_has_the_same_exit_code_for_people_and_machines() {
    let answer = r#"{"accepted":0,"known":0,"rejected":[{"url":"hxx:/","reason":"no URL"}]}"#;
    let at = endpoint(|_| Some(answer.to_owned()));
    assert_eq!(told(&typed(at, "lycosa ctl seeds add hxx:/")).unwrap_err().exit, Exit::Error);
    let mut out = Vec::new();
    assert_eq!(run(&typed(at, "lycosa ctl --json seeds add hxx:/"), &mut out).unwrap(), Exit::Error);
    assert_eq!(String::from_utf8(out).unwrap().trim_end(), answer);
}

#[test]
fn what_is_said_anew_of_a_known_seed_is_told_to_hold_but_not_to_move_it() {
    let at = endpoint(|_| Some(r#"{"accepted":0,"known":1,"rejected":[]}"#.to_owned()));
    let text = told(&typed(at, "lycosa ctl seeds add --rank 0 http://a.test/")).unwrap();
    assert!(
        text.starts_with("0 accepted, 1 known already, 0 rejected\nwhat is said now of a known seed replaces"),
        "{text}"
    );
    assert_eq!(told(&typed(at, "lycosa ctl seeds add http://a.test/")).unwrap().lines().count(), 1);
}

#[test]
fn the_holders_of_another_host_are_not_shown_for_those_that_were_asked_for() {
    let job = r#"{"id":1,"kind":"holders","about":"","state":"done","looked":0,"changed":0,"started":0,"ended":0,"error":null,"result":null}"#;
    let about = json!(HoldersAbout { host: Some("h1.test".into()), ..HoldersAbout::default() });
    let page = format!(r#"{{"about":{about},"items":[]}}"#);
    let at = endpoint(move |path| Some(if path.contains("limit=") { page.clone() } else { job.to_owned() }));
    let holders = |host: &str| told(&typed(at, &format!("lycosa ctl report dead-links --holders{host}")));
    assert_eq!(holders(" --host H1.TEST").unwrap(), "url,reason,status,page,context,pages\r\n");
    for (host, asked) in [(" --host h2.test", "the host h2.test"), ("", "all hosts")] {
        let error = holders(host).unwrap_err();
        assert!(error.exit == Exit::Error && error.message.contains(asked), "{error}");
        assert!(error.message.contains("the host h1.test is there"), "{error}");
    }
    assert_eq!(holders(" --host a/b").unwrap_err().exit, Exit::Usage);
}

/// A line of the report of hosts.
const HOST_ROW: &str = r#"{"host":"a.test","queued":0,"retries":0,"done":0,"errors":0,"bytes":0,"orders":{"paused":null,"blocked":null,"min_delay_ms":null}}"#;

#[test]
fn a_daemon_that_takes_the_question_and_never_answers_is_given_up_with_a_sentence() {
    let at = endpoint(|_| None);
    let typed = |line: &str| CtlArgs { timeout: Some(Duration::from_millis(300)), ..typed(at, line) };
    for line in [
        "lycosa ctl status",
        "lycosa ctl checkpoint",
        "lycosa ctl events",
        "lycosa ctl report hosts",
        "lycosa ctl snapshot a.test -o /nowhere/x",
        "lycosa ctl urls retry",
        "lycosa ctl set log.level=info --dry-run --all",
    ] {
        let error = told(&typed(line)).unwrap_err();
        assert!(error.exit == Exit::Error && error.message.contains("did not answer within 300ms"), "{line}: {error}");
        assert!(error.message.contains(&at.to_string()) && error.message.contains("--timeout"), "{error}");
    }
}

#[test]
fn a_job_that_is_not_told_of_any_more_is_given_up_too() {
    let job = r#"{"id":1,"kind":"retry","about":"","state":"running","looked":0,"changed":0,"started":0,"ended":null,"error":null,"result":null}"#;
    let at = endpoint(move |path| (path == "/api/v1/urls/retry").then(|| job.to_owned()));
    let args = typed(at, "lycosa ctl --timeout 300ms urls retry");
    let error = told(&args).unwrap_err();
    assert!(error.message.contains("did not answer within"), "{error}");
}

#[test]
fn a_report_whose_pages_do_not_go_on_is_given_up_with_a_sentence() {
    for rows in [HOST_ROW, ""] {
        let page = format!(r#"{{"items":[{rows}],"next":"0a0b"}}"#);
        let error = told(&typed(endpoint(move |_| Some(page.clone())), "lycosa ctl report hosts")).unwrap_err();
        assert_eq!(
            (error.exit, error.message.as_str()),
            (Exit::Error, "the report does not come to its end; is it a lycosa?")
        );
    }
}

/// A reader that goes away after its first line.
struct Gone(usize);

impl Write for Gone {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += 1;
        if self.0 > 1 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_report_without_end_ends_when_its_reader_goes_away() {
    let pages = std::sync::atomic::AtomicU64::new(0);
    let at = endpoint(move |_| {
        let n = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Some(format!(r#"{{"items":[{HOST_ROW}],"next":"{n:016x}"}}"#))
    });
    let mut gone = Gone(0);
    let ended = run(&typed(at, "lycosa ctl report hosts"), &mut gone).unwrap_err();
    assert_eq!((ended.exit, ended.message.as_str(), gone.0), (Exit::Done, "", 2));
}

#[test]
fn a_report_that_knows_no_host_refuses_one() {
    let line = "lycosa ctl report hosts --host a.test";
    let error = told(&typed(NOBODY, line)).unwrap_err();
    assert!(error.exit == Exit::Usage && error.message.contains("`lycosa ctl host a.test`"), "{error}");
}

#[test]
fn every_command_has_an_example_in_its_help_that_is_understood() {
    let program = Cli::command();
    let mut open = vec![program.find_subcommand("ctl").unwrap().clone()];
    let mut seen = 0;
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<&str> = help.lines().filter_map(|line| Some(&line[line.find("lycosa ctl")?..])).collect();
        let asks_more = command.is_subcommand_required_set() || command.is_arg_required_else_help_set();
        assert!(!examples.is_empty() || asks_more, "{} has no example", command.get_name());
        for example in examples {
            let words = example.split('>').next().unwrap().split_whitespace();
            assert!(Cli::try_parse_from(words).is_ok(), "{example}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn the_completions_of_a_shell_know_every_command() {
    let mut text = Vec::new();
    clap_complete::generate(clap_complete::Shell::Bash, &mut Cli::command(), "lycosa", &mut text);
    let text = String::from_utf8(text).unwrap();
    let nested = "settings/history actors/restart seeds/list jobs/cancel urls/rejected urls/failed";
    for path in "robots snapshot statistics checkpoints".split(' ').chain(nested.split(' ')) {
        let name = format!("lycosa__subcmd__ctl__subcmd__{})", path.replace('/', "__subcmd__"));
        assert!(text.contains(&name), "{name}");
    }
    assert!(text.contains("--no-wait") && text.contains("--timeout"));
}
