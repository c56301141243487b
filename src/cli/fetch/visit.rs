//! The way from the URL asked for to the answer shown: every hop passes every check.

use serde::Serialize;

use super::answer::{Answer, RedirectReport};
use super::judge::{Judge, Judged};
use super::read::Read;
use super::report::{Checks, Hop, Report};
use super::session::{Reply, Session};
use crate::cli::exit::CliError;
use crate::crawl::admit::LINK;
use crate::crawl::parser::inspect::Redirect;
use crate::domain::reason::Rejection;
use crate::domain::url::{PageUrl, UrlError};

/// Why redirects were followed no further, though they lead on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Stopped {
    /// `loop`, or the reason for which a crawl turns the next URL away.
    pub reason: &'static str,
    pub detail: String,
}

/// Fetches `start`, which the user wrote as `written`, and where it leads when that is to be followed.
pub(super) async fn visit(session: &Session, start: PageUrl, written: &str, follow: bool) -> Result<Report, CliError> {
    let mut judge = Judge::new(session, &start)?;
    let (mut at, mut written, mut been, mut hops) = (start, Some(written.to_owned()), Vec::new(), Vec::new());
    loop {
        let mut checks = Checks::of(&at, written.take(), &judge.rules(&at, 0, LINK));
        let robots = match session.robots(&at, &judge.scope).await {
            Ok(robots) => robots,
            Err(fault) => return Ok(Report::failed(hops, checks, &fault)),
        };
        checks.robots = Some(robots.clone());
        if !robots.allowed {
            return Ok(Report::refused(hops, checks));
        }
        let reply = match session.get(&at).await {
            Ok(reply) => reply,
            Err(fault) => return Ok(Report::failed(hops, checks, &fault)),
        };
        checks.addresses(&reply);
        let read = Read::of(session, &at, &reply.fetched);
        been.push(at.clone());
        let (redirect, stopped) = onward(&mut judge, &read, &reply, &been);
        match read.next() {
            Some((next, way)) if follow && stopped.is_none() => {
                // A hop to a public address needs a contact as a seed does.
                session.rules.settings.contact_for(&[next.to_string()])?;
                hops.push(Hop::new(checks, reply.fetched.status, way, next));
                written = read.written(&reply);
                at = next.clone();
            }
            _ => {
                let answer = Answer::new(&judge, &at, &read, &robots, &reply, redirect);
                return Ok(Report::answered(hops, checks, answer, reply, stopped.filter(|_| follow)));
            }
        }
    }
}

/// Where an answer leads and what a crawl does about it, and why nobody goes there.
fn onward(
    judge: &mut Judge<'_>,
    read: &Read,
    reply: &Reply,
    been: &[PageUrl],
) -> (Option<RedirectReport>, Option<Stopped>) {
    let written = read.written(reply);
    match (&read.onward, read.next()) {
        (Redirect::Stays | Redirect::Reloads(_), _) => (None, None),
        (Redirect::Itself, _) => {
            let detail = "redirect loop: the answer redirects to itself".to_owned();
            (Some(RedirectReport::itself(been.last())), Some(Stopped { reason: "loop", detail }))
        }
        (Redirect::Nowhere(why), _) => (Some(RedirectReport::nowhere(*why)), why.and_then(refused)),
        (Redirect::To { url, way, .. }, None) => {
            (Some(RedirectReport::to(url, *way, written, "nofollow".into(), false)), None)
        }
        (Redirect::To { url, way, .. }, Some(_)) => {
            let (judged, widened) = judge.hop(url, been.len());
            let verdict = match judged.reason {
                None => judge.session.forbidden(url).map_or_else(
                    || if widened { "take; a seed's redirect joins the scope".into() } else { judged.verdict() },
                    |line| format!("robots: {line}"),
                ),
                Some(_) => judged.verdict(),
            };
            let been = if judge.session.rules.settings.cookies.enabled { &[][..] } else { been }; // it may answer otherwise now
            let stopped = stop(url, &judged, been);
            (Some(RedirectReport::to(url, *way, written, verdict, stopped.is_none())), stopped)
        }
    }
}

/// Where a redirect leads was meant as the URL of a page, and is none that is asked for.
fn refused(why: UrlError) -> Option<Stopped> {
    let detail = format!("a crawl turns the target away: {why}");
    why.is_fault().then(|| Stopped { reason: why.rejection().as_str(), detail })
}

/// Whether a crawl goes no further than this.
fn stop(next: &PageUrl, judged: &Judged, been: &[PageUrl]) -> Option<Stopped> {
    let is_same = |url: &PageUrl| url == next && url.spelling() == next.spelling();
    if let Some(n) = been.iter().position(is_same) {
        let hops = been.len() - n;
        let detail = format!(
            "redirect loop: {next} was asked for already, {hops} redirects before; a crawl knows it and goes no further"
        );
        return Some(Stopped { reason: "loop", detail });
    }
    let reason = judged.reason?;
    let detail = match reason {
        Rejection::Redirects => format!("too many redirects: {}; the next would be {next}", judged.rule),
        _ => format!("a crawl turns {next} away: {}", judged.verdict()),
    };
    Some(Stopped { reason: reason.as_str(), detail })
}
