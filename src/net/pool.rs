//! Connections kept for the next request: bounded in number, and closed when their time is up whether or not anybody
//! asks for them (a connection nobody closes holds a socket here and a slot there).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::sync::lock;

/// Idle things by key.
#[derive(Debug)]
pub struct Pool<K, T> {
    shared: Arc<Shared<K, T>>,
}

#[derive(Debug)]
struct Shared<K, T> {
    idle: Duration,
    max: usize,
    state: Mutex<State<K, T>>,
}

#[derive(Debug)]
struct State<K, T> {
    /// The longest idle first: all wait equally long, so this is also the order in which their time is up.
    waiting: VecDeque<Waiting<K, T>>,
    /// Whether the task that closes them runs.
    reaping: bool,
}

#[derive(Debug)]
struct Waiting<K, T> {
    key: K,
    thing: T,
    until: Instant,
}

impl<K: Eq + Send + 'static, T: Send + 'static> Pool<K, T> {
    /// A pool that keeps at most `max` things, each for `idle`; zero of either: it keeps nothing.
    pub fn new(idle: Duration, max: usize) -> Self {
        let state = Mutex::new(State { waiting: VecDeque::new(), reaping: false });
        Self { shared: Arc::new(Shared { idle, max, state }) }
    }

    /// Takes the thing for `key` that was used last.
    pub fn take(&self, key: &K) -> Option<T> {
        let now = Instant::now();
        let mut state = lock(&self.shared.state);
        let at = state.waiting.iter().rposition(|w| w.key == *key && now < w.until)?;
        state.waiting.remove(at).map(|w| w.thing)
    }

    /// Keeps a thing; over the bound, the longest idle one is closed. Must be called on a tokio runtime.
    pub fn put(&self, key: K, thing: T) {
        let Shared { idle, max, .. } = *self.shared;
        let Some(until) = Instant::now().checked_add(idle) else { return };
        if idle.is_zero() || max == 0 {
            return;
        }
        let evicted = {
            let mut state = lock(&self.shared.state);
            state.waiting.push_back(Waiting { key, thing, until });
            if !std::mem::replace(&mut state.reaping, true) {
                tokio::spawn(reap(Arc::downgrade(&self.shared)));
            }
            if state.waiting.len() > max { state.waiting.pop_front() } else { None }
        };
        drop(evicted); // closed outside the lock
    }

    /// How many are kept now.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.shared.state).waiting.len()
    }
}

impl<K, T> Shared<K, T> {
    /// Takes out what has waited long enough; says when to look again, or that nothing is left to wait for.
    fn expire(&self, now: Instant) -> (Vec<Waiting<K, T>>, Option<Instant>) {
        let mut state = lock(&self.state);
        let due = state.waiting.iter().take_while(|w| w.until <= now).count();
        let expired = state.waiting.drain(..due).collect();
        let next = state.waiting.front().map(|w| w.until);
        state.reaping = next.is_some();
        (expired, next)
    }
}

/// Closes things when their time is up; ends when none is left or the pool is gone.
async fn reap<K, T>(shared: Weak<Shared<K, T>>) {
    loop {
        let Some(pool) = shared.upgrade() else { return };
        let (expired, next) = pool.expire(Instant::now());
        drop(expired);
        drop(pool);
        match next {
            Some(at) => tokio::time::sleep_until(at).await,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells when it is dropped.
    struct Link(#[expect(dead_code, reason = "its drop is the message")] tokio::sync::oneshot::Sender<()>);

    #[tokio::test]
    async fn the_link_used_last_is_taken_first_and_only_once() {
        let pool = Pool::new(Duration::from_secs(60), 10);
        pool.put("a", 1);
        pool.put("b", 2);
        pool.put("a", 3);
        assert_eq!(pool.take(&"a"), Some(3));
        assert_eq!(pool.take(&"a"), Some(1));
        assert_eq!(pool.take(&"a"), None);
        assert_eq!(pool.take(&"b"), Some(2));
    }

    #[tokio::test]
    async fn a_full_pool_closes_the_longest_idle_link() {
        let pool = Pool::new(Duration::from_secs(60), 2);
        for i in 0..5 {
            pool.put(i, i);
        }
        assert_eq!((pool.len(), pool.take(&2), pool.take(&3), pool.take(&4)), (2, None, Some(3), Some(4)));
    }

    #[tokio::test]
    async fn an_idle_link_is_closed_by_time_with_nobody_asking_and_the_task_starts_again_later() {
        let pool = Pool::new(Duration::from_millis(5), 10);
        for _ in 0..3 {
            let (link, closed) = tokio::sync::oneshot::channel();
            pool.put("a", Link(link));
            assert!(closed.await.is_err(), "dropped without a word");
            assert_eq!(pool.len(), 0);
        }
    }

    #[tokio::test]
    async fn a_pool_that_keeps_nothing_closes_at_once() {
        for pool in [Pool::new(Duration::ZERO, 10), Pool::new(Duration::from_secs(1), 0)] {
            pool.put("a", 1);
            assert_eq!(pool.len(), 0);
        }
    }

    #[tokio::test]
    async fn links_die_with_the_pool() {
        let pool = Pool::new(Duration::from_secs(60), 10);
        let (link, closed) = tokio::sync::oneshot::channel();
        pool.put("a", Link(link));
        drop(pool);
        assert!(closed.await.is_err());
    }
}
