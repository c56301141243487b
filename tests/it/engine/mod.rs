//! The engine over real NATS servers: its contract over one and three, what becomes of it when they are killed, and who may in.

mod access;
mod kills;

use std::sync::Arc;
use std::time::Duration;

use lycosa::base::clock::Clock;
use lycosa::cluster::engine::contract::{self, Place};
use lycosa::cluster::engine::{Engine, EngineState, Nats, NatsOptions};

use crate::sandbox::until;
use crate::support::nats::Servers;

/// Longer than anything that is waited for takes on the slowest machine.
const LONG: Duration = Duration::from_secs(60);

/// A crawl of a name of its own on servers.
struct Crawl<'a> {
    servers: &'a Servers,
    name: String,
}

impl Crawl<'_> {
    fn options(&self) -> NatsOptions {
        NatsOptions { name: self.name.clone(), servers: self.servers.urls(), ..NatsOptions::default() }
    }
}

impl Place for Crawl<'_> {
    fn connect(&self) -> Arc<dyn Engine> {
        Arc::new(connected(&self.options()))
    }
    fn stop(&self) {
        self.servers.kill_all();
    }
    fn start(&self) {
        self.servers.start_all();
    }
    fn empty(&self) {
        self.servers.empty();
    }
}

/// An engine that is there.
fn connected(options: &NatsOptions) -> Nats {
    let engine = Nats::start(options, Clock::real()).unwrap();
    when(&engine, |state| state.connected);
    engine
}

/// Waits for a state of an engine.
fn when(engine: &Nats, wanted: impl Fn(&EngineState) -> bool) -> EngineState {
    let look = || Some(engine.state()).filter(|state| wanted(state));
    until("a state of the engine", look, || format!("{:?}", engine.state()))
}

fn keeps_the_contract(count: usize) {
    let Some(servers) = Servers::start(count) else { return };
    for (nth, (name, keeps)) in contract::ALL.iter().enumerate() {
        let began = std::time::Instant::now();
        keeps(&Crawl { servers: &servers, name: format!("c{nth}") });
        println!("{name}: {:?}", began.elapsed());
    }
}

#[test]
fn one_server_keeps_the_contract() {
    keeps_the_contract(1);
}

#[test]
fn three_servers_keep_the_contract() {
    keeps_the_contract(3);
}
