//! What is known about names, and until when. Pure: `now` is an argument.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::Answer;

/// Answers by name, at most `max` of them; when full, the oldest entry goes first.
#[derive(Debug)]
pub(super) struct Cache {
    max: usize,
    entries: HashMap<Box<str>, Entry>,
    /// Names in the order they were put; a name put again stands here twice and is told apart by its serial.
    order: VecDeque<(Box<str>, u64)>,
    serial: u64,
}

#[derive(Debug)]
struct Entry {
    answer: Answer,
    until: Instant,
    serial: u64,
}

impl Cache {
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(1), entries: HashMap::new(), order: VecDeque::new(), serial: 0 }
    }

    /// What is known and still believed at `now`.
    pub(super) fn get(&self, host: &str, now: Instant) -> Option<Answer> {
        self.entries.get(host).filter(|entry| now < entry.until).map(|entry| entry.answer.clone())
    }

    /// Names with an answer, believed or not.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Believes `answer` for `ttl` from `now`.
    pub(super) fn put(&mut self, host: &str, answer: Answer, now: Instant, ttl: Duration) {
        if ttl.is_zero() {
            return;
        }
        let Some(until) = now.checked_add(ttl) else { return };
        self.serial += 1;
        self.entries.insert(host.into(), Entry { answer, until, serial: self.serial });
        self.order.push_back((host.into(), self.serial));
        self.trim();
    }

    fn trim(&mut self) {
        while self.entries.len() > self.max || self.order.len() > self.max.saturating_mul(2) {
            let Some((name, serial)) = self.order.pop_front() else { return };
            if self.entries.get(&name).is_some_and(|entry| entry.serial == serial) {
                self.entries.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::super::DnsFault;
    use super::*;

    fn answer(last: u8) -> Answer {
        Ok(Arc::from([IpAddr::from(Ipv4Addr::new(10, 0, 0, last))]))
    }

    #[test]
    fn an_answer_is_believed_until_its_time_and_not_after() {
        let (mut cache, now) = (Cache::new(10), Instant::now());
        let ttl = Duration::from_secs(60);
        cache.put("a.test", answer(1), now, ttl);
        cache.put("gone.test", Err(DnsFault::NotFound), now, ttl / 2);
        assert_eq!(cache.get("a.test", now + ttl - Duration::from_millis(1)), Some(answer(1)));
        assert_eq!(cache.get("a.test", now + ttl), None);
        assert_eq!(cache.get("gone.test", now), Some(Err(DnsFault::NotFound)));
        assert_eq!(cache.get("gone.test", now + ttl / 2), None);
        assert_eq!(cache.get("b.test", now), None);
    }

    #[test]
    fn a_name_put_again_gets_the_new_time() {
        let (mut cache, now) = (Cache::new(10), Instant::now());
        let ttl = Duration::from_secs(60);
        cache.put("a.test", answer(1), now, ttl);
        cache.put("a.test", answer(2), now + ttl, ttl);
        assert_eq!(cache.get("a.test", now + ttl), Some(answer(2)));
    }

    #[test]
    fn a_full_cache_forgets_the_oldest_and_stays_bounded() {
        let (mut cache, now) = (Cache::new(3), Instant::now());
        let ttl = Duration::from_secs(60);
        for i in 0..100u8 {
            cache.put(&format!("h{i}.test"), answer(i), now, ttl);
            cache.put("often.test", answer(i), now, ttl);
            assert!(cache.entries.len() <= 3 && cache.order.len() <= 6);
            assert_eq!(cache.get("often.test", now), Some(answer(i)));
        }
        assert_eq!(cache.get("h99.test", now), Some(answer(99)));
        assert_eq!(cache.get("h0.test", now), None);
    }

    #[test]
    fn a_ttl_of_zero_is_not_kept() {
        let (mut cache, now) = (Cache::new(3), Instant::now());
        cache.put("a.test", answer(1), now, Duration::ZERO);
        assert_eq!(cache.get("a.test", now), None);
    }
}
