//! One feed as it is sampled: its source, its engine state and its deadlines.
//!
//! A failed read backs off; a panic is caught, counted and answered with a fresh start; neither touches another
//! feed. No lock is held during a read. Refuses to sleep: whose turn it is, is the thread's to say.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::schedule::{Schedule, back_off, interval_for};
use super::{ReadBudget, Slot, Tally};
use crate::engine::{Circumstances, FeedEngine, StormSettings};
use crate::model::{Feed, LinkFacts, Monotonic, Plan, Reason, Sample};
use crate::record::{FeedRecorder, Taken};
use crate::source::{Host, PlanRules, PlannedSource, SourceError, monotonic_now, unix_seconds_now};

/// A read that takes this long stalls others and is worth a line in the log.
const LONG_READ: Duration = Duration::from_millis(500);

/// The longest wait for names that go on changing: reading them takes milliseconds under rtnl where there are many.
const LONGEST_WAIT_FOR_NAMES: Duration = Duration::from_millis(50);

/// Everything that sampling a feed takes.
pub(super) struct FeedTask {
    pub(super) feed: Feed,
    pub(super) id: u64,
    pub(super) host: Arc<dyn Host>,
    pub(super) rules: PlanRules,
    pub(super) interval: Duration,
    pub(super) storm: StormSettings,
    /// The first deadline.
    pub(super) first: Monotonic,
    pub(super) budget: Arc<ReadBudget>,
    pub(super) slot: Arc<Slot>,
    pub(super) recorder: Option<FeedRecorder>,
    pub(super) stop: Arc<AtomicBool>,
    /// Stops all feeds.
    pub(super) stop_all: Arc<AtomicBool>,
    pub(super) _at_end: AtEnd,
}

/// What is done when a feed's thread lets go of it, even where that thread panics.
pub(super) struct AtEnd(Option<Box<dyn FnOnce() + Send>>);

impl AtEnd {
    pub(super) fn new(act: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(act)))
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

/// A feed and what is remembered of it between samples.
pub(super) struct SampledFeed {
    // Before the task, so that its descriptors are closed and its recording is complete when others hear of the end.
    state: State,
    schedule: Schedule,
    task: FeedTask,
}

/// Whether a feed goes on after an attempt to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    GoesOn,
    IsOver,
}

/// What changes from sample to sample.
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

impl SampledFeed {
    /// A feed that has not been read yet.
    pub(super) fn new(mut task: FeedTask) -> Self {
        let mut recorder = task.recorder.take();
        if let Some(recorder) = &mut recorder {
            recorder.begin(monotonic_now());
        }
        let state = State {
            source: None,
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(task.storm),
            tally: Tally::default(),
            link: LinkFacts::default(),
            expected: task.interval,
            failures: 0,
            recorder,
        };
        let schedule = Schedule::new(task.first, task.interval);
        Self { state, schedule, task }
    }

    /// Whether nobody has told it to stop.
    pub(super) fn is_wanted(&self) -> bool {
        !self.task.stop.load(Ordering::Acquire) && !self.task.stop_all.load(Ordering::Acquire)
    }

    /// When to read next.
    pub(super) const fn deadline(&self) -> Monotonic {
        self.schedule.deadline()
    }

    /// When the next read will have been missed.
    pub(super) fn latest(&self) -> Monotonic {
        self.schedule.deadline().plus(self.schedule.interval())
    }

    /// Reads, judges and publishes once, and sets the next deadline.
    pub(super) fn sample(&mut self) -> Course {
        let Self { task, state, schedule } = self;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            task.attempt(state)?;
            task.succeeded(state, schedule);
            Ok(())
        }));
        let outcome = outcome.unwrap_or_else(|_| {
            task.slot.end_read();
            state.source = None;
            state.engine = FeedEngine::new(task.storm);
            Err(Failure::Panicked)
        });
        match outcome {
            Ok(()) => Course::GoesOn,
            Err(failure) => task.failed(state, schedule, &failure),
        }
    }
}

impl FeedTask {
    /// Reads the source once, and opens it first if need be.
    fn read<'a>(
        &self,
        source: &'a mut Option<PlannedSource>,
        sample: &mut Sample,
    ) -> Result<&'a PlannedSource, Failure> {
        let source = if let Some(source) = source {
            source
        } else {
            let set = self.host.open(&self.feed)?;
            let epoch = self.host.names_epoch(&self.feed);
            source.insert(PlannedSource::new(set, self.rules.clone(), epoch))
        };
        source.read(&monotonic_now, sample)?;
        Ok(source)
    }

    fn attempt(&self, state: &mut State) -> Result<(), Failure> {
        self.slot.begin_read(monotonic_now());
        let answer = self.read(&mut state.source, &mut state.sample);
        self.slot.end_read();
        let source = answer?;
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
        let interval =
            interval_for(self.interval, sample.plan.is_empty(), tally.cache_period(), refresh);
        schedule.set_interval(interval);
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
        self.slot.set_due(schedule.deadline());
        self.slot.publish(&state.engine, tally.figures());
        state.record(interval);
    }

    /// Counts a failure and decides when to try again. Returns whether the feed is over.
    fn failed(&self, state: &mut State, schedule: &mut Schedule, failure: &Failure) -> Course {
        let reason = failure.reason();
        state.tally.note_failure(reason);
        self.slot.publish_sampling(state.tally.figures());
        if state.failures == 0 {
            self.tell(failure);
        }
        if reason == Reason::Gone {
            return Course::IsOver;
        }
        let wait = match (reason, state.failures) {
            (Reason::NamesChanged, 0) => Duration::ZERO,
            // Nothing is wrong with the device, and it may be still again at any time.
            (Reason::NamesChanged, failures) => {
                back_off(self.interval, failures).min(LONGEST_WAIT_FOR_NAMES.max(self.interval))
            }
            (_, failures) => back_off(self.interval, failures),
        };
        state.failures = state.failures.saturating_add(1);
        let (now, missed) = (monotonic_now(), state.tally.figures().missed);
        if let Some(recorder) = &mut state.recorder {
            recorder.failed(now, reason, missed);
        }
        state.tally.set_missed(missed + schedule.advance(now));
        schedule.advance_to(now.plus(wait));
        self.slot.set_due(schedule.deadline());
        Course::GoesOn
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
