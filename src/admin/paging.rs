//! Lists come a page at a time, as JSON or as a table; where the next page begins is told by a cursor.

use actix_web::HttpResponse;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::control::ControlError;
use super::csv::{Row, table};
use crate::crawl::node::Node;
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::tables::Table;
use crate::storage::{StorageError, read};

/// Items of a page when nothing is said.
pub(super) const USUAL: usize = 50;
/// Longest cursor, characters: two for each byte of a key; a host's name has up to 253.
const LONGEST: usize = 1_024;
/// Most items of a page.
pub const MOST: usize = 1_000;
/// Items looked at for one answer.
const LOOKED_AT: u64 = 5_000;
/// Items read at a time.
const CHUNK: usize = 500;

/// Which page of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// At most so many items: 50 by itself, 1000 at most.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    pub cursor: Option<String>,
}

impl Paging {
    /// How many items.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] when it is none or too many.
    pub fn limit(&self) -> Result<usize, ControlError> {
        match self.limit.unwrap_or(USUAL) {
            n if (1..=MOST).contains(&n) => Ok(n),
            n => Err(ControlError::Invalid(format!("limit={n}: expected 1 to {MOST}"))),
        }
    }

    /// The key after which the page begins; empty for the first page.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] when it is no cursor.
    pub fn after(&self) -> Result<Vec<u8>, ControlError> {
        let Some(cursor) = &self.cursor else { return Ok(Vec::new()) };
        let key = Some(cursor).filter(|c| c.len() <= LONGEST).and_then(|c| HEXLOWER.decode(c.as_bytes()).ok());
        key.ok_or_else(|| ControlError::Invalid("cursor: expected `next` of the page before".into()))
    }

    /// How many items, and the keys of a range that the page may hold.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] for a bad limit, or a cursor that is none of this range.
    pub(super) fn part(&self, mut range: KeyRange) -> Result<(usize, KeyRange), ControlError> {
        let (limit, begin) = (self.limit()?, self.after()?);
        if begin.is_empty() {
            return Ok((limit, range));
        }
        let next = after(&begin);
        if next <= range.from || (!range.until.is_empty() && next >= range.until) {
            return Err(ControlError::Invalid("cursor: expected `next` of a page of the same host".into()));
        }
        range.from = next;
        Ok((limit, range))
    }
}

/// The cursor that goes on after this key.
pub fn cursor(key: &[u8]) -> String {
    HEXLOWER.encode(key)
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; none when this is the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// RFC 4180; the next page's cursor is in the header `X-Next-Cursor`.
    Csv,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// `json` or `csv`.
    #[serde(default)]
    #[param(inline)]
    pub format: Format,
}

/// An answer in the form asked for: whole as JSON, or its rows as a table with the next page's cursor in a header.
pub(super) fn written<R: Row>(how: How, whole: &impl Serialize, rows: &[R], next: Option<&String>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    match how.format {
        Format::Json => response.json(whole),
        Format::Csv => {
            next.into_iter().for_each(|next| _ = response.insert_header(("X-Next-Cursor", next.as_str())));
            response.content_type("text/csv; charset=utf-8; header=present").body(table(rows))
        }
    }
}

/// What a look along keys found.
pub(super) struct Looked<I> {
    pub items: Vec<I>,
    pub looked_at: u64,
    pub all: bool,
    last: Vec<u8>,
}

impl<I> Looked<I> {
    /// The cursor of the next page.
    pub fn next(&self) -> Option<String> {
        (!self.all).then(|| cursor(&self.last))
    }
}

/// Looks along keys until so many items are wanted, at a bounded number of them. `read` gives the next items from a key on, at
/// most so many, each with its key.
pub(super) fn look<I>(
    mut from: Vec<u8>,
    limit: usize,
    read: impl Fn(&[u8], usize) -> Result<Vec<(Vec<u8>, I)>, StorageError>,
    wanted: impl Fn(&I) -> bool,
) -> Result<Looked<I>, StorageError> {
    let mut looked = Looked { items: Vec::new(), looked_at: 0, all: false, last: Vec::new() };
    while looked.looked_at < LOOKED_AT {
        let found = read(&from, CHUNK)?;
        let is_end = found.len() < CHUNK;
        for (key, item) in found {
            if looked.items.len() == limit {
                return Ok(looked);
            }
            looked.looked_at += 1;
            from = after(&key);
            looked.last = key;
            looked.items.extend(Some(item).filter(&wanted));
        }
        if is_end {
            looked.all = true;
            return Ok(looked);
        }
    }
    looked.all = read(&from, 1)?.is_empty();
    Ok(looked)
}

/// A record of a table.
pub(super) type Record<T> = (<T as Table>::Key, <T as Table>::Value);

/// The same with the records of a table.
pub(super) fn records<T: Table>(
    node: &Node,
    (limit, range): (usize, KeyRange),
    wanted: impl Fn(&T::Value) -> bool,
) -> Result<Looked<Record<T>>, StorageError> {
    let read = |from: &[u8], n| {
        let rest = KeyRange { from: from.to_vec(), until: range.until.clone() };
        let rows = read::scan::<T>(&*node.storage, &rest, n)?;
        Ok(rows.into_iter().map(|(key, value)| (key.encode(), (key, value))).collect())
    };
    look(range.from.clone(), limit, read, |(_, value)| wanted(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_the_key_it_was_and_nothing_else_is_one() {
        let of = |cursor: &str| Paging { limit: None, cursor: Some(cursor.into()) }.after();
        assert_eq!(of(&cursor(&[0, 255, 7])), Ok(vec![0, 255, 7]));
        for bad in ["x", "0", "zz", &"00".repeat(600)] {
            assert!(matches!(of(bad), Err(ControlError::Invalid(_))), "{bad}");
        }
        assert_eq!(Paging::default().after(), Ok(Vec::new()));
    }

    #[test]
    fn a_page_holds_at_least_one_item_and_at_most_a_thousand() {
        let of = |limit| Paging { limit: Some(limit), cursor: None }.limit();
        assert_eq!((of(1), of(1_000), Paging::default().limit()), (Ok(1), Ok(1_000), Ok(50)));
        assert!(of(0).is_err() && of(1_001).is_err());
    }

    #[test]
    fn a_look_ends_with_its_page_its_bound_or_the_last_key() {
        let of = |keys: u16, limit, even: bool| {
            let read = |from: &[u8], n| {
                let first = from.get(..2).map_or(0, |key| u16::from_be_bytes([key[0], key[1]]) + 1);
                Ok((first..keys).take(n).map(|n| (n.to_be_bytes().to_vec(), n)).collect())
            };
            let looked = look(Vec::new(), limit, read, |n| !even || n % 2 == 0).unwrap();
            (looked.items.len(), looked.looked_at, looked.next())
        };
        assert_eq!(of(3, 2, false), (2, 2, Some("0001".into())));
        assert_eq!(of(3, 2, true), (2, 3, None));
        assert_eq!(of(2, 2, false), (2, 2, None));
        assert_eq!(of(5_000, 9_999, true), (2_500, 5_000, None));
        assert_eq!(of(6_000, 9_999, true), (2_500, 5_000, Some("1387".into())));
        assert_eq!(of(0, 1, false), (0, 0, None));
    }
}
