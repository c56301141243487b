//! Each kind of death, with a small actor.

use std::future::pending;
use std::sync::Mutex;

use actix::AsyncContext;
use actix::fut::wrap_future;
use tokio::sync::oneshot;

use super::*;
use crate::base::clock::Clock;
use crate::base::fault::Faults;
use crate::base::sync::lock;
use crate::crawl::mailbox::Mailbox;
use crate::crawl::worker::Handles;
use crate::telemetry::metrics::Metrics;

/// What outlives the actor: how often it lived, what it was told, which faults are left.
#[derive(Default)]
struct World {
    lives: usize,
    heard: Vec<&'static str>,
    starts_that_panic: usize,
    factories_that_panic: usize,
    futures_dropped: usize,
}

type Shared = Arc<Mutex<World>>;

struct Frail {
    world: Shared,
    retired: Arc<AtomicBool>,
    half: u32,
}

/// Panics as often as is left of that fault.
fn fault(world: &Shared, left: fn(&mut World) -> &mut usize, why: &str) {
    let panics = {
        let mut world = lock(world);
        let left = left(&mut world);
        let panics = *left > 0;
        *left = left.saturating_sub(1);
        panics
    };
    assert!(!panics, "{why}");
}

impl Behavior for Frail {
    const KIND: Kind = Kind::Parser;

    fn instance(&self) -> String {
        "w".into()
    }

    fn fresh(&self) -> Self {
        fault(&self.world, |world| &mut world.factories_that_panic, "in the factory");
        Self { world: self.world.clone(), retired: self.retired.clone(), half: 0 }
    }

    fn started(&mut self, ctx: &mut Ctx<Self>) {
        lock(&self.world).lives += 1;
        let guard = Dropped(self.world.clone());
        ctx.spawn(wrap_future(async move {
            let _guard = guard;
            pending::<()>().await;
        }));
        fault(&self.world, |world| &mut world.starts_that_panic, "in started");
    }
}

struct Dropped(Shared);

impl Drop for Dropped {
    fn drop(&mut self) {
        lock(&self.0).futures_dropped += 1;
    }
}

#[derive(Clone, Copy)]
enum Die {
    Handler,
    Timer,
    Spawned,
    Hang,
    Stop,
    Retire,
}

impl Handles<Die> for Frail {
    fn handle(&mut self, how: Die, ctx: &mut Ctx<Self>) {
        self.half += 1; // half mutated
        match how {
            Die::Handler => panic!("in a handler"),
            Die::Timer => {
                ctx.run_later(Duration::ZERO, |_, _| panic!("in a timer"));
            }
            Die::Spawned => {
                ctx.spawn(wrap_future(async { panic!("in a future") }));
            }
            Die::Hang => {
                ctx.spawn(wrap_future(bounded(Duration::from_millis(1), "an answer", pending())));
            }
            Die::Stop => ctx.stop(),
            Die::Retire => {
                self.retired.store(true, Ordering::Release);
                ctx.stop();
            }
        }
    }
}

struct Hear(&'static str);

impl Handles<Hear> for Frail {
    fn handle(&mut self, Hear(word): Hear, _: &mut Ctx<Self>) {
        lock(&self.world).heard.push(word);
    }
}

/// Asks how much of it is mutated.
struct Half(oneshot::Sender<u32>);

impl Handles<Half> for Frail {
    fn handle(&mut self, Half(reply): Half, _: &mut Ctx<Self>) {
        let _ = reply.send(self.half);
    }
}

/// Notes deaths; a manual clock in effect: all of them fall into one window.
struct Notes {
    deaths: Mutex<Vec<Death>>,
    rules: RestartRules,
}

impl DeathListener for Notes {
    fn now(&self) -> UnixMillis {
        UnixMillis(0)
    }

    fn rules(&self) -> RestartRules {
        self.rules.clone()
    }

    fn restarted(&self, _: Kind) {}

    fn died(&self, death: Death) {
        lock(&self.deaths).push(death);
    }
}

struct Bench {
    mailbox: Mailbox<Frail>,
    world: Shared,
    notes: Arc<Notes>,
}

impl Bench {
    /// With an actor that is yet to be made.
    fn new(world: World, budget: usize) -> (Self, AddressReceiver<Worker<Frail>>, Tools) {
        let rules = RestartRules { backoff: Duration::from_millis(1), budget, ..deaths::tests::rules() };
        let notes = Arc::new(Notes { deaths: Mutex::default(), rules });
        let (mailbox, receiver) = Mailbox::of("w", &Metrics::new(UnixMillis(0)));
        let (meter, clock) = (mailbox.meter.clone(), Clock::manual(UnixMillis(0)));
        let world = Arc::new(Mutex::new(world));
        (Self { mailbox, world, notes }, receiver, Tools { meter, faults: Faults::default(), clock })
    }

    fn start(world: World, budget: usize) -> Self {
        let (bench, receiver, tools) = Self::new(world, budget);
        let retired = Arc::<AtomicBool>::default();
        let actor = Frail { world: bench.world.clone(), retired: retired.clone(), half: 0 };
        Guarded::spawn(receiver, actor, tools, bench.notes.clone(), retired);
        bench
    }

    fn stats(&self) -> &ActorStats {
        &self.mailbox.meter.stats
    }

    fn whys(&self) -> Vec<String> {
        lock(&self.notes.deaths).iter().map(|d| d.why.clone()).collect()
    }

    /// How much of the actor is mutated; none when there is no actor any more.
    async fn half(&self) -> Option<u32> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.tell(Half(reply));
        answer.await.ok()
    }

    /// Dies `how`; then what was queued behind is heard, by a fresh actor, at the same address.
    async fn survives(&self, how: Die) {
        assert_eq!(self.half().await, Some(0), "alive and whole");
        let before = lock(&self.world).lives;
        self.mailbox.tell(how);
        self.mailbox.tell(Hear("queued behind the death"));
        // A timer or future panics after the messages at hand: wait for the next life before asking.
        while lock(&self.world).lives == before {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.half().await, Some(0), "the half-mutated actor lives on");
        let world = lock(&self.world);
        assert_eq!(world.lives, before + 1);
        assert_eq!(world.heard.last(), Some(&"queued behind the death"));
        assert_eq!(world.futures_dropped, before, "pending futures of the former lives are dropped");
    }
}

fn run(test: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test).await.unwrap();
    });
}

#[test]
fn one_of_several_rests_by_numbers_of_its_own_though_it_is_named_only_when_it_is_made() {
    let (bench, ..) = Bench::new(World::default(), 20);
    let rest_of = |instance: &str| {
        let mut record = Record::new(String::new(), bench.notes.clone(), bench.mailbox.meter.stats.clone());
        record.is_of(instance.into());
        assert_eq!(record.instance, instance);
        record.note("x".into())
    };
    assert_ne!(rest_of("0"), rest_of("1"));
    assert_eq!(rest_of("1"), rest_of("1"));
}

#[test]
fn each_kind_of_death_costs_the_actor_and_nothing_else() {
    run(async {
        let bench = Bench::start(World::default(), 9);
        let deaths = [
            (Die::Handler, "in a handler"),
            (Die::Handler, "in a handler"),
            (Die::Timer, "in a timer"),
            (Die::Spawned, "in a future"),
            (Die::Hang, "hung for 0.001 s: an answer"),
            (Die::Stop, "stopped"),
        ];
        for (how, _) in deaths {
            bench.survives(how).await;
        }
        assert_eq!(bench.whys(), deaths.map(|(_, why)| why));
        let first = lock(&bench.notes.deaths)[0].clone();
        assert_eq!((first.kind, first.instance.as_str()), (Kind::Parser, "w"));
    });
}

#[test]
fn a_wait_that_ends_in_time_is_none() {
    run(async {
        assert_eq!(bounded(Duration::from_secs(60), "an answer", async { 7 }).await, 7);
    });
}

#[test]
fn a_factory_that_panics_before_the_first_life_is_tried_again() {
    run(async {
        let (bench, receiver, tools) = Bench::new(World::default(), 9);
        let (world, tries) = (bench.world.clone(), std::cell::Cell::new(0));
        let make = move || {
            tries.set(tries.get() + 1);
            assert!(tries.get() > 2, "in the factory");
            Frail { world: world.clone(), retired: Arc::default(), half: 0 }
        };
        Guarded::raise(receiver, make, tools, bench.notes.clone());
        bench.mailbox.tell(Hear("queued before there is an actor"));
        assert_eq!(bench.half().await, Some(0));
        assert_eq!((bench.whys().len(), bench.stats().faults(), bench.stats().lives()), (2, 2, 1));
        let world = lock(&bench.world);
        assert_eq!((world.lives, world.heard.len()), (1, 1));
    });
}

#[test]
fn a_panic_in_started_or_in_the_factory_is_caught_and_tried_again() {
    run(async {
        let world = World { starts_that_panic: 2, ..World::default() };
        let bench = Bench::start(world, 9);
        bench.mailbox.tell(Hear("queued before the first life"));
        assert_eq!(bench.half().await, Some(0));
        assert_eq!(bench.whys(), ["in started", "in started"]);
        assert_eq!(lock(&bench.world).lives, 3);
        lock(&bench.world).factories_that_panic = 2;
        bench.mailbox.tell(Die::Handler);
        assert_eq!(bench.half().await, Some(0));
        let replaced = "while being replaced: in the factory";
        assert_eq!(bench.whys()[2..], ["in a handler", replaced, replaced]);
        assert_eq!(lock(&bench.world).heard, ["queued before the first life"]);
    });
}

#[test]
fn each_death_rests_twice_as_long_and_the_budget_ends_it() {
    run(async {
        let bench = Bench::start(World::default(), 3);
        for _ in 0..3 {
            bench.survives(Die::Handler).await;
        }
        bench.mailbox.tell(Die::Handler);
        assert_eq!(bench.half().await, None);
        let rests: Vec<_> = lock(&bench.notes.deaths).iter().map(|d| d.rest).collect();
        for (rest, ms) in rests.iter().zip([1, 2, 4]) {
            let (least, most) = (Duration::from_micros(ms * 500), Duration::from_millis(ms));
            assert!(rest.is_some_and(|rest| least <= rest && rest <= most), "{rests:?}");
        }
        assert_eq!((rests.len(), rests[3]), (4, None));
        assert_eq!((bench.stats().life(), bench.stats().faults()), (Life::Stopped, 4));
        assert_eq!(bench.stats().last_fault(), Some((UnixMillis(0), "in a handler".into())));
        assert_eq!(lock(&bench.world).lives, 4, "the budget is spent: no further life");
    });
}

#[test]
fn an_actor_that_retired_ends_without_a_death() {
    run(async {
        let bench = Bench::start(World::default(), 9);
        bench.mailbox.tell(Die::Retire);
        assert_eq!(bench.half().await, None);
        assert!(bench.whys().is_empty());
        assert_eq!(lock(&bench.world).lives, 1);
    });
}

#[test]
fn a_restart_that_is_asked_for_begins_a_new_life_and_is_no_death() {
    run(async {
        let bench = Bench::start(World::default(), 1);
        assert_eq!(bench.half().await, Some(0));
        for life in 1..=5 {
            bench.mailbox.tell(Hear("queued before the restart"));
            bench.stats().ask_restart();
            bench.stats().lives_beyond(life).await;
            assert_eq!(bench.half().await, Some(0), "the same address");
            let world = lock(&bench.world);
            let dropped = usize::try_from(life).unwrap();
            assert_eq!((world.lives, world.heard.len(), world.futures_dropped), (dropped + 1, dropped, dropped));
        }
        assert!(bench.whys().is_empty() && bench.stats().faults() == 0, "more often than the budget of deaths allows");
        assert_eq!((bench.stats().life(), bench.stats().lives()), (Life::Running, 6));
    });
}

#[test]
fn a_task_that_panics_tells_why() {
    run(async {
        let (tx, rx) = tokio::sync::oneshot::channel();
        spawn_contained(async { panic!("in a task") }, move |why| {
            let _ = tx.send(why);
        });
        assert_eq!(rx.await.unwrap(), "in a task");
    });
}
