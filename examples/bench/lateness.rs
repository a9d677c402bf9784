//! How late the sampler's threads wake, and what they cost: 8 NICs at a given interval, on an idle machine and beside as
//! many busy processes as there are processors, with and without a real-time priority.
//!
//! The NICs are made up, so that everything but the kernel's timer and scheduler is this program's own. What those
//! cost is measured too: threads that wake and do nothing. Each run is a process of its own, so that `chrt` can give it
//! a priority, as a service manager would.

use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::export::ProcessFigures;
use roce_exporter::model::{Feed, Reading};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{CounterSet, Discovery, Host, SourceError, monotonic_now};
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};

use crate::network_namespace::tell_skipped;
use crate::paused_nic::{PausedNic, discovery, feed};
use crate::report::{Report, Target};

const NICS: usize = 8;

/// When each NIC was read, in nanoseconds of the monotonic clock.
type Times = Arc<Vec<Mutex<Vec<u64>>>>;

/// A host whose NICs note when they are read.
struct MadeUpHost {
    times: Times,
}

impl Host for MadeUpHost {
    fn discover(&self) -> Discovery {
        discovery(NICS)
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

/// How late each read was, in microseconds, on the grid that the reads themselves show: half of them lie close together
/// soon after it, and none before.
fn lateness(times: &[u64], interval: Duration) -> Vec<f64> {
    let interval = u64::try_from(interval.as_nanos()).unwrap();
    let mut places: Vec<u64> = times.iter().map(|time| time % interval).collect();
    places.sort_unstable();
    let half = places.len() / 2;
    let once_more = places.iter().map(|place| place + interval);
    let ring: Vec<u64> = places.iter().copied().chain(once_more).collect();
    let spans = ring.iter().zip(ring.iter().skip(half)).take(places.len());
    let dense = spans.min_by_key(|(first, last)| *last - *first).map_or(0, |(first, _)| *first);
    // A read that was more punctual than these is before them, one that was an interval late as well. Of the latter
    // there are too few to be taken for the grid.
    let begin = (dense + interval - interval / 8) % interval;
    let mut after: Vec<u64> =
        places.iter().map(|place| (place + interval - begin) % interval).collect();
    after.sort_unstable();
    let grid = after.get(after.len() / 200).copied().unwrap_or_default();
    after.iter().map(|place| place.saturating_sub(grid) as f64 / 1e3).collect()
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
fn watch(times: &Times, interval: Duration, seconds: u32) -> Run {
    // What a start costs is not what is measured.
    sleep(Duration::from_secs(1));
    times.iter().for_each(|times| times.lock().unwrap().clear());
    let (started, before) = (monotonic_now(), cpu_seconds());
    sleep(Duration::from_secs(seconds.into()));
    let noted: Vec<Vec<u64>> = times.iter().map(|times| times.lock().unwrap().clone()).collect();
    let elapsed = monotonic_now().since(started).as_secs_f64();
    let mut late: Vec<f64> = noted.iter().flat_map(|times| lateness(times, interval)).collect();
    late.sort_unstable_by(f64::total_cmp);
    Run { late, load: (cpu_seconds() - before) / elapsed }
}

fn cpu_seconds() -> f64 {
    ProcessFigures::read(Path::new("/proc")).cpu_seconds.unwrap_or(f64::NAN)
}

/// The sampler, and how many deadlines it missed.
fn watch_sampler(interval: Duration, seconds: u32) -> (Run, u64) {
    let times = room_for(seconds);
    let options = SamplerOptions {
        interval,
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
    let run = watch(&times, interval, seconds);
    let snapshot = board.snapshot(monotonic_now());
    sampler.stop();
    (run, snapshot.feeds.iter().map(|own| own.sampling.missed).sum())
}

/// As many threads on the same deadlines, which only note that they woke.
fn watch_idle_threads(interval: Duration, seconds: u32) -> Run {
    let times = room_for(seconds);
    let stop = AtomicBool::new(false);
    let wake_and_note = |number: usize| {
        set_current_timer_slack(NonZeroU64::MIN.into()).unwrap();
        let mut deadline = monotonic_now().plus(interval * u32::try_from(number).unwrap() / 8);
        while !stop.load(Ordering::Relaxed) {
            deadline = deadline.plus(interval);
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
        let run = watch(&times, interval, seconds);
        stop.store(true, Ordering::Relaxed);
        run
    })
}

fn room_for(seconds: u32) -> Times {
    let room = 2_000 * (usize::try_from(seconds).unwrap() + 1);
    Arc::new((0..NICS).map(|_| Mutex::new(Vec::with_capacity(room))).collect())
}

/// One run, in a process of its own: what it prints is for [`measure`].
pub fn run_one(who: &str, millis: u64, seconds: u32) {
    let interval = Duration::from_millis(millis);
    let (run, missed) = match who {
        "threads" => (watch_idle_threads(interval, seconds), 0),
        _ => watch_sampler(interval, seconds),
    };
    let [half, nearly_all, all_but_few] = [500, 990, 999].map(|share| quantile(&run.late, share));
    let deadlines = run.late.len() as u64 + missed;
    let missed = missed as f64 / deadlines.max(1) as f64;
    println!("{half} {nearly_all} {all_but_few} {} {missed}", run.load * 100.0);
}

/// Keeps a processor busy until it is killed.
pub fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

/// Processes that are busy until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn on_all_processors() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = |_| Command::new(std::env::current_exe().unwrap()).arg("spin").spawn().unwrap();
        Self((0..processors).map(spin).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It cannot have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn measure(report: &mut Report, seconds: u64) {
    for busy in [false, true] {
        report.section(if busy {
            "Lateness, every processor busy: 8 NICs of 300 statistics"
        } else {
            "Lateness: 8 NICs of 300 statistics"
        });
        let _load = busy.then(Busy::on_all_processors);
        one(report, ("threads", 1), false, (busy, seconds));
        for millis in [1, 10, 100] {
            for real_time in [false, true] {
                one(report, ("sampler", millis), real_time, (busy, seconds));
            }
        }
    }
}

fn one(
    report: &mut Report,
    (who, millis): (&str, u64),
    real_time: bool,
    (busy, seconds): (bool, u64),
) {
    let own = std::env::current_exe().unwrap();
    let mut command = if real_time { Command::new("chrt") } else { Command::new(&own) };
    if real_time {
        command.args(["--fifo", "10"]).arg(&own);
    }
    let output =
        command.args(["lateness", who, &millis.to_string(), &seconds.to_string()]).output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            return tell_skipped("lateness", complaint.trim());
        }
        Err(error) => return tell_skipped("lateness", &format!("needs chrt: {error}")),
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [half, nearly_all, all_but_few, load, missed] = figures[..] else { panic!("{text}") };
    let priority = if real_time { ", real-time priority" } else { "" };
    let what = |part: &str| format!("{who} at {millis} ms{priority}: {part}");
    report.add(what("late by, p50"), half, "µs");
    if (who, millis, real_time, busy) == ("sampler", 1, false, false) {
        report.hold(what("late by, p99"), nearly_all, "µs", Target::Most(150.0));
    } else {
        report.add(what("late by, p99"), nearly_all, "µs");
    }
    report.add(what("late by, p99.9"), all_but_few, "µs");
    report.add(what("of a core"), load, "%");
    report.add(what("deadlines missed"), missed * 100.0, "%");
}
