use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::base::time::UnixMillis;
use crate::domain::cases::{check, unescape};

const START: UnixMillis = UnixMillis(1_700_000_000_000);

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn throttled() -> PaceSignal {
    PaceSignal::Throttled { retry_after: None }
}

/// Ends a request at `START` that took no time; gives back how long the host then waits, and why.
fn wait_after(pace: &mut Pace, signal: PaceSignal, rules: &PaceRules) -> (Duration, PaceWhy) {
    let now = START.max(pace.earliest());
    pace.finished(now, Duration::ZERO, signal, rules);
    (pace.earliest().since(now), pace.why())
}

#[test]
fn a_new_host_is_ready_at_once() {
    assert_eq!(Pace::new().earliest(), UnixMillis(0));
}

#[test]
fn the_gap_is_the_largest_of_minimum_crawl_delay_and_response_time() {
    let rules = PaceRules::default();
    let factor = |delay_factor| PaceRules { delay_factor, ..PaceRules::default() };
    for (rules, delay, took, gap) in [
        (&rules, None, 0, 1_000),
        (&rules, None, 100, 1_000),
        (&rules, None, 400, 2_000),
        (&rules, None, 100_000, 30_000),
        (&rules, Some(10_000), 0, 10_000),
        (&rules, Some(10_000), 3_000, 15_000),
        (&rules, Some(90_000), 100_000, 90_000),
        (&rules, Some(500), 0, 1_000),
        (&rules, Some(4_000_000), 0, 4_000_000),
        // A minimum above the maximum is not shortened; a bad factor counts as zero or as the maximum.
        (&PaceRules { min_delay: seconds(60), ..PaceRules::default() }, None, 0, 60_000),
        (&factor(f64::NAN), None, 7_000, 1_000),
        (&factor(-3.0), None, 7_000, 1_000),
        (&factor(f64::NEG_INFINITY), None, 7_000, 1_000),
        (&factor(f64::INFINITY), None, 7_000, 30_000),
        (&factor(1e300), None, 7_000, 30_000),
    ] {
        let gap = Duration::from_millis(gap);
        let mut pace = Pace::new();
        pace.set_crawl_delay(delay.map(Duration::from_millis), rules);
        pace.finished(START, Duration::from_millis(took), PaceSignal::Ok, rules);
        assert_eq!((pace.gap(rules), pace.earliest()), (gap, START.plus(gap)), "{delay:?}, took {took}, {rules:?}");
    }
}

#[test]
fn the_reason_for_waiting_is_told() {
    let rules = PaceRules::default();
    assert_eq!(wait_after(&mut Pace::new(), PaceSignal::Ok, &rules), (seconds(1), PaceWhy::Gap));
    let mut pace = Pace::new();
    pace.set_crawl_delay(Some(seconds(10)), &rules);
    assert_eq!(wait_after(&mut pace, PaceSignal::Ok, &rules), (seconds(10), PaceWhy::CrawlDelay));
}

#[test]
fn retry_after_is_honoured_within_a_gap_and_a_day() {
    let rules = PaceRules::default();
    for (asked, wait) in [(0, 2), (120, 120), (7 * 86_400, 86_400)] {
        let signal = PaceSignal::Throttled { retry_after: Some(seconds(asked)) };
        let (waited, why) = wait_after(&mut Pace::new(), signal, &rules);
        assert_eq!((waited, why), (seconds(wait), PaceWhy::RetryAfter), "Retry-After {asked}");
    }
    let mut slow = Pace::new();
    slow.set_crawl_delay(Some(seconds(10_000)), &rules);
    let signal = PaceSignal::Throttled { retry_after: Some(seconds(5)) };
    assert_eq!(wait_after(&mut slow, signal, &rules), (seconds(10_000), PaceWhy::CrawlDelay));
}

#[test]
fn trouble_doubles_the_wait_up_to_an_hour_and_answers_that_go_well_bring_it_back() {
    let rules = PaceRules { waf_brake: 0, ..PaceRules::default() };
    let doubled = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600];
    for (signal, waits, back) in [
        (throttled(), &[30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600, 3600], [30, 8, 2, 1, 1]),
        (PaceSignal::ServerError, &doubled, [30, 8, 2, 1, 1]),
        (PaceSignal::Fault, &doubled, [30, 8, 2, 1, 1]),
    ] {
        let mut pace = Pace::new();
        let mut wait = |signal| wait_after(&mut pace, signal, &rules).0.as_secs();
        assert_eq!([(); 13].map(|()| wait(signal)), *waits, "{signal:?}");
        assert_eq!([(); 5].map(|()| wait(PaceSignal::Ok)), back, "{signal:?}");
        assert_eq!(pace.backoff(), 0);
    }
}

#[test]
fn a_row_of_refusals_pauses_the_host_for_an_hour() {
    use PaceSignal::{Challenge, Fault, Neutral, Ok};
    use PaceWhy::{Backoff, Brake, Gap};
    let stories = [
        (20, &[(Challenge, 19, 1, Gap), (Challenge, 1, 3600, Brake), (Challenge, 1, 1, Gap)][..]),
        // One good answer breaks it.
        (3, &[(Challenge, 1, 1, Gap), (throttled(), 1, 30, Backoff), (Ok, 1, 1, Gap), (Challenge, 2, 1, Gap)]),
        // A fault does not, nor does what says nothing about the host, which keeps the doubled gap too.
        (3, &[(Challenge, 2, 1, Gap), (Fault, 1, 2, Backoff), (Challenge, 1, 3600, Brake)]),
        (
            3,
            &[
                (throttled(), 1, 30, Backoff),
                (Challenge, 1, 2, Backoff),
                (Neutral, 9, 2, Backoff),
                (Challenge, 1, 3600, Brake),
            ],
        ),
    ];
    for (waf_brake, story) in stories {
        let rules = PaceRules { waf_brake, ..PaceRules::default() };
        let mut pace = Pace::new();
        for (signal, times, wait, why) in story {
            for n in 0..*times {
                assert_eq!(
                    wait_after(&mut pace, *signal, &rules),
                    (seconds(*wait), *why),
                    "{signal:?} {n} of {story:?}"
                );
            }
        }
    }
}

#[test]
fn a_crawl_delay_learnt_late_holds_from_the_last_response_on() {
    let rules = PaceRules::default();
    let mut pace = Pace::new();
    pace.finished(START, Duration::ZERO, PaceSignal::Ok, &rules);
    pace.set_crawl_delay(Some(seconds(10)), &rules);
    assert_eq!(pace.earliest(), START.plus(seconds(10)));
    pace.set_crawl_delay(None, &rules);
    assert_eq!(pace.earliest(), START.plus(seconds(10)), "the earliest time does not go back");
}

#[test]
fn a_full_gap_is_waited_when_it_is_not_known_whether_a_request_was_under_way() {
    let rules = PaceRules::default();
    let mut pace = Pace::new();
    pace.set_crawl_delay(Some(seconds(10)), &rules);
    pace.wait_one_full_gap(START, &rules);
    assert_eq!(pace.earliest(), START.plus(seconds(10)));
}

#[test]
fn a_wait_that_a_clock_ahead_has_written_is_no_longer_than_it_was() {
    let rules = PaceRules::default();
    for (signal, wait) in [(PaceSignal::Ok, 1), (PaceSignal::Throttled { retry_after: Some(seconds(600)) }, 600)] {
        for ahead in [1, 3_600, 30 * 86_400, 10 * 365 * 86_400] {
            let mut pace = Pace::new();
            pace.finished(START.plus(seconds(ahead)), Duration::ZERO, signal, &rules);
            let read = pace.clone().not_from_the_future(START);
            assert_eq!((read.earliest(), read.last_end()), (START.plus(seconds(wait)), Some(START)), "{ahead} s ahead");
            let later = START.plus(seconds(ahead + 5));
            assert_eq!(pace.clone().not_from_the_future(later), pace, "of the past it is as it was");
        }
    }
}

#[test]
fn a_hold_from_outside_only_lengthens() {
    let mut pace = Pace::new();
    pace.hold_until(START, PaceWhy::Brake);
    pace.hold_until(UnixMillis(5), PaceWhy::Gap);
    assert_eq!((pace.earliest(), pace.why()), (START, PaceWhy::Brake));
}

#[test]
fn retry_after_is_read_as_seconds_or_as_a_date() {
    let now = UnixMillis(784_111_717_000); // Sun, 06 Nov 1994 08:48:37 GMT
    check(include_str!("../../../tests/data/retry_after.txt"), |[value]| {
        [RetryAfter::parse(&unescape(value), now).map_or("-".to_owned(), |wait| wait.as_secs().to_string())]
    });
    assert_eq!(RetryAfter::parse("", now), None);
}

#[test]
fn a_damaged_record_is_refused() {
    let good = Pace::new().encode();
    assert_eq!(good.len(), PACE_RECORD_LEN);
    let with = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        Pace::decode(&bad)
    };
    assert_eq!(Pace::decode(&[]), Err(PaceRecordError::Length(0)));
    assert_eq!(Pace::decode(&good[..39]), Err(PaceRecordError::Length(39)));
    assert_eq!(with(0, 2), Err(PaceRecordError::Version(2)));
    assert_eq!(with(1, 4), Err(PaceRecordError::Field("flags")));
    assert_eq!(with(2, 6), Err(PaceRecordError::Field("why")));
    assert_eq!(with(3, 21), Err(PaceRecordError::Field("back-off")));
    assert_eq!(with(19, 1), Err(PaceRecordError::Field("last end")));
    assert_eq!(with(35, 1), Err(PaceRecordError::Field("Crawl-delay")));
}

#[test]
fn a_record_keeps_its_bytes() {
    let rules = PaceRules::default();
    let mut pace = Pace::new();
    pace.set_crawl_delay(Some(Duration::from_millis(2500)), &rules);
    pace.finished(UnixMillis(1000), Duration::from_millis(300), throttled(), &rules);
    let hex: String = pace.encode().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(
        hex, "01030301000000000000791800000000000003e8000000000000012c00000000000009c400000001",
        "the form on disk changed: raise the marker of the format"
    );
}

fn signals() -> impl Strategy<Value = PaceSignal> {
    prop_oneof![
        3 => Just(PaceSignal::Ok),
        1 => Just(PaceSignal::ServerError),
        1 => Just(PaceSignal::Fault),
        1 => Just(PaceSignal::Neutral),
        2 => Just(PaceSignal::Challenge),
        2 => prop::option::of(0_u64..200_000).prop_map(|s| PaceSignal::Throttled { retry_after: s.map(seconds) }),
    ]
}

/// What may happen to a pace.
#[derive(Clone, Debug)]
enum Event {
    Finished(PaceSignal, u64),
    CrawlDelay(Option<u64>),
    FullGap,
    Restart,
}

fn events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let event = prop_oneof![
        6 => (signals(), 0_u64..60_000).prop_map(|(signal, took)| Event::Finished(signal, took)),
        1 => prop::option::of(0_u64..900_000).prop_map(Event::CrawlDelay),
        1 => Just(Event::FullGap),
        1 => Just(Event::Restart),
    ];
    // Mostly forward, sometimes back, as wall clocks go.
    prop::collection::vec((-5_000_i64..100_000, event), 1..40)
}

proptest! {
    #[test]
    fn no_event_moves_the_earliest_time_back_or_before_end_plus_gap(events in events(), brake in 0_u32..5) {
        let rules = PaceRules { waf_brake: brake, ..PaceRules::default() };
        let mut pace = Pace::new();
        let mut now = START;
        for (step, event) in events {
            now = UnixMillis(now.0.saturating_add_signed(step));
            let before = pace.earliest();
            match event {
                Event::Finished(signal, took) => {
                    pace.finished(now, Duration::from_millis(took), signal, &rules);
                    prop_assert!(pace.earliest() >= now.plus(pace.gap(&rules)));
                    if let PaceSignal::Throttled { retry_after: Some(asked) } = signal {
                        prop_assert!(pace.earliest() >= now.plus(asked.min(RetryAfter::MAX)));
                    }
                }
                Event::CrawlDelay(delay) => pace.set_crawl_delay(delay.map(Duration::from_millis), &rules),
                Event::FullGap => pace.wait_one_full_gap(now, &rules),
                Event::Restart => pace = Pace::decode(&pace.encode()).expect("its own record"),
            }
            prop_assert!(pace.earliest() >= before);
            if let Some(end) = pace.last_end {
                prop_assert!(pace.earliest() >= end.plus(pace.gap(&rules)));
            }
        }
    }

    #[test]
    fn a_record_gives_back_the_same_pace(events in events(), took in any::<u64>()) {
        let rules = PaceRules::default();
        let mut pace = Pace::new();
        for (step, event) in events {
            if let Event::Finished(signal, _) = event {
                pace.finished(UnixMillis(step.unsigned_abs()), Duration::from_nanos(took), signal, &rules);
                pace.set_crawl_delay(Some(Duration::from_nanos(took)), &rules);
            }
        }
        prop_assert_eq!(Pace::decode(&pace.encode()), Ok(pace));
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(pace) = Pace::decode(&bytes) {
            prop_assert_eq!(pace.encode(), bytes);
        }
    }

    #[test]
    fn any_text_is_a_retry_after_or_none(value in "\\PC{0,40}|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT") {
        if let Some(wait) = RetryAfter::parse(&value, START) {
            prop_assert!(wait <= RetryAfter::MAX);
        }
    }
}
