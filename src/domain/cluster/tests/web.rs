//! Numbers by chance, and a web that hangs on one of them.

use std::collections::BTreeSet;

use crate::domain::partition::{PARTITIONS, Partition};

/// Splitmix64 (Steele, Lea and Flood 2014).
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to one less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::try_from(self.below(all.len() as u64)).unwrap()).copied()
    }
}

/// The number of a URL.
pub type Url = u32;

/// Pages on hosts, a host a partition, with links between them.
pub struct Web {
    pub hosts: Vec<Partition>,
    host_of: Vec<usize>,
    links: Vec<Vec<Url>>,
    pub seeds: Vec<Url>,
    /// What can be reached from the seeds.
    pub truth: BTreeSet<Url>,
}

impl Web {
    pub fn new(rng: &mut Rng) -> Self {
        let hosts: BTreeSet<Partition> =
            (0..rng.between(6, 12)).map(|_| Partition(u16::try_from(rng.below(PARTITIONS.into())).unwrap())).collect();
        let hosts: Vec<Partition> = hosts.into_iter().collect();
        let pages = rng.between(40, 100);
        let host_of = (0..pages).map(|_| usize::try_from(rng.below(hosts.len() as u64)).unwrap()).collect();
        let mut link = |_| {
            let many = rng.below(4);
            (0..many).map(|_| u32::try_from(rng.below(pages)).unwrap()).collect::<Vec<Url>>()
        };
        let mut links: Vec<Vec<Url>> = (0..pages).map(&mut link).collect();
        // The last of them are a chain, so that at times one member only has something to do.
        let chain = u32::try_from(pages - rng.below(25)).unwrap()..u32::try_from(pages).unwrap();
        chain.for_each(|url| links[url as usize] = if u64::from(url) + 1 < pages { vec![url + 1] } else { vec![] });
        links[0].push(u32::try_from(pages - rng.below(25)).unwrap().min(u32::try_from(pages).unwrap() - 1));
        let seeds = vec![0, 1, 2];
        let (mut truth, mut open) = (BTreeSet::new(), seeds.clone());
        while let Some(url) = open.pop() {
            if truth.insert(url) {
                open.extend(&links[url as usize]);
            }
        }
        Self { hosts, host_of, links, seeds, truth }
    }

    pub fn partition(&self, url: Url) -> Partition {
        self.hosts[self.host_of[url as usize]]
    }

    pub fn links(&self, url: Url) -> &[Url] {
        &self.links[url as usize]
    }
}
