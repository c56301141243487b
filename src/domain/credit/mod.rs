//! Link credit: how important a page is, reckoned while the crawl runs (AOPIC: Abiteboul, Preda and Cobena, WWW 2003).
//!
//! Each seed brings [`SEED`] units into the crawl. A page that is fetched gives all it has: a tax to *lambda*, the virtual page that
//! every page links to, and the rest in equal shares to the pages it links to. Lambda pays back to all alike. What a page has been
//! given so far says how important it is; nobody has to know the graph.
//!
//! Units are integers and nothing is rounded away: what does not divide goes to lambda, or waits in a purse. So at every moment
//! (I11)
//!
//! > issued = accounts + purses + unpaid dividends + lambda + open notes
//!
//! A payout touches no account: it raises an index ([`Pool`]), and whoever is touched next takes what it is behind.

mod pool;
#[cfg(test)]
mod tests;
mod waiting;

use std::fmt;

pub use pool::{Account, Pool, Purse, Way};
pub use waiting::{Step, Waiting};

/// Units that a seed brings.
pub const SEED: u128 = 1 << 40;

/// Parts of a domain that have a purse of their own; all its others have one together.
pub const PARTS: u64 = 64;

/// The share of a page's credit that goes to lambda before its links are paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tax(u32);

impl Tax {
    const WHOLE: u32 = 1_000_000;

    /// Between 0 and 1, in millionths; anything else is brought to the nearer end, no number to 0.
    pub fn new(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * f64::from(Self::WHOLE)).round() as u32)
    }

    /// The share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }

    fn of(self, amount: u128) -> u128 {
        // In two steps, so that no amount is too large.
        let (whole, part) = (u128::from(Self::WHOLE), u128::from(self.0));
        amount / whole * part + amount % whole * part / whole
    }
}

impl Default for Tax {
    /// A tenth, as in the source.
    fn default() -> Self {
        Self(Self::WHOLE / 10)
    }
}

/// To whom lambda pays back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dividend {
    /// To every page that waits alike: nearly the source's words, which pay pages that were fetched too.
    #[default]
    Page,
    /// To every domain alike, in a domain to every part alike, in a part to every page that waits alike.
    Group,
}

impl fmt::Display for Dividend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Page => "page",
            Self::Group => "group",
        })
    }
}

/// How credit is dealt with in a crawl that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditRules {
    /// What goes to lambda before a page's links are paid.
    pub tax: Tax,
    /// To whom lambda pays back; never changed in a crawl.
    pub dividend: Dividend,
}

/// How a page's credit is parted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parted {
    /// To each link.
    pub share: u128,
    /// To lambda: the tax, and what does not divide.
    pub lambda: u128,
}

impl Parted {
    /// A page with so much leads to so many pages; without any, all goes to lambda.
    pub fn of(credit: u128, links: u64, tax: Tax) -> Self {
        if links == 0 {
            return Self { share: 0, lambda: credit };
        }
        let share = (credit - tax.of(credit)) / u128::from(links);
        Self { share, lambda: credit - share * u128::from(links) }
    }
}

/// What all hold together, and what it must add up to (I11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sums {
    /// Units that seeds brought; less what went to other members, and with what came from them.
    pub issued: u128,
    /// In the accounts of pages.
    pub accounts: u128,
    /// In purses: what did not divide among their members.
    pub purses: u128,
    /// Dividends that nobody took yet.
    pub unpaid: u128,
    /// What lambda has.
    pub lambda: u128,
    /// In notes: given by pages that were fetched, not yet in the accounts of those they link to.
    pub notes: u128,
}

impl Sums {
    /// Units held, less units issued: 0.
    pub fn difference(&self) -> i128 {
        let held = self.accounts + self.purses + self.unpaid + self.lambda + self.notes;
        held.wrapping_sub(self.issued) as i128
    }

    /// A seed comes in.
    pub fn issue(&mut self, account: &mut Account) {
        self.issued += SEED;
        self.accounts += SEED;
        account.balance += SEED;
    }

    /// A page gives all it has to the pages it links to; gives the share of each, which is in notes from now on.
    pub fn give(&mut self, account: &mut Account, links: u64, tax: Tax) -> u128 {
        let credit = std::mem::take(&mut account.balance);
        let Parted { share, lambda } = Parted::of(credit, links, tax);
        self.accounts -= credit;
        self.lambda += lambda;
        self.notes += credit - lambda;
        share
    }

    /// Units in notes go to another member of the crawl: they are no concern of this one any more.
    pub fn leave(&mut self, units: u128) {
        self.notes -= units;
        self.issued -= units;
    }

    /// Units come from another member, in notes.
    pub fn come(&mut self, units: u128) {
        self.notes += units;
        self.issued += units;
    }

    /// A share arrives; without an account, with lambda.
    pub fn arrive(&mut self, account: Option<&mut Account>, share: u128) {
        self.notes -= share;
        match account {
            Some(account) => {
                account.balance += share;
                self.accounts += share;
            }
            None => self.lambda += share,
        }
    }

    /// Lambda pays what divides among the members of `root`. Gives how much.
    pub fn pay_back(&mut self, root: &mut Pool) -> u128 {
        let paid = root.pay(self.lambda);
        self.lambda -= paid;
        self.unpaid += paid;
        paid
    }
}
