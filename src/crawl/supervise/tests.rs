//! Each kind of death, with a small actor.

use std::future::pending;

use actix::dev::channel;
use actix::{ActorContext, Addr, AsyncContext, Handler, MailboxError, Message, WrapFuture};

use std::sync::Mutex;

use super::*;
use crate::base::sync::lock;

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

struct Worker {
    world: Shared,
    retired: Arc<AtomicBool>,
    half: u32,
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        lock(&self.world).lives += 1;
        let guard = Dropped(self.world.clone());
        let never = async move {
            let _guard = guard;
            pending::<()>().await;
        };
        ctx.spawn(never.into_actor(self));
        let mut world = lock(&self.world);
        if world.starts_that_panic > 0 {
            world.starts_that_panic -= 1;
            drop(world);
            panic!("in started");
        }
    }
}

impl Supervised for Worker {
    fn restarting(&mut self, _: &mut Context<Self>) {
        let mut world = lock(&self.world);
        if world.factories_that_panic > 0 {
            world.factories_that_panic -= 1;
            drop(world);
            panic!("in the factory");
        }
        drop(world);
        *self = Self { world: self.world.clone(), retired: self.retired.clone(), half: 0 };
    }
}

impl Respawn for Worker {
    const KIND: Kind = Kind::Parser;

    fn instance(&self) -> String {
        "w".into()
    }
}

struct Dropped(Shared);

impl Drop for Dropped {
    fn drop(&mut self) {
        lock(&self.0).futures_dropped += 1;
    }
}

#[derive(Clone, Copy)]
enum How {
    Handler,
    Timer,
    Spawned,
    Hang,
    Stop,
    Retire,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Die(How);

impl Handler<Die> for Worker {
    type Result = ();

    fn handle(&mut self, Die(how): Die, ctx: &mut Context<Self>) {
        self.half += 1; // half mutated
        match how {
            How::Handler => panic!("in a handler"),
            How::Timer => {
                ctx.run_later(Duration::ZERO, |_, _| panic!("in a timer"));
            }
            How::Spawned => {
                ctx.spawn(async { panic!("in a future") }.into_actor(self));
            }
            How::Hang => {
                ctx.spawn(bounded(Duration::from_millis(1), "an answer", pending()).into_actor(self));
            }
            How::Stop => ctx.stop(),
            How::Retire => {
                self.retired.store(true, Ordering::Release);
                ctx.stop();
            }
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Hear(&'static str);

impl Handler<Hear> for Worker {
    type Result = ();

    fn handle(&mut self, Hear(word): Hear, _: &mut Context<Self>) {
        lock(&self.world).heard.push(word);
    }
}

#[derive(Message)]
#[rtype(result = "u32")]
struct Half;

impl Handler<Half> for Worker {
    type Result = u32;

    fn handle(&mut self, _: Half, _: &mut Context<Self>) -> u32 {
        self.half
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
    addr: Addr<Worker>,
    stats: Arc<ActorStats>,
    world: Shared,
    notes: Arc<Notes>,
}

impl Bench {
    fn start(world: World, budget: usize) -> Self {
        let backoff = Duration::from_millis(1);
        let rules = RestartRules { backoff, budget, ..deaths::tests::rules() };
        let notes = Arc::new(Notes { deaths: Mutex::default(), rules });
        let (tx, rx) = channel::channel(16);
        let world = Arc::new(Mutex::new(world));
        let retired = Arc::new(AtomicBool::new(false));
        let worker = Worker { world: world.clone(), retired: retired.clone(), half: 0 };
        let stats = Arc::new(ActorStats::new(Kind::Parser, "w"));
        Guarded::spawn(Context::with_receiver(rx), worker, notes.clone(), retired, stats.clone());
        Self { addr: Addr::new(tx), stats, world, notes }
    }

    fn whys(&self) -> Vec<String> {
        lock(&self.notes.deaths).iter().map(|d| d.why.clone()).collect()
    }

    /// Dies `how`; then what was queued behind is heard, by a fresh actor, at the same address.
    async fn survives(&self, how: How) {
        assert_eq!(self.addr.send(Half).await.unwrap(), 0, "alive and whole");
        let before = lock(&self.world).lives;
        self.addr.do_send(Die(how));
        self.addr.do_send(Hear("queued behind the death"));
        // A timer or future panics after the messages at hand: wait for the next life before asking.
        while lock(&self.world).lives == before {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.addr.send(Half).await.unwrap(), 0, "the half-mutated actor lives on");
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
fn each_kind_of_death_costs_the_actor_and_nothing_else() {
    run(async {
        let bench = Bench::start(World::default(), 9);
        let deaths = [
            (How::Handler, "in a handler"),
            (How::Handler, "in a handler"),
            (How::Timer, "in a timer"),
            (How::Spawned, "in a future"),
            (How::Hang, "hung for 0.001 s: an answer"),
            (How::Stop, "stopped"),
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
        let rules = RestartRules { backoff: Duration::from_millis(1), ..deaths::tests::rules() };
        let notes = Arc::new(Notes { deaths: Mutex::default(), rules });
        let (tx, rx) = channel::channel(16);
        let (world, tries) = (Shared::default(), std::cell::Cell::new(0));
        let of_actor = world.clone();
        let make = move || {
            tries.set(tries.get() + 1);
            assert!(tries.get() > 2, "in the factory");
            Worker { world: of_actor.clone(), retired: Arc::default(), half: 0 }
        };
        let stats = Arc::new(ActorStats::new(Kind::Parser, "w"));
        Guarded::raise(rx, make, notes.clone(), stats.clone());
        let addr: Addr<Worker> = Addr::new(tx);
        addr.do_send(Hear("queued before there is an actor"));
        assert_eq!(addr.send(Half).await.unwrap(), 0);
        assert_eq!((lock(&notes.deaths).len(), stats.faults(), stats.lives()), (2, 2, 1));
        let world = lock(&world);
        assert_eq!((world.lives, world.heard.len()), (1, 1));
    });
}

#[test]
fn a_panic_in_started_or_in_the_factory_is_caught_and_tried_again() {
    run(async {
        let world = World { starts_that_panic: 2, ..World::default() };
        let bench = Bench::start(world, 9);
        bench.addr.do_send(Hear("queued before the first life"));
        assert_eq!(bench.addr.send(Half).await.unwrap(), 0);
        assert_eq!(bench.whys(), ["in started", "in started"]);
        assert_eq!(lock(&bench.world).lives, 3);
        lock(&bench.world).factories_that_panic = 2;
        bench.addr.do_send(Die(How::Handler));
        assert_eq!(bench.addr.send(Half).await.unwrap(), 0);
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
            bench.survives(How::Handler).await;
        }
        bench.addr.do_send(Die(How::Handler));
        assert_eq!(bench.addr.send(Half).await, Err(MailboxError::Closed));
        let rests: Vec<_> = lock(&bench.notes.deaths).iter().map(|d| d.rest).collect();
        for (rest, ms) in rests.iter().zip([1, 2, 4]) {
            let (least, most) = (Duration::from_micros(ms * 500), Duration::from_millis(ms));
            assert!(rest.is_some_and(|rest| least <= rest && rest <= most), "{rests:?}");
        }
        assert_eq!((rests.len(), rests[3]), (4, None));
        assert_eq!((bench.stats.life(), bench.stats.faults()), (Life::Stopped, 4));
        assert_eq!(bench.stats.last_fault(), Some((UnixMillis(0), "in a handler".into())));
        assert_eq!(lock(&bench.world).lives, 4, "the budget is spent: no further life");
    });
}

#[test]
fn an_actor_that_retired_ends_without_a_death() {
    run(async {
        let bench = Bench::start(World::default(), 9);
        bench.addr.do_send(Die(How::Retire));
        assert_eq!(bench.addr.send(Half).await, Err(MailboxError::Closed));
        assert!(bench.whys().is_empty());
        assert_eq!(lock(&bench.world).lives, 1);
    });
}

#[test]
fn a_restart_that_is_asked_for_begins_a_new_life_and_is_no_death() {
    run(async {
        let bench = Bench::start(World::default(), 1);
        assert_eq!(bench.addr.send(Half).await.unwrap(), 0);
        for life in 1..=5 {
            bench.addr.do_send(Hear("queued before the restart"));
            bench.stats.ask_restart();
            bench.stats.lives_beyond(life).await;
            assert_eq!(bench.addr.send(Half).await.unwrap(), 0, "the same address");
            let world = lock(&bench.world);
            let dropped = usize::try_from(life).unwrap();
            assert_eq!((world.lives, world.heard.len(), world.futures_dropped), (dropped + 1, dropped, dropped));
        }
        assert!(bench.whys().is_empty() && bench.stats.faults() == 0, "more often than the budget of deaths allows");
        assert_eq!((bench.stats.life(), bench.stats.lives()), (Life::Running, 6));
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
