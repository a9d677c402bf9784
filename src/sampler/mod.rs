//! Decides when to read: threads on absolute deadlines, under one rtnl budget.
//!
//! Prometheus exporters usually read when they are scraped. PFC counters cannot be read later: a pause of
//! 20 ms within a 15 s scrape interval is lost. So this exporter samples on a clock of its own. The threads are
//! plain ones: tokio's timer wakes 1.3-1.5 ms late at an interval of 1 ms, a thread 0.02-0.07 ms. This room
//! refuses async code.

mod board;
mod budget;
mod findings;
mod once;
mod pulse;
mod sampled_feed;
mod schedule;
mod supervisor;
mod tally;
mod thread;

pub use board::{Board, Slot};
pub use budget::ReadBudget;
pub use once::sample_once;
pub use schedule::{ReachedInterval, Schedule, back_off};
pub use supervisor::{CHECK_PERIOD, Sampler};
pub use tally::Tally;

use std::time::Duration;

use crate::catalogue::RawSelection;
use crate::engine::StormSettings;
use crate::record::Recorder;

/// How to sample.
#[derive(Clone, Debug)]
pub struct SamplerOptions {
    /// The interval to keep per feed.
    pub interval: Duration,
    /// The share of wall time for reads under rtnl.
    pub rtnl_budget: f64,
    /// What makes a storm.
    pub storm: StormSettings,
    /// Uncatalogued names to pass through.
    pub raw: RawSelection,
    /// How often the host is looked at again.
    pub discovery_period: Duration,
    /// Where raw readings go as well, if they are recorded.
    pub recorder: Option<Recorder>,
}
