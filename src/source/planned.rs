//! A counter set with its plan: the hot path of sampling.
//!
//! Names are resolved once; a read copies by position. The names are looked at again when the set says that
//! it changed, when whoever sees the kernel's events moves the names epoch, and at a slow period, since a
//! driver can change its names and keep their number (mlx5, when PFC moves between priorities). A sample
//! taken across a change is dropped. Refuses to judge a value: only what cannot be one is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{CounterSet, SourceError};
use crate::catalogue::{Catalogue, RawSelection, Table};
use crate::model::{Monotonic, Plan, Reading, Reason, Sample, Width};

/// How often the names are compared though nothing said that they changed.
const NAMES_PERIOD: Duration = Duration::from_mins(1);

/// What turns names into a plan.
#[derive(Clone, Debug)]
pub struct PlanRules {
    /// Whose names mean what.
    pub catalogue: Arc<Catalogue>,
    /// Which of its tables.
    pub table: Table,
    /// The driver's key in that table.
    pub driver: String,
    /// Uncatalogued names that the operator asked for.
    pub raw: RawSelection,
}

/// A counter set that is read by plan.
pub struct PlannedSource {
    set: Box<dyn CounterSet>,
    rules: PlanRules,
    names_epoch: Arc<AtomicU64>,
    resolved: Option<Resolved>,
    gathered: Vec<Reading>,
}

struct Resolved {
    names: Vec<String>,
    plan: Arc<Plan>,
    parts: Vec<Part>,
    epoch: u64,
    checked_at: Monotonic,
}

impl PlannedSource {
    /// `names_epoch` is moved by whoever learns that names may have changed.
    #[must_use]
    pub fn new(set: Box<dyn CounterSet>, rules: PlanRules, names_epoch: Arc<AtomicU64>) -> Self {
        Self { set, rules, names_epoch, resolved: None, gathered: Vec::new() }
    }

    /// Reads the names if they are due and returns the plan. A plan that did not change stays the same
    /// allocation.
    ///
    /// # Errors
    /// The kernel's answer to the read of the names; the old plan is dropped then.
    pub fn plan(&mut self, now: Monotonic) -> Result<Arc<Plan>, SourceError> {
        let epoch = self.names_epoch.load(Ordering::Acquire);
        if let Some(resolved) = &self.resolved {
            let due = now.since(resolved.checked_at) >= NAMES_PERIOD;
            if resolved.epoch == epoch && !due {
                return Ok(Arc::clone(&resolved.plan));
            }
        }
        let names = self.set.names().inspect_err(|_| self.resolved = None)?;
        let resolved = match self.resolved.take() {
            Some(before) if before.names == names => Resolved { epoch, checked_at: now, ..before },
            _ => {
                let rules = &self.rules;
                let plan = rules.catalogue.plan(rules.table, &rules.driver, &names, &rules.raw);
                let parts = parts_of(&plan);
                Resolved { names, plan: Arc::new(plan), parts, epoch, checked_at: now }
            }
        };
        let plan = Arc::clone(&resolved.plan);
        self.gathered.resize(plan.wanted.len(), Reading::Missing(Reason::NamesChanged));
        self.resolved = Some(resolved);
        Ok(plan)
    }

    /// The names as last read.
    #[must_use]
    pub fn names(&self) -> &[String] {
        self.resolved.as_ref().map_or(&[], |resolved| &resolved.names)
    }

    /// What the last read gave: one reading per position of the plan's `wanted`, before factors and sums.
    #[must_use]
    pub fn gathered(&self) -> &[Reading] {
        &self.gathered
    }

    /// The period on which the kernel serves the same values again, where it says one.
    #[must_use]
    pub fn cache_period(&self) -> Option<Duration> {
        self.set.cache_period()
    }

    /// Takes one sample into `sample`, whose plan is replaced when the names changed.
    ///
    /// # Errors
    /// Whatever concerns the whole set. `sample` is then not to be used.
    /// [`SourceError::NamesChanged`] also when the names epoch moved during the read.
    pub fn read(
        &mut self,
        now: &dyn Fn() -> Monotonic,
        sample: &mut Sample,
    ) -> Result<(), SourceError> {
        let started = now();
        let plan = self.plan(started)?;
        if !Arc::ptr_eq(&plan, &sample.plan) {
            *sample = Sample::empty(Arc::clone(&plan));
        }
        let names_were_read =
            self.resolved.as_ref().is_some_and(|resolved| resolved.checked_at == started);
        let read_from = if names_were_read { now() } else { started };
        self.gathered.fill(Reading::Missing(Reason::NamesChanged));
        let answer = self.set.read(&plan.wanted, &mut self.gathered);
        let finished = now();
        let epoch = self.names_epoch.load(Ordering::Acquire);
        let resolved = self.resolved.as_ref().filter(|resolved| resolved.epoch == epoch);
        let resolved = resolved.ok_or(SourceError::NamesChanged)?;
        if answer == Err(SourceError::NamesChanged) {
            self.resolved = None;
            return answer;
        }
        answer?;
        sample.taken_at = finished;
        sample.took = finished.since(read_from);
        add_up(&resolved.parts, &self.gathered, &mut sample.readings);
        for (reading, (position, _)) in sample.raw.iter_mut().zip(&plan.raw) {
            *reading = at(&self.gathered, *position as usize);
        }
        Ok(())
    }
}

/// One term of a counter, laid out for the hot path: the parts of all counters stand in a row.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Place among the gathered values.
    position: usize,
    factor: u64,
    /// The value that stands for none. All bits set at a width of 32 or more is no count: firmware says so of
    /// counters that it lacks, and a dead PCI device reads so.
    all_ones: u64,
    /// Whether the counter ends here.
    last: bool,
}

impl Part {
    fn of(width: Width, (position, factor): (u32, u64)) -> Self {
        let wraps = width.bits >= 32 && !width.saturates;
        let all_ones = if wraps { width.max() } else { u64::MAX };
        Self { position: position as usize, factor, all_ones, last: false }
    }

    /// Adds this part, in the counter's unit, to the parts before it.
    fn add_to(&self, sum: u64, gathered: &[Reading]) -> Reading {
        let value = match at(gathered, self.position) {
            Reading::Value(value) => value,
            missing @ Reading::Missing(_) => return missing,
        };
        if value == self.all_ones || value == u64::MAX {
            return Reading::Missing(Reason::AllOnes);
        }
        let scaled = value.checked_mul(self.factor);
        let sum = scaled.and_then(|scaled| scaled.checked_add(sum));
        sum.map_or(Reading::Missing(Reason::OutOfRange), Reading::Value)
    }
}

/// The parts of all counters of a plan, in its order, at least one for each.
fn parts_of(plan: &Plan) -> Vec<Part> {
    let mut parts = Vec::with_capacity(plan.counters.len());
    for (counter, terms) in plan.counters.iter().zip(&plan.terms) {
        // A counter without a term has nowhere to read from, and must not take the next one's.
        let nowhere: &[(u32, u64)] = &[(u32::MAX, 1)];
        let terms = if terms.is_empty() { nowhere } else { terms };
        parts.extend(terms.iter().map(|term| Part::of(counter.width, *term)));
        if let Some(part) = parts.last_mut() {
            part.last = true;
        }
    }
    parts
}

/// Makes the counters' readings from the gathered values. A counter with a missing part is missing.
fn add_up(parts: &[Part], gathered: &[Reading], readings: &mut [Reading]) {
    let mut readings = readings.iter_mut();
    let mut sum = Reading::Value(0);
    for part in parts {
        if let Reading::Value(before) = sum {
            sum = part.add_to(before, gathered);
        }
        if part.last {
            if let Some(reading) = readings.next() {
                *reading = sum;
            }
            sum = Reading::Value(0);
        }
    }
}

fn at(gathered: &[Reading], position: usize) -> Reading {
    gathered.get(position).copied().unwrap_or(Reading::Missing(Reason::NamesChanged))
}

#[cfg(test)]
#[path = "planned_tests.rs"]
mod tests;
