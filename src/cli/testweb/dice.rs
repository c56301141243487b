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
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
fn mix(value: u64) -> u64 {
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
