//! Hours in which nothing is a storm, given straight to the engine, and then one that is.
//!
//! `make long` plays 24 hours at 100 ms and an hour at 1 ms of each course; without `ROCE_LONG` a sixtieth of that.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use roce_exporter::engine::{Circumstances, FeedEngine, PauseSummary, StormSettings};
use roce_exporter::model::{
    BitsPerSecond, CounterKey, Direction, Freshness, Index, LinkFacts, Monotonic, Plan,
    PlanCounter, Priority, Quantity, Reading, ReadingKind, Sample, Unit, Width,
};

use crate::bench::{EPOCH, MILLISECOND, SECOND, START};
use crate::ticks::Ticks;

const HOUR: u64 = 3_600 * SECOND;
const SPEED: BitsPerSecond = BitsPerSecond(100_000_000_000);
const PAUSED: Priority = Priority::ALL[3];
/// How long one pause frame holds at 100 Gbit/s.
const QUANTA_NS: u64 = 335_539;
/// A hold as long as this is followed by a rest. Of two in one sample of 100 ms nobody could say that they were two.
const LONG_HOLD: u64 = 20 * MILLISECOND;
/// Of a longer one and short pauses before it nobody could say at 100 ms that they were no storm: when in a sample a pause
/// was is not known.
const LONGEST_HOLD: u64 = 150 * MILLISECOND;
const REST: u64 = 300 * MILLISECOND;
/// The hold at the end, which has to be seen.
const REAL_STORM: u64 = 4 * SECOND;

/// What goes on for hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Calm,
    /// Holds of up to 3 ms close together, some of up to 150 ms.
    Incast,
    /// Thousands of edges per second.
    Chatter,
    /// Counters start from 0 every few seconds.
    Resets,
    /// The link goes down every few seconds and comes up with another speed; the NIC counts pause all the while.
    Flaps,
    /// Counters of 24 bits.
    Wraps,
    /// A million frames per second that pause nothing.
    XonFlood,
}

/// How a driver shows it.
#[derive(Clone, Copy, Debug)]
struct Shape {
    freshness: Freshness,
    refresh: u64,
    durations: bool,
}

const LIVE: Shape = Shape { freshness: Freshness::Live, refresh: 0, durations: true };
const FRAMES: Shape = Shape { durations: false, ..LIVE };

const fn refreshed(freshness: Freshness, millis: u64) -> Shape {
    Shape { freshness, refresh: millis * MILLISECOND, durations: true }
}

impl Course {
    /// Hold and rest after it, in nanoseconds.
    fn draw(self, chance: &mut Rng) -> (u64, u64) {
        let (hold, rest) = match self {
            Self::Calm => (chance.u64(100_000..400_000), chance.u64(SECOND / 2..2 * SECOND)),
            Self::Chatter => (chance.u64(20_000..40_000), chance.u64(100_000..300_000)),
            Self::XonFlood => return (0, SECOND),
            _ if chance.u32(0..40) == 0 => (chance.u64(LONG_HOLD..LONGEST_HOLD), 0),
            _ => (chance.u64(100_000..3 * MILLISECOND), chance.u64(MILLISECOND..20 * MILLISECOND)),
        };
        (hold, if hold >= LONG_HOLD { REST + chance.u64(0..REST) } else { rest })
    }

    const fn bits(self) -> u8 {
        if matches!(self, Self::Wraps) { 24 } else { 64 }
    }
}

/// One direction's pause, made as time goes on.
#[derive(Clone, Debug)]
struct Pause {
    chance: Rng,
    held_until: u64,
    free_until: u64,
    at: u64,
    paused: u64,
    holds: u64,
}

impl Pause {
    fn new(seed: u64) -> Self {
        let chance = Rng::with_seed(seed);
        Self { chance, held_until: START, free_until: START, at: START, paused: 0, holds: 0 }
    }

    fn advance(&mut self, course: Course, to: u64) {
        while self.at < to {
            if self.at >= self.free_until {
                let (hold, rest) = course.draw(&mut self.chance);
                self.held_until = self.at + hold;
                self.free_until = self.held_until + rest;
                self.holds += 1;
            }
            if self.at < self.held_until {
                let next = self.held_until.min(to);
                self.paused += next - self.at;
                self.at = next;
            } else {
                self.at = self.free_until.min(to);
            }
        }
    }

    /// A hold from now on, whatever the course has in mind.
    fn hold_until(&mut self, until: u64) {
        self.held_until = until;
        self.free_until = until + SECOND;
        self.holds += 1;
    }
}

struct Player {
    course: Course,
    shape: Shape,
    plan: Arc<Plan>,
    sample: Sample,
    engine: FeedEngine,
    ways: [Pause; 2],
    ticks: Ticks,
    interval: Duration,
    link: LinkFacts,
    chance: Rng,
    next_trouble: u64,
    baseline: Vec<u64>,
    samples: u64,
}

fn plan_of(course: Course, shape: Shape) -> Arc<Plan> {
    let mut quantities =
        vec![(Quantity::PfcPauseFrames, Unit::Count), (Quantity::Bytes, Unit::Bytes)];
    if shape.durations {
        quantities.push((Quantity::PfcPauseTime, Unit::Microseconds));
    }
    let mut counters: Vec<PlanCounter> = Vec::new();
    for direction in Direction::ALL {
        counters.extend(quantities.iter().map(|(quantity, unit)| PlanCounter {
            key: CounterKey {
                quantity: *quantity,
                direction: Some(direction),
                index: Index::Priority(PAUSED),
                detail: None,
            },
            kind: ReadingKind::Counter,
            unit: *unit,
            width: match quantity {
                Quantity::Bytes => Width::FULL,
                _ => Width { bits: course.bits(), saturates: false },
            },
            freshness: shape.freshness,
        }));
    }
    counters.sort_by(|a, b| a.key.cmp(&b.key));
    let terms = counters.iter().map(|_| Vec::new()).collect();
    Arc::new(Plan { counters, terms, ..Plan::default() })
}

impl Player {
    fn new(course: Course, shape: Shape, interval: Duration) -> Self {
        let plan = plan_of(course, shape);
        let seed = 1 + interval.as_nanos() as u64;
        Self {
            course,
            shape,
            sample: Sample::empty(Arc::clone(&plan)),
            baseline: vec![0; plan.counters.len()],
            plan,
            engine: FeedEngine::new(StormSettings::default()),
            ways: [Pause::new(seed), Pause::new(seed + 1)],
            ticks: Ticks::new(START, seed),
            interval,
            link: LinkFacts {
                up: Some(true),
                speed: Some(SPEED),
                lossless: Some(1 << PAUSED.number()),
                traffic_class: None,
            },
            chance: Rng::with_seed(seed + 2),
            next_trouble: START + 5 * SECOND,
            samples: 0,
        }
    }

    fn step(&mut self) -> u64 {
        let now = self.ticks.next(self.interval, 0);
        let at =
            if self.shape.refresh == 0 { now } else { now - (now - START) % self.shape.refresh };
        for way in &mut self.ways {
            way.advance(self.course, at);
        }
        if now >= self.next_trouble {
            self.next_trouble = now + self.chance.u64(SECOND..10 * SECOND);
            self.trouble(at);
        }
        for (place, baseline) in self.baseline.iter().enumerate() {
            let value = self.total(place, at) - baseline;
            let most = self.plan.counters[place].width.max();
            self.sample.readings[place] = Reading::Value(value & most);
        }
        self.sample.taken_at = Monotonic::from_nanos(now);
        let unix_seconds = EPOCH + now as f64 / 1e9;
        let around = Circumstances { link: self.link, interval: self.interval, unix_seconds };
        self.engine.push(&self.sample, &around);
        self.samples += 1;
        now
    }

    fn trouble(&mut self, at: u64) {
        match self.course {
            Course::Resets => {
                self.baseline =
                    (0..self.baseline.len()).map(|place| self.total(place, at)).collect();
            }
            Course::Flaps if self.link.up == Some(true) => self.link.up = Some(false),
            Course::Flaps => {
                self.link.up = Some(true);
                let gigabits = [25, 40, 100][self.chance.usize(0..3)];
                self.link.speed = Some(BitsPerSecond(gigabits * 1_000_000_000));
            }
            _ => {}
        }
    }

    fn total(&self, place: usize, at: u64) -> u64 {
        let key = &self.plan.counters[place].key;
        let way = key.direction.unwrap() as usize;
        let down = if self.course == Course::Flaps { (at - START) / 3 } else { 0 };
        match key.quantity {
            // Without carrier nobody says what a NIC counts; here it is a pause without end.
            Quantity::PfcPauseTime if self.link.up == Some(false) => {
                (self.ways[way].paused + down) / 1_000
            }
            Quantity::PfcPauseTime => self.ways[way].paused / 1_000,
            Quantity::PfcPauseFrames => {
                let flood = if self.course == Course::XonFlood { (at - START) / 1_000 } else { 0 };
                self.ways[way].holds * 2 + self.ways[way].paused / QUANTA_NS + flood
            }
            // What the other direction lets through.
            _ => (at - START - self.ways[1 - way].paused) * 5,
        }
    }

    fn storms(&self) -> [u64; 2] {
        let mut pause = PauseSummary::default();
        self.engine.copy_pause(&mut pause);
        Direction::ALL.map(|direction| {
            let own = pause.tracks.iter().find(|own| own.direction == direction);
            own.map_or(0, |own| own.storm.episodes)
        })
    }

    fn play(&mut self, until: u64, quiet: bool) {
        let mut look = 0;
        loop {
            let now = self.step();
            if quiet && now >= look {
                look = now + 10 * SECOND;
                let storms = self.storms();
                let told = (now - START) as f64 / 1e9;
                assert_eq!(storms, [0, 0], "{:?} {:?} at {told} s", self.course, self.shape);
            }
            if now >= until {
                return;
            }
        }
    }
}

/// Plays hours, and then a hold that has to be seen.
fn long(course: Course, shape: Shape) {
    let part = if std::env::var_os("ROCE_LONG").is_some() { 1 } else { 60 };
    for (millis, hours) in [(100, 24), (1, 1)] {
        let mut player = Player::new(course, shape, Duration::from_millis(millis));
        let length = hours * HOUR / part;
        player.play(START + length, true);
        assert_eq!(player.storms(), [0, 0], "{course:?} {shape:?} {millis} ms");
        println!("{course:?} {millis} ms: {} samples, {} s", player.samples, length / SECOND);
        // What came to pass before must not make it blind.
        (player.link.up, player.next_trouble) = (Some(true), u64::MAX);
        let now = START + length + 2 * SECOND;
        player.play(now, false);
        let before = player.storms();
        let [_, rx] = &mut player.ways;
        rx.hold_until(rx.at + REAL_STORM);
        player.play(now + REAL_STORM + SECOND, false);
        assert_eq!(player.storms(), [before[0], before[1] + 1], "{course:?} {shape:?} {millis} ms");
    }
}

macro_rules! long {
    ($($name:ident: $course:ident, $shape:expr;)+) => {
        $(#[test] fn $name() { long(Course::$course, $shape); })+
    };
}

long! {
    calm_for_hours_is_no_storm: Calm, LIVE;
    incast_for_hours_is_no_storm: Incast, LIVE;
    incast_counted_in_frames_for_hours_is_no_storm: Incast, FRAMES;
    chatter_for_hours_is_no_storm: Chatter, LIVE;
    resets_for_hours_are_no_storm: Resets, LIVE;
    c54_flaps_for_hours_are_no_storm: Flaps, LIVE;
    wraps_for_hours_are_no_storm: Wraps, LIVE;
    c53_refreshes_of_a_second_for_hours_are_no_storm:
        Incast, refreshed(Freshness::Every(Duration::from_secs(1)), 1_000);
    c53_unknown_refreshes_of_100_ms_for_hours_are_no_storm:
        Incast, refreshed(Freshness::Unknown, 100);
    c53_unknown_refreshes_of_250_ms_for_hours_are_no_storm:
        Incast, refreshed(Freshness::Unknown, 250);
    c55_an_xon_flood_for_hours_is_no_storm: XonFlood, LIVE;
    c55_an_xon_flood_counted_in_frames_for_hours_is_no_storm: XonFlood, FRAMES;
}
