//! Some partitions as a small data folder of their own, the *parcel*: written out by the member that gives them, taken in by the one that gets
//! them. What each folder then has of the partitions stands in a record of its own, which the caller makes; it is written in the commit that
//! makes it true.

use super::rows;
use super::{Result, Side, Tell, coming, files, going};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::domain::partition::PartitionSet;
use crate::storage::Batch;
use crate::storage::values::Membership;

/// Writes everything of some partitions into a new folder. Nothing of `from` is changed; the parcel is whole at the end. Gives its URLs.
/// `archive_at`: where files of the archive that are not uploaded yet will lie.
///
/// # Errors
/// A record that cannot be read; those of the disk. The parcel is to be removed then.
pub fn write_out(
    from: &Side<'_>,
    set: &PartitionSet,
    to: &Side<'_>,
    archive_at: &str,
    now: UnixMillis,
    tell: Tell<'_>,
) -> Result<u64> {
    let copied = going::copy(from, Some(to.storage), set, None, tell)?;
    files::list_places(from, &to.data, &copied.files, archive_at, now)?;
    let mut batch = Batch::new();
    going::alone(from, set, &copied, &mut batch)?;
    to.storage.write(&batch)?;
    to.storage.sync()?;
    to.storage.flush()?;
    Ok(copied.counters.discovered)
}

/// Takes counts, link credit and hosts of some partitions off a folder, in one commit with the record of what it is from then on. Their rows
/// stay, until they are cleared. Gives their URLs.
///
/// # Errors
/// A record that cannot be read; those of the disk.
pub fn let_go(side: &Side<'_>, set: &PartitionSet, member: &Membership, tell: Tell<'_>) -> Result<u64> {
    let counted = going::copy(side, None, set, None, tell)?;
    let mut batch = Batch::new();
    going::less(side, set, &counted, &mut batch)?;
    batch.put_meta((), member);
    side.storage.write(&batch)?;
    side.storage.sync()?;
    Ok(counted.counters.discovered)
}

/// Removes all rows of some partitions, which count no more, or not yet.
///
/// # Errors
/// Those of the disk; it is done again then.
pub fn clear(side: &Side<'_>, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
    rows::clear(side, set, tell)
}

/// Takes some partitions of a parcel in, which may have more: rows first, then all that counts in one commit with the record of what the
/// folder is from then on. Before that commit they have to be cleared, and taken in anew. Gives their URLs.
///
/// # Errors
/// A record that cannot be read; those of the disk.
pub fn take_in(
    into: &Side<'_>,
    parcel: &Side<'_>,
    set: &PartitionSet,
    member: &Membership,
    faults: &Faults,
    tell: Tell<'_>,
) -> Result<u64> {
    let came = coming::copy(parcel, into, set, tell)?;
    files::take_list(&parcel.data, into)?;
    faults.check("moves.rows")?;
    let mut batch = Batch::new();
    coming::accept(parcel, into, set, &came, &mut batch)?;
    batch.put_meta((), member);
    into.storage.write(&batch)?;
    into.storage.sync()?;
    into.storage.flush()?;
    Ok(came.urls())
}
