use super::*;
use crate::domain::cut::Cut;

const NOW: UnixMillis = UnixMillis(1_000_000);

fn answer(status: u16) -> FetchOutcome {
    FetchOutcome::Answer(Answer::of(status))
}

fn with_location(status: u16) -> FetchOutcome {
    FetchOutcome::Answer(Answer { has_location: true, ..Answer::of(status) })
}

fn first(outcome: FetchOutcome) -> Verdict {
    judge(&outcome, 0, NOW, &RetryRules::default())
}

/// Waits before each retry, in seconds, and the verdict that ends it.
fn story(outcome: FetchOutcome) -> (Vec<u64>, Verdict) {
    let mut waits = Vec::new();
    for attempts in 0..=u8::MAX {
        match judge(&outcome, attempts, NOW, &RetryRules::default()) {
            Verdict::Retry { at, .. } => waits.push(at.since(NOW).as_secs()),
            end => return (waits, end),
        }
    }
    panic!("{outcome:?} is retried without end");
}

#[test]
fn every_status_has_its_tries_and_its_end() {
    for status in (0..=1000).chain([u16::MAX]).filter(|status| *status != 304) {
        let tries = if matches!(status, 408 | 425 | 429 | 500..=599) { vec![60, 900, 7200] } else { Vec::new() };
        let end = match status {
            200..=399 => Verdict::Store,
            400..=499 => Verdict::StoreOnly(Some(Failure::Status4xx)),
            500..=599 => Verdict::StoreOnly(Some(Failure::Status5xx)),
            _ => Verdict::StoreOnly(Some(Failure::StatusOther)),
        };
        let led = if matches!(status, 300..=303 | 307 | 308) { Verdict::Follow } else { end };
        assert_eq!(story(answer(status)), (tries.clone(), end), "status {status}");
        assert_eq!(story(with_location(status)), (tries, led), "status {status} with Location");
    }
    for cut in [Cut::Length, Cut::Time] {
        let outcome = FetchOutcome::Answer(Answer { cut: Some(cut), ..Answer::of(200) });
        assert_eq!(first(outcome), Verdict::Store, "cut by {cut}, a limit of ours");
    }
}

/// A 200 of which the connection left so many bytes.
fn half(bytes: u64) -> FetchOutcome {
    FetchOutcome::Answer(Answer { cut: Some(Cut::Disconnect), bytes, ..Answer::of(200) })
}

#[test]
fn what_the_connection_cut_is_kept_at_once_and_tried_again() {
    let delays = [60, 900, 7200];
    for (attempts, delay) in delays.into_iter().enumerate() {
        let at = NOW.plus(Duration::from_secs(delay));
        let verdict = judge(&half(10), attempts as u8, NOW, &RetryRules::default());
        assert_eq!(verdict, Verdict::StoreHalf { at });
        let none = judge(&half(0), attempts as u8, NOW, &RetryRules::default());
        assert_eq!(none, Verdict::Retry { at, reason: Failure::BodyCut });
    }
    assert_eq!(judge(&half(10), 3, NOW, &RetryRules::default()), Verdict::Store);
    assert_eq!(judge(&half(0), 3, NOW, &RetryRules::default()), Verdict::Fail(Failure::BodyCut));
    for (status, verdict) in [(404, Verdict::StoreOnly(Some(Failure::Status4xx))), (206, first(half(1)))] {
        let cut = Answer { cut: Some(Cut::Disconnect), bytes: 1, ..Answer::of(status) };
        assert_eq!(first(FetchOutcome::Answer(cut)), verdict, "status {status}");
    }
    let led = Answer { cut: Some(Cut::Disconnect), has_location: true, ..Answer::of(302) };
    assert_eq!(first(FetchOutcome::Answer(led)), Verdict::Follow, "nobody reads its body");
    assert_eq!(pace_signal(&half(0)), PaceSignal::Fault);
    assert_eq!(pace_signal(&half(1)), PaceSignal::Ok);
}

#[test]
fn the_better_copy_is_kept() {
    let whole = FetchOutcome::Answer(Answer { bytes: 3, ..Answer::of(200) });
    let capped = FetchOutcome::Answer(Answer { cut: Some(Cut::Time), bytes: 5, ..Answer::of(200) });
    let retry = |seconds| NOW.plus(Duration::from_secs(seconds));
    for (outcome, attempts, expected) in [
        (whole, 1, Verdict::Store),
        (half(11), 1, Verdict::StoreHalf { at: retry(900) }),
        (half(10), 1, Verdict::Retry { at: retry(900), reason: Failure::BodyCut }),
        (half(11), 3, Verdict::Store),
        (half(10), 3, Verdict::KeepHalf),
        (half(0), 3, Verdict::KeepHalf),
        (capped, 3, Verdict::KeepHalf),
        (answer(404), 1, Verdict::KeepHalf),
        (answer(503), 2, Verdict::Retry { at: retry(7200), reason: Failure::Status5xx }),
        (answer(503), 3, Verdict::KeepHalf),
        (with_location(302), 1, Verdict::Follow),
        (
            FetchOutcome::Fault(Failure::ConnectRefused),
            2,
            Verdict::Retry { at: retry(7200), reason: Failure::ConnectRefused },
        ),
        (FetchOutcome::Fault(Failure::ConnectRefused), 3, Verdict::KeepHalf),
        (FetchOutcome::Fault(Failure::AddressRefused), 1, Verdict::KeepHalf),
    ] {
        let judged = judge(&outcome, attempts, NOW, &RetryRules::default());
        assert_eq!(judged.beside_half(Some(10), &outcome), expected, "{outcome:?} {attempts}");
        assert_eq!(judged.beside_half(None, &outcome), judged);
    }
}

#[test]
fn that_nothing_has_changed_is_believed_when_it_was_asked_and_else_asked_once_more() {
    let asked = |status| FetchOutcome::Answer(Answer { conditional: true, ..Answer::of(status) });
    assert_eq!(story(asked(304)), (vec![], Verdict::NotModified));
    assert_eq!(story(asked(200)), (vec![], Verdict::Store));
    assert_eq!(story(answer(304)), (vec![60], Verdict::Fail(Failure::NotModifiedUnasked)));
}

#[test]
fn network_faults_are_retried_by_how_likely_they_pass() {
    use Failure as F;
    let once = [F::Tls, F::TlsExpired, F::TlsName, F::TlsSelfSigned, F::TlsIssuer, F::TlsCertificate, F::TlsOld];
    let once = [&once[..], &[F::NotModifiedUnasked, F::BadHttp]].concat();
    let never = [F::AddressRefused, F::Status4xx, F::Status5xx, F::StatusOther, F::Poison];
    for failure in Failure::ALL.iter().filter(|f| **f != Failure::Spill) {
        let (waits, end) = story(FetchOutcome::Fault(*failure));
        let expected: &[u64] = match failure {
            Failure::DnsNotFound => &[900],
            failure if once.contains(failure) => &[60],
            failure if never.contains(failure) => &[],
            _ => &[60, 900, 7200],
        };
        assert_eq!(waits, expected, "{failure}");
        let wanted = match failure {
            Failure::AddressRefused => Verdict::Reject(Rejection::Address),
            other => Verdict::Fail(*other),
        };
        assert_eq!(end, wanted, "{failure}");
    }
}

#[test]
fn a_fault_of_our_own_disk_never_ends_a_url() {
    for (delays, wait) in [(vec![7, 900], 7), (vec![], 60)] {
        let rules = RetryRules { delays: delays.into_iter().map(Duration::from_secs).collect() };
        let again = Verdict::Retry { at: NOW.plus(Duration::from_secs(wait)), reason: Failure::Spill };
        let waits = [0, 1, 3, 10, u32::MAX].map(|before| rules.own_fault(before).as_secs());
        assert_eq!(waits, [wait, wait * 2, wait * 8, 3_600.max(wait), 3_600.max(wait)]);
        for attempts in [0, 1, 2, 200, u8::MAX] {
            assert_eq!(judge(&FetchOutcome::Fault(Failure::Spill), attempts, NOW, &rules), again);
        }
    }
}

#[test]
fn retry_after_lengthens_a_retry_and_never_shortens_it() {
    for (asked, wait) in [(5, 60), (600, 600), (10 * 86_400, 86_400)] {
        let outcome = Answer { retry_after: Some(Duration::from_secs(asked)), ..Answer::of(503) };
        let at = NOW.plus(Duration::from_secs(wait));
        assert_eq!(first(FetchOutcome::Answer(outcome)), Verdict::Retry { at, reason: Failure::Status5xx });
    }
}

#[test]
fn without_delays_nothing_is_retried() {
    let rules = RetryRules { delays: Vec::new() };
    for failure in Failure::ALL.iter().filter(|f| **f != Failure::Spill) {
        assert!(judge(&FetchOutcome::Fault(*failure), 0, NOW, &rules).final_state().is_some(), "{failure}");
    }
    assert_eq!(judge(&answer(503), 0, NOW, &rules), Verdict::StoreOnly(Some(Failure::Status5xx)));
}

#[test]
fn one_delay_serves_a_name_that_does_not_exist_too() {
    let rules = RetryRules { delays: vec![Duration::from_secs(7)] };
    let verdict = judge(&FetchOutcome::Fault(Failure::DnsNotFound), 0, NOW, &rules);
    assert_eq!(verdict, Verdict::Retry { at: NOW.plus(Duration::from_secs(7)), reason: Failure::DnsNotFound });
}

#[test]
fn a_challenge_is_a_refusal_whatever_status_it_wears() {
    for status in [200, 202, 403, 405, 429, 503, 521] {
        let outcome = FetchOutcome::Answer(Answer { challenge: true, ..Answer::of(status) });
        let (waits, end) = story(outcome);
        assert_eq!(waits.len(), 3, "status {status}");
        assert_eq!(end, Verdict::Fail(Failure::Challenge), "status {status}");
        assert_eq!(pace_signal(&outcome), PaceSignal::Challenge, "status {status}");
    }
}

#[test]
fn a_verdict_says_what_is_stored_and_parsed_and_how_it_ends() {
    let (at, done) = (NOW, Some(FinalState::Done));
    for (verdict, stores, parses, state) in [
        (Verdict::Store, true, true, done),
        (Verdict::StoreHalf { at }, true, true, None),
        (Verdict::KeepHalf, false, false, done),
        (Verdict::Follow, true, false, done),
        (Verdict::NotModified, true, false, done),
        (Verdict::StoreOnly(None), true, false, done),
        (Verdict::StoreOnly(Some(Failure::Status4xx)), true, false, Some(FinalState::Error(Failure::Status4xx))),
        (Verdict::Fail(Failure::Reset), false, false, Some(FinalState::Error(Failure::Reset))),
        (Verdict::Reject(Rejection::Address), false, false, Some(FinalState::Rejected(Rejection::Address))),
        (Verdict::Retry { at, reason: Failure::Reset }, false, false, None),
    ] {
        assert_eq!((verdict.stores(), verdict.parses(), verdict.final_state()), (stores, parses, state), "{verdict:?}");
    }
}

#[test]
fn the_pace_hears_what_the_host_said() {
    let wait = Some(Duration::from_secs(9));
    let asking = |status| FetchOutcome::Answer(Answer { retry_after: wait, ..Answer::of(status) });
    for (outcome, signal) in [
        (answer(200), PaceSignal::Ok),
        (answer(301), PaceSignal::Ok),
        (answer(404), PaceSignal::Ok),
        (asking(404), PaceSignal::Ok),
        (answer(403), PaceSignal::Challenge),
        (answer(429), PaceSignal::Throttled { retry_after: None }),
        (asking(429), PaceSignal::Throttled { retry_after: wait }),
        (asking(503), PaceSignal::Throttled { retry_after: wait }),
        (asking(403), PaceSignal::Throttled { retry_after: wait }),
        (asking(500), PaceSignal::Throttled { retry_after: wait }),
        (answer(500), PaceSignal::ServerError),
        (answer(502), PaceSignal::ServerError),
        (answer(999), PaceSignal::Ok),
        (FetchOutcome::Fault(Failure::ConnectRefused), PaceSignal::Fault),
        (FetchOutcome::Fault(Failure::DnsNotFound), PaceSignal::Fault),
        (FetchOutcome::Fault(Failure::AddressRefused), PaceSignal::Neutral),
        (FetchOutcome::Fault(Failure::Spill), PaceSignal::Neutral),
        (FetchOutcome::Fault(Failure::Proxy), PaceSignal::Neutral),
    ] {
        assert_eq!(pace_signal(&outcome), signal, "{outcome:?}");
    }
}
