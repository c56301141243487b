//! Where among all that waits a page stands: ranks by share, from a histogram.

use crate::domain::frontier::RANKS;

/// Steps that are told apart: two double the score.
const STEPS: usize = 128;
/// The step of a score of one seed's credit at a depth of weight 5. Below it are 2^-40 of that and more, above it 2^12.
const OF_SEED: f64 = 103.0;

/// How many half octaves a score is above the lowest that is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub u8);

impl Step {
    /// The step of so many units, weighed by a factor.
    pub fn of(units: u128, factor: f64) -> Self {
        let score = units as f64 / super::SEED as f64 * factor;
        let step = if score > 0.0 { OF_SEED + 2.0 * score.log2() } else { 0.0 };
        Self(step.clamp(0.0, (STEPS - 1) as f64) as u8)
    }
}

/// Of every thousand that wait those of the first ranks; the rest has the last one.
const OF_THOUSAND: [u64; RANKS - 1] = [5, 10, 20, 40, 80, 160, 320];

/// Pages that wait, by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting([u64; STEPS]);

impl Default for Waiting {
    fn default() -> Self {
        Self([0; STEPS])
    }
}

impl Waiting {
    /// One more waits.
    pub fn add(&mut self, step: Step) {
        if let Some(n) = self.0.get_mut(usize::from(step.0)) {
            *n += 1;
        }
    }

    /// One waits no more.
    pub fn remove(&mut self, step: Step) {
        if let Some(n) = self.0.get_mut(usize::from(step.0)) {
            *n = n.saturating_sub(1);
        }
    }

    /// By step, the lowest first.
    pub fn steps(&self) -> &[u64] {
        &self.0
    }

    /// As it was written: so many by step, the lowest first.
    pub fn of_steps(steps: &[u64]) -> Self {
        let mut own = Self::default();
        own.0.iter_mut().zip(steps).for_each(|(to, from)| *to = *from);
        own
    }

    /// How many.
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The lowest step of each rank but the last, the best rank first. A step is of one rank as a whole: of that in which its best
    /// would be.
    pub fn floors(&self) -> [Step; RANKS - 1] {
        let all = self.all();
        let (mut step, mut above) = (STEPS, 0);
        let mut upto = 0;
        OF_THOUSAND.map(|share| {
            upto += share;
            while step > 0 && above * 1000 < all * upto {
                step -= 1;
                above += self.0.get(step).copied().unwrap_or_default();
            }
            Step(u8::try_from(step).unwrap_or(u8::MAX))
        })
    }
}

/// The rank of a step, given the lowest steps of the ranks.
impl Step {
    /// Better scores have better ranks.
    pub fn rank(self, floors: &[Self; RANKS - 1]) -> u8 {
        floors.iter().take_while(|floor| self < **floor).count() as u8
    }
}
