//! Members that join, move partitions, leave, and put back a lost map. Their folders are what they say they have: what is done at rest is done at
//! once, and a checkpoint is whole as soon as it is asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::*;
use crate::base::sync::lock;
use crate::cluster::known::Watcher;
use crate::cluster::mover::{Life, Mover, Stock};
use crate::domain::cluster::held::Held;
use crate::domain::cluster::lease::{Facts, Whole};
use crate::domain::cluster::moves::object_name;
use crate::domain::partition::PartitionSet;

/// Objects in the store.
type Objects = Arc<Mutex<BTreeSet<String>>>;

struct Shelf(Objects);

impl Stock for Shelf {
    fn remove(&self, object: &str) {
        assert!(lock(&self.0).remove(object), "{object} was there");
    }

    fn keep_map(&self, _: &Map) {}
}

/// A folder, and what its newest checkpoint has.
struct Folder {
    held: Held,
    whole: Whole,
    copied: bool,
    rests: bool,
}

struct Node {
    mover: Mover,
    watcher: Arc<Watcher>,
    member: Arc<Membership>,
    folder: Arc<Mutex<Folder>>,
    objects: Objects,
}

impl Node {
    fn begun(who: &Who, objects: &Objects) -> Self {
        let is_first = who.engine.read(MAP).unwrap().is_none();
        let won = enter(who, 7, !is_first, &mut patient).unwrap();
        let held = Held::new(if is_first { PartitionSet::all() } else { PartitionSet::none() });
        Self::with(who, won, held, objects)
    }

    fn with(who: &Who, won: Won, held: Held, objects: &Objects) -> Self {
        let member = Arc::new(kept(who, won));
        let watcher = Arc::new(Watcher::start(&who.engine).unwrap());
        let stock = Box::new(Shelf(objects.clone()));
        let mover = Mover::start(member.clone(), watcher.clone(), stock).unwrap();
        let folder = Arc::new(Mutex::new(Folder { held, whole: Whole::default(), copied: false, rests: false }));
        let (said, of) = (folder.clone(), Arc::downgrade(&member));
        member.say(
            MemberState::Running,
            Box::new(move || {
                let map = of.upgrade().and_then(|member| member.map()).map_or(0, |map| map.version);
                let folder = lock(&said);
                let checkpoint = folder.copied.then(|| "c".to_owned());
                Some(Facts { map, checkpoint, whole: folder.whole.clone(), ..Facts::default() })
            }),
        );
        let node = Self { mover, watcher, member, folder, objects: objects.clone() };
        node.lives();
        node
    }

    fn lives(&self) {
        let held = lock(&self.folder).held.clone();
        let (rests, copied, member) = (self.folder.clone(), self.folder.clone(), self.member.clone());
        let copy = move || {
            let mut folder = lock(&copied);
            let named = |objects: &std::collections::BTreeMap<_, String>| {
                objects
                    .iter()
                    .map(|(p, object): (&crate::domain::partition::Partition, _)| (p.0, object.clone()))
                    .collect()
            };
            let (gone, came) = (named(&folder.held.gone), named(&folder.held.came));
            folder.copied = true;
            folder.whole = Whole { covers: Default::default(), gone, came };
            drop(folder);
            member.beat_now();
        };
        self.mover.lives(Some(Life {
            held: Some(held),
            missing: PartitionSet::none(),
            rest: Box::new(move || lock(&rests).rests = true),
            copy: Box::new(copy),
            follow: Box::new(|_| {}),
            is_handed: Box::new(|| true),
        }));
    }

    /// Does at rest what the map asks for, if it is asked to rest.
    fn rest(&self) {
        if !std::mem::take(&mut lock(&self.folder).rests) {
            return;
        }
        self.mover.lives(None);
        let Some(map) = self.member.map() else { return };
        let me = map.member(&self.member.who().name).unwrap().id;
        let mut folder = lock(&self.folder);
        let to_do = folder.held.to_do(&map, me);
        to_do.give_up.iter().for_each(|p| folder.held.gave(p));
        to_do.clear.iter().for_each(|p| folder.held.cleared(p));
        for (p, object) in to_do.fetch {
            assert!(lock(&self.objects).contains(&object), "{object} is not there");
            assert!(folder.held.begins(p));
            folder.held.accepted(p, &object);
        }
        for p in to_do.export.iter() {
            let object = object_name(p, map.version, self.member.session_number());
            lock(&self.objects).insert(object.clone());
            folder.held.exported(p, &object);
            folder.held.cleared(p);
        }
        assert!(to_do.missing.is_empty(), "{:?} is nowhere", to_do.missing);
        folder.held.forget(&map, me);
        drop(folder);
        self.lives();
    }

    fn map(&self) -> Option<Map> {
        self.watcher.known().map.as_ref().map(|(map, _)| map.clone())
    }

    fn owned(&self) -> PartitionSet {
        lock(&self.folder).held.owned.clone()
    }
}

/// Lets all go on until `done`; a partition is never two members' meanwhile.
fn until_all(nodes: &[&Node], what: &str, done: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: map {:?}", nodes[0].map().map(|map| map.version));
        nodes.iter().for_each(|node| node.rest());
        for (nth, node) in nodes.iter().enumerate() {
            let owned = node.owned();
            let others = nodes[..nth].iter().map(|other| other.owned());
            others.for_each(|other| assert!(!other.iter().any(|p| owned.has(p)), "a partition is two members'"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_shared(nodes: &[&Node]) -> bool {
    let Some(map) = nodes[0].map() else { return false };
    map.is_still()
        && nodes.iter().all(|node| {
            let me = map.member(&node.member.who().name);
            me.is_some_and(|me| map.owned_by(me.id) == map.wanted(me.id) && node.owned() == map.wanted(me.id))
        })
}

#[test]
fn who_joins_takes_its_part_and_who_leaves_gives_everything_away() {
    let (mut bench, objects) = (Bench::new(), Objects::default());
    let a = Node::begun(&bench.who("a"), &objects);
    let b = Node::begun(&bench.who("b"), &objects);
    until_all(&[&a, &b], "two share", || is_shared(&[&a, &b]));
    let who = bench.who("c");
    let c = Node::begun(&who, &objects);
    let all = [&a, &b, &c];
    until_all(&all, "three share", || is_shared(&all));
    assert_eq!(all.map(|node| node.owned().len()).iter().sum::<usize>(), 1_024);
    assert!(lock(&objects).len() < 200, "objects that nobody needs are there: {}", lock(&objects).len());
    crate::cluster::nodes::order_leave(&who, "a").unwrap();
    until_all(&all, "a leaves", || matches!(a.member.lost(), Some(Lost::Left(_))));
    until_all(&[&b, &c], "two share again", || is_shared(&[&b, &c]));
    assert!(a.owned().is_empty());
    assert!(matches!(crate::cluster::nodes::order_leave(&who, "a"), Err(WordError::Unknown { .. })));
}

#[test]
fn the_only_member_that_stays_cannot_leave() {
    let (mut bench, objects) = (Bench::new(), Objects::default());
    let who = bench.who("a");
    let a = Node::begun(&who, &objects);
    assert!(matches!(crate::cluster::nodes::order_leave(&who, "a"), Err(WordError::Last(_))));
    assert!(a.member.lost().is_none());
}

#[test]
fn a_map_that_the_engine_lost_is_put_back_when_all_have_said_theirs() {
    let (mut bench, objects) = (Bench::new(), Objects::default());
    let a = Node::begun(&bench.who("a"), &objects);
    let b = Node::begun(&bench.who("b"), &objects);
    until_all(&[&a, &b], "two share", || is_shared(&[&a, &b]));
    let version = a.map().unwrap().version;
    bench.memory.empty();
    until_all(&[&a, &b], "the map is back", || a.map().is_some_and(|map| map.version > version));
    until_all(&[&a, &b], "two share still", || is_shared(&[&a, &b]));
}
