//! The same fabric once more, in the test: what a program that shows it must show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roce_exporter::model::{Direction, Monotonic, Priority};
use roce_exporter::source::Host;
use roce_exporter::source::simulated::{SimulatedHost, Simulation, SimulationOptions};

use crate::course::{Course, NicCourse};

/// Of all chance.
pub const SEED: u64 = 7;

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MILLISECOND;
/// How often edges are taken from the fabric's rings, which are short.
const STEP: u64 = 25 * MILLISECOND;
/// The least hold that may be called a storm.
const LEAST_HOLD: u64 = 190 * MILLISECOND;
/// A hold that may not be missed by a program that kept its deadlines for some of it.
const LONG_HOLD: u64 = 3 * SECOND;
/// Breaks of a hold that are none at any interval; and breaks of which the engine may think so.
const BREAK: u64 = MILLISECOND / 5;
const LONGEST_BREAK: u64 = 10 * MILLISECOND;

/// A fabric that starts at zero.
pub struct Twin {
    clock: Arc<AtomicU64>,
    simulation: Simulation,
    hosts: Vec<HostCourse>,
}

/// What happens to the NICs of a host.
pub struct HostCourse {
    place: usize,
    host: SimulatedHost,
    /// Driver and course of each NIC, in their places.
    nics: Vec<(String, NicCourse)>,
    /// The place of a PCI address, which no rename changes.
    places: BTreeMap<String, usize>,
    /// From when on which places had which names.
    names: Vec<(u64, BTreeMap<String, usize>)>,
}

impl Twin {
    pub fn new(scenario: Option<&str>, hosts: usize) -> Self {
        let clock = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&clock);
        let options = SimulationOptions { scenario, seed: SEED, hosts };
        let simulation = Simulation::new(
            options,
            Arc::new(move || Monotonic::from_nanos(told.load(Ordering::Relaxed))),
        );
        let simulation = simulation.unwrap();
        let hosts = simulation.hosts().into_iter().enumerate().map(HostCourse::new).collect();
        Self { clock, simulation, hosts }
    }

    pub fn hosts(&self) -> &[HostCourse] {
        &self.hosts
    }

    /// Goes on until `time`.
    pub fn advance(&mut self, time: u64) {
        while self.clock.load(Ordering::Relaxed) < time {
            let now = self.clock.fetch_add(STEP, Ordering::Relaxed) + STEP;
            for (index, own) in self.hosts.iter_mut().enumerate() {
                // This also carries the fabric on to its clock.
                own.note_names(now);
                let fabric = self.simulation.fabric();
                let fabric = fabric.lock().unwrap();
                for (place, (_, course)) in own.nics.iter_mut().enumerate() {
                    course.take(fabric.edges(index, place).unwrap());
                }
            }
        }
    }
}

impl HostCourse {
    fn new((place, host): (usize, SimulatedHost)) -> Self {
        let found = host.discover().devices;
        let addresses = found.iter().map(|facts| facts.pci_address.clone());
        let places = addresses.zip(0..).collect();
        let nics = found.into_iter().map(|facts| (facts.driver, NicCourse::default())).collect();
        let mut own = Self { place, host, nics, places, names: Vec::new() };
        own.note_names(0);
        own
    }

    /// Which of the hosts it is.
    pub const fn place(&self) -> usize {
        self.place
    }

    fn note_names(&mut self, now: u64) {
        let found = self.host.discover().devices.into_iter();
        let placed = found.map(|facts| (facts.device.to_string(), self.places[&facts.pci_address]));
        let names: BTreeMap<_, _> = placed.collect();
        if self.names.last().is_none_or(|(_, last)| *last != names) {
            self.names.push((now, names));
        }
    }

    /// The names that a device had at any time between two, and those that it had all the time.
    pub fn names(&self, from: u64, to: u64) -> (BTreeSet<String>, BTreeSet<String>) {
        let begun = self.names.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let sets = self.names[begun..].iter().take_while(|(at, _)| *at <= to);
        let mut sets = sets.map(|(_, names)| names.keys().cloned().collect::<BTreeSet<_>>());
        let first = sets.next().unwrap();
        sets.fold((first.clone(), first), |(any, all), names| (&any | &names, &all & &names))
    }

    /// Driver and course of the NIC that has this name, by the last look.
    pub fn nic(&self, device: &str) -> Option<(&str, &NicCourse)> {
        let named = self.names.iter().rev().find_map(|(_, names)| names.get(device));
        named.map(|place| (self.nics[*place].0.as_str(), &self.nics[*place].1))
    }
}

/// The least and the greatest number of storms that may have been counted of a lane by an instant between two. `seen`
/// says of two instants whether what was between them had to be seen.
pub fn storms(
    (driver, nic): (&str, &NicCourse),
    (priority, direction): (Priority, Direction),
    (from, to): (u64, u64),
    seen: &dyn Fn(u64, u64) -> bool,
) -> (usize, usize) {
    let lane = nic.lane(priority, direction);
    let long = lane
        .joined(BREAK, 4, to)
        .into_iter()
        .filter(|hold| hold.from < from && hold.to.min(from) - hold.from >= LONG_HOLD)
        .filter(|hold| seen(hold.from, hold.to.min(from)));
    let mut certain = 0;
    let mut last = None;
    for hold in long {
        // Two that are close may be one.
        certain += usize::from(last.is_none_or(|last| hold.from > last + LONG_HOLD));
        last = Some(hold.to);
    }
    let of = |lane: &Course| {
        let holds = lane.joined(LONGEST_BREAK, 4, to);
        holds.iter().filter(|hold| hold.length() >= LEAST_HOLD).count()
    };
    // What these drivers count is of a traffic class.
    let possible = match driver {
        "ice" => Priority::ALL.iter().map(|own| of(nic.lane(*own, direction))).sum(),
        _ => of(lane),
    };
    (certain, possible)
}
