//! Looks a name up among the rows of one driver.
//!
//! All names of the driver are spelled out once, so that a look-up is one hash and a set of 18,000 names
//! costs no more than its length.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Table;
use super::row::Row;
use super::template::{NamePattern, trim_name};
use crate::model::Index;

/// Which of two rows for the same name or the same counter counts: the greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    precision: (bool, usize),
    layer: u32,
    order: Reverse<usize>,
}

impl Rank {
    /// How precisely the row names its driver. Rows of one precision that match one driver name it by the
    /// same pattern.
    pub(super) fn precision(self) -> (bool, usize) {
        self.precision
    }

    /// Whether nothing but their order in the table tells two ranks apart.
    fn ties_with(self, other: Self) -> bool {
        (self.precision, self.layer) == (other.precision, other.layer)
    }
}

/// The row of a name, and what the name's number means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'a> {
    pub(super) row: &'a Row,
    pub(super) index: Index,
    pub(super) rank: Rank,
}

/// The names of one driver in one kind of counter set.
#[derive(Debug)]
pub(super) struct Matcher<'a> {
    exact: HashMap<String, Hit<'a>>,
    /// The better rank first.
    around: Vec<(NamePattern, Hit<'a>)>,
    /// Names that two rows claim with the same right.
    ambiguous: Vec<(String, [&'a Row; 2])>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(rows: &'a [Row], table: Table, driver: &str) -> Self {
        let mut matcher = Self { exact: HashMap::new(), around: Vec::new(), ambiguous: Vec::new() };
        for (order, row) in rows.iter().enumerate() {
            if row.table != table || !row.driver.matches(driver) {
                continue;
            }
            let rank = Rank {
                precision: row.driver.precision(),
                layer: row.place.layer,
                order: Reverse(order),
            };
            for (pattern, index) in row.names() {
                matcher.add(pattern, Hit { row, index, rank });
            }
        }
        matcher.around.sort_by_key(|(_, hit)| Reverse(hit.rank));
        matcher
    }

    fn add(&mut self, pattern: NamePattern, hit: Hit<'a>) {
        let name = match pattern {
            NamePattern::Exact(name) => name,
            NamePattern::Around { .. } => return self.around.push((pattern, hit)),
        };
        match self.exact.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(hit);
            }
            Entry::Occupied(mut held) => {
                if held.get().rank.ties_with(hit.rank) {
                    self.ambiguous.push((held.key().clone(), [held.get().row, hit.row]));
                }
                if hit.rank > held.get().rank {
                    held.insert(hit);
                }
            }
        }
    }

    /// The row for a name as the driver gives it. A spelled-out name comes before one with a wildcard.
    pub(super) fn find(&self, name: &str) -> Option<Hit<'a>> {
        let name = trim_name(name);
        self.exact.get(name).copied().or_else(|| {
            self.around.iter().find(|(pattern, _)| pattern.matches(name)).map(|(_, hit)| *hit)
        })
    }

    /// Every spelled-out name.
    pub(super) fn hits(&self) -> impl Iterator<Item = Hit<'a>> {
        self.exact.values().copied()
    }

    pub(super) fn ambiguous(&self) -> &[(String, [&'a Row; 2])] {
        &self.ambiguous
    }
}
