//! What the parts of the metrics are made of.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry as Names, Unit};

pub(super) type Label = [(&'static str, &'static str); 1];
type Made<M> = fn() -> M;

/// One metric for each member of a fixed set; finding one is an array access.
#[derive(Debug)]
pub(super) struct Each<M>(Vec<M>);

impl<M: Clone> Each<M> {
    fn of<C: MetricConstructor<M>>(family: &Family<Label, M, C>, label: &'static str, values: &[&'static str]) -> Self {
        Self(values.iter().map(|value| family.get_or_create_owned(&[(label, *value)])).collect())
    }

    /// Does something with one.
    pub fn with(&self, index: usize, act: impl FnOnce(&M)) {
        if let Some(metric) = self.0.get(index) {
            act(metric);
        }
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<&M> {
        self.0.get(index)
    }
}

/// Registers metrics: name and help, then label and values where there is one of each.
pub(super) struct Register<'r>(pub &'r mut Names);

impl Register<'_> {
    /// A counter; `_total` is added to its name.
    pub fn counter(&mut self, name: &str, help: &str) -> Counter {
        let counter = Counter::default();
        self.0.register(name, help, counter.clone());
        counter
    }

    /// One counter for each value of a label.
    pub fn counters(&mut self, name: &str, help: &str, label: &'static str, values: &[&'static str]) -> Each<Counter> {
        let family = Family::<Label, Counter>::default();
        let each = Each::of(&family, label, values);
        self.0.register(name, help, family);
        each
    }

    /// A gauge.
    pub fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.0.register(name, help, gauge.clone());
        gauge
    }

    /// One gauge for each value of a label.
    pub fn gauges(&mut self, name: &str, help: &str, label: &'static str, values: &[&'static str]) -> Each<Gauge> {
        let family = Family::<Label, Gauge>::default();
        let each = Each::of(&family, label, values);
        self.0.register(name, help, family);
        each
    }

    /// A gauge in bytes or seconds; the unit is added to its name.
    pub fn gauge_in(&mut self, name: &str, help: &str, unit: Unit) -> Gauge {
        let gauge = Gauge::default();
        self.0.register_with_unit(name, help, unit, gauge.clone());
        gauge
    }

    /// One gauge in bytes for each value of a label.
    pub fn bytes(&mut self, name: &str, help: &str, label: &'static str, values: &[&'static str]) -> Each<Gauge> {
        let family = Family::<Label, Gauge>::default();
        let each = Each::of(&family, label, values);
        self.0.register_with_unit(name, help, Unit::Bytes, family);
        each
    }

    /// Times; `_seconds` is added to the name.
    pub fn times(&mut self, name: &str, help: &str) -> Histogram {
        let times = wide();
        self.0.register_with_unit(name, help, Unit::Seconds, times.clone());
        times
    }

    /// Times for each value of a label, in buckets as `made`.
    pub fn times_each(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: &[&'static str],
        made: Made<Histogram>,
    ) -> Each<Histogram> {
        let family = Family::<Label, Histogram, Made<Histogram>>::new_with_constructor(made);
        let each = Each::of(&family, label, values);
        self.0.register_with_unit(name, help, Unit::Seconds, family);
        each
    }
}

/// 1 ms to 65 s.
pub(super) fn wide() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 17))
}

/// 10 µs to 5 s.
pub(super) fn narrow() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 4.0, 10))
}

/// The names of a fixed set.
pub(super) fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| name(*one)).collect()
}

/// One more.
pub(super) fn count(each: &Each<Counter>, index: usize) {
    each.with(index, |m| {
        m.inc();
    });
}

/// A counter follows a total that is counted elsewhere.
pub(super) fn follow(counter: &Counter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

/// Sets one gauge.
pub(super) fn put(gauge: &Gauge, value: u64) {
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
}

/// Sets one of several.
pub(super) fn set(each: &Each<Gauge>, index: usize, value: u64) {
    each.with(index, |gauge| put(gauge, value));
}

/// Where something stands in its set.
pub(super) fn position<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|x| x == one).unwrap_or(usize::MAX)
}
