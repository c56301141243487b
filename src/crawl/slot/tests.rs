//! Slots and what hosts share, with a clock set by hand.

use super::*;

const START: UnixMillis = UnixMillis(1_000_000);

fn rules(gap_ms: u64) -> PaceRules {
    let min_delay = Duration::from_millis(gap_ms);
    PaceRules { min_delay, delay_factor: 0.0, ..PaceRules::default() }
}

fn host(slots: &Slots, n: u8, gap_ms: u64) -> Arc<Seat> {
    slots.seat(HostKey([n; 8]), &rules(gap_ms), 1, Pace::new)
}

fn address(slots: &Slots, connections: usize, starts_ms: u64, gap_ms: u64) -> Arc<Seat> {
    slots.group(Group::Address([192, 0, 2, 1].into()), UnixMillis(0), || SeatRules {
        pace: rules(gap_ms),
        connections,
        between_starts: Duration::from_millis(starts_ms),
        heeds_throttling: connections == 1,
    })
}

fn taken<F: Future>(fut: F) -> Option<F::Output> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(fut).poll(&mut cx) {
        std::task::Poll::Ready(out) => Some(out),
        std::task::Poll::Pending => None,
    }
}

fn begun(seats: &Seats, clock: &Clock) -> Slot {
    let mut slot = taken(seats.take(clock)).flatten().unwrap();
    slot.begin();
    slot
}

#[test]
fn i1_a_host_has_one_request_in_flight_and_its_gap_from_the_end() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seats = Seats::new(Vec::new(), host(&slots, 1, 100));
    let slot = begun(&seats, &clock);
    assert!(taken(seats.take(&clock)).is_none(), "a second request in flight");
    clock.advance(Duration::from_millis(30));
    slot.finish(Duration::from_millis(30), PaceSignal::Ok);
    assert!(taken(seats.take(&clock)).is_some());
    assert_eq!(seats.earliest(), START.plus(Duration::from_millis(131)));
}

#[test]
fn i1_a_longer_gap_holds_from_the_last_response_on_and_a_shorter_one_from_the_next() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seat = host(&slots, 1, 100);
    let seats = Seats::new(Vec::new(), seat.clone());
    begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    let end = START.plus(Duration::from_millis(1));
    seat.take_up(2, &rules(700), 1);
    assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)));
    seat.take_up(2, &rules(9_000), 1);
    assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)), "once a generation");
    seat.take_up(3, &rules(10), 1);
    assert_eq!(seats.earliest(), end.plus(Duration::from_millis(700)));
    clock.advance(Duration::from_millis(701));
    begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    assert_eq!(seats.earliest(), clock.now().plus(Duration::from_millis(11)));
}

#[test]
fn i1_fewer_connections_hold_as_tokens_return_and_more_at_once() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seat = slots.seat(HostKey([1; 8]), &rules(0), 3, Pace::new);
    let seats = Seats::new(Vec::new(), seat.clone());
    let mut out: Vec<Slot> = (0..3).map(|_| begun(&seats, &clock)).collect();
    seat.take_up(2, &rules(0), 1);
    for left in [2, 1] {
        drop(out.pop());
        assert_eq!(out.len(), left);
        assert!(taken(seats.take(&clock)).is_none(), "{left} are in flight where one is allowed");
    }
    drop(out.pop());
    out.push(begun(&seats, &clock));
    assert!(taken(seats.take(&clock)).is_none(), "a second request in flight");
    seat.take_up(3, &rules(0), 2);
    out.push(begun(&seats, &clock));
    assert!(taken(seats.take(&clock)).is_none());
    drop(out);
    let both: Vec<_> = (0..2).filter_map(|_| taken(seats.take(&clock)).flatten()).collect();
    assert_eq!((both.len(), taken(seats.take(&clock)).is_none()), (2, true));
}

#[test]
fn i5_a_slot_that_dies_with_its_fetch_comes_back_and_its_host_waits_one_full_gap() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seats = Seats::new(vec![address(&slots, 1, 0, 50)], host(&slots, 1, 100));
    drop(begun(&seats, &clock));
    assert_eq!(seats.earliest(), START.plus(Duration::from_millis(101)));
    let unused = taken(seats.take(&clock)).unwrap();
    drop(unused); // never begun: nothing to wait for
    assert_eq!(seats.earliest(), START.plus(Duration::from_millis(101)));
}

#[test]
fn a_longer_gap_holds_at_once_a_shorter_one_after_the_next_response_and_a_crawl_delay_is_kept() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let key = HostKey([1; 8]);
    let seats = Seats::new(Vec::new(), host(&slots, 1, 100));
    let answered = |earliest: u64| {
        clock.advance(Duration::from_secs(60));
        let now = clock.now();
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
        assert_eq!(seats.earliest().since(now), Duration::from_millis(earliest + 1));
    };
    answered(100);
    slots.set_min_delay(&key, Some(Duration::from_secs(5)));
    assert_eq!(seats.earliest().since(clock.now()), Duration::from_millis(5_001));
    slots.set_min_delay(&key, Some(Duration::from_millis(50)));
    assert_eq!(seats.earliest().since(clock.now()), Duration::from_millis(5_001));
    answered(50);
    seats.host.set_crawl_delay(Some(Duration::from_secs(2)));
    answered(2_000);
    slots.set_min_delay(&key, None);
    seats.host.set_crawl_delay(None);
    answered(100);
}

#[test]
fn hosts_of_one_group_wait_for_each_other() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let group = address(&slots, 1, 0, 100);
    let one = Seats::new(vec![group.clone()], host(&slots, 1, 100));
    let other = Seats::new(vec![group], host(&slots, 2, 100));
    let slot = begun(&one, &clock);
    assert!(taken(other.take(&clock)).is_none(), "two requests in flight at one address");
    slot.finish(Duration::ZERO, PaceSignal::Ok);
    assert_eq!(other.earliest(), START.plus(Duration::from_millis(101)));
    let alone = Seats::new(Vec::new(), host(&slots, 3, 100));
    assert!(alone.earliest() <= START, "a host of no group waits for nobody");
}

#[test]
fn an_address_with_several_connections_keeps_a_distance_between_their_starts() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seats: Vec<Seats> = (0..3).map(|n| Seats::new(vec![address(&slots, 2, 250, 0)], host(&slots, n, 0))).collect();
    let first = begun(&seats[0], &clock);
    assert_eq!(seats[1].earliest(), START.plus(Duration::from_millis(250)));
    clock.advance(Duration::from_millis(250));
    let _second = begun(&seats[1], &clock);
    clock.advance(Duration::from_millis(250));
    assert!(taken(seats[2].take(&clock)).is_none(), "three requests in flight where two are allowed");
    first.finish(Duration::from_millis(500), PaceSignal::Throttled { retry_after: None });
    assert!(taken(seats[2].take(&clock)).is_some());
    assert!(seats[2].earliest() <= clock.now(), "one host's trouble is not the others' of a shared server");
}

#[test]
fn throttling_slows_down_all_of_a_group_that_the_user_asked_for() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let one = Seats::new(vec![address(&slots, 1, 0, 10)], host(&slots, 1, 10));
    let other = Seats::new(vec![address(&slots, 1, 0, 10)], host(&slots, 2, 10));
    let retry_after = Some(Duration::from_secs(7));
    begun(&one, &clock).finish(Duration::ZERO, PaceSignal::Throttled { retry_after });
    assert!(other.earliest() >= START.plus(Duration::from_secs(7)));
}

#[test]
fn an_error_of_one_host_does_not_shrink_the_back_off_of_its_group() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let group = address(&slots, 1, 0, 10);
    let seats = Seats::new(vec![group.clone()], host(&slots, 1, 10));
    let throttled = PaceSignal::Throttled { retry_after: None };
    for (signal, step) in [(throttled, 1), (throttled, 2), (PaceSignal::ServerError, 2), (PaceSignal::Ok, 1)] {
        clock.advance(Duration::from_secs(4_000));
        begun(&seats, &clock).finish(Duration::ZERO, signal);
        assert_eq!(group.pace().backoff(), step, "after {signal:?}");
    }
}

#[test]
fn a_host_that_must_wait_long_is_forgotten_once_its_state_is_on_disk() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let key = HostKey([1; 8]);
    let seats = Seats::new(Vec::new(), host(&slots, 1, 1_000_000));
    let before = slots.pace_of(&key).unwrap().encode();
    begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    let after = slots.pace_of(&key).unwrap().encode();
    slots.stored(&key, &after);
    slots.sweep(START);
    assert_eq!(slots.len(), 1, "held");
    drop(seats);
    slots.stored(&key, &before);
    slots.sweep(START);
    assert_eq!(slots.len(), 1, "what is on disk is an older state");
    slots.stored(&key, &after);
    assert!(slots.is_empty());
}

#[test]
fn only_hosts_that_nobody_holds_and_that_may_be_asked_again_are_forgotten() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seats = Seats::new(vec![address(&slots, 1, 0, 100)], host(&slots, 1, 100));
    begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    slots.sweep(UnixMillis(START.0 + 1_000));
    assert_eq!(slots.len(), 1, "held");
    drop(seats);
    slots.sweep(START);
    assert_eq!(slots.len(), 1, "not to be asked yet");
    slots.sweep(UnixMillis(START.0 + 1_000));
    assert!(slots.is_empty());
}

#[test]
fn whoever_comes_for_the_sake_of_other_hosts_has_each_ninth_turn_while_the_host_has_work_of_its_own() {
    let (clock, slots) = (Clock::manual(START), Slots::default());
    let seat = host(&slots, 1, 0);
    let seats = Seats::new(Vec::new(), seat.clone());
    assert!(seat.lets_foreign(), "nobody else is there");
    let line = seat.queue();
    for turn in 0..OWN_FIRST {
        assert!(!seat.lets_foreign(), "{turn}");
        begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    }
    assert!(seat.lets_foreign());
    let one = taken(seat.foreign()).flatten().unwrap();
    assert!(taken(seat.foreign()).is_none(), "one at a time");
    begun(&seats, &clock).finish(Duration::ZERO, PaceSignal::Ok);
    seat.refuse_foreign(UnixMillis(500));
    seat.refuse_foreign(UnixMillis(400));
    assert!(
        seat.turns_strangers_away(UnixMillis(499)) && !seat.turns_strangers_away(UnixMillis(500)),
        "the later holds"
    );
    seat.served_a_stranger();
    drop(one);
    assert!(!seat.lets_foreign() && taken(seat.foreign()).is_some());
    drop(line);
    assert!(seat.lets_foreign(), "the host has nothing to do");
}
