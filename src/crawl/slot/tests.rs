//! Slots and what hosts share, with a clock set by hand.

use futures_util::FutureExt;

use super::*;

const START: UnixMillis = UnixMillis(1_000_000);

fn rules(gap_ms: u64) -> PaceRules {
    let min_delay = Duration::from_millis(gap_ms);
    PaceRules { min_delay, delay_factor: 0.0, ..PaceRules::default() }
}

fn host(slots: &Slots, n: u8, gap_ms: u64) -> Arc<Pacer> {
    slots.pacer(HostKey([n; 8]), &rules(gap_ms), 1, Pace::new)
}

fn address(slots: &Slots, connections: usize, starts_ms: u64, gap_ms: u64) -> Arc<Pacer> {
    slots.group(Group::Address([192, 0, 2, 1].into()), UnixMillis(0), || PacerRules {
        between_starts: Duration::from_millis(starts_ms),
        heeds_throttling: connections == 1,
        ..PacerRules::of(&rules(gap_ms), connections)
    })
}

fn begun(pacers: &Pacers, clock: &Clock) -> Slot {
    let mut slot = pacers.take(clock).now_or_never().flatten().unwrap();
    slot.begin();
    slot
}

#[test]
fn i1_a_host_has_one_request_in_flight_and_its_gap_from_the_end() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacers = Pacers::new(Vec::new(), host(&slots, 1, 100));
    let slot = begun(&pacers, &clock);
    assert!(pacers.take(&clock).now_or_never().is_none(), "a second request in flight");
    clock.advance(Duration::from_millis(30));
    slot.finish(Duration::from_millis(30), PaceSignal::Ok);
    assert!(pacers.take(&clock).now_or_never().is_some());
    assert_eq!(pacers.earliest(), START.plus(Duration::from_millis(131)));
}

#[test]
fn i1_a_longer_gap_holds_from_the_last_response_on_and_a_shorter_one_from_the_next() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacer = host(&slots, 1, 100);
    let pacers = Pacers::new(Vec::new(), pacer.clone());
    begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    let end = START.plus(Duration::from_millis(1));
    pacer.take_up(2, &rules(700), 1);
    assert_eq!(pacers.earliest(), end.plus(Duration::from_millis(700)));
    pacer.take_up(2, &rules(9_000), 1);
    assert_eq!(pacers.earliest(), end.plus(Duration::from_millis(700)), "once a generation");
    pacer.take_up(3, &rules(10), 1);
    assert_eq!(pacers.earliest(), end.plus(Duration::from_millis(700)));
    clock.advance(Duration::from_millis(701));
    begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    assert_eq!(pacers.earliest(), clock.now().plus(Duration::from_millis(11)));
}

#[test]
fn i1_fewer_connections_hold_as_tokens_return_and_more_at_once() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacer = slots.pacer(HostKey([1; 8]), &rules(0), 3, Pace::new);
    let pacers = Pacers::new(Vec::new(), pacer.clone());
    let mut out: Vec<Slot> = (0..3).map(|_| begun(&pacers, &clock)).collect();
    pacer.take_up(2, &rules(0), 1);
    for left in [2, 1] {
        drop(out.pop());
        assert_eq!(out.len(), left);
        assert!(pacers.take(&clock).now_or_never().is_none(), "{left} are in flight where one is allowed");
    }
    drop(out.pop());
    out.push(begun(&pacers, &clock));
    assert!(pacers.take(&clock).now_or_never().is_none(), "a second request in flight");
    pacer.take_up(3, &rules(0), 2);
    out.push(begun(&pacers, &clock));
    assert!(pacers.take(&clock).now_or_never().is_none());
    drop(out);
    let both: Vec<_> = (0..2).filter_map(|_| pacers.take(&clock).now_or_never().flatten()).collect();
    assert_eq!((both.len(), pacers.take(&clock).now_or_never().is_none()), (2, true));
}

#[test]
fn i5_a_slot_that_dies_with_its_fetch_comes_back_and_its_host_waits_one_full_gap() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacers = Pacers::new(vec![address(&slots, 1, 0, 50)], host(&slots, 1, 100));
    drop(begun(&pacers, &clock));
    assert_eq!(pacers.earliest(), START.plus(Duration::from_millis(101)));
    let unused = pacers.take(&clock).now_or_never().unwrap();
    drop(unused); // never begun: nothing to wait for
    assert_eq!(pacers.earliest(), START.plus(Duration::from_millis(101)));
}

#[test]
fn a_longer_gap_holds_at_once_a_shorter_one_after_the_next_response_and_a_crawl_delay_is_kept() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let key = HostKey([1; 8]);
    let pacers = Pacers::new(Vec::new(), host(&slots, 1, 100));
    let answered = |earliest: u64| {
        clock.advance(Duration::from_secs(60));
        let now = clock.now();
        begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        assert_eq!(pacers.earliest().since(now), Duration::from_millis(earliest + 1));
    };
    answered(100);
    slots.set_min_delay(&key, Some(Duration::from_secs(5)));
    assert_eq!(pacers.earliest().since(clock.now()), Duration::from_millis(5_001));
    slots.set_min_delay(&key, Some(Duration::from_millis(50)));
    assert_eq!(pacers.earliest().since(clock.now()), Duration::from_millis(5_001));
    answered(50);
    pacers.host.set_crawl_delay(Some(Duration::from_secs(2)));
    answered(2_000);
    slots.set_min_delay(&key, None);
    pacers.host.set_crawl_delay(None);
    answered(100);
}

#[test]
fn hosts_of_one_group_wait_for_each_other() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let group = address(&slots, 1, 0, 100);
    let one = Pacers::new(vec![group.clone()], host(&slots, 1, 100));
    let other = Pacers::new(vec![group], host(&slots, 2, 100));
    let slot = begun(&one, &clock);
    assert!(other.take(&clock).now_or_never().is_none(), "two requests in flight at one address");
    slot.finish(Duration::ZERO, PaceSignal::Ok);
    assert_eq!(other.earliest(), START.plus(Duration::from_millis(101)));
    let alone = Pacers::new(Vec::new(), host(&slots, 3, 100));
    assert!(alone.earliest() <= START, "a host of no group waits for nobody");
}

#[test]
fn an_address_with_several_connections_keeps_a_distance_between_their_starts() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacers: Vec<Pacers> =
        (0..3).map(|n| Pacers::new(vec![address(&slots, 2, 250, 0)], host(&slots, n, 0))).collect();
    let first = begun(&pacers[0], &clock);
    assert_eq!(pacers[1].earliest(), START.plus(Duration::from_millis(250)));
    clock.advance(Duration::from_millis(250));
    let _second = begun(&pacers[1], &clock);
    clock.advance(Duration::from_millis(250));
    assert!(pacers[2].take(&clock).now_or_never().is_none(), "three requests in flight where two are allowed");
    first.finish(Duration::from_millis(500), PaceSignal::Throttled { retry_after: None });
    assert!(pacers[2].take(&clock).now_or_never().is_some());
    assert!(pacers[2].earliest() <= clock.now(), "one host's trouble is not the others' of a shared server");
}

#[test]
fn throttling_slows_down_all_of_a_group_that_the_user_asked_for() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let one = Pacers::new(vec![address(&slots, 1, 0, 10)], host(&slots, 1, 10));
    let other = Pacers::new(vec![address(&slots, 1, 0, 10)], host(&slots, 2, 10));
    let retry_after = Some(Duration::from_secs(7));
    begun(&one, &clock).finish(Duration::ZERO, PaceSignal::Throttled { retry_after });
    assert!(other.earliest() >= START.plus(Duration::from_secs(7)));
}

#[test]
fn an_error_of_one_host_does_not_shrink_the_back_off_of_its_group() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let group = address(&slots, 1, 0, 10);
    let pacers = Pacers::new(vec![group.clone()], host(&slots, 1, 10));
    let throttled = PaceSignal::Throttled { retry_after: None };
    for (signal, step) in [(throttled, 1), (throttled, 2), (PaceSignal::ServerError, 2), (PaceSignal::Ok, 1)] {
        clock.advance(Duration::from_secs(4_000));
        begun(&pacers, &clock).finish(Duration::ZERO, signal);
        assert_eq!(group.pace().backoff(), step, "after {signal:?}");
    }
}

#[test]
fn a_host_that_must_wait_long_is_forgotten_once_its_state_is_on_disk() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let key = HostKey([1; 8]);
    let pacers = Pacers::new(Vec::new(), host(&slots, 1, 1_000_000));
    let before = slots.pace_of(&key).unwrap().encode();
    begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    let after = slots.pace_of(&key).unwrap().encode();
    slots.stored(&key, &after);
    slots.sweep(START);
    assert_eq!(slots.hosts(), 1, "held");
    drop(pacers);
    slots.stored(&key, &before);
    slots.sweep(START);
    assert_eq!(slots.hosts(), 1, "what is on disk is an older state");
    slots.stored(&key, &after);
    assert_eq!(slots.hosts(), 0);
}

#[test]
fn only_hosts_that_nobody_holds_and_that_may_be_asked_again_are_forgotten() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacers = Pacers::new(vec![address(&slots, 1, 0, 100)], host(&slots, 1, 100));
    begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    slots.sweep(UnixMillis(START.0 + 1_000));
    assert_eq!(slots.hosts(), 1, "held");
    drop(pacers);
    slots.sweep(START);
    assert_eq!(slots.hosts(), 1, "not to be asked yet");
    slots.sweep(UnixMillis(START.0 + 1_000));
    assert_eq!(slots.hosts(), 0);
}

#[test]
fn whoever_comes_for_the_sake_of_other_hosts_has_each_ninth_turn_while_the_host_has_work_of_its_own() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let pacer = host(&slots, 1, 0);
    let pacers = Pacers::new(Vec::new(), pacer.clone());
    assert!(pacer.lets_cross_host(), "nobody else is there");
    let line = pacer.queue();
    for turn in 0..OWN_FIRST {
        assert!(!pacer.lets_cross_host(), "{turn}");
        begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    }
    assert!(pacer.lets_cross_host());
    let one = pacer.cross_host().now_or_never().flatten().unwrap();
    assert!(pacer.cross_host().now_or_never().is_none(), "one at a time");
    begun(&pacers, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    pacer.refuse_cross_host(UnixMillis(500));
    pacer.refuse_cross_host(UnixMillis(400));
    assert!(pacer.refuses_cross_host(UnixMillis(499)) && !pacer.refuses_cross_host(UnixMillis(500)), "the later holds");
    pacer.served_cross_host();
    drop(one);
    assert!(!pacer.lets_cross_host() && pacer.cross_host().now_or_never().is_some());
    drop(line);
    assert!(pacer.lets_cross_host(), "the host has nothing to do");
}
