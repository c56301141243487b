//! Who says when a page is visited next: rules of others, the optimum for freshness, and ours.

use super::web::{BOUNDS, Page, ours};

/// A rule. All of them are scaled to the visits that can be had, but where it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// All pages alike.
    Uniform,
    /// As often as they change, which is known.
    Proportional,
    /// An interval that is made shorter by the first part at a change and longer by the second at none, as Nutch and StormCrawler do.
    Steps(f64, f64),
    /// The most freshness that can be had, the rates being known (Azar and others, 2018): it gives pages up.
    Optimum,
    /// Ours, with rates that are known.
    Known,
    /// Ours.
    Ours {
        /// How often what can be had is wanted, were the rates known.
        wanted: f64,
        /// Whether intervals are made longer where visits come late.
        stretched: bool,
    },
}

/// Who makes all intervals longer or shorter together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Nobody.
    None,
    /// The bench: rules of others get as many visits as ours.
    ToRoom,
    /// Lycosa, as late as visits come.
    Ours,
}

/// A rule with what it reckons of all pages together.
pub struct Shared {
    rule: Rule,
    /// The price of ours, days.
    pace: f64,
}

impl Shared {
    /// With the intervals of those who know the rates; `room`: visits a day of all.
    pub fn of(rule: Rule, pages: &mut [Page], room: f64) -> Self {
        let load = |pages: &[Page], of: &dyn Fn(&Page) -> f64| pages.iter().map(|page| 1.0 / bounded(of(page))).sum();
        let mut pace = 0.0;
        match rule {
            Rule::Uniform | Rule::Steps(..) => {}
            Rule::Proportional => {
                let all = fitting(room, |all| load(pages, &|page| all / page.rate));
                pages.iter_mut().for_each(|page| page.interval = all / page.rate);
            }
            Rule::Optimum => {
                let price = fitting(room, |price| pages.iter().map(|page| best_frequency(page, price)).sum());
                pages.iter_mut().for_each(|page| page.interval = 1.0 / best_frequency(page, price));
            }
            Rule::Known | Rule::Ours { .. } => {
                let wanted = if let Rule::Ours { wanted, .. } = rule { wanted } else { 1.0 };
                let load = |pace: f64| pages.iter().map(|page| 1.0 / ours(page, true, pace.min(1e6), 1.0)).sum();
                pace = fitting(room * wanted, load);
            }
        }
        Self { rule, pace }
    }

    /// How long a page rests now, days.
    pub fn rest(&self, page: &Page, stretch: f64) -> f64 {
        match self.rule {
            Rule::Known | Rule::Ours { .. } => ours(page, self.rule == Rule::Known, self.pace, stretch),
            Rule::Steps(..) => bounded(page.interval * stretch),
            Rule::Optimum => page.interval,
            _ => bounded(page.interval),
        }
    }

    /// After a visit.
    pub fn learn(&self, page: &mut Page, changed: bool) {
        if let Rule::Steps(sooner, later) = self.rule {
            page.interval = bounded(page.interval * if changed { 1.0 - sooner } else { 1.0 + later });
        }
    }

    /// Whether more may be wanted than can be had, so that visits wait for each other.
    pub fn waits(&self) -> bool {
        matches!(self.rule, Rule::Ours { .. })
    }

    /// Who makes intervals longer.
    pub fn scaling(&self) -> Scaling {
        match self.rule {
            Rule::Steps(..) => Scaling::ToRoom,
            Rule::Ours { stretched: true, .. } => Scaling::Ours,
            _ => Scaling::None,
        }
    }
}

fn bounded(days: f64) -> f64 {
    days.clamp(BOUNDS.0, BOUNDS.1)
}

/// Visits a day of the best plan for freshness at this price of a visit; 0 for a page that is given up.
fn best_frequency(page: &Page, price: f64) -> f64 {
    let worth = |f: f64| page.weight / page.rate * (1.0 - (1.0 + page.rate / f) * (-page.rate / f).exp());
    if worth(1e-9) <= price {
        return 0.0;
    }
    bisected((1e-9, 1.0 / BOUNDS.0), |f| worth(f) > price)
}

/// The value at which `of` is `room`; it falls as its argument grows.
fn fitting(room: f64, of: impl Fn(f64) -> f64) -> f64 {
    bisected((1e-9, 1e9), |at| of(at) > room)
}

/// Where `below` ends to hold, between two bounds.
fn bisected((mut low, mut high): (f64, f64), below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..50 {
        let middle = f64::sqrt(low * high);
        if below(middle) { low = middle } else { high = middle }
    }
    f64::sqrt(low * high)
}
