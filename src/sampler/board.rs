//! Where sampling threads leave their figures and scrapes pick them up.
//!
//! A thread holds its slot's lock only to copy; a scrape holds it only to clone. Neither holds a lock while
//! the kernel is asked, so a scrape never waits for a NIC.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::pulse::{LONGEST_SILENCE, Pulse};
use crate::engine::checks::{CheckFigures, CheckWatch, Policy, SamplingWanted};
use crate::engine::history::{Episode, FeedHistory, HistorySize, Past, PastSamples};
use crate::engine::{
    CounterFigures, FeedEngine, FeedFigures, PauseSummary, SamplingFigures, Snapshot,
};
use crate::model::{DeviceFacts, Feed, LinkFacts, Monotonic, Plan, Priority, saturating_nanos};

/// Sampling that is late by less than this is not stale, whatever the interval.
const LEAST_STALE_AGE: Duration = Duration::from_millis(100);

/// One feed's place on the board.
#[derive(Debug)]
pub struct Slot {
    figures: Mutex<FeedFigures>,
    /// Under a lock of its own, so that who reads minutes of samples holds up no scrape.
    history: Mutex<FeedHistory>,
    link: Mutex<LinkFacts>,
    /// When the read under way began, in nanoseconds of the monotonic clock; 0 between reads.
    reading_since: AtomicU64,
    /// The interval that the feed's thread now tries to keep, in nanoseconds; for staleness.
    target: AtomicU64,
    /// When the next attempt is due, in nanoseconds of the monotonic clock.
    due: AtomicU64,
}

impl Slot {
    fn new(feed: Feed, driver: Arc<str>, history: Arc<HistorySize>) -> Self {
        let counters = CounterFigures {
            plan: Arc::new(Plan::default()),
            totals: Vec::new(),
            raw: Vec::new(),
            resets: 0,
        };
        let sampling = SamplingFigures::new();
        Self {
            figures: Mutex::new(FeedFigures {
                feed,
                driver,
                counters,
                pause: PauseSummary::default(),
                sampling,
            }),
            history: Mutex::new(FeedHistory::new(history)),
            link: Mutex::default(),
            reading_since: AtomicU64::new(0),
            target: AtomicU64::new(0),
            due: AtomicU64::new(u64::MAX),
        }
    }

    /// Publishes a thread's figures.
    pub fn publish(&self, engine: &FeedEngine, sampling: &SamplingFigures) {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        engine.copy_counters(&mut figures.counters);
        engine.copy_pause(&mut figures.pause);
        figures.sampling = *sampling;
        drop(figures);
        engine.copy_history(&mut self.history());
    }

    /// Publishes how the sampling goes, where there is no new sample.
    pub fn publish_sampling(&self, sampling: &SamplingFigures) {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).sampling = *sampling;
    }

    /// A read begins. Whoever hangs in it can be named while it hangs.
    pub fn begin_read(&self, now: Monotonic) {
        self.reading_since.store(now.as_nanos().max(1), Ordering::Relaxed);
    }

    /// The read ended.
    pub fn end_read(&self) {
        self.reading_since.store(0, Ordering::Relaxed);
    }

    /// The interval that the thread now tries to keep.
    pub fn set_target(&self, interval: Duration) {
        self.target.store(saturating_nanos(interval), Ordering::Relaxed);
    }

    /// When the thread means to try the next read.
    pub(super) fn set_due(&self, due: Monotonic) {
        self.due.store(due.as_nanos(), Ordering::Relaxed);
    }

    fn is_reading(&self) -> bool {
        self.reading_since.load(Ordering::Relaxed) != 0
    }

    fn is_long_overdue(&self, now: Monotonic) -> bool {
        let due = Monotonic::from_nanos(self.due.load(Ordering::Relaxed));
        now.since(due) >= LONGEST_SILENCE
    }

    /// The link as it was last seen.
    #[must_use]
    pub fn link(&self) -> LinkFacts {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn history(&self) -> MutexGuard<'_, FeedHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn figures_at(&self, now: Monotonic) -> FeedFigures {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let target = Duration::from_nanos(self.target.load(Ordering::Relaxed));
        let since = self.reading_since.load(Ordering::Relaxed);
        figures.sampling.read_in_progress = match since {
            0 => Duration::ZERO,
            since => now.since(Monotonic::from_nanos(since)),
        };
        let allowed = (target * 3).max(LEAST_STALE_AGE);
        figures.sampling.stale =
            figures.sampling.last_sample.is_some_and(|last| now.since(last) > allowed);
        figures
    }
}

/// All slots and the inventory.
#[derive(Debug, Default)]
pub struct Board {
    slots: RwLock<BTreeMap<Feed, Arc<Slot>>>,
    devices: RwLock<Vec<DeviceFacts>>,
    looked: AtomicBool,
    policy: Mutex<Option<(Arc<Policy>, SamplingWanted)>>,
    watch: Mutex<CheckWatch>,
    checks: Mutex<Arc<CheckFigures>>,
    history: Arc<HistorySize>,
    supervisor: Mutex<Option<Arc<Pulse>>>,
}

impl Board {
    /// A board that keeps the last minutes of samples that are `interval` apart.
    #[must_use]
    pub fn keeping(interval: Duration) -> Self {
        Self { history: Arc::new(HistorySize::of(interval)), ..Self::default() }
    }

    /// What is set aside for the past, and what of it is in use.
    #[must_use]
    pub fn history_size(&self) -> &HistorySize {
        &self.history
    }

    /// Adds a feed and returns its slot; a slot of the same feed is replaced.
    pub fn add(&self, feed: &Feed, driver: &str) -> Arc<Slot> {
        let slot = Arc::new(Slot::new(feed.clone(), driver.into(), Arc::clone(&self.history)));
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.insert(feed.clone(), Arc::clone(&slot));
        slot
    }

    /// Takes a feed off, if `slot` is still its slot; it leaves no series.
    pub fn remove(&self, feed: &Feed, slot: &Arc<Slot>) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if slots.get(feed).is_some_and(|own| Arc::ptr_eq(own, slot)) {
            slots.remove(feed);
        }
    }

    /// Replaces the inventory and hands each device's link facts to its feeds.
    pub fn set_devices(&self, devices: Vec<DeviceFacts>) {
        {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            for (feed, slot) in slots.iter() {
                let facts = devices.iter().find(|facts| facts.device == feed.device);
                let link = facts.map_or_else(LinkFacts::default, |facts| facts.link);
                *slot.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
            }
        }
        *self.devices.write().unwrap_or_else(PoisonError::into_inner) = devices;
        self.looked.store(true, Ordering::Release);
    }

    /// Everything as it is now, each feed's figures of one sample.
    #[must_use]
    pub fn snapshot(&self, now: Monotonic) -> Snapshot {
        let slots: Vec<Arc<Slot>> = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            slots.values().cloned().collect()
        };
        let feeds = slots.iter().map(|slot| slot.figures_at(now)).collect();
        let devices = self.devices.read().unwrap_or_else(PoisonError::into_inner).clone();
        let checks = Arc::clone(&self.checks.lock().unwrap_or_else(PoisonError::into_inner));
        Snapshot { taken_at: now, devices, feeds, checks }
    }

    /// From now on ports are judged by this policy.
    pub fn set_policy(&self, policy: Arc<Policy>, sampling: SamplingWanted) {
        let mut own = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some((policy, sampling));
    }

    /// Judges all ports as they are now, if there is a policy.
    pub fn check(&self, now: Monotonic) {
        let policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((policy, sampling)) = policy else { return };
        let Snapshot { devices, feeds, .. } = self.snapshot(now);
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = Arc::new(watch.look(&policy, sampling, now, &devices, &feeds));
        *self.checks.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    /// The pulse of whoever looks after the sampling from now on.
    pub(super) fn set_supervisor(&self, pulse: &Arc<Pulse>) {
        let mut own = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(Arc::clone(pulse));
    }

    /// What of the sampling stands still at `now` by this program's own fault; none where all goes on. A read that
    /// hangs in the kernel is no such fault, nor is it that others wait for the lock that it holds.
    #[must_use]
    pub fn standstill(&self, now: Monotonic) -> Option<String> {
        let supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !supervisor.is_some_and(|pulse| pulse.beats(now)) {
            return Some("the search for devices".to_owned());
        }
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let reads_under_rtnl =
            |feed: &Feed, slot: &Slot| feed.source.holds_rtnl() && slot.is_reading();
        let rtnl_is_held = slots.iter().any(|(feed, slot)| reads_under_rtnl(feed, slot));
        let stands = slots.iter().find(|(feed, slot)| {
            let excused = slot.is_reading() || (feed.source.holds_rtnl() && rtnl_is_held);
            slot.is_long_overdue(now) && !excused
        });
        stands.map(|(feed, _)| format!("{} {}", feed.device, feed.source.as_str()))
    }

    /// Whether the host was looked at and each feed was read, or failed to be read, at least once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        self.looked.load(Ordering::Acquire)
            && slots.values().all(|slot| {
                let figures = slot.figures.lock().unwrap_or_else(PoisonError::into_inner);
                let sampling = &figures.sampling;
                sampling.samples > 0 || sampling.errors.iter().any(|count| *count > 0)
            })
    }
}

impl Past for Board {
    fn samples(&self, device: &str, priority: Priority, reach: Duration) -> Option<PastSamples> {
        let slots: Vec<Arc<Slot>> = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let of_device = slots.iter().filter(|(feed, _)| &*feed.device == device);
            of_device.map(|(_, slot)| Arc::clone(slot)).collect()
        };
        slots.iter().find_map(|slot| slot.history().samples(priority, reach))
    }

    fn storms(&self) -> Vec<(Arc<str>, Episode)> {
        let slots: Vec<(Arc<str>, Arc<Slot>)> = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            slots.iter().map(|(feed, slot)| (Arc::clone(&feed.device), Arc::clone(slot))).collect()
        };
        let mut all: Vec<(Arc<str>, Episode)> = Vec::new();
        for (device, slot) in slots {
            let episodes = slot.history().episodes();
            all.extend(episodes.into_iter().map(|own| (Arc::clone(&device), own)));
        }
        all.sort_by_key(|(_, own)| std::cmp::Reverse(own.id));
        all
    }
}
