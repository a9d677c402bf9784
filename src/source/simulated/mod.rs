//! A simulated RoCE fabric: hosts on a switch, for the demo and for tests.
//!
//! A fluid model moves bytes, fills buffers, sends XOFF and XON, marks and slows down; it keeps the exact
//! truth and shows of it what real drivers would: their names, units, widths and refresh periods. It
//! implements the same two traits as the kernel's sources, so its values take the very same way. Time
//! comes from outside. It refuses single packets, latencies and a topology of more than one switch.

mod cast;
mod counter_set;
mod director;
mod drivers;
mod fabric;
mod flow;
mod host;
mod lane;
mod loads;
mod network;
mod pause;
mod port;
mod reaction;
mod scenario;
mod scenarios;
mod step;
mod switch;
mod truth;
mod view;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use cast::MOST_HOSTS;
pub use fabric::Fabric;
pub use host::SimulatedHost;
pub use scenario::{Scenario, Scene};
pub use switch::SimulatedSwitch;
pub use truth::{
    Balance, CNP_BYTES, EDGES_KEPT, EdgeRing, NicTruth, PauseEdge, PauseTruth, PriorityTruth,
    ROCE_PACKET_BYTES, RdmaTruth, packet_bytes,
};

use director::Timeline;

use crate::model::Monotonic;

/// Tells the time that the fabric lives in. Called under the fabric's lock.
pub type Clock = Arc<dyn Fn() -> Monotonic + Send + Sync>;

/// Waits, as a slow device makes its reader wait. Called without the fabric's lock.
pub type Sleep = Arc<dyn Fn(Duration) + Send + Sync>;

/// What to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationOptions<'name> {
    /// One scenario for ever, or all of them in turn.
    pub scenario: Option<&'name str>,
    /// Seed of all chance.
    pub seed: u64,
    /// Hosts to serve; at least one. The fabric has more where a scenario needs them.
    pub hosts: usize,
}

impl Default for SimulationOptions<'_> {
    /// One host, all scenarios in turn.
    fn default() -> Self {
        Self { scenario: None, seed: 0, hosts: 1 }
    }
}

/// Why there is no simulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// No scenario of that name.
    #[error("there is no scenario {0:?}")]
    UnknownScenario(String),
    /// More hosts than the switch has ports for, or none.
    #[error("{0} hosts are not in 1..={MOST_HOSTS}")]
    HostCount(usize),
}

/// A fabric with its clock.
#[derive(Clone)]
pub struct Simulation {
    fabric: Arc<Mutex<Fabric>>,
    clock: Clock,
    sleep: Sleep,
    hosts: usize,
}

impl Simulation {
    /// A fabric that starts now, by `clock`. Slow reads really sleep; see [`Simulation::with_sleep`].
    ///
    /// # Errors
    /// For a scenario that there is not, or a number of hosts out of range.
    pub fn new(options: SimulationOptions<'_>, clock: Clock) -> Result<Self, SimulationError> {
        let unknown = |name: &str| SimulationError::UnknownScenario(name.to_owned());
        let scenario = options
            .scenario
            .map(|name| Scenario::by_name(name).ok_or_else(|| unknown(name)))
            .transpose()?;
        let now = clock().as_nanos();
        let timeline =
            scenario.map_or_else(|| Timeline::walk(now), |one| Timeline::of_one(one, now));
        Self::with_timeline(timeline, options.seed, options.hosts, clock)
    }

    /// A fabric in which these scenes follow each other and begin anew after the last. It begins at the same instant as
    /// by [`Simulation::new`]; an empty course is a healthy fabric for ever.
    ///
    /// # Errors
    /// For a number of hosts out of range.
    pub fn of_course(
        course: &[Scene],
        seed: u64,
        hosts: usize,
        clock: Clock,
    ) -> Result<Self, SimulationError> {
        let timeline = Timeline::of_course(course, clock().as_nanos());
        Self::with_timeline(timeline, seed, hosts, clock)
    }

    fn with_timeline(
        timeline: Timeline,
        seed: u64,
        hosts: usize,
        clock: Clock,
    ) -> Result<Self, SimulationError> {
        if !(1..=MOST_HOSTS).contains(&hosts) {
            return Err(SimulationError::HostCount(hosts));
        }
        let fabric = Fabric::new(timeline, seed, hosts, clock());
        Ok(Self {
            fabric: Arc::new(Mutex::new(fabric)),
            clock,
            sleep: Arc::new(std::thread::sleep),
            hosts,
        })
    }

    /// The same with another way to wait for slow reads.
    #[must_use]
    pub fn with_sleep(self, sleep: Sleep) -> Self {
        Self { sleep, ..self }
    }

    /// The hosts to serve.
    #[must_use]
    pub fn hosts(&self) -> Vec<SimulatedHost> {
        (0..self.hosts).map(|index| SimulatedHost::new(self, index)).collect()
    }

    /// The switch, whose ports can be served as a host's.
    #[must_use]
    pub fn switch(&self) -> SimulatedSwitch {
        SimulatedSwitch::new(self)
    }

    /// The fabric itself, for its truth. All hosts share it.
    #[must_use]
    pub fn fabric(&self) -> Arc<Mutex<Fabric>> {
        Arc::clone(&self.fabric)
    }

    /// See [`Fabric::names_epoch`].
    #[must_use]
    pub fn names_epoch(&self) -> Arc<AtomicU64> {
        counter_set::lock(&self.fabric).names_epoch()
    }
}
