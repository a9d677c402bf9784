//! From absolute readings to totals and steps: wraps widened, resets noticed, absence kept.
//!
//! A total is the kernel's own value plus what wraps took from it, so that a restart of the exporter changes
//! nothing. Refuses to guess: a counter that goes backwards without a plausible wrap was reset, and that
//! interval has no step.

use std::sync::Arc;

use crate::model::{Plan, PlanCounter, Reading, ReadingKind, Sample};

/// What became of one counter between the last two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// No earlier value to compare with.
    First,
    /// Grew by this much, in the plan's unit.
    By(u64),
    /// Grew by this much, but the read before had no value: since a time that is longer ago.
    Overdue(u64),
    /// Went backwards without a wrap.
    Reset,
    /// Stands at its maximum, so that growth cannot be seen.
    Saturated,
    /// Could not be read.
    Missing,
}

impl Step {
    /// The growth since the read before, where it is known.
    #[must_use]
    pub const fn growth(self) -> Option<u64> {
        match self {
            Self::By(growth) => Some(growth),
            _ => None,
        }
    }

    /// Whether it grew, since whenever.
    #[must_use]
    pub const fn has_grown(self) -> bool {
        matches!(self, Self::By(1..) | Self::Overdue(1..))
    }
}

/// One counter's past.
#[derive(Clone, Copy, Debug)]
struct Past {
    last: Option<u64>,
    /// What wraps added to the kernel's value.
    lifted: u64,
    step: Step,
    readable: bool,
}

const NOTHING: Past = Past { last: None, lifted: 0, step: Step::First, readable: false };

/// Totals and steps of one feed's counters.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    plan: Arc<Plan>,
    past: Vec<Past>,
    resets: u64,
    reset_now: bool,
}

impl Ledger {
    /// Takes a sample. Counters keep their past when the plan changes, by key.
    ///
    /// Returns whether the sample's plan is another than before.
    pub fn push(&mut self, sample: &Sample) -> bool {
        let changed = !Arc::ptr_eq(&self.plan, &sample.plan);
        if changed {
            self.adopt(&sample.plan);
        }
        let mut pairs = self.past.iter().zip(&sample.plan.counters).zip(&sample.readings);
        self.reset_now = pairs.any(|((past, counter), reading)| {
            past.last > reading.value()
                && matches!(movement(past, counter, *reading), Movement::Backwards)
        });
        self.resets += u64::from(self.reset_now);
        let counters = sample.plan.counters.iter().zip(&sample.readings);
        for (past, (counter, reading)) in self.past.iter_mut().zip(counters) {
            take(past, counter, *reading, self.reset_now);
        }
        changed
    }

    fn adopt(&mut self, plan: &Arc<Plan>) {
        let old = std::mem::replace(&mut self.plan, Arc::clone(plan));
        let before = std::mem::take(&mut self.past);
        let known = |counter: &PlanCounter| {
            let position = old.counters.binary_search_by(|own| own.key.cmp(&counter.key)).ok()?;
            let alike = old.counters.get(position)?.width == counter.width;
            alike.then(|| before.get(position).copied()).flatten()
        };
        self.past = plan.counters.iter().map(|own| known(own).unwrap_or(NOTHING)).collect();
    }

    /// The plan of the last sample.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether the last sample showed a reset of any counter.
    #[must_use]
    pub const fn reset_now(&self) -> bool {
        self.reset_now
    }

    /// By how much all counters together grew in the last sample; none where everything repeated.
    #[must_use]
    pub fn weight(&self) -> Option<u64> {
        let growths = self.past.iter().filter_map(|past| match past.step {
            Step::By(growth) | Step::Overdue(growth) => Some(growth),
            _ => None,
        });
        Some(growths.fold(0_u64, u64::saturating_add)).filter(|weight| *weight > 0)
    }

    /// Samples that showed a reset.
    #[must_use]
    pub const fn resets(&self) -> u64 {
        self.resets
    }

    /// The last step of the counter at `position` of the plan.
    #[must_use]
    pub fn step(&self, position: usize) -> Step {
        self.past.get(position).map_or(Step::Missing, |past| past.step)
    }

    /// The totals in the order of the plan; none where the last sample had no value.
    pub fn totals(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        self.past.iter().map(|past| {
            let last = past.last.filter(|_| past.readable)?;
            Some(last.wrapping_add(past.lifted))
        })
    }
}

enum Movement {
    None,
    Forwards(u64),
    Wrapped { growth: u64, lift: u64 },
    Backwards,
}

fn movement(past: &Past, counter: &PlanCounter, reading: Reading) -> Movement {
    let (Some(last), Some(value)) = (past.last, reading.value()) else { return Movement::None };
    if counter.kind == ReadingKind::Gauge {
        return Movement::None;
    }
    if let Some(growth) = value.checked_sub(last) {
        return Movement::Forwards(growth);
    }
    if counter.width.bits >= 64 || counter.width.saturates {
        return Movement::Backwards;
    }
    let lift = counter.width.max().saturating_add(1);
    // A quarter of the range is far more than any counter moves between two samples and far less than a
    // reset of a counter in the middle of its range looks like.
    match lift.checked_sub(last).map(|left| left + value) {
        Some(growth) if growth <= lift / 4 => Movement::Wrapped { growth, lift },
        _ => Movement::Backwards,
    }
}

/// `reset`: some counter of the sample was reset, so a plausible wrap beside it is a reset too.
fn take(past: &mut Past, counter: &PlanCounter, reading: Reading, reset: bool) {
    let Some(value) = reading.value() else {
        past.readable = false;
        past.step = Step::Missing;
        return;
    };
    let grew = if past.readable { Step::By } else { Step::Overdue };
    past.step = match movement(past, counter, reading) {
        Movement::None => Step::First,
        _ if counter.width.saturates && value >= counter.width.max() => Step::Saturated,
        Movement::Forwards(growth) => grew(growth),
        Movement::Wrapped { growth, lift } if !reset => {
            past.lifted = past.lifted.wrapping_add(lift);
            grew(growth)
        }
        Movement::Wrapped { .. } | Movement::Backwards => {
            past.lifted = 0;
            Step::Reset
        }
    };
    past.last = Some(value);
    past.readable = true;
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
