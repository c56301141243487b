//! `lycosa inspect robots`: what a robots.txt says about URLs, one line each, and then about the rest.

use std::io::{self, Write};

use url::Url;

use crate::domain::robots::{RobotsGroup, RobotsRules, UsageRule};
use crate::telemetry::log::escaped;

/// Writes `allow URL` or `disallow URL`, a tab and the line that decided, for each of `urls`. A URL may be absolute or
/// begin with `/`; it is brought into the form a crawler would ask for, but printed as given. Host and scheme are not
/// looked at: the file is taken to be the right one. `agent` may be a full User-Agent; its product token counts. A URL of
/// whose content the file says how it may be used has one tab more, and that. Then follow the group that applied, its
/// `crawl-delay`, its `usage` lines, and all `sitemap`s: a word, a tab, a value.
///
/// # Errors
/// Only those of `out`.
pub fn run(agent: &str, robots: &[u8], urls: &[String], out: &mut dyn Write) -> io::Result<()> {
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

    fn lines(agent: &str, robots: &str, urls: &[&str]) -> Vec<String> {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        let mut out = Vec::new();
        run(agent, robots.as_bytes(), &urls, &mut out).expect("a Vec takes all");
        String::from_utf8(out).expect("UTF-8").lines().map(Into::into).collect()
    }

    #[test]
    fn each_url_has_one_line_with_the_line_that_decides() {
        let robots = "User-agent: *\nDisallow: /private # no\nAllow: /private/ok\n";
        let urls =
            ["https://a.example/private/x?y#z", "/private/ok", "http://b.example", "/a/../private", "/robots.txt"];
        assert_eq!(
            lines("Lycosa/1.0", robots, &urls),
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
            lines("lycosa", "User-agent: x\nDisallow: /\n", &["/a"]),
            ["allow /a\tno group for this agent", "group\tnone: all is allowed"]
        );
    }

    #[test]
    fn what_holds_for_all_urls_follows_them() {
        let robots = "User-agent: lycosa\nCrawl-delay: 2.5\nContent-Usage: train-ai=n\nContent-Usage: /ok train-ai=y\n\
                      Sitemap: http://h.test/\u{1b}a.xml\nSitemap: /b.xml\n";
        assert_eq!(
            lines("lycosa", robots, &["/ok", "/x"]),
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
        assert_eq!(lines("lycosa", robots, &["/x"])[0], "disallow /x\t2: Disallow: /x # \\u{1b}[2J\\u{9b}\\u{202e}");
    }

    #[test]
    fn what_is_no_url_is_disallowed_in_one_line() {
        let why = "neither an http or https URL nor a path that begins with /";
        let found = lines("lycosa", "", &["mailto:a@b.example", "", "a\nb"]);
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
