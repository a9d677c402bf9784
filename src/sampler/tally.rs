//! How the sampling of one feed goes, added up read by read; the same for live feeds and for recorded ones.

use std::sync::Arc;
use std::time::Duration;

use super::ReachedInterval;
use crate::engine::SamplingFigures;
use crate::model::{Direction, Feed, Plan, Reading, Reason, Sample};

/// The figures of a feed's sampling and what is needed to go on with them.
#[derive(Debug, Default)]
pub struct Tally {
    figures: SamplingFigures,
    reached: ReachedInterval,
    plan: Arc<Plan>,
    cache_period: Option<Duration>,
    /// Counters whose absence was logged, by position in the plan.
    told: Vec<bool>,
}

impl Tally {
    /// Notes the plan that is in use and its source's `cache_period`. Returns whether it is another than before.
    pub fn note_plan(&mut self, plan: &Arc<Plan>, cache_period: Option<Duration>) -> bool {
        let changed = !Arc::ptr_eq(&self.plan, plan);
        if changed {
            self.plan = Arc::clone(plan);
            self.told = vec![false; plan.counters.len()];
            self.cache_period = cache_period;
            self.figures.refresh = cache_period;
        }
        changed
    }

    /// Adds a good read.
    pub fn note_sample(&mut self, feed: &Feed, sample: &Sample) {
        self.figures.samples += 1;
        self.figures.last_sample = Some(sample.taken_at);
        self.figures.read_seconds.observe(sample.took.as_secs_f64());
        self.reached.note(sample.taken_at);
        self.figures.interval = self.reached.get();
        self.note_missing(feed, sample);
    }

    /// The period of the kernel's cache, where the source has one.
    #[must_use]
    pub const fn cache_period(&self) -> Option<Duration> {
        self.cache_period
    }

    /// Takes the refresh period that the engine now goes by. The kernel's cache, where there is one, is the
    /// longer of the two.
    pub fn note_refresh(&mut self, period: Option<Duration>) {
        self.figures.refresh = self.cache_period.or(period);
    }

    /// Adds a failed read, or a counter that could not be read.
    pub fn note_failure(&mut self, reason: Reason) {
        if let Some(count) = self.figures.errors.get_mut(reason.position()) {
            *count += 1;
        }
    }

    /// Sets how many deadlines were missed since the feed began.
    pub fn set_missed(&mut self, missed: u64) {
        self.figures.missed = missed;
    }

    /// The figures.
    #[must_use]
    pub const fn figures(&self) -> &SamplingFigures {
        &self.figures
    }

    fn note_missing(&mut self, feed: &Feed, sample: &Sample) {
        let counters = sample.plan.counters.iter().zip(&sample.readings);
        for (place, (counter, reading)) in counters.enumerate() {
            let Reading::Missing(reason) = reading else { continue };
            self.note_failure(*reason);
            if let Some(told) = self.told.get_mut(place).filter(|told| !**told) {
                *told = true;
                tracing::info!(
                    device = &*feed.device,
                    rdma_device = feed.rdma_device.as_deref(),
                    port = feed.port,
                    source = feed.source.as_str(),
                    quantity = counter.key.quantity.as_str(),
                    direction = counter.key.direction.map(Direction::as_str),
                    reason = reason.as_str(),
                    "a counter cannot be read"
                );
            }
        }
    }
}
