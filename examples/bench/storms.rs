//! What is seen of pauses of a known length: by the engine at 10 ms, and by a plain exporter that is scraped every 15 s.
//!
//! The plain one is given the same counters without error, so what it misses is what such scrapes cannot tell.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::engine::{FeedEngine, PauseSummary, StormSettings};
use roce_exporter::model::{Direction, Monotonic, Plan, Reading, Sample};
use roce_exporter::source::{CounterSet, PlanRules, PlannedSource, SourceError};

use crate::paused_nic::{INTERVAL, circumstances};
use crate::report::{Report, Target};

/// How many there are of each length, and how far apart: each in a scrape of its own.
const PAUSES: u64 = 200;
const PERIOD: u64 = 30_000_000_000;
const SCRAPE: u64 = 15_000_000_000;
/// The latest that a read comes after its deadline.
const LATEST: u64 = 150_000;
/// What anyone would call a storm who has only ratios.
const STORM_RATIO: f64 = 0.95;
const BYTES_PER_MICROSECOND: u64 = 5_000;
const START: u64 = 100_000_000_000;

/// Pauses of one length that begin at any moment of their period.
struct Course {
    length: u64,
    begins: Vec<u64>,
}

impl Course {
    fn new(length: Duration) -> Self {
        let length = u64::try_from(length.as_nanos()).unwrap();
        let mut chance = fastrand::Rng::with_seed(7);
        let begin =
            |number| START + number * PERIOD + 1_000_000_000 + chance.u64(0..10_000_000_000);
        Self { length, begins: (0..PAUSES).map(begin).collect() }
    }

    /// Nanoseconds paused from the start on.
    fn paused_by(&self, at: u64) -> u64 {
        let begun = self.begins.partition_point(|begin| *begin < at);
        let Some(last) = begun.checked_sub(1) else { return 0 };
        last as u64 * self.length + (at - self.begins[last]).min(self.length)
    }
}

/// A NIC whose priority 3 is paused by its peer as the course says.
struct Nic {
    course: Arc<Course>,
    now: Arc<AtomicU64>,
}

impl CounterSet for Nic {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        Ok(["rx_prio3_pause", "rx_prio3_pause_duration", "tx_prio3_bytes"].map(String::from).into())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let now = self.now.load(Ordering::Relaxed);
        let paused = self.course.paused_by(now);
        let sent = (now - paused) / 1_000 * BYTES_PER_MICROSECOND;
        let paused = paused / 1_000;
        // A frame holds for 335 µs at 100 Gbit/s.
        let values = [paused / 335, paused, sent];
        for (reading, place) in readings.iter_mut().zip(wanted) {
            *reading = Reading::Value(values[*place as usize]);
        }
        Ok(())
    }
}

struct Seen {
    bursts: u64,
    burst_seconds: f64,
    storms: u64,
}

fn engine(course: &Arc<Course>) -> Seen {
    let now = Arc::new(AtomicU64::new(START));
    let rules = PlanRules {
        catalogue: Arc::new(Catalogue::embedded().unwrap()),
        table: Table::Ethtool,
        driver: "mlx5_core".to_owned(),
        raw: RawSelection::default(),
    };
    let nic = Nic { course: Arc::clone(course), now: Arc::clone(&now) };
    let mut source = PlannedSource::new(Box::new(nic), rules, Arc::default());
    let mut sample = Sample::empty(Arc::new(Plan::default()));
    let mut engine = FeedEngine::new(StormSettings::default());
    let mut chance = fastrand::Rng::with_seed(11);
    let interval = u64::try_from(INTERVAL.as_nanos()).unwrap();
    let mut deadline = START;
    while deadline < START + PAUSES * PERIOD {
        deadline += interval;
        now.store(deadline + chance.u64(0..LATEST), Ordering::Relaxed);
        let clock = || Monotonic::from_nanos(now.load(Ordering::Relaxed));
        source.read(&clock, &mut sample).unwrap();
        engine.push(&sample, &circumstances());
    }
    let mut summary = PauseSummary::default();
    engine.copy_pause(&mut summary);
    let track = summary
        .tracks
        .iter()
        .find(|track| track.direction == Direction::Rx && track.ratio.is_some());
    let track = track.unwrap();
    let bursts = &track.burst_seconds;
    Seen { bursts: bursts.count(), burst_seconds: bursts.sum(), storms: track.storm.episodes }
}

/// How many scrapes of a plain exporter show the ratio of a storm, and the highest ratio that any shows.
fn plain(course: &Course) -> (u64, f64) {
    let highest = Rc::new(Cell::new(0.0_f64));
    let scrapes = PAUSES * PERIOD / SCRAPE;
    let found = (0..scrapes).filter(|number| {
        let [from, to] =
            [number * SCRAPE, (number + 1) * SCRAPE].map(|at| course.paused_by(START + at));
        let ratio = (to - from) as f64 / SCRAPE as f64;
        highest.set(highest.get().max(ratio));
        ratio >= STORM_RATIO
    });
    (found.count() as u64, highest.get())
}

pub fn measure(report: &mut Report) {
    report.section("Pauses of a known length: ours at 10 ms, a plain exporter scraped every 15 s");
    for millis in [20, 50, 200, 250, 1_000] {
        let length = Duration::from_millis(millis);
        let course = Arc::new(Course::new(length));
        let seen = engine(&course);
        let share = |count: u64| count as f64 / PAUSES as f64;
        let what = |text: &str| format!("{millis} ms, {text}");
        let counted = share(seen.bursts);
        // Two for one are as wrong as none.
        let once = 1.0 - (counted - 1.0).abs();
        match millis {
            50.. => report.hold(what("counted as one burst each"), once, "", Target::Least(1.0)),
            _ => report.add(what("counted as one burst each"), once, ""),
        }
        let mean = seen.burst_seconds / seen.bursts.max(1) as f64;
        report.add(what("mean length shown less the true one"), mean * 1e3 - millis as f64, "ms");
        match millis {
            250.. => {
                report.hold(what("found as storms"), share(seen.storms), "", Target::Least(1.0));
            }
            _ => report.add(what("found as storms"), share(seen.storms), ""),
        }
        let (found, highest) = plain(&course);
        report.add(what("found as storms by the plain one"), share(found), "");
        report.add(what("highest ratio that the plain one shows"), highest, "");
    }
}
