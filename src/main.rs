//! The `lycosa` program: what was typed becomes a command, its outcome an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use lycosa::cli::{self, Exit, args::Cli};

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    match cli::execute(Cli::parse(), &mut out) {
        Ok(exit) => exit.into(),
        Err(error) => {
            if error.exit != Exit::Done {
                let _ = writeln!(std::io::stderr(), "lycosa: {}", error.line());
            }
            error.exit.into()
        }
    }
}
