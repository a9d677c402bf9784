//! The sampling thread of one feed.
//!
//! Owns its source and its engine state. A failed read backs off; a panic is caught, counted and answered with
//! a fresh start; neither touches another feed. No lock is held during a read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

use super::schedule::{ReachedInterval, Schedule, back_off};
use super::{IDLE_INTERVAL, ReadBudget, Slot};
use crate::engine::{Circumstances, FeedEngine, SamplingFigures, StormSettings};
use crate::model::{Direction, Feed, Monotonic, Plan, Reading, Reason, Sample};
use crate::source::{Host, PlanRules, PlannedSource, SourceError, monotonic_now, unix_seconds_now};

/// The longest sleep without a look at the stop signal.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Reads within one refresh of a driver that refreshes slowly: a jump is dated to a sixteenth of it.
const READS_PER_REFRESH: u32 = 16;

/// A read that takes this long stalls others and is worth a line in the log.
const LONG_READ: Duration = Duration::from_millis(500);

/// Everything a feed's thread works with.
pub(super) struct FeedThread {
    pub(super) feed: Feed,
    pub(super) id: u64,
    pub(super) host: Arc<dyn Host>,
    pub(super) rules: PlanRules,
    pub(super) interval: Duration,
    pub(super) storm: StormSettings,
    /// Where in the interval this feed reads, so that feeds do not all read at once.
    pub(super) phase: Duration,
    pub(super) budget: Arc<ReadBudget>,
    pub(super) slot: Arc<Slot>,
    pub(super) stop: Arc<AtomicBool>,
    /// Stops all threads.
    pub(super) stop_all: Arc<AtomicBool>,
}

/// What the thread remembers between samples.
struct State {
    source: Option<PlannedSource>,
    sample: Sample,
    engine: FeedEngine,
    sampling: SamplingFigures,
    reached: ReachedInterval,
    /// The distance to the sample before that the schedule meant to keep.
    expected: Duration,
    failures: u32,
    /// The period of the kernel's cache, where it has one.
    cache: Option<Duration>,
    /// Counters whose absence was logged, by position in the plan.
    told: Vec<bool>,
}

impl FeedThread {
    /// Samples until told to stop or until the device is gone.
    pub(super) fn run(&self) {
        if let Err(errno) = set_current_timer_slack(std::num::NonZeroU64::MIN.into()) {
            tracing::debug!(%errno, "timer slack stays as it is");
        }
        let mut state = State {
            source: None,
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(self.storm),
            sampling: SamplingFigures::new(),
            reached: ReachedInterval::default(),
            expected: self.interval,
            failures: 0,
            cache: None,
            told: Vec::new(),
        };
        let mut schedule = Schedule::new(monotonic_now().plus(self.phase), self.interval);
        while self.sleep_until(schedule.deadline()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.attempt(&mut state)));
            let outcome = outcome.unwrap_or_else(|_| {
                state.source = None;
                state.engine = FeedEngine::new(self.storm);
                Err(Failure::Panicked)
            });
            match outcome {
                Ok(()) => self.succeeded(&mut state, &mut schedule),
                Err(failure) => {
                    if self.failed(&mut state, &mut schedule, &failure) {
                        break;
                    }
                }
            }
        }
        self.budget.forget(self.id);
    }

    fn attempt(&self, state: &mut State) -> Result<(), Failure> {
        let source = if let Some(source) = &mut state.source {
            source
        } else {
            let set = self.host.open(&self.feed)?;
            let epoch = self.host.names_epoch(&self.feed);
            state.source.insert(PlannedSource::new(set, self.rules.clone(), epoch))
        };
        let before = Arc::clone(&state.sample.plan);
        source.read(&monotonic_now, &mut state.sample)?;
        if !Arc::ptr_eq(&before, &state.sample.plan) {
            state.told = vec![false; state.sample.plan.counters.len()];
            state.cache = source.cache_period();
            super::supervisor::tell_what_was_found(&self.feed, source.names(), &state.sample.plan);
        }
        let around = Circumstances {
            link: self.slot.link(),
            interval: state.expected,
            unix_seconds: unix_seconds_now(),
        };
        state.engine.push(&state.sample, &around);
        Ok(())
    }

    fn succeeded(&self, state: &mut State, schedule: &mut Schedule) {
        let State { sample, sampling, .. } = state;
        state.failures = 0;
        sampling.samples += 1;
        sampling.last_sample = Some(sample.taken_at);
        sampling.read_seconds.observe(sample.took.as_secs_f64());
        state.reached.note(sample.taken_at);
        sampling.interval = state.reached.get();
        count_missing(&self.feed, sample, &mut state.told, sampling);
        let refresh = state.engine.refresh_period();
        sampling.refresh = state.cache.or(refresh);
        schedule.set_interval(self.interval_of(&sample.plan, state.cache, refresh));
        let settled =
            self.budget.settle(self.id, sample.taken_at, sample.took, schedule.interval());
        if settled.held >= LONG_READ {
            let (device, source) = (&*self.feed.device, self.feed.source.as_str());
            tracing::warn!(device, source, held = ?settled.held, "a read took very long; asking less often");
        }
        sampling.missed += schedule.advance(monotonic_now());
        if settled.wait > Duration::ZERO {
            schedule.advance_to(sample.taken_at.plus(settled.wait));
        }
        state.expected = schedule.deadline().since(sample.taken_at).max(schedule.interval());
        self.slot.set_target(state.expected);
        self.slot.publish(&state.engine, sampling);
    }

    /// Counts a failure and decides when to try again. Returns whether the feed is over.
    fn failed(&self, state: &mut State, schedule: &mut Schedule, failure: &Failure) -> bool {
        let reason = failure.reason();
        if let Some(count) = state.sampling.errors.get_mut(reason.position()) {
            *count += 1;
        }
        self.slot.publish_sampling(&state.sampling);
        if state.failures == 0 {
            self.tell(failure);
        }
        if reason == Reason::Gone {
            return true;
        }
        let wait = if reason == Reason::NamesChanged && state.failures == 0 {
            Duration::ZERO
        } else {
            back_off(self.interval, state.failures)
        };
        state.failures = state.failures.saturating_add(1);
        let now = monotonic_now();
        state.sampling.missed += schedule.advance(now);
        schedule.advance_to(now.plus(wait));
        false
    }

    fn tell(&self, failure: &Failure) {
        let (device, source) = (&*self.feed.device, self.feed.source.as_str());
        match failure.reason() {
            Reason::Gone | Reason::NamesChanged => {
                tracing::info!(device, source, reason = %failure, "read failed");
            }
            _ => {
                tracing::warn!(device, source, reason = %failure, "read failed; asking less often");
            }
        }
    }

    /// A feed without counters is only watched; one that the kernel caches is not read within the cache's
    /// period; one whose driver refreshes slowly is read often enough to see when it does.
    fn interval_of(
        &self,
        plan: &Plan,
        cache: Option<Duration>,
        refresh: Option<Duration>,
    ) -> Duration {
        let least = if plan.is_empty() { IDLE_INTERVAL } else { Duration::ZERO };
        let of_refresh = refresh.map_or(Duration::ZERO, |period| period / READS_PER_REFRESH);
        self.interval.max(least).max(cache.unwrap_or_default()).max(of_refresh)
    }

    /// Sleeps until `deadline`. Returns false when told to stop.
    fn sleep_until(&self, deadline: Monotonic) -> bool {
        loop {
            if self.stop.load(Ordering::Acquire) || self.stop_all.load(Ordering::Acquire) {
                return false;
            }
            let now = monotonic_now();
            if deadline <= now {
                return true;
            }
            sleep(now, deadline.min(now.plus(LONGEST_SLEEP)));
        }
    }
}

/// Counts the counters that a sample lacks, and says so of each once per plan: `told` has a place for each.
pub(super) fn count_missing(
    feed: &Feed,
    sample: &Sample,
    told: &mut [bool],
    sampling: &mut SamplingFigures,
) {
    let counters = sample.plan.counters.iter().zip(&sample.readings).zip(told);
    for ((counter, reading), told) in counters {
        let Reading::Missing(reason) = reading else { continue };
        if let Some(count) = sampling.errors.get_mut(reason.position()) {
            *count += 1;
        }
        if !*told {
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

/// Sleeps until `until` on the monotonic clock. A signal ends the sleep early; the caller looks again.
fn sleep(now: Monotonic, until: Monotonic) {
    let nanos = until.as_nanos();
    let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX);
    let rest = i64::try_from(nanos % 1_000_000_000).unwrap_or(0);
    let until_time = Timespec { tv_sec: seconds, tv_nsec: rest };
    match clock_nanosleep_absolute(ClockId::Monotonic, &until_time) {
        Ok(()) | Err(Errno::INTR) => {}
        Err(_) => std::thread::sleep(until.since(now)),
    }
}

/// Why an attempt gave no sample.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("a fault in this program")]
    Panicked,
}

impl Failure {
    fn reason(&self) -> Reason {
        match self {
            Self::Source(error) => error.reason(),
            Self::Panicked => Reason::Panicked,
        }
    }
}
