//! `lycosa check-config FILE`: the file alone, without environment and flags.

use std::io::Write;
use std::path::Path;

use super::exit::CliError;
use crate::config::Layers;

/// Checks a file; prints `FILE: ok`, and a note for what a run would still need.
///
/// # Errors
/// The file's first fault.
pub fn run(file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let settings = Layers::new().file(file)?.load()?;
    writeln!(out, "{}: ok", file.display())?;
    if let Err(lacking) = settings.ready_to_run(true) {
        writeln!(out, "note: {lacking}")?;
    }
    Ok(())
}
