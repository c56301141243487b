//! `lycosa inspect …`: what the crawler makes of its input, without a network. Here of URLs and of a robots.txt.

use std::io::{self, Write};

use serde_json::{Value, json};
use url::Url;

use super::args::{InspectCommand, RulesArgs, SettingsArgs};
use super::exit::{CliError, Exit};
use super::gather::{layers, read_input};
use super::inspect_page;
use super::inspect_sitemap::{self, Asked};
use crate::admin::views::CanonicalView;
use crate::content::html::ExtractOptions;
use crate::crawl::rules::Rules;
use crate::domain::card::Find;
use crate::domain::robots::{RobotsGroup, RobotsRules, UsageRule};
use crate::domain::url::{Canonicaliser, PageUrl, UrlError};
use crate::telemetry::log::escaped;

/// Shows what the crawler makes of its input. A URL that is none has its line in the answer and the exit code 1.
pub fn run(command: &InspectCommand, out: &mut dyn Write) -> Result<Exit, CliError> {
    match command {
        InspectCommand::Url { base, json, urls, rules } => {
            let bad = of_urls(base.as_deref(), urls, &loaded(rules)?.canon, *json, out)?;
            return Ok(if bad == 0 { Exit::Done } else { Exit::Error });
        }
        InspectCommand::Robots { agent, robots, urls } => of_robots(agent, &read_input(robots)?, urls, out)?,
        InspectCommand::Sitemap { file, url, content_type, named_by, json, rules } => {
            let asked =
                Asked { url, content_type: content_type.as_deref(), named_by: named_by.as_deref(), json: *json };
            inspect_sitemap::run(&read_input(file)?, &asked, &loaded(rules)?, out)?;
        }
        InspectCommand::Page { file, url, content_type, card, first_source, rules } => {
            let rules = loaded(rules)?;
            let find = if *first_source { Find::First } else { rules.settings.index.keywords };
            let asked = inspect_page::Asked { url, content_type: content_type.as_deref(), card: *card, find };
            inspect_page::run(read_input(file)?, &asked, &rules, out)?;
        }
    }
    Ok(Exit::Done)
}

/// The rules of a crawl with these settings; text and blocks of a page are kept, to be shown.
fn loaded(args: &RulesArgs) -> Result<Rules, CliError> {
    let settings = SettingsArgs { sets: args.sets.clone(), ..SettingsArgs::default() };
    let mut rules = Rules::new(layers(args.config.as_deref(), &settings)?.load()?, String::new());
    rules.settings.learn_words()?;
    rules.parse.extract.max_text = ExtractOptions::default().max_text;
    rules.parse.extract.card = true;
    Ok(rules)
}

/// Writes one line a URL: its canonical form or `error: `, the URL and the reason; with `json` an object a
/// line. Gives how many were no URLs.
///
/// The keys of the object: `input`, and then those of [`CanonicalView`], or else `error` (the reason's name) and `message`.
fn of_urls(
    base: Option<&str>,
    urls: &[String],
    canonicaliser: &Canonicaliser,
    json: bool,
    out: &mut dyn Write,
) -> Result<usize, CliError> {
    let base = match base {
        Some(text) => Some(Url::parse(text).map_err(|fault| {
            let what = "write an absolute URL such as https://example.org/dir/";
            CliError::usage(format!("--base {text}: {fault}; {what}"))
        })?),
        None => None,
    };
    let mut bad = 0;
    for input in urls {
        let url = match &base {
            Some(base) => canonicaliser.join(base, input, None),
            None => canonicaliser.parse(input),
        };
        bad += usize::from(url.is_err());
        match (json, &url) {
            (true, url) => writeln!(out, "{}", object(input, url))?,
            (false, Ok(url)) => writeln!(out, "{url}")?,
            (false, Err(error)) => writeln!(out, "error: {}: {error}", escaped(input))?,
        }
    }
    Ok(bad)
}

fn object(input: &str, url: &Result<PageUrl, UrlError>) -> Value {
    match url {
        Err(error) => json!({ "input": input, "error": error.rejection().as_str(), "message": error.to_string() }),
        Ok(url) => {
            let mut object = json!(CanonicalView::new(input, url));
            object["input"] = input.into();
            object
        }
    }
}

/// Writes `allow URL` or `disallow URL`, a tab and the line that decided, for each of `urls`. A URL may be absolute or
/// begin with `/`; it is brought into the form a crawler would ask for, but printed as given. Host and scheme are not
/// looked at: the file is taken to be the right one. `agent` may be a full User-Agent; its product token counts. A URL of
/// whose content the file says how it may be used has one tab more, and that. Then follow the group that applied, its
/// `crawl-delay`, its `usage` lines, and all `sitemap`s: a word, a tab, a value.
fn of_robots(agent: &str, robots: &[u8], urls: &[String], out: &mut dyn Write) -> io::Result<()> {
    let rules = RobotsRules::parse(robots, &[agent]);
    for url in urls {
        let tail = tail(url);
        let (allowed, why) = match &tail {
            Some(tail) => rules.explain(tail),
            None => (false, "neither an http or https URL nor a path that begins with /".into()),
        };
        let usage =
            tail.and_then(|tail| rules.usage(&tail)).map(|usage| format!("\t{}", escaped(&usage))).unwrap_or_default();
        let verdict = if allowed { "allow" } else { "disallow" };
        writeln!(out, "{verdict} {}\t{}{usage}", escaped(url), escaped(&why))?;
    }
    about(&rules, out)
}

/// What holds for all URLs.
fn about(rules: &RobotsRules, out: &mut dyn Write) -> io::Result<()> {
    let group = match rules.group() {
        RobotsGroup::Named => "of this agent",
        RobotsGroup::Star => "for everybody (*)",
        RobotsGroup::None | RobotsGroup::Whole => "none: all is allowed",
    };
    writeln!(out, "group\t{group}")?;
    if let Some(delay) = rules.crawl_delay() {
        writeln!(out, "crawl-delay\t{} s", delay.as_secs_f64())?;
    }
    for UsageRule { signal, path, value, line, .. } in rules.usage_rules() {
        let path = path.as_ref().map(|path| format!("{} ", escaped(path))).unwrap_or_default();
        writeln!(out, "usage\t{line}: {signal}: {path}{}", escaped(value))?;
    }
    rules.sitemaps().iter().try_for_each(|sitemap| writeln!(out, "sitemap\t{}", escaped(sitemap)))
}

/// Path and query as they would be asked for.
fn tail(text: &str) -> Option<String> {
    let text = text.trim();
    let url = match text.starts_with('/') {
        true => Url::parse(&format!("http://robots.invalid{text}")),
        false => Url::parse(text),
    };
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Command;
    use crate::cli::tests::{check_end, typed};
    use crate::domain::cases::blocks;

    #[test]
    fn what_the_crawler_makes_of_urls_robots_txt_pages_and_sitemaps() {
        let (file, mut wrong) = (tempfile::NamedTempFile::new().unwrap(), Vec::new());
        for case in blocks(include_str!("../../tests/data/cli/inspect.txt"), &["$", "exit", "error", ">", "packed"]) {
            let mut bytes = case.bytes(">");
            if case.one("packed").is_some() {
                let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                gz.write_all(&bytes).unwrap();
                bytes = gz.finish().unwrap();
            }
            std::fs::write(file.path(), bytes).unwrap();
            let line = case.one("$").unwrap().replace("FILE", &file.path().display().to_string());
            let Command::Inspect(command) = typed(&line) else { panic!("{line}") };
            let mut out = Vec::new();
            wrong.extend(check_end(&case, run(&command, &mut out)));
            wrong.extend(case.check(std::str::from_utf8(&out).unwrap()));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
