//! `lycosa ctl …`: speaks to the admin endpoint of a running crawl.
//!
//! A group of commands has a file of its own with two functions: `ask` says what the endpoint is asked, `tell` shows its
//! answer. The commands themselves are in `cli::args`, or beside these functions and flattened there.

mod crawl;
mod door;
pub mod events;
mod hint;
mod holders;
pub mod host;
pub mod look;
pub mod report;
mod safe;
pub mod settings;
pub mod urls;

use std::io::Write;

use super::args::{CtlArgs, CtlCommand};
use super::exit::CliError;

/// Carries out a command and shows the answer.
///
/// # Errors
/// Nobody listens, the endpoint refuses, or the answer is none.
pub fn run(args: &CtlArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let door = door::door(args)?;
    let out = &mut safe::Safe(out);
    if let CtlCommand::Events(which) = &args.command {
        return actix_rt::System::new().block_on(events::follow(&door, which, args.json, out));
    }
    if let CtlCommand::Report(which) = &args.command {
        return report::run(args.json, &door, which, out);
    }
    let ask = crawl::ask(args)?;
    let answer = actix_rt::System::new().block_on(door::send(&door, ask))?;
    if args.json {
        let answer = if matches!(args.command, CtlCommand::Health) { r#"{"ready":true}"# } else { answer.trim() };
        let _: serde::de::IgnoredAny = serde_json::from_str(answer).map_err(unread)?;
        return Ok(writeln!(out, "{answer}")?);
    }
    crawl::tell(&args.command, &answer, out)
}

/// A part of a path, or a value of a query.
fn escaped_part(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn unread(error: serde_json::Error) -> CliError {
    CliError::new(format!("the answer of the endpoint makes no sense: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::admin::tests::start;
    use crate::cli::Exit;
    use crate::cli::args::{SeedSaid, SeedsCommand};

    fn ctl(admin: impl ToString, command: CtlCommand) -> CtlArgs {
        CtlArgs { admin: Some(admin.to_string()), token_file: None, config: None, json: false, folder: None, command }
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
}
