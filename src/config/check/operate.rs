//! How it is run: `[supervision] [memory] [admin] [[webhook]] [log]`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use url::Url;

use super::{Checked, Wrong, ensure, is_web_url, positive, within};
use crate::base::units::format_duration;
use crate::config::file::FileForm;
use crate::config::sections::*;
use crate::domain::memory::MemoryPlan;
use crate::telemetry::notice::NoticeKind;

pub(super) fn check_supervision(supervision: &SupervisionSection, slowest: Duration) -> Checked {
    positive("supervision.backoff", supervision.backoff)?;
    let longest = supervision.backoff <= supervision.backoff_max;
    ensure(longest, "supervision.backoff", || "must not be longer than supervision.backoff_max".into())?;
    within("supervision.budget", supervision.budget, 1, 10_000)?;
    positive("supervision.window", supervision.window)?;
    ensure(supervision.hung_after.is_none_or(|hung| hung > slowest), "supervision.hung_after", || {
        format!("must be longer than the slowest request, {} by fetch.timeouts", format_duration(slowest))
    })?;
    let least = Duration::from_secs(3);
    ensure(supervision.blocked_after >= least, "supervision.blocked_after", || "must be 3s or longer".into())
}

/// The admin endpoint's address; off loopback it needs a token.
pub(super) fn listen(admin: &AdminSection) -> Result<Option<SocketAddr>, Wrong> {
    if admin.listen == "off" {
        return Ok(None);
    }
    let wrong = |problem: String| Wrong { key: "admin.listen".into(), problem };
    let address: SocketAddr = admin
        .listen
        .parse()
        .map_err(|_| wrong(format!("{:?} is no ADDRESS:PORT such as 127.0.0.1:7700, nor \"off\"", admin.listen)))?;
    let loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !loopback && admin.token_file.is_none() && admin.read_token_file.is_none() && !admin_token_in_environment() {
        return Err(wrong(format!(
            "{address} can be reached from other machines: set admin.token_file too (a file that is not there is made)"
        )));
    }
    Ok(Some(address))
}

pub(super) fn check_webhooks(webhooks: &[WebhookSection]) -> Checked {
    ensure(webhooks.len() <= 16, "webhook", || "at most 16 of them".into())?;
    for (i, webhook) in webhooks.iter().enumerate() {
        ensure(is_web_url(&webhook.url), &format!("webhook[{i}].url"), || "must be an http or https URL".into())?;
        ensure(!has_credentials(&webhook.url), &format!("webhook[{i}].url"), || {
            "a user name or password in it is not sent; a secret that signs the calls goes into secret_file".into()
        })?;
        let kinds: Vec<&str> = NoticeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        ensure(!webhook.on.is_empty(), &format!("webhook[{i}].on"), || {
            format!("must name some of {}", kinds.join(", "))
        })?;
    }
    Ok(())
}

/// Whether a URL holds a user name or a password.
fn has_credentials(text: &str) -> bool {
    Url::parse(text).is_ok_and(|u| !u.username().is_empty() || u.password().is_some())
}

/// What a run would say of `memory.max`; without it the machine decides.
pub(super) fn check_memory(form: &FileForm) -> Checked {
    let Some(max) = form.memory.max else { return Ok(()) };
    within("memory.max", max, 64 << 20, 1 << 50)?;
    let plan = MemoryPlan::of(max, form.store.memory, form.dedup.filter_bytes(form.dedup.bloom_urls));
    let short = plan.err().map(|short| short.to_string());
    ensure(short.is_none(), "memory.max", || short.unwrap_or_default())
}

pub(super) fn check_log(log: &LogSection) -> Checked {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let part = |p: &str| LEVELS.contains(&p.rsplit('=').next().unwrap_or_default().trim());
    ensure(log.level.split(',').all(part), "log.level", || {
        format!(
            "{:?} is no level; allowed are {}, or directives such as info,lycosa::net=debug",
            log.level,
            LEVELS.join(", ")
        )
    })
}
