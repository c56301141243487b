//! The files that go along: those of the archive get a second name, lines of `crawl.jsonl` are copied.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Deserialize;

use super::{PartError, Result, Side, Tell};
use crate::base::disk::own;
use crate::base::time::UnixMillis;
use crate::domain::partition::Partition;
use crate::domain::url::PageUrl;
use crate::recovery::checkpoint::uploads::{self, Line};
use crate::recovery::checkpoint::{files, make};
use crate::recovery::if_there;
use crate::warc::date::iso;
use crate::warc::name::cdxj_name;

/// What became of the files of the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Archived {
    /// Files that are in both folders.
    pub here: u64,
    /// Files that stay where they are, and are listed as kept elsewhere.
    pub elsewhere: u64,
}

/// Gives files of the archive a second name in the other folder. What is on another disk, or is kept elsewhere already, is listed as that.
pub(super) fn share_out(
    from: &Side<'_>,
    to: &Side<'_>,
    warcs: &BTreeSet<String>,
    now: UnixMillis,
    tell: Tell<'_>,
) -> Result<Archived> {
    files::make_dir(&to.warc)?;
    let listed = uploads::read_list(&from.data)?;
    let (mut done, mut elsewhere) = (Archived::default(), BTreeMap::new());
    for (nth, name) in warcs.iter().flat_map(|warc| [warc.clone(), cdxj_name(warc)]).enumerate() {
        tell("archive files", nth as u64);
        let (source, target) = (from.warc.join(&name), to.warc.join(&name));
        if let Some(line) = listed.get(&name) {
            elsewhere.insert(name.clone(), line.clone()); // uploaded: not to be once more
        }
        if !source.exists() {
            done.elsewhere += u64::from(elsewhere.contains_key(&name));
        } else if target.exists() || fs::hard_link(&source, &target).is_ok() {
            done.here += 1;
        } else {
            let (bytes, sha256) = files::digest(&source, u64::MAX)?;
            let to = fs::canonicalize(&source).unwrap_or(source).display().to_string();
            done.elsewhere += 1;
            elsewhere.insert(name.clone(), Line { file: name, bytes, sha256, to, ts: iso(now) });
        }
    }
    put_list(&to.data, &elsewhere)?;
    files::sync_dir(&to.warc)?;
    Ok(done)
}

/// Lists where files of the archive lie, as the folder that gives them has listed them; those that are to be uploaded yet, where they will.
pub(super) fn list_places(
    from: &Side<'_>,
    to: &Path,
    warcs: &BTreeSet<String>,
    archive_at: &str,
    now: UnixMillis,
) -> Result<()> {
    let (listed, mut lines) = (uploads::read_list(&from.data)?, BTreeMap::new());
    for file in warcs.iter().flat_map(|warc| [warc.clone(), cdxj_name(warc)]) {
        let path = from.warc.join(&file);
        let line = match listed.get(&file) {
            Some(line) => line.clone(),
            None if path.exists() => {
                let (bytes, sha256) = files::digest(&path, u64::MAX)?;
                Line { to: format!("{archive_at}/{file}"), file, bytes, sha256, ts: iso(now) }
            }
            None => continue, // lost, as a check of the giver says
        };
        lines.insert(line.file.clone(), line);
    }
    put_list(to, &lines)
}

/// The list of what is elsewhere, and what is on the list of the other and not here. Gives how many are elsewhere.
pub(super) fn take_list(from: &Path, to: &Side<'_>) -> Result<u64> {
    let mut lines = uploads::read_list(from)?;
    lines.retain(|name, _| !to.warc.join(name).exists());
    lines.extend(uploads::read_list(&to.data)?);
    put_list(&to.data, &lines)?;
    Ok(lines.keys().filter(|name| !to.warc.join(name).exists()).count() as u64)
}

fn put_list(data: &Path, lines: &BTreeMap<String, Line>) -> Result<()> {
    let mut text = Vec::new();
    for line in lines.values() {
        let write = serde_json::to_writer(&mut text, line).map_err(io::Error::from);
        write.map_err(PartError::io("write", &data.join(uploads::LIST)))?;
        text.push(b'\n');
    }
    let path = data.join(uploads::LIST);
    if text.is_empty() && !path.exists() { Ok(()) } else { Ok(files::write_whole(&path, &text)?) }
}

/// The closed files of a folder's archive that the other one has under the same name with other bytes.
///
/// # Errors
/// [`PartError::NameTaken`].
pub(super) fn names_are_free(from: &Side<'_>, to: &Side<'_>) -> Result<()> {
    for file in make::closed_files(&from.warc)? {
        let target = to.warc.join(&file.file);
        if target.exists() && !is_same(&from.warc.join(&file.file), &target)? {
            return Err(PartError::NameTaken { name: file.file, dir: to.warc.clone() });
        }
    }
    Ok(())
}

fn is_same(a: &Path, b: &Path) -> Result<bool> {
    let look = |path: &Path| fs::metadata(path).map_err(PartError::io("look at", path));
    let (one, two) = (look(a)?, look(b)?);
    if (one.dev(), one.ino()) == (two.dev(), two.ino()) {
        return Ok(true);
    }
    // The index of a file that was shared out may have been written anew on one side.
    Ok(a.extension().is_some_and(|ending| ending == "cdxj")
        || one.len() == two.len() && files::digest(a, u64::MAX)?.1 == files::digest(b, u64::MAX)?.1)
}

/// All closed files of the archive come over: by a second name, or as copies where that is another disk. And the list of what is elsewhere.
pub(super) fn take_all(from: &Side<'_>, to: &Side<'_>, tell: Tell<'_>) -> Result<Archived> {
    files::make_dir(&to.warc)?;
    let mut done = Archived::default();
    for (nth, file) in make::closed_files(&from.warc)?.into_iter().enumerate() {
        tell("archive files", nth as u64);
        let target = to.warc.join(&file.file);
        if !target.exists() {
            let new = target.with_extension("taking");
            if_there(fs::remove_file(&new)).map_err(PartError::io("remove", &new))?;
            files::link(&from.warc.join(&file.file), &new)?;
            files::rename(&new, &target)?;
        }
        done.here += 1;
    }
    done.elsewhere = take_list(&from.data, to)?;
    Ok(done)
}

/// Copies lines of `crawl.jsonl` behind the first `keep` bytes of the other folder's, from a place on, if they are of partitions that are
/// meant. Gives the length that there is then.
pub(super) fn copy_lines(
    from: &Path,
    begin: u64,
    to: &Path,
    keep: u64,
    is_meant: &dyn Fn(Partition) -> bool,
) -> Result<u64> {
    #[derive(Deserialize)]
    struct Line<'l> {
        #[serde(borrow)]
        url: Cow<'l, str>,
    }
    let (source, target) = (from.join(uploads::JSONL), to.join(uploads::JSONL));
    let read = || PartError::io("read", &source);
    let write = || PartError::io("write", &target);
    let mut out = own::open(&target, |how| how.create(true).write(true).truncate(false)).map_err(write())?;
    out.set_len(keep).and_then(|()| out.seek(SeekFrom::End(0))).map_err(write())?;
    let mut out = BufWriter::with_capacity(1 << 20, out);
    if let Some(mut file) = if_there(fs::File::open(&source)).map_err(read())? {
        file.seek(SeekFrom::Start(begin)).map_err(read())?;
        let (mut lines, mut line) = (BufReader::with_capacity(1 << 20, file), Vec::new());
        loop {
            line.clear();
            if (&mut lines).take(4 << 20).read_until(b'\n', &mut line).map_err(read())? == 0 {
                break;
            }
            let url = serde_json::from_slice::<Line<'_>>(&line).ok().and_then(|l| PageUrl::from_canonical(&l.url).ok());
            if url.is_some_and(|url| is_meant(Partition::of_host(url.host()))) {
                out.write_all(&line).map_err(write())?;
            }
        }
    }
    let mut out = out.into_inner().map_err(IntoInnerError::into_error).map_err(write())?;
    let length = out.stream_position().and_then(|length| out.sync_all().map(|()| length)).map_err(write())?;
    files::sync_dir(to)?;
    Ok(length)
}
