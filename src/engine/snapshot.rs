//! What the engine knows at one instant: the only thing that the export sees.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{DeviceFacts, Feed, Histogram, Monotonic, Plan, Reason};

/// Upper bounds of the read time histogram, in seconds.
pub const READ_SECONDS_BOUNDS: [f64; 8] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// All devices and sources at one scrape. Each feed's figures are of one sample.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When the snapshot was put together, for the age of samples.
    pub taken_at: Monotonic,
    /// Inventory.
    pub devices: Vec<DeviceFacts>,
    /// Figures per source and device, sorted by feed.
    pub feeds: Vec<FeedFigures>,
}

/// Figures of one source of one device.
#[derive(Clone, Debug)]
pub struct FeedFigures {
    /// Whose figures they are.
    pub feed: Feed,
    /// The catalogue's driver key.
    pub driver: Arc<str>,
    /// What was counted.
    pub counters: CounterFigures,
    /// How the sampling went.
    pub sampling: SamplingFigures,
}

/// The counters of a feed, after widening.
#[derive(Clone, Debug)]
pub struct CounterFigures {
    /// What the totals mean.
    pub plan: Arc<Plan>,
    /// One per counter of the plan, in the unit of the plan; none where nothing could be read.
    pub totals: Vec<Option<u64>>,
    /// One per raw entry of the plan.
    pub raw: Vec<Option<u64>>,
    /// How often counters were seen to go backwards, once per sample.
    pub resets: u64,
}

/// How the sampling of a feed goes.
#[derive(Clone, Debug)]
pub struct SamplingFigures {
    /// When the last good read finished; none before the first.
    pub last_sample: Option<Monotonic>,
    /// Average interval between the last good reads, as reached; none before the second.
    pub interval: Option<Duration>,
    /// Good reads.
    pub samples: u64,
    /// Deadlines that passed without a read.
    pub missed: u64,
    /// Failed reads and unreadable counters, by [`Reason::position`].
    pub errors: [u64; Reason::ALL.len()],
    /// Time per read, in seconds.
    pub read_seconds: Histogram<8>,
    /// No good read for longer than the feed's interval allows.
    pub stale: bool,
    /// Refresh period of the source; none where each read is fresh or nothing is known.
    pub refresh: Option<Duration>,
}

impl SamplingFigures {
    /// Before the first read.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            last_sample: None,
            interval: None,
            samples: 0,
            missed: 0,
            errors: [0; Reason::ALL.len()],
            read_seconds: Histogram::new(&READ_SECONDS_BOUNDS),
            stale: false,
            refresh: None,
        }
    }
}

impl Default for SamplingFigures {
    fn default() -> Self {
        Self::new()
    }
}
