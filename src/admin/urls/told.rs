//! Moments and counts, in the words of an answer.

use crate::base::time::UnixMillis;
use crate::base::units::roughly;
use crate::warc::date::iso;

/// A moment: the time alone on the day of `now`.
pub(super) fn clock(at: UnixMillis, now: UnixMillis) -> String {
    let (text, today) = (iso(at), iso(now));
    match (text.split_once('T'), today.split_once('T')) {
        (Some((day, time)), Some((today, _))) => {
            let time = time.get(..8).unwrap_or(time);
            if day == today { format!("{time} UTC") } else { format!("{day} {time} UTC") }
        }
        _ => text,
    }
}

/// How long from now.
pub(super) fn soon(at: UnixMillis, now: UnixMillis) -> String {
    format!("in {}", roughly(at.since(now)))
}

/// So many tries.
pub(super) fn tries(n: u64) -> String {
    if n == 1 { "its first try".into() } else { format!("{n} tries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_today_is_a_time_and_another_has_its_day() {
        let now = UnixMillis(1_714_979_289_000); // 2024-05-06T07:08:09Z
        assert_eq!(clock(UnixMillis(now.0 + 1_000), now), "07:08:10 UTC");
        assert_eq!(clock(UnixMillis(now.0 + 86_400_000), now), "2024-05-07 07:08:09 UTC");
    }
}
