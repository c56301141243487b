use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::cases;
use crate::domain::frontier::RANKS;

#[test]
fn credit_is_parted_as_the_source_says_and_nothing_is_lost() {
    let seen = cases::check(include_str!("../../../tests/data/credit.txt"), |[credit, links, tax]| {
        let (credit, links): (u128, u64) = (credit.parse().unwrap(), links.parse().unwrap());
        let Parted { share, lambda } = Parted::of(credit, links, Tax::new(tax.parse().unwrap()));
        assert_eq!(share * u128::from(links) + lambda, credit);
        [share, lambda].map(|units| units.to_string())
    });
    assert!(seen > 8);
}

#[test]
fn a_tax_that_is_none_is_brought_between_nothing_and_all() {
    let shares = [-1.0, 0.0, 0.1, 1.0, 7.0, f64::INFINITY, f64::NAN].map(|share| Tax::new(share).share());
    assert_eq!(shares, [0.0, 0.0, 0.1, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(Tax::default(), Tax::new(0.1));
}

/// Pages of the model: so many domains of so many parts of so many pages.
const DOMAINS: usize = 5;
const DOMAIN_PARTS: usize = 4;
const PAGES: usize = 6;

type Spot = (usize, usize, usize);

/// The model: every payout is carried to every member at once.
#[derive(Default)]
struct Plain {
    lambda: u128,
    issued: u128,
    notes: u128,
    balances: BTreeMap<Spot, u128>,
    members: BTreeMap<usize, BTreeMap<usize, Vec<usize>>>,
    rests: BTreeMap<(usize, Option<usize>), u128>,
}

impl Plain {
    fn join(&mut self, (domain, part, page): Spot) {
        self.members.entry(domain).or_default().entry(part).or_default().push(page);
    }

    fn leave(&mut self, (domain, part, page): Spot) {
        let parts = self.members.get_mut(&domain).unwrap();
        let pages = parts.get_mut(&part).unwrap();
        pages.retain(|member| *member != page);
        if pages.is_empty() {
            parts.remove(&part);
            self.lambda += self.rests.remove(&(domain, Some(part))).unwrap_or(0);
        }
        if parts.is_empty() {
            self.members.remove(&domain);
            self.lambda += self.rests.remove(&(domain, None)).unwrap_or(0);
        }
    }

    fn by_group(&mut self) {
        let domains = self.members.len() as u128;
        let Some(each) = self.lambda.checked_div(domains) else { return };
        self.lambda -= each * domains;
        for (domain, parts) in &self.members {
            let held = self.rests.remove(&(*domain, None)).unwrap_or(0) + each;
            let to_part = held / parts.len() as u128;
            self.rests.insert((*domain, None), held % parts.len() as u128);
            for (part, pages) in parts {
                let held = self.rests.remove(&(*domain, Some(*part))).unwrap_or(0) + to_part;
                self.rests.insert((*domain, Some(*part)), held % pages.len() as u128);
                for page in pages {
                    *self.balances.entry((*domain, *part, *page)).or_default() += held / pages.len() as u128;
                }
            }
        }
    }

    fn by_page(&mut self) {
        let pages: Vec<Spot> = self.spots().collect();
        let Some(each) = self.lambda.checked_div(pages.len() as u128) else { return };
        self.lambda -= each * pages.len() as u128;
        pages.into_iter().for_each(|spot| *self.balances.entry(spot).or_default() += each);
    }

    fn spots(&self) -> impl Iterator<Item = Spot> {
        self.members.iter().flat_map(|(domain, parts)| {
            parts.iter().flat_map(move |(part, pages)| pages.iter().map(move |page| (*domain, *part, *page)))
        })
    }
}

/// The same with indexes.
#[derive(Default)]
struct Lazy {
    group: bool,
    sums: Sums,
    root: Pool,
    domains: BTreeMap<usize, Purse>,
    parts: BTreeMap<(usize, usize), Purse>,
    accounts: BTreeMap<Spot, (Account, bool)>,
}

impl Lazy {
    fn on_its_way(&mut self, spot: Spot, work: impl FnOnce(&mut Way<'_>, &mut Account, &mut Sums)) {
        let domain = self.domains.entry(spot.0).or_default();
        let part = self.parts.entry((spot.0, spot.1)).or_default();
        let purses = self.group.then_some((domain, part));
        let (account, _) = self.accounts.get_mut(&spot).unwrap();
        work(&mut Way { root: &mut self.root, purses }, account, &mut self.sums);
    }

    fn waits(&self, spot: Spot) -> bool {
        self.accounts.get(&spot).is_some_and(|(_, waits)| *waits)
    }
}

/// The chosen numbers of a run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    fn spot(&mut self) -> Spot {
        (self.below(DOMAINS), self.below(DOMAIN_PARTS), self.below(PAGES))
    }
}

/// A million times one of the things that happen to accounts, by indexes and by hand.
fn run(group: bool, seed: u64, operations: usize) {
    let (mut lazy, mut plain) = (Lazy { group, ..Lazy::default() }, Plain::default());
    let (mut dice, mut notes, tax) = (Dice(seed), Vec::new(), Tax::default());
    for nth in 0..operations {
        let spot = dice.spot();
        match dice.below(40) {
            0 if lazy.waits(spot) => {
                let (account, _) = lazy.accounts.get_mut(&spot).unwrap();
                lazy.sums.issue(account);
                plain.issued += SEED;
                *plain.balances.entry(spot).or_default() += SEED;
            }
            1 => {
                assert_eq!(lazy.sums.lambda, plain.lambda, "{nth}");
                lazy.sums.pay_back(&mut lazy.root);
                if group { plain.by_group() } else { plain.by_page() }
            }
            2..=12 if !lazy.waits(spot) => {
                lazy.accounts.entry(spot).or_default().1 = true;
                lazy.on_its_way(spot, |way, account, sums| way.join(account, sums));
                plain.join(spot);
            }
            13..=20 if lazy.waits(spot) => {
                lazy.on_its_way(spot, |way, account, sums| way.leave(account, sums));
                lazy.accounts.get_mut(&spot).unwrap().1 = false;
                let links = dice.below(5) as u64;
                let had = plain.balances.remove(&spot).unwrap_or(0);
                plain.leave(spot);
                let (account, _) = lazy.accounts.get_mut(&spot).unwrap();
                assert_eq!(account.balance, had, "{nth}: {spot:?}");
                let share = lazy.sums.give(account, links, tax);
                let parted = Parted::of(had, links, tax);
                (plain.lambda, plain.notes) = (plain.lambda + parted.lambda, plain.notes + had - parted.lambda);
                notes.extend((0..links).map(|_| share));
            }
            21..=30 if !notes.is_empty() => {
                let share = notes.swap_remove(dice.below(notes.len()));
                let known = lazy.accounts.contains_key(&spot);
                plain.notes -= share;
                if known {
                    *plain.balances.entry(spot).or_default() += share
                } else {
                    plain.lambda += share
                }
                lazy.sums.arrive(lazy.accounts.get_mut(&spot).map(|(account, _)| account), share);
            }
            _ if lazy.waits(spot) => {
                lazy.on_its_way(spot, |way, account, sums| way.take(account, sums));
                let (account, _) = lazy.accounts[&spot];
                assert_eq!(account.balance, plain.balances.get(&spot).copied().unwrap_or(0), "{nth}: {spot:?}");
            }
            _ => {}
        }
        assert_eq!(lazy.sums.difference(), 0, "I11 after {nth}: {:?}", lazy.sums);
    }
    assert_eq!((lazy.sums.issued, lazy.sums.notes), (plain.issued, plain.notes));
    let spots: Vec<Spot> = plain.spots().collect();
    spots.iter().for_each(|spot| lazy.on_its_way(*spot, |way, account, sums| way.take(account, sums)));
    let held: u128 = lazy.accounts.values().map(|(account, _)| account.balance).sum();
    let rests: u128 = lazy.domains.values().chain(lazy.parts.values()).map(|purse| purse.rest).sum();
    assert_eq!((held, rests, lazy.sums.unpaid), (lazy.sums.accounts, lazy.sums.purses, 0), "counted after all took");
    for (spot, (account, _)) in &lazy.accounts {
        assert_eq!(account.balance, plain.balances.get(spot).copied().unwrap_or(0), "{spot:?}");
    }
}

#[test]
fn a_million_operations_leave_to_the_unit_what_payouts_by_hand_leave() {
    run(true, 1, 500_000);
    run(false, 2, 500_000);
}

#[test]
fn a_new_page_has_no_part_in_what_was_paid_before_it_came() {
    let (mut sums, mut root) = (Sums::default(), Pool::default());
    let (mut old, mut new) = (Account::default(), Account::default());
    Way { root: &mut root, purses: None }.join(&mut old, &mut sums);
    sums.issue(&mut old);
    sums.give(&mut old, 0, Tax::default());
    sums.pay_back(&mut root);
    Way { root: &mut root, purses: None }.join(&mut new, &mut sums);
    Way { root: &mut root, purses: None }.take(&mut old, &mut sums);
    Way { root: &mut root, purses: None }.take(&mut new, &mut sums);
    assert_eq!((old.balance, new.balance, sums.difference()), (SEED, 0, 0));
}

#[test]
fn made_up_hosts_of_a_domain_earn_nothing_and_made_up_pages_little() {
    let (mut sums, mut root) = (Sums::default(), Pool::default());
    let (mut domains, mut parts) = ([Purse::default(); 2], [Purse::default(); 2]);
    let mut pages = [Account::default(); 101];
    let (one, other) = domains.split_at_mut(1);
    let (first, second) = parts.split_at_mut(1);
    Way { root: &mut root, purses: Some((&mut one[0], &mut first[0])) }.join(&mut pages[0], &mut sums);
    for page in &mut pages[1..] {
        Way { root: &mut root, purses: Some((&mut other[0], &mut second[0])) }.join(page, &mut sums);
    }
    sums.issue(&mut pages[1]);
    sums.give(&mut pages[1], 0, Tax::default());
    sums.pay_back(&mut root);
    Way { root: &mut root, purses: Some((&mut one[0], &mut first[0])) }.take(&mut pages[0], &mut sums);
    assert_eq!(pages[0].balance, SEED / 2, "half of all, though a hundred pages wait elsewhere");
}

#[test]
fn the_best_step_is_always_of_the_best_rank_and_a_better_step_never_of_a_worse_one() {
    let mut waiting = Waiting::default();
    waiting.add(Step(70));
    assert_eq!(Step(70).rank(&waiting.floors()), 0);
    (0..1000).for_each(|_| waiting.add(Step(40)));
    let floors = waiting.floors();
    assert_eq!(
        [71, 70, 69, 40, 39].map(|step| Step(step).rank(&floors)),
        [0, 0, 0, 0, 7],
        "one of a thousand is above"
    );
    (0..9).for_each(|_| waiting.add(Step(70)));
    let floors = waiting.floors();
    assert_eq!([71, 70, 69, 41, 40, 39].map(|step| Step(step).rank(&floors)), [0, 0, 1, 1, 1, 7], "ten are");
    (0..10).for_each(|_| waiting.remove(Step(70)));
    assert_eq!(Step(40).rank(&waiting.floors()), 0);
}

#[test]
fn ranks_are_by_the_share_of_what_waits() {
    let mut waiting = Waiting::default();
    (0..100).for_each(|step| (0..10).for_each(|_| waiting.add(Step(step))));
    let ranks: Vec<u8> = (0..100).rev().map(|step| Step(step).rank(&waiting.floors())).collect();
    let of = |rank: u8| ranks.iter().filter(|found| **found == rank).count();
    assert_eq!((0..8).map(of).collect::<Vec<_>>(), [1, 1, 2, 4, 8, 16, 32, 36]);
}

proptest! {
    #[test]
    fn twice_the_credit_is_two_steps_more(units in 1_u128 << 4..1 << 80, factor in 0.01_f64..2.0) {
        let (one, two) = (Step::of(units, factor), Step::of(units * 2, factor));
        prop_assert!(two >= one && (two.0 == one.0 + 2 || two.0 == 127 || one.0 <= 1));
        prop_assert!(Step::of(units, factor * 0.5) <= one);
    }

    #[test]
    fn no_rank_has_more_than_its_share_but_for_its_best_step(
        steps in proptest::collection::vec(0_u8..128, 1..300), asked in 0_u8..128,
    ) {
        let mut waiting = Waiting::default();
        steps.iter().for_each(|step| waiting.add(Step(*step)));
        let floors = waiting.floors();
        prop_assert!(floors.is_sorted_by(|one, next| one >= next));
        let rank = Step(asked).rank(&floors);
        prop_assert!(usize::from(rank) < RANKS);
        let above = steps.iter().filter(|step| **step > asked).count();
        let share = [5, 15, 35, 75, 155, 315, 635, 1000].get(usize::from(rank)).copied().unwrap_or(0);
        prop_assert!(above * 1000 < share * steps.len() || steps.iter().all(|step| *step >= asked));
    }
}
