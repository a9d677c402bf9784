//! Keeps every feed that the host has on a thread.
//!
//! A feed that ended leaves the board at once and starts anew when the host still has it. Refuses to wait for a
//! thread that hangs in the kernel: it is left behind, and no second one starts for its feed meanwhile.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::pulse::Pulse;
use super::sampled_feed::{AtEnd, FeedTask, SampledFeed};
use super::thread::{SharedThread, sample_alone};
use super::{Board, ReadBudget, SamplerOptions, Slot};
use crate::catalogue::{Catalogue, Table};
use crate::model::{Feed, Monotonic, saturating_nanos};
use crate::record::FeedRecorder;
use crate::source::{Discovery, FoundFeed, Host, PlanRules, monotonic_now};

/// Sampling threads need little: a few hundred readings live on the heap.
const STACK_BYTES: usize = 256 * 1024;
/// How long stopping waits for threads.
const STOP_PATIENCE: Duration = Duration::from_millis(500);

/// How often the host is looked at where it tells of changes by itself.
const SLOW_LOOK: Duration = Duration::from_mins(1);
/// How often ports are judged while nothing changes: counters go on.
pub const CHECK_PERIOD: Duration = Duration::from_secs(10);
/// Changes come in groups; what follows within this time is looked at together.
const SETTLING: Duration = Duration::from_millis(20);

/// The share of a feed's own time that its reads may take where they hold up nobody, as RDMA statistics do once
/// counters per queue pair make them expensive.
const SHARE_WITHOUT_RTNL: f64 = 0.25;

/// The running sampler.
#[derive(Debug)]
pub struct Sampler {
    wake: SyncSender<()>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
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
        // One pending look is enough, however many changes ask for it.
        let (wake, wakes) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Arc::new(ReadBudget::new(options.rtnl_budget));
        let pulse = Arc::new(Pulse::new(monotonic_now()));
        board.set_supervisor(&pulse);
        let mut supervisor = Supervisor {
            host,
            catalogue,
            options,
            board,
            budget,
            stop: Arc::clone(&stop),
            wake: wake.clone(),
            running: BTreeMap::new(),
            under_rtnl: None,
            started: 0,
            pulse: Arc::clone(&pulse),
        };
        let at_end = AtEnd::new(move || pulse.end());
        let thread = Builder::new().name("supervisor".to_owned()).spawn(move || {
            let _at_end = at_end;
            supervisor.run(&wakes);
        })?;
        Ok(Self { wake, stop, thread })
    }

    /// Looks for new and gone devices now.
    pub fn look_now(&self) {
        look(&self.wake);
    }

    /// Stops all threads. One that hangs in the kernel is left behind.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        look(&self.wake);
        let started = Instant::now();
        while !self.thread.is_finished() && started.elapsed() < STOP_PATIENCE * 2 {
            std::thread::sleep(Duration::from_millis(2));
        }
        if !self.thread.is_finished() {
            tracing::warn!("the kernel does not answer; its devices are left as they are");
        }
    }
}

/// Asks the supervisor to look. It need not be told twice, nor after it ended.
fn look(wake: &SyncSender<()>) {
    let _ = wake.try_send(());
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
    budget: Arc<ReadBudget>,
    stop: Arc<AtomicBool>,
    wake: SyncSender<()>,
    running: BTreeMap<Feed, Running>,
    under_rtnl: Option<(Arc<SharedThread>, JoinHandle<()>)>,
    started: u64,
    pulse: Arc<Pulse>,
}

impl Supervisor {
    fn run(&mut self, wakes: &Receiver<()>) {
        let wake = self.wake.clone();
        let watch = self.pulse.in_kernel(|| self.host.watch(Box::new(move || look(&wake))));
        let period = watch.as_ref().map_or(self.options.discovery_period, |_| SLOW_LOOK);
        while !self.stop.load(Ordering::Acquire) {
            let found = self.pulse.in_kernel(|| self.host.discover());
            self.pulse.beat(monotonic_now());
            self.reconcile(&found);
            if let Some(recorder) = &self.options.recorder {
                recorder.devices(monotonic_now(), &found.devices);
            }
            self.board.set_devices(found.devices);
            if !self.wait(wakes, period) {
                break;
            }
        }
        self.stop_all();
    }

    /// Judges the ports until it is time to look again; false where nobody can ask for a look any more.
    fn wait(&self, wakes: &Receiver<()>, period: Duration) -> bool {
        let began = Instant::now();
        loop {
            self.board.check(monotonic_now());
            self.pulse.beat(monotonic_now());
            let left = period.saturating_sub(began.elapsed());
            match wakes.recv_timeout(left.min(CHECK_PERIOD)) {
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if left > CHECK_PERIOD => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Ok(()) => {
                    std::thread::sleep(SETTLING);
                    while wakes.try_recv().is_ok() {}
                    return true;
                }
            }
        }
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
        let recording = self.options.recorder.as_ref();
        let recorder = recording.map(|recorder| recorder.feed(&feed, &found.driver));
        let running = Running {
            incarnation: found.incarnation,
            recorded: recorder.as_ref().map(FeedRecorder::id),
            slot,
            stop: Arc::default(),
            ended: Arc::default(),
        };
        let sampled = SampledFeed::new(self.task(found, &running, recorder));
        let started = if feed.source.holds_rtnl() {
            self.under_rtnl().map(|shared| shared.join(sampled))
        } else {
            let name = format!("{} {}", feed.device, feed.source.as_str());
            spawn(name, move || sample_alone(sampled)).map(drop)
        };
        match started {
            Ok(()) => {
                self.running.insert(feed, running);
            }
            Err(error) => {
                tracing::error!(device = &*feed.device, %error, "no thread to sample with");
            }
        }
    }

    fn task(
        &mut self,
        found: &FoundFeed,
        running: &Running,
        recorder: Option<FeedRecorder>,
    ) -> FeedTask {
        let id = self.started;
        self.started += 1;
        let feed = found.feed.clone();
        let under_rtnl = feed.source.holds_rtnl();
        let budget = if under_rtnl {
            Arc::clone(&self.budget)
        } else {
            Arc::new(ReadBudget::new(SHARE_WITHOUT_RTNL))
        };
        let at_end = {
            let (board, slot) = (Arc::clone(&self.board), Arc::clone(&running.slot));
            let (budget, ended) = (Arc::clone(&budget), Arc::clone(&running.ended));
            let (feed, wake) = (feed.clone(), self.wake.clone());
            AtEnd::new(move || {
                budget.forget(id);
                board.remove(&feed, &slot);
                ended.store(true, Ordering::Release);
                look(&wake);
            })
        };
        let first = first_deadline(&feed, self.options.interval, monotonic_now());
        running.slot.set_due(first);
        FeedTask {
            first,
            feed,
            id,
            host: Arc::clone(&self.host),
            rules: rules_of(found, &self.catalogue, &self.options),
            interval: self.options.interval,
            storm: self.options.storm,
            budget,
            slot: Arc::clone(&running.slot),
            recorder,
            stop: Arc::clone(&running.stop),
            stop_all: Arc::clone(&self.stop),
            _at_end: at_end,
        }
    }

    /// The thread of all feeds under rtnl; started when the first one comes.
    fn under_rtnl(&mut self) -> io::Result<Arc<SharedThread>> {
        if let Some((shared, thread)) = &self.under_rtnl
            && !thread.is_finished()
        {
            return Ok(Arc::clone(shared));
        }
        let shared = Arc::new(SharedThread::default());
        let (own, stop) = (Arc::clone(&shared), Arc::clone(&self.stop));
        let thread = spawn("rtnl".to_owned(), move || own.run(&stop))?;
        self.under_rtnl = Some((Arc::clone(&shared), thread));
        Ok(shared)
    }

    fn stop_all(&mut self) {
        if let Some((shared, _)) = &self.under_rtnl {
            shared.wake();
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

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name).stack_size(STACK_BYTES).spawn(run)
}

/// The first deadline of a feed at `now`. Feeds under rtnl, which share a thread, are due together, so that it wakes
/// once for all of them. The others are spread over the interval, the same at each start.
fn first_deadline(feed: &Feed, interval: Duration, now: Monotonic) -> Monotonic {
    if feed.source.holds_rtnl() {
        let past = now.as_nanos() % saturating_nanos(interval).max(1);
        return now.minus(Duration::from_nanos(past));
    }
    let mut hasher = DefaultHasher::new();
    feed.hash(&mut hasher);
    let [share, ..] = hasher.finish().to_ne_bytes();
    now.plus(interval.mul_f64(f64::from(share) / 256.0))
}

/// How the names of a feed are to be understood.
pub(super) fn rules_of(
    found: &FoundFeed,
    catalogue: &Arc<Catalogue>,
    options: &SamplerOptions,
) -> PlanRules {
    PlanRules {
        catalogue: Arc::clone(catalogue),
        table: Table::of(&found.feed),
        driver: found.driver.clone(),
        raw: options.raw.clone(),
    }
}
