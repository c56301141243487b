//! `[agent]`: who we say we are.

use super::{Wrong, ensure, is_web_url};
use crate::config::sections::AgentSection;
use crate::config::settings::Agent;

pub(super) fn agent(section: &AgentSection) -> Result<Agent, Wrong> {
    let token = || "must be 1 to 64 letters, digits or any of !#$%&'*+-.^_`|~, as in a User-Agent".to_owned();
    ensure(is_token(&section.name), "agent.name", token)?;
    ensure(is_token(&section.version), "agent.version", token)?;
    if let Some(url) = &section.url {
        let good = is_web_url(url) && url.bytes().all(|b| b.is_ascii_graphic() && !b"();".contains(&b));
        ensure(good, "agent.url", || "must be an http or https URL without spaces, brackets or semicolons".into())?;
    }
    if let Some(mail) = &section.email {
        ensure(is_mail(mail), "agent.email", || "must be a mail address such as you@example.org".into())?;
    }
    for token in &section.robots_tokens {
        let good = !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        ensure(good, "agent.robots_tokens", || {
            format!("{token:?} is no product token: letters, digits, - and _ only")
        })?;
    }
    let about = section.url.as_ref().map(|url| format!("; +{url}")).unwrap_or_default();
    let tokens =
        if section.robots_tokens.is_empty() { vec![section.name.clone()] } else { section.robots_tokens.clone() };
    Ok(Agent {
        user_agent: format!("Mozilla/5.0 (compatible; {}/{}{about})", section.name, section.version),
        from: section.email.clone(),
        robots_tokens: tokens,
        contact: section.email.clone().or_else(|| section.url.clone()),
    })
}

/// A token of RFC 9110, section 5.6.2, short enough for a header.
fn is_token(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good)
}

/// Enough to keep nonsense and header injection out; whether the box exists only a mail would show.
fn is_mail(text: &str) -> bool {
    let graphic = text.len() <= 254 && text.bytes().all(|b| b.is_ascii_graphic() && !b"<>(),;:\"".contains(&b));
    graphic
        && text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}
