//! A data folder at rest: checked and repaired, saved as a checkpoint and put back.

pub mod check;
pub mod checkpoint;

/// None for what is not there.
fn if_there<T>(found: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match found {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
