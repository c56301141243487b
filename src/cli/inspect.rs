//! `lycosa inspect …`: reads the input and hands it to the room concerned.

use std::io::Write;
use std::sync::Arc;

use super::args::InspectCommand;
use super::exit::{CliError, Exit};
use super::gather::read_input;
use super::inspect_page::{self, InspectPageError};
use super::inspect_robots;
use super::inspect_sitemap::{self, Asked, InspectSitemapError};
use super::inspect_url::{self, InspectUrlError};
use crate::config::Layers;

/// Shows what the crawler makes of its input. A URL that is none has its line in the answer and the exit code 1.
///
/// # Errors
/// The input cannot be read, or makes no sense.
pub fn run(command: &InspectCommand, out: &mut dyn Write) -> Result<Exit, CliError> {
    match command {
        InspectCommand::Url { base, json, urls } => {
            let rules = crate::domain::url::CleanRules::default();
            match inspect_url::run(base.as_deref(), urls, rules, *json, out) {
                Ok(0) => Ok(Exit::Done),
                Ok(_) => Ok(Exit::Error),
                Err(InspectUrlError::Output(e)) => Err(e.into()),
                Err(e) => Err(CliError::usage(e)),
            }
        }
        InspectCommand::Robots { agent, robots, urls } => {
            inspect_robots::run(agent, &read_input(robots)?, urls, out)?;
            Ok(Exit::Done)
        }
        InspectCommand::Sitemap { file, url, content_type, named_by, json } => {
            let asked =
                Asked { url, content_type: content_type.as_deref(), named_by: named_by.as_deref(), json: *json };
            match inspect_sitemap::run(&read_input(file)?, &asked, out) {
                Ok(()) => Ok(Exit::Done),
                Err(InspectSitemapError::Output(e)) => Err(e.into()),
                Err(e) => Err(CliError::usage(e)),
            }
        }
        InspectCommand::Page { file, url, content_type, extract } => {
            let rules = match extract {
                Some(file) => Layers::new().file(file)?.load()?.parse_rules().fields,
                None => Arc::default(),
            };
            match inspect_page::run(&read_input(file)?, url, content_type.as_deref(), rules, out) {
                Ok(()) => Ok(Exit::Done),
                Err(InspectPageError::Output(e)) => Err(e.into()),
                Err(e) => Err(CliError::usage(e)),
            }
        }
    }
}
