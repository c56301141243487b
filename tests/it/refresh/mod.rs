//! Visits: how fresh a crawl stays that visits its pages again, and what becomes of each kind of page.

mod killed;
mod seen;
mod split;
mod table;
mod whole;
