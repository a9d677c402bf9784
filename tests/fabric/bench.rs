//! A fabric with a clock that tests set, and readers of its counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roce_exporter::model::{Feed, Monotonic, Priority, Reading, Reason, SourceKind};
use roce_exporter::source::simulated::{
    Balance, NicTruth, SimulatedHost, Simulation, SimulationOptions,
};
use roce_exporter::source::{CounterSet, Host, SourceError};
use rustix::io::Errno;

pub(crate) const START: u64 = 5_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const THREE: Priority = Priority::ALL[3];
pub(crate) const FIVE: Priority = Priority::ALL[5];

/// Host and place of the NICs that scenarios name.
pub(crate) const MLX5: (usize, usize) = (0, 0);
pub(crate) const BNXT: (usize, usize) = (0, 1);
pub(crate) const ICE: (usize, usize) = (0, 2);
pub(crate) const PEER: (usize, usize) = (1, 0);

/// A fabric with a clock that tests set.
pub(crate) struct Bench {
    pub(crate) clock: Arc<AtomicU64>,
    pub(crate) simulation: Simulation,
    /// How long readers were made to wait.
    pub(crate) slept: Arc<Mutex<Vec<Duration>>>,
}

impl Bench {
    pub(crate) fn new(scenario: &str, seed: u64) -> Self {
        let clock = Arc::new(AtomicU64::new(START));
        let slept: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let (told, moved, noted) = (Arc::clone(&clock), Arc::clone(&clock), Arc::clone(&slept));
        let options = SimulationOptions { scenario: Some(scenario), seed, hosts: 4 };
        let now = move || Monotonic::from_nanos(told.load(Ordering::Relaxed));
        let sleep = move |span: Duration| {
            moved.fetch_add(u64::try_from(span.as_nanos()).unwrap(), Ordering::Relaxed);
            noted.lock().unwrap().push(span);
        };
        let simulation =
            Simulation::new(options, Arc::new(now)).unwrap().with_sleep(Arc::new(sleep));
        Self { clock, simulation, slept }
    }

    /// Sets the clock to `nanos` after the start.
    pub(crate) fn set(&self, nanos: u64) {
        self.clock.store(START + nanos, Ordering::Relaxed);
    }

    /// Lets the fabric itself go on until `nanos` after the start.
    pub(crate) fn advance(&self, nanos: u64) {
        self.set(nanos);
        let fabric = self.simulation.fabric();
        fabric.lock().unwrap().advance_to(Monotonic::from_nanos(START + nanos));
    }

    pub(crate) fn truth(&self, (host, place): (usize, usize)) -> NicTruth {
        self.simulation.fabric().lock().unwrap().truth(host, place).unwrap()
    }

    pub(crate) fn truths(&self) -> Vec<NicTruth> {
        let fabric = self.simulation.fabric();
        let fabric = fabric.lock().unwrap();
        fabric.nics().map(|(host, place)| fabric.truth(host, place).unwrap()).collect()
    }

    pub(crate) fn balance(&self) -> Balance {
        self.simulation.fabric().lock().unwrap().balance()
    }

    pub(crate) fn host(&self, index: usize) -> SimulatedHost {
        self.simulation.hosts().swap_remove(index)
    }

    pub(crate) fn reader(&self, (host, place): (usize, usize), source: SourceKind) -> Reader {
        let host = self.host(host);
        let device = format!("eth{place}");
        let feed = feed_of(&host, &device, source).unwrap();
        Reader::open(&host, &feed)
    }
}

pub(crate) fn feed_of(host: &SimulatedHost, device: &str, source: SourceKind) -> Option<Feed> {
    let feeds = host.discover().feeds.into_iter().map(|found| found.feed);
    feeds.into_iter().find(|feed| &*feed.device == device && feed.source == source)
}

/// A counter set with its names.
pub(crate) struct Reader {
    pub(crate) set: Box<dyn CounterSet>,
    pub(crate) names: Vec<String>,
}

impl Reader {
    pub(crate) fn open(host: &SimulatedHost, feed: &Feed) -> Self {
        let mut set = host.open(feed).unwrap();
        let names = set.names().unwrap();
        Self { set, names }
    }

    pub(crate) fn position(&self, name: &str) -> u32 {
        let found = self.names.iter().position(|known| known == name);
        u32::try_from(found.unwrap_or_else(|| panic!("no counter {name}"))).unwrap()
    }

    pub(crate) fn read(&mut self, name: &str) -> u64 {
        let mut reading = [Reading::Missing(Reason::Io)];
        self.set.read(&[self.position(name)], &mut reading).unwrap();
        reading[0].value().unwrap()
    }

    pub(crate) fn read_all(&mut self) -> Result<Vec<u64>, SourceError> {
        let wanted: Vec<u32> = (0..u32::try_from(self.names.len()).unwrap()).collect();
        let mut readings = vec![Reading::Missing(Reason::Io); wanted.len()];
        self.set.read(&wanted, &mut readings)?;
        Ok(readings.iter().map(|reading| reading.value().unwrap()).collect())
    }
}

pub(crate) fn errno_of(error: &SourceError) -> Option<Errno> {
    match error {
        SourceError::Kernel { errno, .. } => Some(*errno),
        _ => None,
    }
}
