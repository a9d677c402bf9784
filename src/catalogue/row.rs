//! One checked row of a table.

use std::sync::Arc;

use super::Table;
use super::template::{DriverPattern, NamePattern, Template};
use crate::model::{CounterKey, Direction, Freshness, Index, Priority, Quantity, Unit, Width};

/// Where a row stands, for messages and for precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) origin: Arc<str>,
    pub(super) line: u64,
    /// Which file it came from, in the order in which files were added: a later file wins.
    pub(super) layer: u32,
}

/// What a template's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// There is no number.
    None,
    Priority(NumberRange),
    TrafficClass(NumberRange),
    Buffer(NumberRange),
}

/// Inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberRange {
    pub(super) first: u8,
    pub(super) last: u8,
}

impl Split {
    /// Every number with its meaning; a single 0 without one where there is no number. A number that is no
    /// priority never becomes one.
    fn indexes(self) -> impl Iterator<Item = (u8, Index)> {
        let range = match self {
            Self::None => NumberRange { first: 0, last: 0 },
            Self::Priority(range) | Self::TrafficClass(range) | Self::Buffer(range) => range,
        };
        (range.first..=range.last).filter_map(move |number| {
            let index = match self {
                Self::None => Index::None,
                Self::Priority(_) => Index::Priority(Priority::new(number).ok()?),
                Self::TrafficClass(_) => Index::TrafficClass(number),
                Self::Buffer(_) => Index::Buffer(number),
            };
            Some((number, index))
        })
    }
}

/// What becomes of rows that give the same counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// The counter itself.
    Alone,
    /// Added to the other rows of this kind.
    Sum,
    /// Used where no other kind of row has a name in the set; the first one wins.
    Fallback,
}

/// What an exported row counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) quantity: Quantity,
    pub(super) direction: Option<Direction>,
    pub(super) detail: Option<Arc<str>>,
    pub(super) unit: Unit,
    /// Of the counter that the row gives, so of a sum as a whole.
    pub(super) width: Width,
    pub(super) freshness: Freshness,
    pub(super) combine: Combine,
    /// What one step of the value as read is worth. 2^32 at most.
    pub(super) factor: u64,
}

impl Counter {
    pub(super) fn key(&self, index: Index) -> CounterKey {
        CounterKey {
            quantity: self.quantity,
            direction: self.direction,
            index,
            detail: self.detail.clone(),
        }
    }

    /// Whether two rows can be added.
    pub(super) fn adds_up_with(&self, other: &Self) -> bool {
        (self.unit, self.width, self.freshness) == (other.unit, other.width, other.freshness)
    }
}

/// One row for one driver pattern and one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) table: Table,
    pub(super) driver: DriverPattern,
    pub(super) template: Template,
    pub(super) split: Split,
    /// None: known, and left out for the reason in the note.
    pub(super) counter: Option<Counter>,
    pub(super) note: Arc<str>,
    pub(super) place: Place,
}

impl Row {
    /// All names of the row with what their number means.
    pub(super) fn names(&self) -> impl Iterator<Item = (NamePattern, Index)> {
        self.split.indexes().map(|(number, index)| (self.template.with_number(number), index))
    }

    /// Whether this row, from a later file, takes the place of `other`.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.table == other.table && self.driver == other.driver && self.template == other.template
    }
}
