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
            let find = if *first_source { Find::First } else { Find::Fill };
            let asked = inspect_page::Asked { url, content_type: content_type.as_deref(), card: *card, find };
            inspect_page::run(read_input(file)?, &asked, &loaded(rules)?, out)?;
        }
    }
    Ok(Exit::Done)
}

/// The rules of a crawl with these settings; text and blocks of a page are kept, to be shown.
fn loaded(args: &RulesArgs) -> Result<Rules, CliError> {
    let settings = SettingsArgs { sets: args.sets.clone(), ..SettingsArgs::default() };
    let mut rules = Rules::new(layers(args.config.as_deref(), &settings)?.load()?, String::new());
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

    fn url_lines(base: Option<&str>, urls: &[&str], json: bool) -> Result<Vec<String>, CliError> {
        let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
        let mut out = Vec::new();
        of_urls(base, &urls, &Canonicaliser::default(), json, &mut out)?;
        Ok(String::from_utf8(out).unwrap().lines().map(str::to_owned).collect())
    }

    #[test]
    fn each_url_gets_one_line_and_a_bad_one_does_not_stop_the_rest() {
        let got =
            url_lines(None, &["HTTP://Example.org:80", "mailto:a@b", "nonsense", "https://e.org/#x"], false).unwrap();
        assert_eq!(got[0], "http://example.org/");
        assert!(got[1].starts_with("error: mailto:a@b: the URL's scheme"));
        assert!(got[2].starts_with("error: nonsense: not a complete URL"));
        assert_eq!(got[3], "https://e.org/");
    }

    #[test]
    fn relative_links_are_joined_to_the_base() {
        assert_eq!(url_lines(Some("http://e.org/a/b"), &["../c"], false).unwrap(), ["http://e.org/c"]);
    }

    #[test]
    fn a_relative_base_is_an_error_that_says_what_to_write() {
        let error = url_lines(Some("/a"), &["b"], false).unwrap_err().to_string();
        assert!(error.starts_with("--base /a: "), "{error}");
        assert!(error.contains("https://example.org/dir/"), "{error}");
    }

    #[test]
    fn json_names_the_parts() {
        let got = url_lines(None, &["https://www.Example.co.uk:8443/a?b", "ftp://e.org/"], true).unwrap();
        let first: Value = serde_json::from_str(&got[0]).unwrap();
        assert_eq!(first["host"], "www.example.co.uk");
        assert_eq!(first["domain"], "example.co.uk");
        assert_eq!(first["port"], 8443);
        assert_eq!(first["tail"], "/a?b");
        assert_eq!(first["changed"][0], "host in lower case");
        assert!(first["partition"].as_u64().unwrap() < 1024);
        let second: Value = serde_json::from_str(&got[1]).unwrap();
        assert_eq!(second["error"], "scheme");
    }

    fn robots_lines(agent: &str, robots: &str, urls: &[&str]) -> Vec<String> {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        let mut out = Vec::new();
        of_robots(agent, robots.as_bytes(), &urls, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(Into::into).collect()
    }

    #[test]
    fn each_url_has_one_line_with_the_line_that_decides() {
        let robots = "User-agent: *\nDisallow: /private # no\nAllow: /private/ok\n";
        let urls =
            ["https://a.example/private/x?y#z", "/private/ok", "http://b.example", "/a/../private", "/robots.txt"];
        assert_eq!(
            robots_lines("Lycosa/1.0", robots, &urls),
            [
                "disallow https://a.example/private/x?y#z\t2: Disallow: /private # no",
                "allow /private/ok\t3: Allow: /private/ok",
                "allow http://b.example\tno rule matches",
                "disallow /a/../private\t2: Disallow: /private # no",
                "allow /robots.txt\t/robots.txt may always be fetched",
                "group\tfor everybody (*)",
            ]
        );
    }

    #[test]
    fn a_file_that_does_not_speak_of_the_agent_allows() {
        assert_eq!(
            robots_lines("lycosa", "User-agent: x\nDisallow: /\n", &["/a"]),
            ["allow /a\tno group for this agent", "group\tnone: all is allowed"]
        );
    }

    #[test]
    fn what_holds_for_all_urls_follows_them() {
        let robots = "User-agent: lycosa\nCrawl-delay: 2.5\nContent-Usage: train-ai=n\nContent-Usage: /ok train-ai=y\n\
                      Sitemap: http://h.test/\u{1b}a.xml\nSitemap: /b.xml\n";
        assert_eq!(
            robots_lines("lycosa", robots, &["/ok", "/x"]),
            [
                "allow /ok\tno rule matches\trobots.txt: Content-Usage: train-ai=y",
                "allow /x\tno rule matches\trobots.txt: Content-Usage: train-ai=n",
                "group\tof this agent",
                "crawl-delay\t2.5 s",
                "usage\t3: Content-Usage: train-ai=n",
                "usage\t4: Content-Usage: /ok train-ai=y",
                "sitemap\thttp://h.test/\\u{1b}a.xml",
                "sitemap\t/b.xml",
            ]
        );
    }

    #[test]
    fn the_deciding_line_cannot_steer_the_terminal() {
        let robots = "User-agent: *\nDisallow: /x # \u{1b}[2J\u{9b}\u{202e}\n";
        assert_eq!(
            robots_lines("lycosa", robots, &["/x"])[0],
            "disallow /x\t2: Disallow: /x # \\u{1b}[2J\\u{9b}\\u{202e}"
        );
    }

    #[test]
    fn what_is_no_url_is_disallowed_in_one_line() {
        let why = "neither an http or https URL nor a path that begins with /";
        let found = robots_lines("lycosa", "", &["mailto:a@b.example", "", "a\nb"]);
        assert_eq!(
            found,
            [
                format!("disallow mailto:a@b.example\t{why}"),
                format!("disallow \t{why}"),
                format!("disallow a\\nb\t{why}"),
                "group\tnone: all is allowed".into()
            ]
        );
    }
}
