//! One series of a scrape: label values and a value, owned, so that a collector can hold it.

use std::sync::Arc;

use crate::model::Histogram;

/// A label's value. One label always uses the same form, apart from [`LabelValue::EMPTY`], so that equal
/// values are equal text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelValue {
    Fixed(&'static str),
    Number(u32),
    Text(Arc<str>),
}

impl LabelValue {
    /// Not known or not applicable; to Prometheus the same as no label.
    pub(super) const EMPTY: Self = Self::Fixed("");

    pub(super) fn text(text: &Arc<str>) -> Self {
        if text.is_empty() { Self::EMPTY } else { Self::Text(Arc::clone(text)) }
    }

    pub(super) fn copied(text: &str) -> Self {
        if text.is_empty() { Self::EMPTY } else { Self::Text(Arc::from(text)) }
    }

    pub(super) fn optional(text: Option<&Arc<str>>) -> Self {
        text.map_or(Self::EMPTY, Self::text)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }
}

/// A value in base units. Counts stay integers, since an `f64` loses their low bits above 2^53.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Integer(u64),
    Real(f64),
    Distribution(Distribution),
    /// The 1 of an info family.
    Fact,
}

/// A histogram as it is encoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distribution {
    pub(super) sum: f64,
    pub(super) count: u64,
    /// Upper bound and count, not cumulated, the last bound infinite.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl<const N: usize> From<&Histogram<N>> for Distribution {
    fn from(histogram: &Histogram<N>) -> Self {
        let buckets = histogram.buckets().collect();
        Self { sum: histogram.sum(), count: histogram.count(), buckets }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// One per label of the family, optional labels last.
    pub(super) labels: Vec<LabelValue>,
    pub(super) value: Value,
}
