//! robots.txt: RFC 9309, and what the field has added to it (Crawl-delay, Sitemap, Content-Signal, Content-Usage, common
//! misspellings).
//!
//! [`RobotsRules::parse`] keeps only what one agent needs. It takes any bytes: what cannot be read is skipped line by
//! line, as the RFC asks (section 2.2). [`classify`] and [`RobotsCachePolicy`] say what an answer to the request for
//! robots.txt means and how long it holds.

mod agent;
mod lines;
mod parse;
mod pattern;
mod policy;
mod rules;
mod usage;

pub use lines::{MAX_LINE_BYTES, MAX_ROBOTS_BYTES, whole_lines, within_limit};
pub use policy::{RobotsAccess, RobotsCachePolicy, RobotsCopy, RobotsStatus, classify};
pub use rules::{RobotsGroup, RobotsRules, RobotsVerdict};
pub use usage::UsageRule;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
