//! `lycosa check-config FILE`: the file and the environment, as a run reads them.

use std::io::Write;
use std::path::Path;

use super::args::SettingsArgs;
use super::exit::CliError;
use super::{dry_run, gather};

/// Checks a file, with the environment over it, as a run does; prints `FILE: ok`, and a note for what a run would still need, and for what of this machine would be in
/// its way: files of secrets, the data folder, addresses.
///
/// # Errors
/// The first fault.
pub fn run(file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let layers = gather::layers(Some(file), &SettingsArgs::default())?;
    let settings = layers.load()?;
    settings.places()?;
    writeln!(out, "{}: ok", file.display())?;
    for notice in layers.notices() {
        writeln!(out, "note: {notice}")?;
    }
    if let Err(lacking) = settings.ready_to_run(true) {
        writeln!(out, "note: {lacking}")?;
    }
    if let Err(elsewhere) = dry_run::check(&settings) {
        writeln!(out, "note: a run on this machine would not start: {}", elsewhere.line())?;
    }
    Ok(())
}
