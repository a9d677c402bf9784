//! A NIC whose pauses are written down beforehand, with the names and the habits of a driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::engine::{Circumstances, FeedEngine, PauseSummary, StormSettings};
use roce_exporter::model::{
    BitsPerSecond, Direction, LinkFacts, Monotonic, Plan, Priority, Reading, Reason, Sample,
};
use roce_exporter::source::{CounterSet, PlanRules, PlannedSource, SourceError};

use crate::bench::{EPOCH, SECOND, START};
use crate::course::Course;
use crate::findings::Findings;
use crate::spans::Spans;
use crate::storms::{Case, StormLog};
use crate::ticks::Ticks;

/// The priority that pauses.
pub(crate) const PAUSED: Priority = Priority::ALL[3];
/// How long one pause frame holds at 100 Gbit/s.
const QUANTA_NS: u64 = 335_539;
/// What the paused priority and another carry while they may, in bytes per second.
const BYTES_PER_SECOND: u64 = 5_000_000_000;

/// Which driver's names and habits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) driver: &'static str,
    /// How often statistics are refreshed; zero where each read is live.
    pub(crate) refresh: u64,
    /// Pause frames per second that pause nothing: XON without XOFF.
    pub(crate) flood: u64,
}

/// The pauses of both directions, in nanoseconds of the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) courses: [Course; 2],
}

impl Script {
    /// Adds a hold after those that are there.
    pub(crate) fn hold(&mut self, direction: Direction, from: u64, to: u64) {
        let course = &mut self.courses[direction as usize];
        course.note(from, true);
        course.note(to, false);
    }
}

/// What a name counts.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Frames(Direction),
    Micros(Direction),
    /// Bytes of the paused priority.
    Bytes(Direction),
    /// Bytes of another priority.
    OtherBytes,
}

struct ScriptedNic {
    clock: Arc<AtomicU64>,
    script: Arc<Script>,
    habits: Habits,
    meanings: Vec<Meaning>,
}

impl ScriptedNic {
    fn rows(driver: &str) -> Vec<(String, Meaning)> {
        let mut rows = Vec::new();
        for direction in Direction::ALL {
            let way = direction.as_str();
            let mut row = |name: String, meaning| rows.push((name, meaning));
            match driver {
                "mlx5_core" => {
                    row(format!("{way}_prio3_pause"), Meaning::Frames(direction));
                    row(format!("{way}_prio3_pause_duration"), Meaning::Micros(direction));
                    row(format!("{way}_prio3_bytes"), Meaning::Bytes(direction));
                    row(format!("{way}_prio0_bytes"), Meaning::OtherBytes);
                }
                "bnxt_en" => {
                    row(format!("{way}_pfc_ena_frames_pri3"), Meaning::Frames(direction));
                    row(format!("pfc_pri3_{way}_duration_us"), Meaning::Micros(direction));
                    row(format!("{way}_bytes_pri3"), Meaning::Bytes(direction));
                    row(format!("{way}_bytes_pri0"), Meaning::OtherBytes);
                }
                "ionic" => {
                    row(format!("{way}_pripause_3_1us_count"), Meaning::Micros(direction));
                    row(format!("frames_{way}_pri_0"), Meaning::OtherBytes);
                }
                other => panic!("no names of {other} here"),
            }
        }
        rows
    }

    fn value(&self, meaning: Meaning, at: u64) -> u64 {
        let of = |direction: Direction| &self.script.courses[direction as usize];
        let bytes = |nanos: u64| nanos * (BYTES_PER_SECOND / SECOND);
        match meaning {
            Meaning::Frames(direction) => {
                let flood = (at - START) / 1_000_000 * self.habits.flood / 1_000;
                let course = of(direction);
                2 * course.begun_by(at) + course.paused_by(at) / QUANTA_NS + flood
            }
            Meaning::Micros(direction) => of(direction).paused_by(at) / 1_000,
            Meaning::Bytes(Direction::Tx) => {
                bytes(at - START - of(Direction::Rx).paused(START, at))
            }
            Meaning::Bytes(Direction::Rx) => {
                bytes(at - START - of(Direction::Tx).paused(START, at))
            }
            Meaning::OtherBytes => bytes(at - START),
        }
    }
}

impl CounterSet for ScriptedNic {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let (names, meanings) = Self::rows(self.habits.driver).into_iter().unzip();
        self.meanings = meanings;
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let now = self.clock.load(Ordering::Relaxed);
        let at = match self.habits.refresh {
            0 => now,
            period => now - (now - START) % period,
        };
        for (position, reading) in wanted.iter().zip(readings) {
            let meaning = self.meanings.get(*position as usize);
            *reading = meaning.map_or(Reading::Missing(Reason::Invalid), |meaning| {
                Reading::Value(self.value(*meaning, at))
            });
        }
        Ok(())
    }
}

/// Samples a scripted NIC for a time and compares its storms and ratios with the script.
pub(crate) fn play(
    script: &Script,
    habits: Habits,
    interval: Duration,
    length: u64,
    findings: &mut Findings,
) -> [StormLog; 2] {
    let clock = Arc::new(AtomicU64::new(START));
    let nic = ScriptedNic {
        clock: Arc::clone(&clock),
        script: Arc::new(script.clone()),
        habits,
        meanings: Vec::new(),
    };
    let rules = PlanRules {
        catalogue: Arc::new(Catalogue::embedded().unwrap()),
        table: Table::Ethtool,
        driver: habits.driver.to_owned(),
        raw: RawSelection::default(),
    };
    let mut source = PlannedSource::new(Box::new(nic), rules, Arc::default());
    let mut engine = FeedEngine::new(StormSettings::default());
    let mut sample = Sample::empty(Arc::new(Plan::default()));
    let mut pause = PauseSummary::default();
    let mut spans = Spans::default();
    let mut logs = [StormLog::default(), StormLog::default()];
    let link = LinkFacts {
        up: Some(true),
        speed: Some(BitsPerSecond(100_000_000_000)),
        lossless: Some(1 << PAUSED.number()),
        traffic_class: None,
    };
    let mut ticks = Ticks::new(START, interval.as_nanos() as u64 ^ habits.refresh);
    let mut stretched = interval;
    loop {
        let now = ticks.next(stretched, 0);
        if now > START + length {
            break;
        }
        clock.store(now, Ordering::Relaxed);
        source.read(&|| Monotonic::from_nanos(now), &mut sample).unwrap();
        let unix_seconds = EPOCH + now as f64 / 1e9;
        engine.push(&sample, &Circumstances { link, interval: stretched, unix_seconds });
        stretched = interval.max(engine.refresh_period().unwrap_or_default() / 16);
        engine.copy_pause(&mut pause);
        spans.note(now, &pause);
        for figures in &pause.tracks {
            logs[figures.direction as usize].note(now, &figures.storm);
        }
    }
    // In how many refreshes what one read missed is within what a suspect ratio allows.
    let seldom = 2 * habits.refresh < 3 * interval.as_nanos() as u64;
    let unknown = if habits.driver == "ionic" && seldom { 20 * habits.refresh } else { 0 };
    for direction in Direction::ALL {
        let case = Case {
            driver: habits.driver,
            lane: (PAUSED, direction),
            course: &script.courses[direction as usize],
            log: &logs[direction as usize],
            spans: spans.all(),
            refresh: habits.refresh,
            unknown,
            interval: interval.as_nanos() as u64,
        };
        case.compare(findings);
    }
    logs
}
