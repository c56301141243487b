//! Dividends that are taken, not brought: a payout costs the same for ten members as for 10^8, and divides without rest.

use super::Sums;

/// Members who are paid alike: each is owed what the index rose by since it last took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// How many.
    pub members: u64,
    /// Units that a member from the beginning on was paid.
    pub index: u128,
}

impl Pool {
    /// Pays what divides among the members. Gives how much that is.
    pub fn pay(&mut self, amount: u128) -> u128 {
        let each = amount.checked_div(u128::from(self.members)).unwrap_or(0);
        self.index += each;
        each * u128::from(self.members)
    }
}

/// A pool that is a member of another one: what it takes there it pays to its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purse {
    /// Its members.
    pub pool: Pool,
    /// The other's index when it last took.
    pub at: u128,
    /// What it took and what did not divide among its members.
    pub rest: u128,
}

impl Purse {
    /// Takes what it is owed, and pays it on.
    pub fn take(&mut self, from: &Pool, sums: &mut Sums) {
        if self.at == from.index {
            return; // what is left did not divide then
        }
        let owed = from.index - std::mem::replace(&mut self.at, from.index);
        let held = self.rest + owed;
        let paid = self.pool.pay(held);
        sums.purses = sums.purses + owed - paid;
        sums.unpaid = sums.unpaid + paid - owed;
        self.rest = held - paid;
    }

    /// One more comes in. True when it is the first: then the purse becomes a member itself.
    fn enter(&mut self, from: &Pool, sums: &mut Sums) -> bool {
        if self.pool.members > 0 {
            self.take(from, sums);
            return false;
        }
        self.at = from.index;
        true
    }

    /// Whether its last member has gone: then what it held is lambda's.
    fn is_left(&mut self, sums: &mut Sums) -> bool {
        if self.pool.members > 0 {
            return false;
        }
        let rest = std::mem::take(&mut self.rest);
        sums.purses -= rest;
        sums.lambda += rest;
        true
    }
}

/// What a page holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Units.
    pub balance: u128,
    /// The index of its pool when it last took.
    pub at: u128,
}

impl Account {
    /// Takes what it is owed by the pool it is a member of.
    pub fn take(&mut self, from: &Pool, sums: &mut Sums) {
        let owed = from.index - std::mem::replace(&mut self.at, from.index);
        self.balance += owed;
        sums.accounts += owed;
        sums.unpaid -= owed;
    }
}

/// The pools between lambda and the account of a page.
pub struct Way<'p> {
    /// The members that lambda pays.
    pub root: &'p mut Pool,
    /// The purse of the page's domain, a member of it, and that of its part of the domain; none when lambda pays pages.
    pub purses: Option<(&'p mut Purse, &'p mut Purse)>,
}

impl Way<'_> {
    /// A member takes what it is owed.
    pub fn take(&mut self, account: &mut Account, sums: &mut Sums) {
        if let Some((domain, part)) = &mut self.purses {
            domain.take(self.root, sums);
            part.take(&domain.pool, sums);
        }
        account.take(self.last(), sums);
    }

    /// A page becomes a member, and its purses with it: of what was paid before they have no part.
    pub fn join(&mut self, account: &mut Account, sums: &mut Sums) {
        if let Some((domain, part)) = &mut self.purses {
            if domain.enter(self.root, sums) {
                self.root.members += 1;
            }
            if part.enter(&domain.pool, sums) {
                domain.pool.members += 1;
            }
        }
        let pool = self.last();
        pool.members += 1;
        account.at = pool.index;
    }

    /// A member takes what it is owed, and is none any more. A purse without members holds nothing: lambda has it.
    pub fn leave(&mut self, account: &mut Account, sums: &mut Sums) {
        self.take(account, sums);
        self.last().members -= 1;
        if let Some((domain, part)) = &mut self.purses {
            if part.is_left(sums) {
                domain.pool.members -= 1;
            }
            if domain.is_left(sums) {
                self.root.members -= 1;
            }
        }
    }

    /// The pool that pages are members of.
    fn last(&mut self) -> &mut Pool {
        match &mut self.purses {
            Some((_, part)) => &mut part.pool,
            None => self.root,
        }
    }
}
