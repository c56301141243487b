//! The `lycosa` program: what was typed becomes a command, its outcome an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use lycosa::cli::exit::in_json;
use lycosa::cli::{self, Exit, args};

/// For the whole process, RocksDB included (docs/adr/0008-jemalloc.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let outcome = match args::Cli::try_parse() {
        Ok(cli) => cli::execute(cli, &mut std::io::stdout()),
        Err(error) => {
            let json = std::env::args_os().any(|word| word == "--json");
            in_json(json, args::explain(&error), &mut std::io::stdout())
        }
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            if error.exit != Exit::Done {
                let _ = writeln!(std::io::stderr(), "lycosa: {}", error.line());
            }
            error.exit.into()
        }
    }
}
