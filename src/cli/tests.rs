//! What the case tables of commands (`tests/data/cli`) have in common: a line that is typed, and how its command ends.

use std::fmt::Write as _;

use clap::Parser as _;

use super::args::{Cli, Command, ConfigCommand};
use super::exit::{CliError, Exit};
use super::gather::run_layers;
use super::{config_cmd, run};
use crate::config::Layers;
use crate::domain::cases::{Block, blocks, unescaped};

/// The command of a line, whose words are apart by one space; escapes are undone in each, `''` is an empty one.
pub(super) fn typed(line: &str) -> Command {
    let word = |word: &str| if word == "''" { Vec::new() } else { unescaped(word) };
    let words = line.split(' ').map(|text| String::from_utf8(word(text)).unwrap());
    Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{line}: {e}")).command
}

/// What is wrong with how a command ended, by the `exit` code of its case, 0 when it names none, and the parts of its
/// `error`.
pub(super) fn check_end(case: &Block<'_>, end: Result<Exit, CliError>) -> Option<String> {
    let (exit, error) = end.map_or_else(|e| (e.exit, e.line()), |exit| (exit, String::new()));
    let code: u8 = case.one("exit").map_or(0, |code| code.parse().unwrap());
    let parts: Vec<&str> = case.all("error").collect();
    let holds = parts.iter().all(|part| error.contains(part)) && parts.is_empty() == error.is_empty();
    (exit.code() != code || !holds).then(|| format!("{}: ended with {}: {error}", case.name, exit.code()))
}

/// What is told of a run, and beside that what has no line there.
fn told_of(layers: &Layers) -> Result<String, CliError> {
    let settings = layers.load()?;
    let mut told: String = layers.notices().iter().map(|notice| format!("note: {notice}\n")).collect();
    let guessed: Vec<bool> = settings.crawl.seeds.iter().map(|seed| seed.guessed).collect();
    write!(told, "{}allowed {:?}\nguessed {guessed:?}\n", run::plan(&settings), settings.net.allow).unwrap();
    Ok(told)
}

#[test]
fn what_flags_files_and_settings_make_of_a_run() {
    let (file, mut wrong) = (tempfile::NamedTempFile::new().unwrap(), Vec::new());
    for case in blocks(include_str!("../../tests/data/cli/settings.txt"), &["$", "exit", "error", ">"]) {
        std::fs::write(file.path(), case.bytes(">")).unwrap();
        let line = case.one("$").unwrap().replace("FILE", &file.path().display().to_string());
        let told = match typed(&line) {
            Command::Run(args) => run_layers(&args).and_then(|layers| told_of(&layers)),
            Command::Config(ConfigCommand::Show { config, origin, json, settings }) => {
                let mut out = Vec::new();
                let shown = config_cmd::show(config.as_deref(), &settings, origin, json, &mut out);
                shown.map(|()| String::from_utf8(out).unwrap())
            }
            _ => panic!("{line}"),
        };
        wrong.extend(case.check(told.as_deref().unwrap_or_default()));
        wrong.extend(check_end(&case, told.map(|_| Exit::Done)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
