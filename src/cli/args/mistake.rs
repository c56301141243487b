//! What is said to somebody who mistyped.

use crate::cli::exit::{CliError, Exit};

/// Help and version are printed; a mistake becomes one line, with what was expected.
///
/// # Errors
/// The mistake, with the exit code 2.
pub fn explain(error: &clap::Error) -> Result<Exit, CliError> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Ok(Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Ok(Exit::Usage)
        }
        _ => Err(CliError::usage(mistake(&error.render().to_string()))),
    }
}

/// The parser's paragraphs without usage and help hint, joined.
fn mistake(text: &str) -> String {
    let told = |l: &&str| !l.is_empty() && !l.starts_with("Usage:") && !l.starts_with("For more information");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(told).collect();
    format!("{}; `--help` shows what may be typed", lines.join(" ").trim_start_matches("error: "))
}
