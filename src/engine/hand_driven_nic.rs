//! A NIC for the engine's tests, whose pause is made here to the microsecond.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "figures made here"
)]

use super::*;
use crate::model::{
    BitsPerSecond, CounterKey, Freshness, PlanCounter, Reading, ReadingKind, Unit, Width,
};

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const SPEED: BitsPerSecond = BitsPerSecond(100_000_000_000);

/// Which counters a driver has for priority 3.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Durations, frames and bytes, as mlx5.
    Durations,
    /// Frames alone, as ice.
    Frames,
    /// Frames and bytes.
    FramesAndBytes,
}

/// A NIC whose counters are set by hand, sampled by hand.
pub(super) struct Nic {
    pub(super) engine: FeedEngine,
    pub(super) plan: Arc<Plan>,
    pub(super) values: Vec<Reading>,
    pub(super) now: Monotonic,
    pub(super) link: LinkFacts,
    pub(super) interval: Duration,
}

fn counter(quantity: Quantity, direction: Direction, priority: u8, unit: Unit) -> PlanCounter {
    PlanCounter {
        key: CounterKey {
            quantity,
            direction: Some(direction),
            index: Index::Priority(Priority::new(priority).unwrap()),
            detail: None,
        },
        kind: ReadingKind::Counter,
        unit,
        width: Width::FULL,
        freshness: Freshness::Live,
    }
}

pub(super) fn plan_of(kind: Kind, priorities: &[u8], freshness: Freshness) -> Arc<Plan> {
    let mut counters = Vec::new();
    for priority in priorities {
        for direction in Direction::ALL {
            let mut add = |quantity, unit| {
                counters.push(counter(quantity, direction, *priority, unit));
            };
            add(Quantity::PfcPauseFrames, Unit::Count);
            if matches!(kind, Kind::Durations) {
                add(Quantity::PfcPauseTime, Unit::Microseconds);
            }
            if !matches!(kind, Kind::Frames) {
                add(Quantity::Bytes, Unit::Bytes);
            }
        }
    }
    if matches!(kind, Kind::Durations) {
        let mut stall = counter(Quantity::PfcStallEvents, Direction::Tx, 0, Unit::Count);
        stall.key.index = Index::None;
        stall.key.detail = Some("error".into());
        counters.push(stall);
    }
    for counter in &mut counters {
        counter.freshness = freshness;
    }
    counters.sort_by(|a, b| a.key.cmp(&b.key));
    let terms = counters.iter().map(|_| Vec::new()).collect();
    Arc::new(Plan { counters, terms, ..Plan::default() })
}

impl Nic {
    pub(super) fn new(kind: Kind) -> Self {
        Self::with(plan_of(kind, &[3], Freshness::Live))
    }

    pub(super) fn with(plan: Arc<Plan>) -> Self {
        let values = vec![Reading::Value(1_000); plan.counters.len()];
        let link = LinkFacts { up: Some(true), speed: Some(SPEED), ..LinkFacts::default() };
        let engine = FeedEngine::new(StormSettings::default());
        let now = Monotonic::from_nanos(5_000_000_000);
        let mut nic = Self { engine, plan, values, now, link, interval: 10 * MS };
        nic.sample(Duration::ZERO);
        nic
    }

    pub(super) fn add(
        &mut self,
        quantity: Quantity,
        direction: Direction,
        priority: u8,
        growth: u64,
    ) {
        let place = self.plan.counters.iter().position(|own| {
            own.key.quantity == quantity
                && own.key.direction == Some(direction)
                && (own.key.index == Index::Priority(Priority::new(priority).unwrap())
                    || own.key.index == Index::None)
        });
        let value = &mut self.values[place.unwrap()];
        *value = Reading::Value(value.value().unwrap() + growth);
    }

    /// Holds priority 3 for a share of the next sample, with the frames that takes.
    pub(super) fn pause(&mut self, direction: Direction, span: Duration, share: f64) {
        let micros = (span.as_micros() as f64 * share) as u64;
        if self.plan.counters.iter().any(|own| own.key.quantity == Quantity::PfcPauseTime) {
            self.add(Quantity::PfcPauseTime, direction, 3, micros);
        }
        let frames = micros as f64 / 1e6 / SPEED.longest_pause_seconds();
        self.add(Quantity::PfcPauseFrames, direction, 3, frames.ceil() as u64);
    }

    pub(super) fn sample(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        let mut sample = Sample::empty(Arc::clone(&self.plan));
        sample.taken_at = self.now;
        sample.readings.copy_from_slice(&self.values);
        let unix_seconds = 1.7e9 + self.now.as_nanos() as f64 / 1e9;
        let around = Circumstances { link: self.link, interval: self.interval, unix_seconds };
        self.engine.push(&sample, &around);
    }

    pub(super) fn run(&mut self, direction: Direction, share: f64, count: u32) {
        for _ in 0..count {
            self.pause(direction, self.interval, share);
            self.sample(self.interval);
        }
    }

    pub(super) fn idle(&mut self, count: u32) {
        for _ in 0..count {
            self.sample(self.interval);
        }
    }

    pub(super) fn summary(&self) -> PauseSummary {
        let mut summary = PauseSummary::default();
        self.engine.copy_pause(&mut summary);
        summary
    }

    pub(super) fn figures(&self, direction: Direction) -> PauseFigures {
        let summary = self.summary();
        *summary.tracks.iter().find(|own| own.direction == direction).unwrap()
    }

    pub(super) fn skipped(&self, skip: Skip) -> u64 {
        self.summary().skipped[skip.position()]
    }
}

pub(super) fn near(figure: Option<f64>, expected: f64, tolerance: f64) -> bool {
    figure.is_some_and(|figure| (figure - expected).abs() <= tolerance)
}
