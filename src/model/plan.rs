//! How the names of one counter set become counters: resolved once per set of names, so that a read
//! compares no strings.

use std::time::Duration;

use super::{CounterKey, ReadingKind};

/// The unit of a value as read. The export turns it into base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Frames, packets, events, transitions.
    Count,
    /// Octets.
    Bytes,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻³ s.
    Milliseconds,
    /// Whole seconds.
    Seconds,
    /// 0 to 100.
    Percent,
}

impl Unit {
    /// `value` in base units: seconds, ratios, or the value itself.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        reason = "Prometheus values are f64; above 2^53 the lowest bits are lost by the format"
    )]
    pub const fn to_base(self, value: u64) -> f64 {
        match self {
            Self::Count | Self::Bytes | Self::Seconds => value as f64,
            Self::Microseconds => value as f64 / 1e6,
            Self::Milliseconds => value as f64 / 1e3,
            Self::Percent => value as f64 / 100.0,
        }
    }
}

/// How many bits a counter has before it wraps, as the driver shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width {
    /// 1 to 64.
    pub bits: u8,
    /// The counter stays at its maximum instead of wrapping (InfiniBand port counters).
    pub saturates: bool,
}

impl Width {
    /// A counter that never wraps in practice.
    pub const FULL: Self = Self { bits: 64, saturates: false };

    /// The largest value.
    #[must_use]
    pub const fn max(self) -> u64 {
        if self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 }
    }
}

/// How fresh a value can be when it is read (`freshness_ms` of the catalogue).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Freshness {
    /// The read itself fetches from the device.
    Live,
    /// The driver or firmware refreshes on this period; a faster reader sees a staircase.
    Every(Duration),
    /// Not known from the sources.
    Unknown,
}

/// One counter of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanCounter {
    /// What it is.
    pub key: CounterKey,
    /// Whether it accumulates or is a state of the moment.
    pub kind: ReadingKind,
    /// Its unit as read.
    pub unit: Unit,
    /// Its width as read.
    pub width: Width,
    /// How fresh it can be.
    pub freshness: Freshness,
}

/// The counters that a set of names resolved to, in the order of a [`super::Sample`]'s readings, and how
/// to gather them from the raw values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The counters, sorted by key, no key twice.
    pub counters: Vec<PlanCounter>,
    /// Positions in the set of names that must be read, ascending, none twice.
    pub wanted: Vec<u32>,
    /// For each counter the terms whose sum it is. A term is a position in `wanted` and a factor.
    pub terms: Vec<Vec<(u32, u64)>>,
    /// Uncatalogued names that the operator asked for: position in `wanted` and the name.
    pub raw: Vec<(u32, String)>,
}

impl Plan {
    /// Whether nothing of the set is known or asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.raw.is_empty()
    }
}
