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
use crate::model::{Monotonic, Plan, PlanCounter, Reading, Reason, Sample};

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
        let plan = match self.resolved.take() {
            Some(before) if before.names == names => before.plan,
            _ => {
                let rules = &self.rules;
                let plan = rules.catalogue.plan(rules.table, &rules.driver, &names, &rules.raw);
                Arc::new(plan)
            }
        };
        self.gathered.resize(plan.wanted.len(), Reading::Missing(Reason::NamesChanged));
        self.resolved = Some(Resolved { names, plan: Arc::clone(&plan), epoch, checked_at: now });
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
        let read_from = now();
        self.gathered.fill(Reading::Missing(Reason::NamesChanged));
        let answer = self.set.read(&plan.wanted, &mut self.gathered);
        let finished = now();
        let epoch = self.names_epoch.load(Ordering::Acquire);
        if self.resolved.as_ref().is_some_and(|resolved| resolved.epoch != epoch) {
            return Err(SourceError::NamesChanged);
        }
        if answer == Err(SourceError::NamesChanged) {
            self.resolved = None;
        }
        answer?;
        sample.taken_at = finished;
        sample.took = finished.since(read_from);
        copy_by_plan(&plan, &self.gathered, sample);
        Ok(())
    }
}

/// Puts the gathered raw values where the plan wants them.
fn copy_by_plan(plan: &Plan, gathered: &[Reading], sample: &mut Sample) {
    let counters = plan.counters.iter().zip(&plan.terms);
    for (reading, (counter, terms)) in sample.readings.iter_mut().zip(counters) {
        *reading = match terms.as_slice() {
            [(position, factor)] => term(counter, gathered, *position, *factor),
            terms => sum(counter, gathered, terms),
        };
    }
    for (reading, (position, _)) in sample.raw.iter_mut().zip(&plan.raw) {
        let value = gathered.get(*position as usize).copied();
        *reading = value.unwrap_or(Reading::Missing(Reason::NamesChanged));
    }
}

fn sum(counter: &PlanCounter, gathered: &[Reading], terms: &[(u32, u64)]) -> Reading {
    let mut total = 0_u64;
    for (position, factor) in terms {
        match term(counter, gathered, *position, *factor) {
            Reading::Value(value) => match total.checked_add(value) {
                Some(sum) => total = sum,
                None => return Reading::Missing(Reason::OutOfRange),
            },
            missing @ Reading::Missing(_) => return missing,
        }
    }
    Reading::Value(total)
}

/// One raw value in the counter's unit. All bits set at a width of 32 or more is no count: firmware says so
/// of counters it lacks, and a dead PCI device reads so.
fn term(counter: &PlanCounter, gathered: &[Reading], position: u32, factor: u64) -> Reading {
    let raw = gathered.get(position as usize).copied();
    let value = match raw.unwrap_or(Reading::Missing(Reason::NamesChanged)) {
        Reading::Value(value) => value,
        missing @ Reading::Missing(_) => return missing,
    };
    let width = counter.width;
    let whole = width.bits >= 32 && !width.saturates && value == width.max();
    if whole || value == u64::MAX {
        return Reading::Missing(Reason::AllOnes);
    }
    let scaled = value.checked_mul(factor);
    scaled.map_or(Reading::Missing(Reason::OutOfRange), Reading::Value)
}

#[cfg(test)]
#[path = "planned_tests.rs"]
mod tests;
