//! What a whole answer says: what its body is and shows, and where it leads at once. Crawl, `lycosa fetch` and `lycosa inspect` ask
//! the same functions; what is read from a body by its kind is the business of [`parse`](crate::content::modules).

mod look;
mod onward;

pub use look::{Inspection, Inspector};
pub use onward::{Redirect, RedirectKind};
