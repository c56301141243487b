//! Lists come a page at a time; where the next one begins is told by a cursor.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::control::ControlError;

/// Items of a page when nothing is said.
const USUAL: usize = 50;
/// Longest cursor, characters: two for each byte of a key; a host's name has up to 253.
const LONGEST: usize = 1_024;
/// Most items of a page.
pub const MOST: usize = 1_000;

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
}

/// The cursor that goes on after this key.
#[must_use]
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
}
