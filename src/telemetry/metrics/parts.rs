//! What the parts of the metrics are made of.

use std::fmt::Debug;
use std::hash::Hash;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry as Names, Unit};

use super::{ActorKind, Call, Phase, Registry};
use crate::base::disk::DiskFault;
use crate::base::invariant::Invariant;
use crate::content::sitemap::End;
use crate::domain::note::Note;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::revisit::RequeueReason;
use crate::domain::url::UrlError;
use crate::domain::visit::Visit;

pub(super) type Label = [(&'static str, &'static str); 1];
type Made<M> = fn() -> M;

/// A label with all its values.
pub(super) type Values<'v> = (&'static str, &'v [&'static str]);

/// A fixed set that labels metrics.
pub(super) trait Labels: Copy + PartialEq + 'static {
    const LABEL: &'static str;
    fn all() -> &'static [Self];
    /// The value of the label.
    fn value(self) -> &'static str;

    /// Where it stands among all.
    fn place(self) -> usize {
        Self::all().iter().position(|member| *member == self).unwrap_or(usize::MAX)
    }
}

impl Labels for UrlError {
    const LABEL: &'static str = "reason";
    fn all() -> &'static [Self] {
        &Self::ALL
    }
    fn value(self) -> &'static str {
        self.rejection().as_str()
    }
}

macro_rules! labels {
    ($($set:ty: $label:literal;)*) => { $(
        impl Labels for $set {
            const LABEL: &'static str = $label;
            fn all() -> &'static [Self] {
                &Self::ALL
            }
            fn value(self) -> &'static str {
                self.as_str()
            }
        }
    )* };
}

labels! {
    ActorKind: "actor";
    Call: "result";
    DiskFault: "kind";
    End: "result";
    Failure: "reason";
    Invariant: "invariant";
    Note: "note";
    Phase: "phase";
    Registry: "registry";
    Rejection: "reason";
    RequeueReason: "reason";
    Visit: "visit";
}

/// One metric for each member of a fixed set; finding one is an array access.
#[derive(Debug)]
pub(super) struct Each<M>(Vec<M>);

impl<M: Clone> Each<M> {
    fn of<C: MetricConstructor<M>>(family: &Family<Label, M, C>, (label, values): Values<'_>) -> Self {
        Self(values.iter().map(|value| family.get_or_create_owned(&[(label, *value)])).collect())
    }

    pub fn with(&self, index: usize, act: impl FnOnce(&M)) {
        if let Some(metric) = self.0.get(index) {
            act(metric);
        }
    }

    pub fn get(&self, index: usize) -> Option<&M> {
        self.0.get(index)
    }
}

/// Registers metrics: name and help, then label and values where there is one of each.
pub(super) struct Register<'r>(pub &'r mut Names);

impl Register<'_> {
    /// A metric, perhaps in a unit, which is added to its name.
    fn kept<M: Metric + Clone>(&mut self, name: &str, help: &str, unit: Option<Unit>, metric: M) -> M {
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, metric.clone()),
            None => self.0.register(name, help, metric.clone()),
        }
        metric
    }

    /// A counter; `_total` is added to its name.
    pub fn counter(&mut self, name: &str, help: &str) -> Counter {
        self.kept(name, help, None, Counter::default())
    }

    /// A counter in a unit, which is added to its name.
    pub fn counter_in(&mut self, name: &str, help: &str, unit: Unit) -> Counter {
        self.kept(name, help, Some(unit), Counter::default())
    }

    /// Gauges with labels of their own.
    pub fn family<L: EncodeLabelSet + Clone + Hash + Eq + Debug + Send + Sync + 'static>(
        &mut self,
        name: &str,
        help: &str,
    ) -> Family<L, Gauge> {
        self.kept(name, help, None, Family::default())
    }

    /// Counters with labels of their own.
    pub fn counter_family<L: EncodeLabelSet + Clone + Hash + Eq + Debug + Send + Sync + 'static>(
        &mut self,
        name: &str,
        help: &str,
    ) -> Family<L, Counter> {
        self.kept(name, help, None, Family::default())
    }

    /// One counter for each value of a label.
    pub fn counters(&mut self, name: &str, help: &str, values: Values<'_>) -> Each<Counter> {
        Each::of(&self.kept(name, help, None, Family::<Label, Counter>::default()), values)
    }

    /// One counter for each member of a set.
    pub fn counters_of<L: Labels>(&mut self, name: &str, help: &str) -> Each<Counter> {
        self.counters(name, help, (L::LABEL, &names::<L>()))
    }

    pub fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        self.kept(name, help, None, Gauge::default())
    }

    /// One gauge for each value of a label.
    pub fn gauges(&mut self, name: &str, help: &str, values: Values<'_>) -> Each<Gauge> {
        Each::of(&self.family(name, help), values)
    }

    /// One gauge for each member of a set.
    pub fn gauges_of<L: Labels>(&mut self, name: &str, help: &str) -> Each<Gauge> {
        self.gauges(name, help, (L::LABEL, &names::<L>()))
    }

    /// A gauge in bytes or seconds; the unit is added to its name.
    pub fn gauge_in(&mut self, name: &str, help: &str, unit: Unit) -> Gauge {
        self.kept(name, help, Some(unit), Gauge::default())
    }

    /// One gauge in bytes for each value of a label.
    pub fn bytes(&mut self, name: &str, help: &str, values: Values<'_>) -> Each<Gauge> {
        Each::of(&self.kept(name, help, Some(Unit::Bytes), Family::<Label, Gauge>::default()), values)
    }

    /// Times; `_seconds` is added to the name.
    pub fn times(&mut self, name: &str, help: &str) -> Histogram {
        self.kept(name, help, Some(Unit::Seconds), wide())
    }

    /// Times, in buckets as `made`; `_seconds` is added to the name.
    pub fn times_as(&mut self, name: &str, help: &str, made: Made<Histogram>) -> Histogram {
        self.kept(name, help, Some(Unit::Seconds), made())
    }

    /// Times for each member of a set, in buckets as `made`.
    pub fn times_of<L: Labels>(&mut self, name: &str, help: &str, made: Made<Histogram>) -> Each<Histogram> {
        let family = Family::<Label, Histogram, Made<Histogram>>::new_with_constructor(made);
        Each::of(&self.kept(name, help, Some(Unit::Seconds), family), (L::LABEL, &names::<L>()))
    }
}

/// 1 ms to 65 s.
pub(super) fn wide() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 17))
}

/// 1 s to 3 days.
pub(super) fn long() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 4.0, 10))
}

/// 10 µs to 5 s.
pub(super) fn narrow() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 4.0, 10))
}

fn names<L: Labels>() -> Vec<&'static str> {
    L::all().iter().map(|member| member.value()).collect()
}

pub(super) fn one_more(counter: &Counter) {
    counter.inc();
}

/// One more of this member.
pub(super) fn count(each: &Each<Counter>, member: impl Labels) {
    each.with(member.place(), one_more);
}

/// A counter follows a total that is counted elsewhere.
pub(super) fn follow(counter: &Counter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

pub(super) fn put(gauge: &Gauge, value: u64) {
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
}

pub(super) fn set(each: &Each<Gauge>, index: usize, value: u64) {
    each.with(index, |gauge| put(gauge, value));
}

/// Sets all of them, in order.
pub(super) fn set_all(each: &Each<Gauge>, values: &[u64]) {
    each.0.iter().zip(values).for_each(|(gauge, value)| put(gauge, *value));
}
