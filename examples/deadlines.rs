//! How late the sampler's threads wake, and what they cost: 8 NICs, each read every millisecond.
//!
//! `cargo run --release --example deadlines [SECONDS]`. The NICs are made up, so that everything but the kernel's
//! timer and scheduler is this program's own. What those cost is measured too: threads that wake and do nothing.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "an example to measure with: the shared module serves several crates, a panic ends the run"
)]

#[path = "../tests/paused_nic/mod.rs"]
mod paused_nic;

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use paused_nic::{PausedNic, facts, feed};
use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::export::ProcessFigures;
use roce_exporter::model::{Feed, Reading};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{CounterSet, Discovery, FoundFeed, Host, SourceError, monotonic_now};
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};

const NICS: usize = 8;
const INTERVAL: Duration = Duration::from_millis(1);
/// Steps of the interval in which the grid is looked for.
const STEPS: usize = 100;

/// When each NIC was read, in nanoseconds of the monotonic clock.
type Times = Arc<Vec<Mutex<Vec<u64>>>>;

/// A host whose NICs note when they are read.
struct MadeUpHost {
    times: Times,
}

impl Host for MadeUpHost {
    fn discover(&self) -> Discovery {
        let found = |number| FoundFeed {
            feed: feed(number),
            incarnation: 1,
            driver: "mlx5_core".to_owned(),
        };
        Discovery { devices: (0..NICS).map(facts).collect(), feeds: (0..NICS).map(found).collect() }
    }

    fn open(&self, opened: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let number = (0..NICS).find(|number| feed(*number) == *opened);
        let number = number.ok_or_else(|| SourceError::Nonsense("no such NIC".to_owned()))?;
        let counters = PausedNic::full(300).read_more_often(10).counter_set();
        Ok(Box::new(Noted { counters, number, times: Arc::clone(&self.times) }))
    }
}

struct Noted {
    counters: Box<dyn CounterSet>,
    number: usize,
    times: Times,
}

impl CounterSet for Noted {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        self.counters.names()
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        if let Some(times) = self.times.get(self.number) {
            times.lock().unwrap().push(monotonic_now().as_nanos());
        }
        self.counters.read(wanted, readings)
    }
}

/// How late each read was, in microseconds, on the grid that the reads themselves show: no read is early, so
/// their number rises steeply where the grid is.
fn lateness(times: &[u64]) -> Vec<f64> {
    let interval = u64::try_from(INTERVAL.as_nanos()).unwrap();
    let mut places = vec![0_i64; STEPS];
    let step = interval / u64::try_from(STEPS).unwrap();
    for time in times {
        let place = usize::try_from(time % interval / step).unwrap();
        if let Some(count) = places.get_mut(place.min(STEPS - 1)) {
            *count += 1;
        }
    }
    let before = places.iter().cycle().skip(STEPS - 1);
    let rises = places.iter().zip(before).map(|(here, before)| here - before).zip(0_u64..);
    // Two steps before, or the few reads that were more punctual still would count as late by an interval. What
    // comes out is up to these two steps too much.
    let grid = rises.max().map_or(0, |(_, place)| (place * step + interval - 2 * step) % interval);
    let late = |time: &u64| Duration::from_nanos((time + interval - grid) % interval);
    times.iter().map(|time| late(time).as_secs_f64() * 1e6).collect()
}

fn quantile(sorted: &[f64], per_mille: usize) -> f64 {
    let place = sorted.len() * per_mille / 1_000;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// What was seen of threads that woke on deadlines.
struct Run {
    late: Vec<f64>,
    /// Processor time over time.
    load: f64,
}

/// Watches for `seconds` threads that are running already.
fn watch(times: &Times, seconds: u32) -> Run {
    // What a start costs is not what is measured.
    sleep(Duration::from_secs(1));
    times.iter().for_each(|times| times.lock().unwrap().clear());
    let (started, before) = (monotonic_now(), cpu_seconds());
    sleep(Duration::from_secs(seconds.into()));
    let noted: Vec<Vec<u64>> = times.iter().map(|times| times.lock().unwrap().clone()).collect();
    let elapsed = monotonic_now().since(started).as_secs_f64();
    let mut late: Vec<f64> = noted.iter().flat_map(|times| lateness(times)).collect();
    late.sort_unstable_by(f64::total_cmp);
    Run { late, load: (cpu_seconds() - before) / elapsed }
}

fn cpu_seconds() -> f64 {
    ProcessFigures::read(Path::new("/proc")).cpu_seconds.unwrap_or(f64::NAN)
}

fn tell(what: &str, run: &Run) {
    let [half, most, nearly_all] = [500, 900, 990].map(|share| quantile(&run.late, share));
    println!(
        "{what}: {} wake-ups, late by p50 {half:.0} µs, p90 {most:.0} µs, p99 {nearly_all:.0} µs; \
         {:.1} % of a core",
        run.late.len(),
        run.load * 100.0
    );
}

/// The sampler, and how many deadlines it missed.
fn watch_sampler(seconds: u32) -> (Run, u64) {
    let times = room_for(seconds);
    let options = SamplerOptions {
        interval: INTERVAL,
        rtnl_budget: 1.0,
        storm: StormSettings::default(),
        raw: RawSelection::default(),
        discovery_period: Duration::from_secs(5),
        recorder: None,
    };
    let board = Arc::new(Board::default());
    let host = Arc::new(MadeUpHost { times: Arc::clone(&times) });
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let sampler = Sampler::start(host, catalogue, options, Arc::clone(&board)).unwrap();
    let run = watch(&times, seconds);
    let snapshot = board.snapshot(monotonic_now());
    sampler.stop();
    (run, snapshot.feeds.iter().map(|own| own.sampling.missed).sum())
}

/// As many threads on the same deadlines, which only note that they woke.
fn watch_idle_threads(seconds: u32) -> Run {
    let times = room_for(seconds);
    let stop = AtomicBool::new(false);
    let wake_and_note = |number: usize| {
        set_current_timer_slack(NonZeroU64::MIN.into()).unwrap();
        let mut deadline = monotonic_now().plus(INTERVAL * u32::try_from(number).unwrap() / 8);
        while !stop.load(Ordering::Relaxed) {
            deadline = deadline.plus(INTERVAL);
            let until = Duration::from_nanos(deadline.as_nanos());
            // Interrupted or not, it is awake.
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until.try_into().unwrap());
            if let Some(times) = times.get(number) {
                times.lock().unwrap().push(monotonic_now().as_nanos());
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 0..NICS {
            scope.spawn(move || wake_and_note(number));
        }
        let run = watch(&times, seconds);
        stop.store(true, Ordering::Relaxed);
        run
    })
}

fn room_for(seconds: u32) -> Times {
    let room = 2_000 * (usize::try_from(seconds).unwrap() + 1);
    Arc::new((0..NICS).map(|_| Mutex::new(Vec::with_capacity(room))).collect())
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    println!("{NICS} threads every {INTERVAL:?} for {seconds} s");
    tell("threads that do nothing", &watch_idle_threads(seconds));
    let (run, missed) = watch_sampler(seconds);
    tell("the sampler", &run);
    println!("deadlines missed by the sampler: {missed}");
}
