//! What a node knows of the other members of its crawl, and how it stands with its own end, which comes when all are at theirs.

use std::ops::AddAssign;
use std::sync::Mutex;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::domain::cluster::rounds::Made;
use crate::storage::values::Counters;

/// What counts against the limits of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Captures.
    pub pages: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// URLs given up.
    pub failures: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failures = self.failures.saturating_add(other.failures);
    }
}

impl From<&Counters> for Spent {
    fn from(counters: &Counters) -> Self {
        Self { pages: counters.pages_stored, bytes: counters.bytes, failures: counters.error() }
    }
}

impl From<&Counters> for Made {
    fn from(counters: &Counters) -> Self {
        let done = counters.done;
        let finished = done.saturating_add(counters.error()).saturating_add(counters.rejected_total());
        let fetched = counters.statuses.range(200..300).map(|(_, n)| n).sum();
        Self { discovered: counters.discovered, finished, done, fetched }
    }
}

/// How a node that is to end by itself stands, as its own patience judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Something is to be done, or nobody has looked yet.
    Busy,
    /// Nothing before that moment, which is waited for.
    Until(UnixMillis),
    /// Something is left, or in flight, which it does not wait for any longer.
    GivenUp,
    /// Nothing is left.
    Nothing,
}

/// Whose the end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Company {
    /// There is no other member: it ends by itself.
    #[default]
    Alone,
    /// It ends when all have nothing to do; so it does as long as it is not known who there is.
    Several,
}

/// The cell in which it is kept, for whoever asks.
#[derive(Default)]
pub struct Together(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    company: Company,
    others: Spent,
    waits_for: String,
    told: Made,
    standing: Option<(Standing, Made)>,
}

impl Together {
    /// What is known of the others: what they have spent, and in words what is waited for.
    pub fn know(&self, company: Company, others: Spent, waits_for: String) {
        let mut inner = lock(&self.0);
        (inner.company, inner.others, inner.waits_for) = (company, others, waits_for);
    }

    /// Whose the end is.
    pub fn company(&self) -> Company {
        lock(&self.0).company
    }

    /// What the others have spent, as they said last.
    pub fn others(&self) -> Spent {
        lock(&self.0).others
    }

    /// In words, what of the others is waited for; nothing where there are none.
    pub fn waits_for(&self) -> Option<String> {
        let inner = lock(&self.0);
        (inner.company == Company::Several).then(|| inner.waits_for.clone()).filter(|words| !words.is_empty())
    }

    /// It was told how far all have come.
    pub fn tell(&self, made: Made) {
        lock(&self.0).told = made;
    }

    /// How far all have come, as it was told last.
    pub fn told(&self) -> Made {
        lock(&self.0).told
    }

    /// How it stands by its own patience, which was reckoned with how far all had come by then.
    pub fn stands(&self, standing: Standing, reckoned: Made) {
        lock(&self.0).standing = Some((standing, reckoned));
    }

    /// The same, for who asks; busy as long as it was not reckoned with what was told last. None before the first look.
    pub fn standing(&self) -> Option<Standing> {
        let inner = lock(&self.0);
        let (standing, reckoned) = inner.standing.as_ref()?;
        Some(if *reckoned == inner.told { standing.clone() } else { Standing::Busy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_was_told_of_progress_is_busy_until_its_patience_has_reckoned_with_it() {
        let together = Together::default();
        assert_eq!(together.standing(), None);
        together.stands(Standing::GivenUp, together.told());
        assert_eq!(together.standing(), Some(Standing::GivenUp));
        let more = Made { finished: 1, ..Made::default() };
        together.tell(more);
        assert_eq!(together.standing(), Some(Standing::Busy));
        together.stands(Standing::GivenUp, more);
        assert_eq!(together.standing(), Some(Standing::GivenUp));
    }

    #[test]
    fn who_is_alone_waits_for_nobody() {
        let together = Together::default();
        together.know(Company::Alone, Spent::default(), "n2 is away".into());
        assert_eq!((together.company(), together.waits_for()), (Company::Alone, None));
        together.know(Company::Several, Spent { pages: 3, ..Spent::default() }, "n2 is away".into());
        assert_eq!((together.others().pages, together.waits_for()), (3, Some("n2 is away".into())));
    }
}
