//! How the sampling of one feed goes, added up read by read; the same for live feeds and for recorded ones.

use std::sync::Arc;
use std::time::Duration;

use super::ReachedInterval;
use crate::engine::SamplingFigures;
use crate::model::{CounterKey, Direction, Feed, Plan, Reading, Reason, Sample};

/// The figures of a feed's sampling and what is needed to go on with them.
#[derive(Debug, Default)]
pub struct Tally {
    figures: SamplingFigures,
    reached: ReachedInterval,
    plan: Arc<Plan>,
    cache_period: Option<Duration>,
    /// Why the last sample lacks each counter of the plan, where it does.
    missing: Vec<Option<Reason>>,
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
            self.missing = vec![None; plan.counters.len()];
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

    /// Adds a failed read, or a counter that became unreadable.
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

    /// A counter that stays unreadable is one error, not one for each sample: how often it was asked says nothing.
    fn note_missing(&mut self, feed: &Feed, sample: &Sample) {
        let counters = sample.plan.counters.iter().zip(&sample.readings);
        for (place, (counter, reading)) in counters.enumerate() {
            let now = match reading {
                Reading::Value(_) => None,
                Reading::Missing(reason) => Some(*reason),
            };
            let Some(before) = self.missing.get_mut(place) else { continue };
            let before = std::mem::replace(before, now);
            let Some(reason) = now.filter(|_| before != now) else { continue };
            self.note_failure(reason);
            if let Some(told) = self.told.get_mut(place).filter(|told| !**told) {
                *told = true;
                tell(feed, &counter.key, reason);
            }
        }
    }
}

fn tell(feed: &Feed, key: &CounterKey, reason: Reason) {
    tracing::info!(
        device = &*feed.device,
        rdma_device = feed.rdma_device.as_deref(),
        port = feed.port,
        source = feed.source.as_str(),
        quantity = key.quantity.as_str(),
        direction = key.direction.map(Direction::as_str),
        reason = reason.as_str(),
        "a counter cannot be read"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Freshness, Index, PlanCounter, Quantity, ReadingKind, SourceKind, Unit, Width,
    };

    fn plan() -> Arc<Plan> {
        let quantity = Quantity::PcieBufferOverflow;
        let counter = PlanCounter {
            key: CounterKey { quantity, direction: None, index: Index::None, detail: None },
            kind: ReadingKind::Counter,
            unit: Unit::Count,
            width: Width::FULL,
            freshness: Freshness::Live,
        };
        Arc::new(Plan { counters: vec![counter], ..Plan::default() })
    }

    /// Errors by reason after these readings of a plan's one counter, each often.
    fn errors_after(readings: &[Reading]) -> Vec<(Reason, u64)> {
        let feed = Feed {
            device: "eth0".into(),
            rdma_device: None,
            port: None,
            source: SourceKind::Ethtool,
        };
        let mut tally = Tally::default();
        let plan = plan();
        tally.note_plan(&plan, None);
        let mut sample = Sample::empty(Arc::clone(&plan));
        for reading in readings {
            sample.readings = vec![*reading];
            for _ in 0..100 {
                tally.note_sample(&feed, &sample);
            }
        }
        let counted = Reason::ALL.into_iter().zip(tally.figures().errors);
        counted.filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn a_counter_that_stays_unreadable_is_one_error_until_it_was_read_or_fails_otherwise() {
        use Reading::{Missing, Value};
        let lacking = Missing(Reason::AllOnes);
        assert_eq!(errors_after(&[Value(1)]), []);
        assert_eq!(errors_after(&[lacking]), [(Reason::AllOnes, 1)]);
        assert_eq!(errors_after(&[lacking, Value(1), lacking]), [(Reason::AllOnes, 2)]);
        assert_eq!(
            errors_after(&[Missing(Reason::Busy), lacking]),
            [(Reason::Busy, 1), (Reason::AllOnes, 1)]
        );
    }

    #[test]
    fn another_plan_is_counted_anew() {
        let feed = Feed {
            device: "eth0".into(),
            rdma_device: None,
            port: None,
            source: SourceKind::Ethtool,
        };
        let mut tally = Tally::default();
        for _ in 0..2 {
            let plan = plan();
            tally.note_plan(&plan, None);
            let mut sample = Sample::empty(plan);
            sample.readings = vec![Reading::Missing(Reason::Denied)];
            tally.note_sample(&feed, &sample);
        }
        assert_eq!(tally.figures().errors[Reason::Denied.position()], 2);
    }
}
