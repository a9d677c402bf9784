//! One host of the fabric behind the trait of all hosts.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use super::counter_set::{SimulatedCounters, lock, present};
use super::fabric::Fabric;
use super::view::{Side, View};
use super::{Clock, Simulation, Sleep};
use crate::model::{DeviceFacts, Feed, SourceKind};
use crate::source::{CounterSet, Discovery, FoundFeed, Host, SourceError};

/// The NICs of one host.
#[derive(Clone)]
pub struct SimulatedHost {
    fabric: Arc<Mutex<Fabric>>,
    clock: Clock,
    sleep: Sleep,
    index: usize,
}

impl SimulatedHost {
    pub(super) fn new(simulation: &Simulation, index: usize) -> Self {
        Self {
            fabric: Arc::clone(&simulation.fabric),
            clock: Arc::clone(&simulation.clock),
            sleep: Arc::clone(&simulation.sleep),
            index,
        }
    }

    /// Its number in the fabric, from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// What the switch calls it.
    #[must_use]
    pub fn name(&self) -> String {
        super::cast::host_name(self.index)
    }

    /// See [`Fabric::names_epoch`]. A reader looks at it before and after a read, since the fabric goes on
    /// within the read.
    #[must_use]
    pub fn names_epoch(&self) -> Arc<AtomicU64> {
        lock(&self.fabric).names_epoch()
    }

    fn present(&self) -> MutexGuard<'_, Fabric> {
        present(&self.fabric, &self.clock)
    }

    fn feed(view: &View, side: Side) -> Option<Feed> {
        let rdma_device = match side {
            Side::Ethtool => None,
            Side::Rdma => Some(Arc::clone(view.rdma_device()?)),
        };
        Some(Feed {
            device: Arc::clone(view.name()),
            port: rdma_device.as_ref().map(|_| 1),
            rdma_device,
            source: match side {
                Side::Ethtool => SourceKind::Ethtool,
                Side::Rdma => SourceKind::RdmaSysfs,
            },
        })
    }
}

/// The feeds of a NIC, with the driver that gives each.
fn feeds(view: &View) -> impl Iterator<Item = (Side, Feed, &'static str)> + '_ {
    let driver = view.member.driver;
    let sides = [(Side::Ethtool, Some(driver.name)), (Side::Rdma, driver.rdma_name)];
    sides
        .into_iter()
        .filter_map(move |(side, driver)| Some((side, SimulatedHost::feed(view, side)?, driver?)))
}

impl Host for SimulatedHost {
    fn discover(&self) -> Discovery {
        let fabric = self.present();
        let mut found = Discovery::default();
        let here = |view: &&View| view.member.nic.host == self.index && view.is_plugged();
        for (port, view) in fabric.views().iter().enumerate().filter(|(_, view)| here(view)) {
            let peer = Some(super::switch::peer_of_nic(port));
            found.devices.push(DeviceFacts { peer, ..view.facts() });
            found.feeds.extend(feeds(view).map(|(_, feed, driver)| FoundFeed {
                feed,
                incarnation: view.incarnation(),
                driver: driver.to_owned(),
            }));
        }
        found.devices.sort_by(|one, other| one.device.cmp(&other.device));
        found.feeds.sort_by(|one, other| one.feed.cmp(&other.feed));
        found
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let fabric = self.present();
        let views = fabric.views().iter().enumerate();
        let mut here = views
            .filter(|(_, view)| view.member.nic.host == self.index && view.is_plugged())
            .flat_map(|(port, view)| {
                feeds(view).map(move |(side, own, _)| (port, view, side, own))
            });
        let Some((port, view, side, _)) = here.find(|(_, _, _, own)| own == feed) else {
            let call = format!("open {} (simulated)", feed.device);
            return Err(SourceError::Kernel { call, errno: Errno::NODEV });
        };
        Ok(Box::new(SimulatedCounters {
            fabric: Arc::clone(&self.fabric),
            clock: Arc::clone(&self.clock),
            sleep: Arc::clone(&self.sleep),
            port,
            side,
            address: view.address(side),
            counters: Vec::new(),
            version: None,
        }))
    }

    fn names_epoch(&self, _feed: &Feed) -> Arc<AtomicU64> {
        Self::names_epoch(self)
    }
}
