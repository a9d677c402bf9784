//! The counters of a simulated NIC behind the trait of all sources.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::drivers::Counter;
use super::fabric::Fabric;
use super::view::{Address, Side, View};
use super::{Clock, Sleep};
use crate::model::{Reading, Reason};
use crate::source::{CounterSet, SourceError};

/// The lock of a fabric. A panic elsewhere leaves figures that are at worst one step old.
pub(super) fn lock(fabric: &Mutex<Fabric>) -> MutexGuard<'_, Fabric> {
    fabric.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the two counter sets of a NIC.
pub(super) struct SimulatedCounters {
    pub(super) fabric: Arc<Mutex<Fabric>>,
    pub(super) clock: Clock,
    pub(super) sleep: Sleep,
    pub(super) port: usize,
    pub(super) side: Side,
    pub(super) address: Address,
    pub(super) counters: Vec<Counter>,
    pub(super) version: Option<u64>,
}

/// The fabric at the present time.
pub(super) fn present<'fabric>(
    fabric: &'fabric Mutex<Fabric>,
    clock: &Clock,
) -> MutexGuard<'fabric, Fabric> {
    let mut fabric = lock(fabric);
    fabric.advance_to(clock());
    fabric
}

/// Waits as long as the device makes its reader wait, then gives the fabric at the present time.
fn enter<'fabric>(
    fabric: &'fabric Mutex<Fabric>,
    clock: &Clock,
    sleep: &Sleep,
    port: usize,
) -> MutexGuard<'fabric, Fabric> {
    let now = present(fabric, clock);
    let delay = now.views().get(port).map(View::delay).unwrap_or_default();
    if delay.is_zero() {
        return now;
    }
    // Others read meanwhile.
    drop(now);
    sleep(delay);
    present(fabric, clock)
}

fn no_such_port() -> SourceError {
    SourceError::Nonsense("no such simulated port".to_owned())
}

/// Adopts the present set of names. The kernel tells a reader of another count of names, but not of other
/// names in the same places (`ethtool_get_stats` in `net/ethtool/ioctl.c`).
fn follow_names(
    view: &View,
    side: Side,
    counters: &mut Vec<Counter>,
    version: &mut Option<u64>,
) -> Result<(), SourceError> {
    if *version == Some(view.names_version()) {
        return Ok(());
    }
    let (_, present) = view.names(side);
    if version.is_some() && present.len() != counters.len() {
        return Err(SourceError::NamesChanged);
    }
    *counters = present;
    *version = Some(view.names_version());
    Ok(())
}

impl CounterSet for SimulatedCounters {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let fabric = enter(&self.fabric, &self.clock, &self.sleep, self.port);
        let view = fabric.views().get(self.port).ok_or_else(no_such_port)?;
        view.check(self.address, self.side)?;
        let (names, counters) = view.names(self.side);
        self.counters = counters;
        self.version = Some(view.names_version());
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let mut fabric = enter(&self.fabric, &self.clock, &self.sleep, self.port);
        let now = fabric.now().as_nanos();
        let (view, live) = fabric.view_and_truth(self.port).ok_or_else(no_such_port)?;
        view.check(self.address, self.side)?;
        follow_names(view, self.side, &mut self.counters, &mut self.version)?;
        let shot = view.shown(self.side, now, live);
        for (position, reading) in wanted.iter().zip(readings) {
            let counter = usize::try_from(*position).ok().and_then(|at| self.counters.get(at));
            *reading = counter.map_or(Reading::Missing(Reason::Invalid), |counter| {
                Reading::Value(shot.value(*counter))
            });
        }
        Ok(())
    }
}
