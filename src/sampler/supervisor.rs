//! Keeps one thread per feed that the host has.
//!
//! A feed that ended leaves the board at once and starts anew when the host still has it. Refuses to wait for a
//! thread that hangs in the kernel: it is left behind, and no second one starts for its feed meanwhile.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::thread::FeedThread;
use super::{Board, RtnlBudget, SamplerOptions, Slot};
use crate::catalogue::{Catalogue, Table};
use crate::engine::{Circumstances, FeedEngine, SamplingFigures, Snapshot};
use crate::model::{Feed, Index, Plan, Quantity, Sample};
use crate::record::FeedRecorder;
use crate::source::{
    Discovery, FoundFeed, Host, PlanRules, PlannedSource, monotonic_now, unix_seconds_now,
};

/// Sampling threads need little: a few hundred readings live on the heap.
const STACK_BYTES: usize = 256 * 1024;
/// How long stopping waits for threads.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// The running sampler.
#[derive(Debug)]
pub struct Sampler {
    wake: Sender<Wake>,
    thread: JoinHandle<()>,
}

/// Why the supervisor should look now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    /// A feed ended or an event said that devices changed.
    Look,
    Stop,
}

impl Sampler {
    /// Starts sampling what `host` has; figures go to `board`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        host: Arc<dyn Host>,
        catalogue: Arc<Catalogue>,
        options: SamplerOptions,
        board: Arc<Board>,
    ) -> io::Result<Self> {
        let (wake, wakes) = channel();
        let budget = Arc::new(RtnlBudget::new(options.rtnl_budget));
        let mut supervisor = Supervisor {
            host,
            catalogue,
            options,
            board,
            budget,
            stop: Arc::default(),
            wake: wake.clone(),
            running: BTreeMap::new(),
            started: 0,
        };
        let thread =
            Builder::new().name("supervisor".to_owned()).spawn(move || supervisor.run(&wakes))?;
        Ok(Self { wake, thread })
    }

    /// Looks for new and gone devices now.
    pub fn look_now(&self) {
        // The supervisor ends only by `stop`; a wake after that has nobody to reach.
        let _ = self.wake.send(Wake::Look);
    }

    /// Stops all threads; one that hangs in the kernel is left behind.
    pub fn stop(self) {
        let _ = self.wake.send(Wake::Stop);
        if self.thread.join().is_err() {
            tracing::error!("the supervisor had failed");
        }
    }
}

struct Running {
    incarnation: u32,
    /// The feed's number in the recording, if there is one.
    recorded: Option<u32>,
    slot: Arc<Slot>,
    /// Stops this feed alone.
    stop: Arc<AtomicBool>,
    /// Set by the thread as its last act.
    ended: Arc<AtomicBool>,
}

struct Supervisor {
    host: Arc<dyn Host>,
    catalogue: Arc<Catalogue>,
    options: SamplerOptions,
    board: Arc<Board>,
    budget: Arc<RtnlBudget>,
    stop: Arc<AtomicBool>,
    wake: Sender<Wake>,
    running: BTreeMap<Feed, Running>,
    started: u64,
}

impl Supervisor {
    fn run(&mut self, wakes: &Receiver<Wake>) {
        loop {
            let found = self.host.discover();
            self.reconcile(&found);
            if let Some(recorder) = &self.options.recorder {
                recorder.devices(monotonic_now(), &found.devices);
            }
            self.board.set_devices(found.devices);
            match wakes.recv_timeout(self.options.discovery_period) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Wake::Look) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.stop_all();
    }

    fn reconcile(&mut self, found: &Discovery) {
        self.running.retain(|feed, running| {
            let wanted = found.feeds.iter().find(|found| found.feed == *feed);
            let same = wanted.is_some_and(|found| found.incarnation == running.incarnation);
            let ended = running.ended.load(Ordering::Acquire);
            if !same && !ended {
                running.stop.store(true, Ordering::Release);
            }
            if !same || ended {
                self.board.remove(feed, &running.slot);
                let recorded = running.recorded.take().zip(self.options.recorder.as_ref());
                if let Some((id, recorder)) = recorded {
                    recorder.feed_ended(monotonic_now(), id);
                }
            }
            !ended
        });
        for found in &found.feeds {
            if !self.running.contains_key(&found.feed) {
                self.launch(found);
            }
        }
    }

    fn launch(&mut self, found: &FoundFeed) {
        let feed = found.feed.clone();
        let slot = self.board.add(&feed, &found.driver);
        let stop = Arc::new(AtomicBool::new(false));
        let id = self.started;
        self.started += 1;
        let worker = FeedThread {
            feed: feed.clone(),
            id,
            host: Arc::clone(&self.host),
            rules: rules_of(found, &self.catalogue, &self.options),
            interval: self.options.interval,
            storm: self.options.storm,
            phase: phase_of(&feed, self.options.interval),
            budget: Arc::clone(&self.budget),
            slot: Arc::clone(&slot),
            stop: Arc::clone(&stop),
        };
        let recording = self.options.recorder.as_ref();
        let own_recorder = recording.map(|recorder| recorder.feed(&feed, &found.driver));
        let recorded = own_recorder.as_ref().map(FeedRecorder::id);
        let ended = Arc::new(AtomicBool::new(false));
        let (wake, stopping) = (self.wake.clone(), Arc::clone(&self.stop));
        let (board, last_act) = (Arc::clone(&self.board), Arc::clone(&ended));
        let name = format!("{} {}", feed.device, feed.source.as_str());
        let run = move || {
            worker.run(own_recorder);
            board.remove(&worker.feed, &worker.slot);
            last_act.store(true, Ordering::Release);
            if !stopping.load(Ordering::Acquire) {
                let _ = wake.send(Wake::Look);
            }
        };
        match Builder::new().name(name).stack_size(STACK_BYTES).spawn(run) {
            Ok(_) => {
                let incarnation = found.incarnation;
                let running = Running { incarnation, recorded, slot, stop, ended };
                self.running.insert(feed, running);
            }
            Err(error) => {
                tracing::error!(device = &*feed.device, %error, "no thread to sample with");
                self.board.remove(&feed, &slot);
            }
        }
    }

    fn stop_all(&mut self) {
        self.stop.store(true, Ordering::Release);
        for running in self.running.values() {
            running.stop.store(true, Ordering::Release);
        }
        let started = Instant::now();
        while started.elapsed() < STOP_PATIENCE
            && self.running.values().any(|running| !running.ended.load(Ordering::Acquire))
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        for (feed, running) in std::mem::take(&mut self.running) {
            if !running.ended.load(Ordering::Acquire) {
                tracing::warn!(
                    device = &*feed.device,
                    "left behind in a read that does not return"
                );
            }
        }
    }
}

/// A place within the interval, spread over feeds and the same at each start.
fn phase_of(feed: &Feed, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    feed.hash(&mut hasher);
    let [share, ..] = hasher.finish().to_ne_bytes();
    interval.mul_f64(f64::from(share) / 256.0)
}

fn rules_of(found: &FoundFeed, catalogue: &Arc<Catalogue>, options: &SamplerOptions) -> PlanRules {
    let table = match (found.feed.source.is_rdma(), found.feed.port) {
        (false, _) => Table::Ethtool,
        (true, Some(_)) => Table::RdmaPort,
        (true, None) => Table::RdmaDevice,
    };
    PlanRules {
        catalogue: Arc::clone(catalogue),
        table,
        driver: found.driver.clone(),
        raw: options.raw.clone(),
    }
}

/// Reads every feed of `host` once, one after the other, and returns what came of it.
#[must_use]
pub fn sample_once(
    host: &dyn Host,
    catalogue: &Arc<Catalogue>,
    options: &SamplerOptions,
) -> Snapshot {
    let board = Board::default();
    let found = host.discover();
    for found in &found.feeds {
        let slot = board.add(&found.feed, &found.driver);
        let mut sampling = SamplingFigures::new();
        let mut engine = FeedEngine::new(options.storm);
        let mut sample = Sample::empty(Arc::new(Plan::default()));
        let read = host.open(&found.feed).and_then(|set| {
            let rules = rules_of(found, catalogue, options);
            let mut source = PlannedSource::new(set, rules, Arc::default());
            source.read(&monotonic_now, &mut sample)
        });
        match read {
            Ok(()) => {
                let around = Circumstances {
                    link: slot.link(),
                    interval: options.interval,
                    unix_seconds: unix_seconds_now(),
                };
                engine.push(&sample, &around);
                sampling.samples = 1;
                sampling.last_sample = Some(sample.taken_at);
                sampling.read_seconds.observe(sample.took.as_secs_f64());
            }
            Err(error) => {
                tracing::warn!(device = &*found.feed.device, %error, "read failed");
                if let Some(count) = sampling.errors.get_mut(error.reason().position()) {
                    *count += 1;
                }
            }
        }
        slot.set_target(options.interval);
        slot.publish(&engine, &sampling);
    }
    board.set_devices(found.devices);
    board.snapshot(monotonic_now())
}

/// What a NIC should have for this exporter to be of full use, by source.
const NETDEV_QUANTITIES: [Quantity; 6] = [
    Quantity::PfcPauseFrames,
    Quantity::PfcPauseTime,
    Quantity::LinkPauseFrames,
    Quantity::Bytes,
    Quantity::Discards,
    Quantity::PcieStalledTime,
];
const RDMA_QUANTITIES: [Quantity; 5] = [
    Quantity::RdmaEcnMarkedPackets,
    Quantity::RdmaCnpSent,
    Quantity::RdmaCnpHandled,
    Quantity::RdmaBytes,
    Quantity::RdmaOutOfSequence,
];

/// One log line per feed and set of names: what was found, what is not there.
pub(super) fn tell_what_was_found(feed: &Feed, names: &[String], plan: &Plan) {
    let has = |quantity: Quantity| {
        plan.counters.iter().any(|own| {
            let whole_port = quantity == Quantity::Bytes && own.key.index == Index::None;
            own.key.quantity == quantity && !whole_port
        })
    };
    let due: &[Quantity] =
        if feed.source.is_rdma() { &RDMA_QUANTITIES } else { &NETDEV_QUANTITIES };
    let words = |present: bool| {
        let chosen = due.iter().filter(|quantity| has(**quantity) == present);
        chosen.map(|quantity| quantity.as_str()).collect::<Vec<_>>().join(",")
    };
    tracing::info!(
        device = &*feed.device,
        rdma_device = feed.rdma_device.as_deref(),
        port = feed.port,
        source = feed.source.as_str(),
        names = names.len(),
        counters = plan.counters.len(),
        has = words(true),
        lacks = words(false),
        "{}",
        if plan.is_empty() { "no counter of flow control here; watching" } else { "sampling" }
    );
}
