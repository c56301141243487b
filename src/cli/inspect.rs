//! `lycosa inspect …`: reads the input and hands it to the room concerned.

use std::io::Write;

use super::args::InspectCommand;
use super::exit::CliError;
use super::gather::read_input;
use super::{inspect_page, inspect_robots, inspect_url};

/// Shows what the crawler makes of its input.
///
/// # Errors
/// The input cannot be read, or makes no sense.
pub fn run(command: &InspectCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        InspectCommand::Url { base, json, urls } => {
            let rules = crate::domain::url::CleanRules::default();
            inspect_url::run(base.as_deref(), urls, rules, *json, out).map_err(CliError::usage)
        }
        InspectCommand::Robots { agent, robots, urls } => {
            Ok(inspect_robots::run(agent, &read_input(robots)?, urls, out)?)
        }
        InspectCommand::Page { file, url, content_type } => {
            inspect_page::run(&read_input(file)?, url, content_type.as_deref(), out).map_err(CliError::usage)
        }
    }
}
