//! `lycosa fetch URL`.

use std::io::Write;

use super::args::FetchArgs;
use super::exit::{CliError, Exit};

/// Fetches one URL and shows what happened.
///
/// # Errors
/// Bad settings, or no answer.
pub fn run(args: &FetchArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let _ = (args, out);
    Err(CliError::new("not part of this build yet"))
}
