//! `lycosa inspect page`: what the crawler sees in one page, as JSON.
