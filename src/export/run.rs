//! One export from its beginning to its end.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::manifest::{FeedPart, Manifest};
use super::newest::Newest;
use super::out::Output;
use super::row::Source;
use super::walk::Walk;
use super::{Begin, ExportError, Far, Form, Options, Owner, Select};
use crate::storage::feed::{self, Stand};
use crate::storage::values::FeedLog;

/// What is to be exported, and where to.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The format.
    pub form: &'static Form,
    /// Which pages.
    pub select: Select,
    /// What the format is told.
    pub options: Options,
    /// What it becomes.
    pub to: PathBuf,
    /// What has that name is replaced.
    pub replace: bool,
}

/// Makes an export. What cannot be read of single pages is counted and named in the manifest, which is what it gives.
///
/// # Errors
/// [`ExportError`]; then nothing of it is left at the place named.
pub fn run(source: &Source<'_>, asked: &Asked, owner: &dyn Owner) -> Result<Manifest, ExportError> {
    let select = asked.select.clone().checked()?;
    asked.options.check(asked.form)?;
    apart(source, &asked.to)?;
    let done = made(source, asked, &select, owner);
    done.map_err(|e| match e {
        ExportError::Write { .. } if !owner.goes_on() => ExportError::Stopped,
        ExportError::Write { path, source } if path.as_os_str().is_empty() => {
            ExportError::Write { path: asked.to.clone(), source }
        }
        other => other,
    })
}

fn made(source: &Source<'_>, asked: &Asked, select: &Select, owner: &dyn Owner) -> Result<Manifest, ExportError> {
    let log = feed::log(source.storage)?;
    let after = begin(&log, select, source.shown)?;
    let mut out = Output::begin(asked.form.shape, &asked.to, asked.replace, owner)?;
    let goes_on = || if owner.goes_on() { Ok(()) } else { Err(ExportError::Stopped) };
    let newest = match select.all {
        true => None,
        false => Some(Newest::find(source.storage, (after, source.shown), out.scratch(), goes_on)?),
    };
    let begin = Begin { options: &asked.options, source, after };
    let mut format = (asked.form.begin)(&begin, &mut out)?;
    let part = FeedPart { log: HEXLOWER.encode(&log.id), after, first: None, last: source.shown.max(after) };
    let mut manifest = Manifest {
        software: format!("Lycosa/{}", env!("CARGO_PKG_VERSION")),
        format: asked.form.name.to_owned(),
        options: asked.options.clone(),
        select: Select { after: Some(after), log: None, ..select.clone() },
        feed: part,
        ..Manifest::default()
    };
    let mut walk = Walk::new(source, select, after, newest);
    while let Some(rows) = walk.next()? {
        for row in rows {
            goes_on()?;
            let is_in = select.lang.is_empty() || select.wants_language(row.language()?);
            let taken = is_in && format.page(&row, &mut out)?;
            walk.counts.filtered_out += u64::from(!is_in && row.unread().is_none());
            manifest.note(&row, taken);
            owner.far(Far { looked: row.number - after, of: source.shown - after, pages: manifest.counts.pages });
        }
    }
    let of_format = format.end(&mut out)?;
    let counts = &mut manifest.counts;
    walk.counts.add_to(counts);
    counts.of_format = of_format;
    goes_on()?;
    out.end(manifest)
}

/// Behind which entry it begins.
fn begin(log: &FeedLog, select: &Select, shown: u64) -> Result<u64, ExportError> {
    let asked = |why: String| Err(ExportError::Asked(why));
    let Some(after) = select.after else { return Ok(log.trimmed) };
    let id = match &select.log {
        None => None,
        Some(text) => match HEXLOWER.decode(text.as_bytes()).ok().and_then(|id| id.try_into().ok()) {
            Some(id) => Some(id),
            None => return asked(format!("{text:?} is no feed; expected `log` of a manifest, 16 digits")),
        },
    };
    match log.stand(id.as_ref(), after, shown) {
        Stand::Here => Ok(after),
        Stand::Other { .. } if after > shown && id == Some(log.id) => {
            asked(format!("entry {after} is not there yet: the entries of this feed end at {shown}"))
        }
        Stand::Other { common } => asked(format!(
            "entry {after} is of another feed than this one ({}), whose entries end at {shown}: the crawl was put back to a former \
             state, or number or --log are of another crawl; what both have ends at {common}: go on with --after {common}",
            HEXLOWER.encode(&log.id)
        )),
        Stand::Trimmed { oldest } => asked(format!(
            "entries before {oldest} were let go (feed.keep): go on with --after {}; what is missing is in no export made from here",
            oldest - 1
        )),
    }
}

/// An export has no place among the files of the crawl.
///
/// # Errors
/// [`ExportError::Asked`]: where it lies.
pub fn apart(source: &Source<'_>, to: &Path) -> Result<(), ExportError> {
    let settings = source.settings;
    let to = resolved(to);
    let within = |dir: &Path| to.starts_with(resolved(dir));
    let is_own = within(&settings.export_dir()) || within(&settings.sink_dir());
    if within(&source.warc_dir) || within(&settings.store.data_dir) && !is_own {
        let why = format!("{} is among the files of the crawl; name a place elsewhere with --to", to.display());
        return Err(ExportError::Asked(why));
    }
    Ok(())
}

/// A path by its true name, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = |dir: &Path| Some(dir.canonicalize().ok()?.join(whole.strip_prefix(dir).ok()?));
    whole.ancestors().find_map(there).unwrap_or_else(|| whole.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_by_its_true_name_over_links_although_its_end_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let (true_name, link) = (dir.path().canonicalize().unwrap().join("data"), dir.path().join("link"));
        std::fs::create_dir(&true_name).unwrap();
        std::os::unix::fs::symlink(&true_name, &link).unwrap();
        assert_eq!(resolved(&link.join("exports/x.jsonl")), true_name.join("exports/x.jsonl"));
        assert!(resolved(&link.join("exports/x")).starts_with(resolved(&true_name)));
    }
}
