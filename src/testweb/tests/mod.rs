//! Tests of the synthetic web over real sockets.

mod changes;
mod client;
mod served;
mod switches;
mod truth;
