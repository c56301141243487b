//! What decides in a crawl on several machines, pure: state, event and `now` in, actions out.
//!
//! | | |
//! |---|---|
//! | [`map`] | who is a member, and whose each partition is |
//! | [`views`] | the members as they are shown |
//! | [`shares`] | what each member should have |
//! | [`moves`] | how partitions go from one to another, and what is put back when the engine lost the map |
//! | [`held`] | what a folder has of them, compared with the map |
//! | [`lease`] | until when a member may send requests, and when another may take its place |
//! | [`sender`] | links on their way to another member, until a checkpoint there covers them |
//! | [`receiver`] | which of them are taken |
//! | [`rounds`] | whether all members are done |
//!
//! `tests/` drives all of it: several members in one thread from one number, with everything lost that may be lost.

pub mod held;
pub mod lease;
pub mod map;
pub mod moves;
pub mod receiver;
pub mod rounds;
pub mod sender;
pub mod shares;
#[cfg(test)]
mod tests;
pub mod views;
