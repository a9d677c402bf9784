//! What the engine knows at one instant: the only thing that the export sees.

use std::sync::Arc;
use std::time::Duration;

use super::checks::CheckFigures;
use crate::model::{DeviceFacts, Direction, Feed, Histogram, Monotonic, Plan, Priority, Reason};

/// Upper bounds of the read time histogram, in seconds.
pub const READ_SECONDS_BOUNDS: [f64; 8] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// Upper bounds of the histogram of a sample's pause ratio. The first counts samples without any pause.
pub const SAMPLE_RATIO_BOUNDS: [f64; 9] = [0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95];
/// Upper bounds of the burst length histogram, in seconds.
pub const BURST_SECONDS_BOUNDS: [f64; 10] =
    [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];

/// All devices and sources at one scrape. Each feed's figures are of one sample.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When the snapshot was put together, for the age of samples.
    pub taken_at: Monotonic,
    /// Inventory.
    pub devices: Vec<DeviceFacts>,
    /// Figures per source and device, sorted by feed.
    pub feeds: Vec<FeedFigures>,
    /// What the checks of the configuration gave; empty where none was made.
    pub checks: Arc<CheckFigures>,
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
    /// What was computed of pause, per priority and direction; only netdevs have it.
    pub pause: PauseSummary,
    /// How the sampling went.
    pub sampling: SamplingFigures,
}

/// What a ratio is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A duration counter: exact.
    Duration,
    /// Pause frames: an upper bound.
    Frames,
}

impl Basis {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Frames => "frames",
        }
    }
}

/// Why a span of time was left out of ratios and storms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Nothing to compare with yet.
    First,
    /// A counter went backwards.
    Reset,
    /// More than three intervals since the sample before: no storm verdict; ratios hold.
    Gap,
    /// No carrier.
    LinkDown,
    /// Carrier came back or the speed changed.
    LinkChange,
    /// A counter could not be read or is new.
    Missing,
    /// More paused time than time: a wrong unit or a reset that looked like growth.
    OutOfRange,
}

impl Skip {
    /// All reasons; a reason's place is its [`Skip::position`].
    pub const ALL: [Self; 7] = [
        Self::First,
        Self::Reset,
        Self::Gap,
        Self::LinkDown,
        Self::LinkChange,
        Self::Missing,
        Self::OutOfRange,
    ];

    /// The place of this reason in [`Skip::ALL`].
    #[must_use]
    pub const fn position(self) -> usize {
        self as usize
    }

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Reset => "reset",
            Self::Gap => "gap",
            Self::LinkDown => "link_down",
            Self::LinkChange => "link_change",
            Self::Missing => "missing",
            Self::OutOfRange => "out_of_range",
        }
    }
}

/// Pause, judged, of one netdev.
#[derive(Clone, Debug, Default)]
pub struct PauseSummary {
    /// Priorities that are lossless or have paused since the engine began, sorted by priority, tx before rx.
    pub tracks: Vec<PauseFigures>,
    /// (tx − rx) / (tx + rx) per priority.
    pub asymmetry: [Option<f64>; Priority::COUNT],
    /// What the ratios are made of; none without pause counters per priority.
    pub basis: Option<Basis>,
    /// Spans left out, by [`Skip::position`].
    pub skipped: [u64; Skip::ALL.len()],
}

/// One priority and direction.
#[derive(Clone, Copy, Debug)]
pub struct PauseFigures {
    /// Which priority.
    pub priority: Priority,
    /// Which way.
    pub direction: Direction,
    /// What its figures are made of.
    pub basis: Basis,
    /// Share of time paused over the trailing window.
    pub ratio: Option<f64>,
    /// At most this share, from frames.
    pub upper_bound: Option<f64>,
    /// Highest ratio of one sample in the trailing minute.
    pub ratio_peak: Option<f64>,
    /// Highest frames per second of one sample in the trailing minute.
    pub frame_rate_peak: Option<f64>,
    /// Ratios of samples; only from durations.
    pub sample_ratio: Option<Histogram<9>>,
    /// Lengths of runs of samples with pausing, in seconds.
    pub burst_seconds: Histogram<10>,
    /// Storms.
    pub storm: StormFigures,
}

/// Storms of one priority and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StormFigures {
    /// In a storm now.
    pub active: bool,
    /// Storms since the engine began.
    pub episodes: u64,
    /// Seconds in storms.
    pub seconds: f64,
    /// Unix time at which the last one began.
    pub last_start_unix_seconds: Option<f64>,
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
#[derive(Clone, Copy, Debug)]
pub struct SamplingFigures {
    /// When the last good read finished; none before the first.
    pub last_sample: Option<Monotonic>,
    /// Average interval between the last good reads, as reached; none before the second.
    pub interval: Option<Duration>,
    /// Good reads.
    pub samples: u64,
    /// Deadlines that passed without a read.
    pub missed: u64,
    /// Failed reads, and counters that became unreadable,, by [`Reason::position`].
    pub errors: [u64; Reason::ALL.len()],
    /// Time per read, in seconds.
    pub read_seconds: Histogram<8>,
    /// How long the read that is under way has taken so far; zero between reads.
    pub read_in_progress: Duration,
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
            read_in_progress: Duration::ZERO,
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
