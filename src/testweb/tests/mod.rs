//! Tests of the synthetic web over real sockets.

mod client;
mod served;
mod switches;
mod truth;
