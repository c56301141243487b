//! What is kept and where: `[dedup] [store] [checkpoint] [disk]`.

use super::{Checked, ensure, is_name, is_web_url, positive, within};
use crate::config::sections::{CheckpointSection, DedupSection, DiskSection, FetchSection, HttpBody, StoreSection};
use crate::content::mime::is_type_glob;
use crate::domain::statuses::is_status_glob;
use crate::recovery::checkpoint::Target;

pub(super) fn check_dedup(dedup: &DedupSection) -> Checked {
    within("dedup.bloom_urls", dedup.bloom_urls, 1_000, 100_000_000_000)?;
    let rate = dedup.bloom_fp;
    ensure(rate > 0.0 && rate <= 0.5, "dedup.bloom_fp", || format!("{rate} is out of range; above 0, at most 0.5"))?;
    dedup.bloom_bits.map_or(Ok(()), |n| within("dedup.bloom_bits", n, 1, 64))?;
    let gib = dedup.filter_bytes(dedup.bloom_urls) as f64 / f64::from(1 << 30);
    ensure(gib <= 32.0, "dedup.bloom_urls", || format!("would make a filter of {gib:.0} GiB; at most 32 GiB"))?;
    dedup.bloom_hashes.map_or(Ok(()), |n| within("dedup.bloom_hashes", n, 1, 32))
}

pub(super) fn check_store(store: &StoreSection) -> Checked {
    let named = !store.data_dir.as_os_str().is_empty();
    ensure(named, "store.data_dir", || "must name a folder".into())?;
    ensure(is_name(&store.warc_prefix), "store.warc_prefix", || {
        "must be 1 to 64 letters, digits, '-', '_' or '.'".into()
    })?;
    within("store.warc_max_size", store.warc_max_size, 1_000_000, 1 << 40)?;
    positive("store.warc_max_age", store.warc_max_age)?;
    within("store.compression", store.compression, 1, 9)?;
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
    check_place("store.upload", store.upload.as_deref())?;
    ensure(store.upload.is_some() || !store.delete_uploaded, "store.delete_uploaded", || {
        "nothing is uploaded: set store.upload too".into()
    })
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

/// Where copies go.
fn check_place(key: &str, place: Option<&str>) -> Checked {
    let problem = place.and_then(|text| Target::parse(text).err());
    ensure(problem.is_none(), key, || problem.map(|e| e.to_string()).unwrap_or_default())
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
