//! What a sampling thread tells the recorder of its feed.
//!
//! Values are coded against what was last handed to the writer, not against the sample before: a record that was
//! dropped then leaves a gap and nothing else wrong.

use std::sync::Arc;
use std::time::Duration;

use super::Recorder;
use super::format::{Record, RecordedRead};
use crate::model::{Feed, LinkFacts, Monotonic, Plan, Reading, Reason, Sample, saturating_nanos};

/// A good read and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// All names of the set.
    pub names: &'a [String],
    /// The period on which the kernel serves the same values again, where it says one.
    pub cache_period: Option<Duration>,
    /// The sample: its times and its plan, whose `wanted` says what was read.
    pub sample: &'a Sample,
    /// What was read, one per position of `wanted`, as the kernel gave it.
    pub readings: &'a [Reading],
    /// The link as the engine was told it.
    pub link: LinkFacts,
    /// The interval that was meant to be kept, as the engine was told it.
    pub interval: Duration,
    /// The interval meant for the next read.
    pub next_interval: Duration,
    /// Deadlines missed since the feed began.
    pub missed: u64,
}

/// Records one feed. What cannot be handed to the writer at once is dropped.
#[derive(Debug)]
pub struct FeedRecorder {
    recorder: Recorder,
    id: u32,
    feed: Feed,
    driver: String,
    begun: bool,
    written: Written,
}

/// What a reader of the file knows of the feed by now.
#[derive(Debug, Default)]
struct Written {
    /// The plan whose names were written; another allocation means that they were read anew.
    plan: Option<Arc<Plan>>,
    values: Vec<u64>,
    next_interval: u64,
    link: LinkFacts,
}

impl FeedRecorder {
    pub(super) fn new(recorder: Recorder, id: u32, feed: Feed, driver: String) -> Self {
        Self { recorder, id, feed, driver, begun: false, written: Written::default() }
    }

    /// The feed's number in the recording.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Records that the feed is there, unless that was recorded before.
    pub fn begin(&mut self, at: Monotonic) {
        if !self.begun && self.recorder.is_open() {
            let at = self.recorder.nanos(at);
            let record = Record::feed_began(self.id, at, &self.feed, &self.driver);
            self.begun = self.recorder.send(&record);
        }
    }

    /// Records a good read.
    pub fn sample(&mut self, taken: &Taken<'_>) {
        if !self.recorder.is_open() {
            return;
        }
        self.begin(taken.sample.taken_at);
        if !self.begun || !self.define(taken) {
            return;
        }
        let record = Record::Sample(self.coded(taken));
        if self.recorder.send(&record) {
            self.commit(taken);
        }
    }

    /// Records a read that failed. `missed`: deadlines missed since the feed began.
    pub fn failed(&mut self, at: Monotonic, reason: Reason, missed: u64) {
        self.begin(at);
        if self.begun && self.recorder.is_open() {
            let (feed, at) = (self.id, self.recorder.nanos(at));
            self.recorder.send(&Record::Failed { feed, at, reason: reason.into(), missed });
        }
    }

    /// Records the names if they were read anew. Returns whether a reader knows them now.
    fn define(&mut self, taken: &Taken<'_>) -> bool {
        let plan = &taken.sample.plan;
        if self.written.plan.as_ref().is_some_and(|own| Arc::ptr_eq(own, plan)) {
            return true;
        }
        let record = Record::Names {
            feed: self.id,
            at: self.recorder.nanos(taken.sample.taken_at),
            names: taken.names.to_vec(),
            wanted: plan.wanted.clone(),
            cache_period: taken.cache_period.map(saturating_nanos),
        };
        let sent = self.recorder.send(&record);
        if sent {
            self.written.plan = Some(Arc::clone(plan));
            self.written.values.clear();
            self.written.values.resize(plan.wanted.len(), 0);
        }
        sent
    }

    fn coded(&self, taken: &Taken<'_>) -> RecordedRead {
        let mut changes = Vec::with_capacity(taken.readings.len());
        let mut missing = Vec::new();
        let mut skipped = 0;
        let pairs = self.written.values.iter().zip(taken.readings);
        for (place, (before, reading)) in (0_u32..).zip(pairs) {
            match reading {
                Reading::Value(value) if value != before => {
                    changes.push((skipped, value.wrapping_sub(*before).cast_signed()));
                    skipped = 0;
                    continue;
                }
                Reading::Value(_) => {}
                Reading::Missing(reason) => missing.push((place, (*reason).into())),
            }
            skipped += 1;
        }
        let interval = saturating_nanos(taken.interval);
        let relative = |nanos: u64, to: u64| nanos.wrapping_sub(to).cast_signed();
        RecordedRead {
            feed: self.id,
            at: self.recorder.nanos(taken.sample.taken_at),
            took: saturating_nanos(taken.sample.took),
            interval: relative(interval, self.written.next_interval),
            next_interval: relative(saturating_nanos(taken.next_interval), interval),
            missed: taken.missed,
            link: (taken.link != self.written.link).then(|| taken.link.into()),
            changes,
            missing,
        }
    }

    fn commit(&mut self, taken: &Taken<'_>) {
        for (kept, reading) in self.written.values.iter_mut().zip(taken.readings) {
            if let Reading::Value(value) = reading {
                *kept = *value;
            }
        }
        self.written.next_interval = saturating_nanos(taken.next_interval);
        self.written.link = taken.link;
    }
}
