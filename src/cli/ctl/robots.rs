//! `lycosa ctl robots`: what a host's robots.txt said, when, to whom, and what that means for a URL.

use clap::Args;
use url::Url;

use super::door::Ask;
use super::escaped_part;
use super::table::{moment, pairs};
use crate::admin::hosts::RobotsText;
use crate::admin::views::{RobotsStanding, RobotsView};
use crate::base::units::human_size;
use crate::cli::exit::CliError;
use crate::domain::url::with_schemes;

/// Which robots.txt.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa ctl robots example.org\n          lycosa ctl robots https://example.org/private/page --text"
)]
pub struct RobotsArgs {
    /// A host, or a URL of it: then its verdict is told
    #[arg(value_name = "HOST|URL")]
    pub of: String,
    /// Show its text as it was fetched, too
    #[arg(long)]
    pub text: bool,
}

/// The request.
///
/// # Errors
/// Neither a host nor a URL.
pub(super) fn ask(args: &RobotsArgs) -> Result<Ask, CliError> {
    let path = |host: &str| format!("/api/v1/hosts/{}/robots", escaped_part(host));
    let of = args.of.trim();
    let is_name = !of.contains(['/', '?', '#', ':']) || (of.starts_with('[') && of.ends_with(']'));
    if is_name {
        return Ok(Ask::get(path(of)));
    }
    let whole = with_schemes(of).map_or_else(|| of.to_owned(), |[https, _]| https);
    let url = Url::parse(&whole).ok();
    let wrong = || {
        CliError::usage(format!("{of}: expected a host such as example.org, or a URL such as https://example.org/x"))
    };
    let host = url.as_ref().and_then(Url::host_str).ok_or_else(wrong)?;
    Ok(Ask::get(format!("{}?url={}", path(host), escaped_part(of))))
}

/// The answer.
pub(super) fn told(args: &RobotsArgs, answer: &RobotsText) -> String {
    let robots = &answer.robots;
    let mut facts = vec![("of", format!("{}, port {}", robots.scheme, robots.port)), ("in force", standing(robots))];
    facts.extend(fetched(robots).map(|text| ("fetched", text)));
    facts.extend(failures(robots).map(|text| ("failures", text)));
    if robots.fetched_ms.is_some() {
        facts.push(("rules", group(robots)));
    }
    facts.extend(robots.sitemaps.iter().map(|sitemap| ("sitemap", sitemap.clone())));
    let verdict = answer.verdict.as_ref().map(|verdict| {
        let word = match verdict.allowed {
            Some(true) => "allowed",
            Some(false) => "forbidden",
            None => "not known",
        };
        format!("{word}: {}", verdict.because)
    });
    facts.extend(verdict.map(|verdict| ("verdict", verdict)));
    let text = if args.text { format!("\n{}\n", answer.text.trim_end()) } else { String::new() };
    pairs(&facts) + &text
}

/// What of it is in force.
pub(super) fn standing(robots: &RobotsView) -> String {
    match robots.standing {
        RobotsStanding::Rules => "its rules",
        RobotsStanding::StaleRules => "the rules of an older copy: it cannot be reached now",
        RobotsStanding::AllowAll if matches!(robots.status, Some(300..400)) => {
            "everything is allowed: its redirects lead nowhere"
        }
        RobotsStanding::AllowAll => "everything is allowed: there is none",
        RobotsStanding::DisallowAll => "nothing is fetched: it cannot be reached (RFC 9309)",
        RobotsStanding::NotAsked if robots.asking_since_ms.is_some() => "it is being asked for",
        RobotsStanding::NotAsked => "it was not asked for yet",
        RobotsStanding::Ignored => "it is ignored (politeness.respect_robots)",
    }
    .to_owned()
}

fn fetched(robots: &RobotsView) -> Option<String> {
    let at = robots.fetched_ms?;
    let status = robots.status.map(|status| format!(", status {status}")).unwrap_or_default();
    let due = if robots.due { ", asked for anew before the next page" } else { "" };
    Some(format!("{}{status}, {}{due}", moment(at), human_size(robots.bytes)))
}

fn failures(robots: &RobotsView) -> Option<String> {
    let again = robots.retry_ms.map(|at| format!(", next try {}", moment(at))).unwrap_or_default();
    (robots.failures > 0).then(|| format!("{} in a row{again}", robots.failures))
}

fn group(robots: &RobotsView) -> String {
    let whose = match robots.group.as_str() {
        "named" => "of the group for this crawler",
        "star" => "of the group for all (*)",
        _ => "no group is for this crawler",
    };
    let delay = robots.crawl_delay_seconds.map(|s| format!(", Crawl-delay {s} s")).unwrap_or_default();
    format!("{} {whose}{delay}", robots.rules)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(of: &str) -> Result<String, CliError> {
        ask(&RobotsArgs { of: of.into(), text: false }).map(|ask| ask.path)
    }

    #[test]
    fn a_host_is_asked_for_its_robots_and_a_url_for_its_verdict() {
        assert_eq!(asked("example.org").unwrap(), "/api/v1/hosts/example.org/robots");
        assert_eq!(asked("[::1]").unwrap(), "/api/v1/hosts/%5B%3A%3A1%5D/robots");
        let verdict = "/api/v1/hosts/example.org/robots?url=";
        assert_eq!(asked("http://example.org/x?a").unwrap(), format!("{verdict}http%3A%2F%2Fexample.org%2Fx%3Fa"));
        assert_eq!(asked("Example.org/x").unwrap(), format!("{verdict}Example.org%2Fx"));
        assert_eq!(asked("/x").unwrap_err().exit, crate::cli::Exit::Usage);
    }

    #[test]
    fn what_it_said_when_to_whom_and_the_verdict_are_told() {
        let answer = json!({
            "robots": {"scheme": "http", "port": 80, "standing": "rules", "status": 200, "fetched_ms": 1_714_979_289_012_u64,
                "age_seconds": 3.0, "due": false, "failures": 0, "retry_ms": null, "bytes": 40, "group": "star", "rules": 2,
                "crawl_delay_seconds": 10.0, "sitemaps": ["http://a.test/map.xml"]},
            "text": "User-agent: *\nDisallow: /x\n",
            "verdict": {"allowed": false, "because": "2: Disallow: /x"},
        });
        let answer: RobotsText = serde_json::from_value(answer).unwrap();
        let args = |text| RobotsArgs { of: String::new(), text };
        let expected = "of        http, port 80\n\
                        in force  its rules\n\
                        fetched   2024-05-06T07:08:09Z, status 200, 40 B\n\
                        rules     2 of the group for all (*), Crawl-delay 10 s\n\
                        sitemap   http://a.test/map.xml\n\
                        verdict   forbidden: 2: Disallow: /x\n";
        assert_eq!(told(&args(false), &answer), expected);
        assert_eq!(told(&args(true), &answer), format!("{expected}\nUser-agent: *\nDisallow: /x\n"));
    }
}
