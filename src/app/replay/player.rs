//! From recorded events to engines and a board: the way of a live read, without its clock.
//!
//! Names, raw values and circumstances come from the recording; the catalogue, the selection of raw counters and
//! the settings of storms are those of today. What comes out is what a live run with the same settings had, sample
//! by sample. Refuses to wait: who plays an event decides when.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::catalogue::{Catalogue, RawSelection, Table};
use crate::engine::{Circumstances, FeedEngine, StormSettings};
use crate::model::{Feed, Monotonic, Plan, Reading, Reason, Sample};
use crate::record::{Event, Names, RecordedSample, Start};
use crate::sampler::{Board, CHECK_PERIOD, Slot, Tally};
use crate::source::{CounterSet, PlanRules, PlannedSource, SourceError};

/// What turns raw readings into figures.
#[derive(Clone, Debug)]
pub struct PlayRules {
    /// Whose names mean what.
    pub catalogue: Arc<Catalogue>,
    /// Uncatalogued names to pass through.
    pub raw: RawSelection,
    /// What makes a storm.
    pub storm: StormSettings,
}

/// Plays a recording's events to a board.
pub struct Player {
    rules: PlayRules,
    start: Start,
    board: Arc<Board>,
    feeds: BTreeMap<u32, PlayedFeed>,
    /// When ports are to be judged again.
    check_at: Monotonic,
}

impl Player {
    /// A player of a recording that began at `start`.
    #[must_use]
    pub const fn new(rules: PlayRules, start: Start, board: Arc<Board>) -> Self {
        let check_at = start.at;
        Self { rules, start, board, feeds: BTreeMap::new(), check_at }
    }

    /// Plays one event. An event of a feed that is not there is passed over. Where the board has a policy, ports are
    /// judged as often as live ones.
    pub fn play(&mut self, event: Event) {
        let at = event.at();
        if matches!(event, Event::Devices { .. }) {
            self.check_at = at;
        }
        self.take(event);
        if at >= self.check_at {
            self.board.check(at);
            self.check_at = at.plus(CHECK_PERIOD);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Devices { devices, .. } => self.board.set_devices(devices),
            Event::FeedBegan { id, feed, driver, .. } => self.begin(id, feed, &driver),
            Event::Names { id, names, .. } => {
                if let Some(played) = self.feeds.get_mut(&id) {
                    played.take_names(names, &self.rules);
                }
            }
            Event::Sample(sample) => {
                if let Some(played) = self.feeds.get_mut(&sample.id) {
                    played.take_sample(sample, &self.start);
                }
            }
            Event::Failed { id, reason, missed, .. } => {
                if let Some(played) = self.feeds.get_mut(&id) {
                    played.take_failure(reason, missed, self.rules.storm);
                }
            }
            Event::FeedEnded { id, .. } => {
                if let Some(played) = self.feeds.remove(&id) {
                    self.board.remove(&played.feed, &played.slot);
                }
            }
        }
    }

    fn begin(&mut self, id: u32, feed: Feed, driver: &str) {
        self.feeds.retain(|_, played| played.feed != feed);
        let slot = self.board.add(&feed, driver);
        let played = PlayedFeed {
            feed,
            driver: driver.to_owned(),
            slot,
            engine: FeedEngine::new(self.rules.storm),
            tally: Tally::default(),
            source: None,
            sample: Sample::empty(Arc::new(Plan::default())),
            tape: Arc::default(),
        };
        self.feeds.insert(id, played);
    }
}

struct PlayedFeed {
    feed: Feed,
    driver: String,
    slot: Arc<Slot>,
    engine: FeedEngine,
    tally: Tally,
    source: Option<PlannedSource>,
    sample: Sample,
    tape: Arc<Tape>,
}

impl PlayedFeed {
    fn take_names(&mut self, names: Names, rules: &PlayRules) {
        let set = RecordedSet { names, tape: Arc::clone(&self.tape) };
        let rules = PlanRules {
            catalogue: Arc::clone(&rules.catalogue),
            table: Table::of(&self.feed),
            driver: self.driver.clone(),
            raw: rules.raw.clone(),
        };
        self.source = Some(PlannedSource::new(Box::new(set), rules, Arc::default()));
    }

    fn take_sample(&mut self, recorded: RecordedSample, start: &Start) {
        let Some(source) = &mut self.source else { return };
        let around = Circumstances {
            link: recorded.link,
            interval: recorded.interval,
            unix_seconds: start.unix_seconds(recorded.at),
        };
        let (next_interval, missed) = (recorded.next_interval, recorded.missed);
        self.tape.load(recorded);
        if let Err(error) = source.read(&|| self.tape.now(), &mut self.sample) {
            tracing::error!(device = &*self.feed.device, %error, "a recorded read failed");
            return;
        }
        if self.tally.note_plan(&self.sample.plan, source.cache_period()) {
            self.tell_what_is_missing();
        }
        self.engine.push(&self.sample, &around);
        self.tally.note_sample(&self.feed, &self.sample);
        self.tally.note_refresh(self.engine.refresh_period());
        self.tally.set_missed(missed);
        self.slot.set_target(next_interval);
        self.slot.publish(&self.engine, self.tally.figures());
    }

    fn take_failure(&mut self, reason: Reason, missed: u64, storm: StormSettings) {
        if reason == Reason::Panicked {
            self.engine = FeedEngine::new(storm);
        }
        self.tally.note_failure(reason);
        self.tally.set_missed(missed);
        self.slot.publish_sampling(self.tally.figures());
    }

    fn tell_what_is_missing(&self) {
        let unrecorded = self.tape.unrecorded.load(Ordering::Relaxed);
        if unrecorded > 0 {
            tracing::warn!(
                device = &*self.feed.device,
                source = self.feed.source.as_str(),
                names = unrecorded,
                "counters are wanted now whose values were not recorded; they have no series"
            );
        }
    }
}

/// The read that is being played, between a feed and its counter set.
#[derive(Debug, Default)]
struct Tape {
    /// The recorded clock: it stands at the beginning of the read until the values are fetched.
    now: AtomicU64,
    loaded: Mutex<Loaded>,
    /// Wanted positions that the last read had no recorded value for.
    unrecorded: AtomicU64,
}

#[derive(Debug, Default)]
struct Loaded {
    finished: Monotonic,
    readings: Vec<Reading>,
}

impl Tape {
    fn load(&self, recorded: RecordedSample) {
        self.now.store(recorded.at.minus(recorded.took).as_nanos(), Ordering::Relaxed);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded = Loaded { finished: recorded.at, readings: recorded.readings };
    }

    fn now(&self) -> Monotonic {
        Monotonic::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

/// A recorded set of names, whose values are those of the loaded read.
struct RecordedSet {
    names: Names,
    tape: Arc<Tape>,
}

impl CounterSet for RecordedSet {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        Ok(self.names.names.clone())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let loaded = self.tape.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unrecorded = 0;
        for (reading, position) in readings.iter_mut().zip(wanted) {
            let place = self.names.wanted.binary_search(position).ok();
            let recorded = place.and_then(|place| loaded.readings.get(place).copied());
            unrecorded += u64::from(recorded.is_none());
            *reading = recorded.unwrap_or(Reading::Missing(Reason::Unsupported));
        }
        self.tape.unrecorded.store(unrecorded, Ordering::Relaxed);
        self.tape.now.store(loaded.finished.as_nanos(), Ordering::Relaxed);
        Ok(())
    }

    fn cache_period(&self) -> Option<Duration> {
        self.names.cache_period
    }
}
