//! Chance without chance: every decision is a hash of the seed and of what it is about.

/// What a draw decides, so that two decisions about one page do not hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says what is decided")]
pub enum Salt {
    Answer = 1,
    DuplicateOf,
    RedirectHops,
    RedirectTo,
    RedirectStatus,
    Location,
    LoopLength,
    ErrorStatus,
    Fails,
    Robots,
    LinkClass,
    LinkHost,
    LinkPage,
    LinkNofollow,
    LinkKind,
    Spelling,
    SpellingKind,
    Nofollow,
    NofollowHow,
    Broken,
    Markup,
    Decoy,
    Query,
    Canonical,
    Base,
    Gbk,
    GbkHow,
    Trap,
    Size,
    Large,
    Text,
    Jitter,
    Framing,
    Gzip,
    File,
    OffHost,
    Gap,
    Change,
    Grow,
    Vanish,
    Noise,
    Near,
    Validators,
}

/// The seeded hash.
#[derive(Debug, Clone, Copy)]
pub struct Dice {
    seed: u64,
}

impl Dice {
    /// Dice that fall as `seed` says.
    pub fn new(seed: u64) -> Self {
        Self { seed: mix(seed ^ 0x4c79_636f_7361_0001) }
    }

    /// 64 even bits for one decision about (host, page, index).
    pub fn draw(&self, salt: Salt, host: u32, page: u32, index: u32) -> u64 {
        let about = (u64::from(host) << 32) | u64::from(page);
        let which = ((salt as u64) << 32) | u64::from(index);
        mix(mix(self.seed ^ about).wrapping_add(mix(which)))
    }

    /// The same for one time of many, by a number of 64 bits.
    pub fn draw_at(&self, salt: Salt, (host, page): (u32, u32), time: u64, index: u32) -> u64 {
        mix(self.draw(salt, host, page, index) ^ mix(time))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below `end` (0 when `end` is 0) out of a draw.
pub fn below(draw: u64, end: u32) -> u32 {
    (((draw >> 32) * u64::from(end)) >> 32) as u32
}

/// One of `all` out of a draw; the fallback when there is none.
pub fn pick<T: Copy>(draw: u64, all: &[T], fallback: T) -> T {
    all.get(below(draw, all.len() as u32) as usize).copied().unwrap_or(fallback)
}

/// A draw as a number in 0..1, to be compared with shares.
pub fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_independent_of_each_other() {
        let dice = Dice::new(1);
        let draws: Vec<[f64; 2]> = (0..10_000)
            .map(|page| [Salt::Answer, Salt::Size].map(|salt| unit(dice.draw(salt, page % 7, page, page % 3))))
            .collect();
        let share = |hit: &dyn Fn(&[f64; 2]) -> bool| draws.iter().filter(|draw| hit(draw)).count();
        assert!((2_800..3_200).contains(&share(&|draw| draw[0] < 0.3)));
        assert!((2_800..3_200).contains(&share(&|draw| draw[1] < 0.3)));
        assert!((780..1_020).contains(&share(&|draw| draw[0] < 0.3 && draw[1] < 0.3)));
    }

    #[test]
    fn every_argument_and_the_seed_change_the_draw() {
        let base = Dice::new(1).draw(Salt::Answer, 2, 3, 4);
        let others = [
            Dice::new(2).draw(Salt::Answer, 2, 3, 4),
            Dice::new(1).draw(Salt::Size, 2, 3, 4),
            Dice::new(1).draw(Salt::Answer, 3, 2, 4),
            Dice::new(1).draw(Salt::Answer, 2, 4, 3),
            Dice::new(1).draw(Salt::Answer, 2, 3, 5),
        ];
        assert!(others.iter().all(|other| *other != base));
        assert_eq!(base, Dice::new(1).draw(Salt::Answer, 2, 3, 4));
    }

    #[test]
    fn below_stays_below_and_an_empty_choice_falls_back() {
        assert_eq!([below(0, 5), below(u64::MAX, 5), below(u64::MAX, 0)], [0, 4, 0]);
        assert_eq!(pick(u64::MAX, &[], 9), 9);
        assert_eq!(pick(u64::MAX, &[1, 2], 9), 2);
    }
}
