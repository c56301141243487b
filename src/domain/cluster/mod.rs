//! What decides in a crawl on several machines, pure: state, event and `now` in, actions out.
//!
//! | | |
//! |---|---|
//! | [`map`] | who is a member, and whose each partition is |
//! | [`views`] | the members as they are shown |
//! | [`lease`] | until when a member may send requests, and when another may take its place |

pub mod lease;
pub mod map;
pub mod views;
