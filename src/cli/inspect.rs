//! `lycosa inspect …`: reads the input and hands it to the room concerned.

use std::io::Write;

use super::args::{InspectCommand, RulesArgs, SettingsArgs};
use super::exit::{CliError, Exit};
use super::gather::{layers, read_input};
use super::inspect_page::{self, InspectPageError};
use super::inspect_robots;
use super::inspect_sitemap::{self, Asked, InspectSitemapError};
use super::inspect_url::{self, InspectUrlError};
use crate::content::html::ExtractOptions;
use crate::crawl::rules::Rules;

/// Shows what the crawler makes of its input. A URL that is none has its line in the answer and the exit code 1.
///
/// # Errors
/// The input cannot be read, or makes no sense.
pub fn run(command: &InspectCommand, out: &mut dyn Write) -> Result<Exit, CliError> {
    match command {
        InspectCommand::Url { base, json, urls, rules } => {
            match inspect_url::run(base.as_deref(), urls, &loaded(rules)?.canon, *json, out) {
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
        InspectCommand::Sitemap { file, url, content_type, named_by, json, rules } => {
            let asked =
                Asked { url, content_type: content_type.as_deref(), named_by: named_by.as_deref(), json: *json };
            match inspect_sitemap::run(&read_input(file)?, &asked, &loaded(rules)?, out) {
                Ok(()) => Ok(Exit::Done),
                Err(InspectSitemapError::Output(e)) => Err(e.into()),
                Err(e) => Err(CliError::usage(e)),
            }
        }
        InspectCommand::Page { file, url, content_type, rules } => {
            match inspect_page::run(read_input(file)?, url, content_type.as_deref(), &loaded(rules)?, out) {
                Ok(()) => Ok(Exit::Done),
                Err(InspectPageError::Output(e)) => Err(e.into()),
                Err(e) => Err(CliError::usage(e)),
            }
        }
    }
}

/// The rules of a crawl with these settings; the text of a page is kept, to be shown.
fn loaded(args: &RulesArgs) -> Result<Rules, CliError> {
    let settings = SettingsArgs { sets: args.sets.clone(), ..SettingsArgs::default() };
    let mut rules = Rules::new(layers(args.config.as_deref(), &settings)?.load()?, String::new());
    rules.parse.extract.max_text = ExtractOptions::default().max_text;
    Ok(rules)
}
