//! What is kept, and how the program is run: `[dedup] [store] [checkpoint] [disk] [supervision] [memory] [admin] [[webhook]] [log]`.

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use super::{Checked, Wrong, accepted, ensure, is_name, is_web_url, positive, within, within_if};
use crate::base::units::format_duration;
use crate::config::file::FileForm;
use crate::config::sections::*;
use crate::content::mime::is_type_glob;
use crate::domain::memory::MemoryPlan;
use crate::domain::statuses::is_status_glob;
use crate::recovery::checkpoint::Target;
use crate::telemetry::notice::NoticeKind;

pub(super) fn check_dedup(dedup: &DedupSection) -> Checked {
    within("dedup.bloom_urls", dedup.bloom_urls, 1_000, 100_000_000_000)?;
    let rate = dedup.bloom_fp;
    ensure(rate > 0.0 && rate <= 0.5, "dedup.bloom_fp", || format!("{rate} is out of range; above 0, at most 0.5"))?;
    within_if("dedup.bloom_bits", dedup.bloom_bits, 1, 64)?;
    let gib = dedup.filter_bytes(dedup.bloom_urls) as f64 / f64::from(1 << 30);
    ensure(gib <= 32.0, "dedup.bloom_urls", || format!("would make a filter of {gib:.0} GiB; at most 32 GiB"))?;
    within_if("dedup.bloom_hashes", dedup.bloom_hashes, 1, 32)
}

pub(super) fn check_store(store: &StoreSection) -> Checked {
    let named = !store.data_dir.as_os_str().is_empty();
    ensure(named, "store.data_dir", || "must name a folder".into())?;
    ensure(is_name(&store.warc_prefix), "store.warc_prefix", || {
        "must be 1 to 64 letters, digits, '-', '_' or '.'".into()
    })?;
    within("store.warc_max_size", store.warc_max_size, 1_000_000, 1 << 40)?;
    positive("store.warc_max_age", store.warc_max_age)?;
    within("store.memory", store.memory, 16 << 20, 1 << 42)?;
    for glob in &store.skip_types {
        ensure(is_type_glob(glob), "store.skip_types", || {
            format!("{glob:?} is no media type: write type/subtype or type/*, such as \"image/*\"")
        })?;
    }
    for glob in &store.statuses {
        ensure(is_status_glob(glob), "store.statuses", || {
            format!("{glob:?} is no status: write one such as \"404\", or a class such as \"2xx\"")
        })?;
    }
    check_place("store.upload", store.upload.as_deref())
}

/// What is nowhere else is not removed.
pub(super) fn check_uploaded(form: &FileForm) -> Checked {
    let FileForm { store, checkpoint, cluster, .. } = form;
    let is_uploaded = store.upload.is_some() || checkpoint.upload.is_some() || cluster.store.is_some();
    ensure(is_uploaded || !store.delete_uploaded, "store.delete_uploaded", || {
        "nothing is uploaded: set store.upload or checkpoint.upload too".into()
    })
}

pub(super) fn check_feed(feed: &FeedSection) -> Checked {
    let least = Duration::from_secs(60);
    ensure(feed.keep.is_none_or(|keep| keep >= least), "feed.keep", || {
        "must be 1m or longer; leave it out to keep all entries".into()
    })
}

pub(super) fn check_export(export: &ExportSection) -> Checked {
    ensure(!export.dir.as_os_str().is_empty(), "export.dir", || "must name a folder".into())
}

pub(super) fn check_index(index: &IndexSection) -> Checked {
    within("index.memory", index.memory, 16 << 20, 2 << 30)?;
    within("index.max_text", index.max_text, 4 << 10, 1 << 20)?;
    ensure(index.refresh >= Duration::from_secs(1), "index.refresh", || "must be 1s or longer".into())
}

pub(super) fn check_checkpoint(checkpoint: &CheckpointSection) -> Checked {
    within("checkpoint.keep", checkpoint.keep, 1, 1_000)?;
    ensure(!checkpoint.dir.as_os_str().is_empty(), "checkpoint.dir", || "must name a folder".into())?;
    check_place("checkpoint.upload", checkpoint.upload.as_deref())?;
    let endpoint = checkpoint.s3_endpoint.as_deref();
    ensure(endpoint.is_none_or(is_web_url), "checkpoint.s3_endpoint", || {
        "must be an http or https URL such as https://s3.example.org".into()
    })
}

fn check_place(key: &str, place: Option<&str>) -> Checked {
    accepted(key, place.map(Target::parse).transpose())
}

pub(super) fn check_disk(disk: &DiskSection) -> Checked {
    within("disk.reserve", disk.reserve, 0, 1 << 40)
}

/// With exact bodies a body is kept twice while it is worked on, and chunk lines may take as much again.
pub(super) fn check_exact(store: &StoreSection, fetch: &FetchSection) -> Checked {
    let fits = store.http_body != HttpBody::Exact || fetch.max_spill / 3 >= fetch.max_body;
    ensure(fits, "store.http_body", || {
        "\"exact\" keeps a body twice, with and without its chunk lines: fetch.max_spill must be three times fetch.max_body".into()
    })
}

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
    if !address.ip().is_loopback()
        && admin.token_file.is_none()
        && admin.read_token_file.is_none()
        && !admin_token_in_environment()
    {
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
pub(super) fn has_credentials(text: &str) -> bool {
    Url::parse(text).is_ok_and(|u| !u.username().is_empty() || u.password().is_some())
}

/// What a run would say of `memory.max`; without it the machine decides.
pub(super) fn check_memory(form: &FileForm) -> Checked {
    let Some(max) = form.memory.max else { return Ok(()) };
    within("memory.max", max, 64 << 20, 1 << 50)?;
    let plan = MemoryPlan::of(max, form.store.memory, form.dedup.filter_bytes(form.dedup.bloom_urls));
    accepted("memory.max", plan)
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
