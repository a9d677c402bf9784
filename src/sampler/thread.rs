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

use super::schedule::{Schedule, back_off};
use super::{IDLE_INTERVAL, ReadBudget, Slot, Tally};
use crate::engine::{Circumstances, FeedEngine, StormSettings};
use crate::model::{Feed, LinkFacts, Monotonic, Plan, Reason, Sample};
use crate::record::{FeedRecorder, Taken};
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
    tally: Tally,
    /// The link as the engine was told it with the last sample.
    link: LinkFacts,
    /// The distance to the sample before that the schedule meant to keep.
    expected: Duration,
    failures: u32,
    /// Where the raw readings go as well, if they are recorded.
    recorder: Option<FeedRecorder>,
}

impl FeedThread {
    /// Samples until told to stop or until the device is gone.
    pub(super) fn run(&self, recorder: Option<FeedRecorder>) {
        if let Err(errno) = set_current_timer_slack(std::num::NonZeroU64::MIN.into()) {
            tracing::debug!(%errno, "timer slack stays as it is");
        }
        let mut state = State {
            source: None,
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(self.storm),
            tally: Tally::default(),
            link: LinkFacts::default(),
            expected: self.interval,
            failures: 0,
            recorder,
        };
        if let Some(recorder) = &mut state.recorder {
            recorder.begin(monotonic_now());
        }
        let mut schedule = Schedule::new(monotonic_now().plus(self.phase), self.interval);
        while self.sleep_until(schedule.deadline()) {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.attempt(&mut state)));
            let outcome = outcome.unwrap_or_else(|_| {
                self.slot.end_read();
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
        self.slot.begin_read(monotonic_now());
        let answer = source.read(&monotonic_now, &mut state.sample);
        self.slot.end_read();
        answer?;
        if state.tally.note_plan(&state.sample.plan, source.cache_period()) {
            super::findings::tell(&self.feed, source.names(), &state.sample.plan);
        }
        state.link = self.slot.link();
        let around = Circumstances {
            link: state.link,
            interval: state.expected,
            unix_seconds: unix_seconds_now(),
        };
        state.engine.push(&state.sample, &around);
        Ok(())
    }

    fn succeeded(&self, state: &mut State, schedule: &mut Schedule) {
        let State { sample, tally, .. } = state;
        state.failures = 0;
        tally.note_sample(&self.feed, sample);
        let refresh = state.engine.refresh_period();
        tally.note_refresh(refresh);
        schedule.set_interval(self.interval_of(&sample.plan, tally.cache_period(), refresh));
        let settled =
            self.budget.settle(self.id, sample.taken_at, sample.took, schedule.interval());
        if settled.held >= LONG_READ {
            let (device, source) = (&*self.feed.device, self.feed.source.as_str());
            tracing::warn!(device, source, held = ?settled.held, "a read took very long; asking less often");
        }
        tally.set_missed(tally.figures().missed + schedule.advance(monotonic_now()));
        if settled.wait > Duration::ZERO {
            schedule.advance_to(sample.taken_at.plus(settled.wait));
        }
        let next = schedule.deadline().since(sample.taken_at).max(schedule.interval());
        let interval = std::mem::replace(&mut state.expected, next);
        self.slot.set_target(next);
        self.slot.publish(&state.engine, tally.figures());
        state.record(interval);
    }

    /// Counts a failure and decides when to try again. Returns whether the feed is over.
    fn failed(&self, state: &mut State, schedule: &mut Schedule, failure: &Failure) -> bool {
        let reason = failure.reason();
        state.tally.note_failure(reason);
        self.slot.publish_sampling(state.tally.figures());
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
        let (now, missed) = (monotonic_now(), state.tally.figures().missed);
        if let Some(recorder) = &mut state.recorder {
            recorder.failed(now, reason, missed);
        }
        state.tally.set_missed(missed + schedule.advance(now));
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

impl State {
    /// Records the last sample, which was meant to be taken `interval` after the one before. After it was
    /// published, so that nothing waits for it.
    fn record(&mut self, interval: Duration) {
        if let (Some(recorder), Some(source)) = (&mut self.recorder, &self.source) {
            recorder.sample(&Taken {
                names: source.names(),
                cache_period: source.cache_period(),
                sample: &self.sample,
                readings: source.gathered(),
                link: self.link,
                interval,
                next_interval: self.expected,
                missed: self.tally.figures().missed,
            });
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
