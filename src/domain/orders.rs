//! Orders: what the operator has said of one host. They stand until they are taken back, or carried out.

use std::time::Duration;

use super::reason::Rejection;
use crate::base::time::UnixMillis;

/// Something the operator says of a host, or that has been carried out for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOrder {
    /// No new requests.
    Pause,
    /// Requests again; what is being dropped or queued again and is not yet stays as it is.
    Resume,
    /// For good: nothing of it is requested or queued any more.
    Block,
    /// It may be crawled again.
    Unblock,
    /// What is queued is to be turned away.
    Drop,
    /// All of that was turned away, or the rest is to stay.
    Dropped,
    /// What was fetched is to be fetched once more.
    Recrawl,
    /// All of that is queued, or the rest is to stay as it is.
    Recrawled,
    /// The least gap between two requests; `None` for that of the settings.
    MinDelay(Option<Duration>),
}

/// What stands for a host, each order with the moment it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOrders {
    /// Paused.
    pub paused: Option<UnixMillis>,
    /// Blocked.
    pub blocked: Option<UnixMillis>,
    /// Its queue is being dropped.
    pub dropping: Option<UnixMillis>,
    /// What was fetched before this moment is being queued again.
    pub recrawling: Option<UnixMillis>,
    /// Its own least gap.
    pub min_delay: Option<Duration>,
}

impl HostOrders {
    /// Takes an order. One that stands already keeps its moment, so that an order given again goes on where the first was cut
    /// short.
    pub fn take(&mut self, order: HostOrder, now: UnixMillis) {
        match order {
            HostOrder::Pause => _ = self.paused.get_or_insert(now),
            HostOrder::Resume => (self.paused, self.dropping, self.recrawling) = (None, None, None),
            HostOrder::Block => _ = self.blocked.get_or_insert(now),
            HostOrder::Unblock => self.blocked = None,
            HostOrder::Drop => _ = self.dropping.get_or_insert(now),
            HostOrder::Dropped => self.dropping = None,
            HostOrder::Recrawl => _ = self.recrawling.get_or_insert(now),
            HostOrder::Recrawled => self.recrawling = None,
            HostOrder::MinDelay(delay) => self.min_delay = delay,
        }
    }

    /// True when nothing of the host may be requested.
    pub fn holds(&self) -> bool {
        self.held().is_some()
    }

    /// What of it keeps the host from being asked, in a word.
    pub fn held(&self) -> Option<&'static str> {
        let all = [("blocked", self.blocked), ("dropping", self.dropping), ("paused", self.paused)];
        all.into_iter().find_map(|(word, since)| since.map(|_| word))
    }

    /// Why nothing of the host may be queued, if that is so.
    pub fn refusal(&self) -> Option<Rejection> {
        let blocked = self.blocked.map(|_| Rejection::Blocked);
        blocked.or(self.dropping.map(|_| Rejection::Dropped))
    }

    /// True when nothing stands.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What stands, in words, since when.
    pub fn told(&self) -> Vec<(&'static str, UnixMillis)> {
        let all = [
            ("blocked by the operator", self.blocked),
            ("held while its queue is being dropped, as the operator said,", self.dropping),
            ("paused by the operator", self.paused),
            ("being queued again, as the operator said", self.recrawling),
        ];
        all.into_iter().filter_map(|(what, since)| Some((what, since?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_stands_since_it_was_first_given_until_it_is_taken_back() {
        use HostOrder as O;
        let pairs = [(O::Pause, O::Resume), (O::Block, O::Unblock), (O::Drop, O::Dropped), (O::Recrawl, O::Recrawled)];
        for (order, back) in pairs {
            let mut orders = HostOrders::default();
            orders.take(order, UnixMillis(5));
            orders.take(order, UnixMillis(9));
            assert_eq!(orders.told().iter().map(|(_, since)| since.0).collect::<Vec<_>>(), [5], "{order:?}");
            assert_eq!(orders.holds(), order != O::Recrawl);
            orders.take(back, UnixMillis(10));
            assert!(orders.is_empty(), "{back:?}");
        }
    }

    #[test]
    fn a_resume_takes_back_what_holds_a_host_but_no_block() {
        let mut orders = HostOrders::default();
        for order in [HostOrder::Pause, HostOrder::Drop, HostOrder::Recrawl, HostOrder::Block] {
            orders.take(order, UnixMillis(1));
        }
        orders.take(HostOrder::Resume, UnixMillis(2));
        assert_eq!(orders, HostOrders { blocked: Some(UnixMillis(1)), ..HostOrders::default() });
    }

    #[test]
    fn only_what_is_blocked_or_being_dropped_is_turned_away() {
        let refusal = |order| {
            let mut orders = HostOrders::default();
            orders.take(order, UnixMillis(1));
            orders.refusal()
        };
        assert_eq!(refusal(HostOrder::Block), Some(Rejection::Blocked));
        assert_eq!(refusal(HostOrder::Drop), Some(Rejection::Dropped));
        assert_eq!(refusal(HostOrder::Pause), None);
        assert_eq!(refusal(HostOrder::MinDelay(Some(Duration::from_secs(1)))), None);
    }
}
