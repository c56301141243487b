//! Sixty-four counters, one for each bit of a hash, as bit planes: eight hashes are added by seven carry-save adders (as in the
//! population count of Harley and Seal) instead of 64 additions each.

/// Hashes that are added at a time.
const BLOCK: usize = 8;
/// Planes: sums up to 2^17, more than there are distinct features.
const PLANES: usize = 17;

/// How often each bit was set.
#[derive(Debug, Default)]
pub(super) struct Planes {
    ones: u64,
    twos: u64,
    fours: u64,
    /// From the eights on.
    higher: [u64; PLANES - 3],
    waiting: [u64; BLOCK],
    count: u32,
}

impl Planes {
    pub(super) fn add(&mut self, hash: u64) {
        let at = self.count as usize % BLOCK;
        if let Some(place) = self.waiting.get_mut(at) {
            *place = hash;
        }
        self.count += 1;
        if at == BLOCK - 1 {
            self.add_block();
        }
    }

    /// The SimHash, each bit set that more than half of the hashes have, and their number.
    pub(super) fn finish(mut self) -> (u64, u32) {
        let left = self.count as usize % BLOCK;
        if left > 0 {
            self.waiting.iter_mut().skip(left).for_each(|place| *place = 0);
            self.add_block();
        }
        let planes: Vec<u64> = [self.ones, self.twos, self.fours].into_iter().chain(self.higher).collect();
        let sum = |bit: u32| planes.iter().rev().fold(0_u32, |sum, plane| sum << 1 | (plane >> bit & 1) as u32);
        let sim = (0..64).filter(|bit| sum(*bit) > self.count / 2).fold(0, |sim, bit| sim | 1 << bit);
        (sim, self.count)
    }

    fn add_block(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let (ones, two1) = sum(self.ones, a, b);
        let (ones, two2) = sum(ones, c, d);
        let (twos, four1) = sum(self.twos, two1, two2);
        let (ones, two1) = sum(ones, e, f);
        let (ones, two2) = sum(ones, g, h);
        let (twos, four2) = sum(twos, two1, two2);
        let (fours, mut carry) = sum(self.fours, four1, four2);
        (self.ones, self.twos, self.fours) = (ones, twos, fours);
        for plane in &mut self.higher {
            if carry == 0 {
                return;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }
}

/// Sum and carry of three bits, in each of 64 places.
fn sum(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}
