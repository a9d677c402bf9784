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

impl SimulatedCounters {
    /// Waits as long as the device takes, then gives the fabric at the present time.
    fn enter(&self) -> MutexGuard<'_, Fabric> {
        let mut fabric = self.present();
        let delay = fabric.views().get(self.port).map(View::delay).unwrap_or_default();
        if delay.is_zero() {
            return fabric;
        }
        drop(fabric);
        (self.sleep)(delay);
        fabric = self.present();
        fabric
    }

    fn present(&self) -> MutexGuard<'_, Fabric> {
        let mut fabric = lock(&self.fabric);
        fabric.advance_to((self.clock)());
        fabric
    }
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
        let fabric = self.enter();
        let gone = || SourceError::Nonsense("no such simulated port".to_owned());
        let view = fabric.views().get(self.port).ok_or_else(gone)?;
        view.check(self.address, self.side)?;
        let (names, counters) = view.names(self.side);
        let version = view.names_version();
        drop(fabric);
        self.counters = counters;
        self.version = Some(version);
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let fabric = Arc::clone(&self.fabric);
        drop(self.enter());
        let mut fabric = lock(&fabric);
        let now = fabric.now().as_nanos();
        let gone = || SourceError::Nonsense("no such simulated port".to_owned());
        let (view, live) = fabric.view_and_truth(self.port).ok_or_else(gone)?;
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
