//! `lycosa check-config FILE`: the file alone, without environment and flags.

use std::io::Write;
use std::path::Path;

use super::dry_run;
use super::exit::CliError;
use crate::config::Layers;

/// Checks a file as a run does; prints `FILE: ok`, and a note for what a run would still need, and for what of this machine would be in
/// its way: files of secrets, the data folder, addresses.
///
/// # Errors
/// The file's first fault.
pub fn run(file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let settings = Layers::new().file(file)?.load()?;
    settings.places()?;
    writeln!(out, "{}: ok", file.display())?;
    if let Err(lacking) = settings.ready_to_run(true) {
        writeln!(out, "note: {lacking}")?;
    }
    if let Err(elsewhere) = dry_run::check(&settings) {
        writeln!(out, "note: a run on this machine would not start: {}", elsewhere.line())?;
    }
    Ok(())
}
