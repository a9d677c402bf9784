//! The switch of the fabric behind the trait of all hosts: a switch that runs Linux, whose ports are netdevs.
//!
//! Its port `swpN` is the other end of the N-th NIC's cable, so its figures are the NIC's, seen from the other
//! side. Nothing goes wrong with reading it, and it has no RDMA.

use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::cast::{SWITCH, port_name};
use super::counter_set::present;
use super::drivers::{Counter, MLXSW, Presence, expand, show};
use super::fabric::Fabric;
use super::{Clock, Simulation};
use crate::model::{
    BitsPerSecond, Dcb, DeviceFacts, Ets, Feed, LinkFacts, LinkPause, LinkPeer, PeerSource, Pfc,
    PortName, PortSettings, Reading, Reason, SourceKind, Trust,
};
use crate::source::{CounterSet, Discovery, FoundFeed, Host, SourceError};

/// Interface indices of switch ports, apart from those of NICs.
const FIRST_IFINDEX: u32 = 1_000;

/// The ports of the switch.
#[derive(Clone)]
pub struct SimulatedSwitch {
    fabric: Arc<Mutex<Fabric>>,
    clock: Clock,
}

impl SimulatedSwitch {
    pub(super) fn new(simulation: &Simulation) -> Self {
        Self { fabric: Arc::clone(&simulation.fabric), clock: Arc::clone(&simulation.clock) }
    }

    /// What its hosts call it.
    #[must_use]
    pub const fn name() -> &'static str {
        SWITCH
    }
}

impl Host for SimulatedSwitch {
    fn discover(&self) -> Discovery {
        let fabric = present(&self.fabric, &self.clock);
        let mut found = Discovery::default();
        for port in 0..fabric.views().len() {
            let Some(facts) = facts(&fabric, port) else { continue };
            found.feeds.push(FoundFeed {
                feed: feed(port),
                incarnation: facts.incarnation,
                driver: facts.driver.clone(),
            });
            found.devices.push(facts);
        }
        found.devices.sort_by(|one, other| one.device.cmp(&other.device));
        found.feeds.sort_by(|one, other| one.feed.cmp(&other.feed));
        found
    }

    fn open(&self, wanted: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let ports = present(&self.fabric, &self.clock).views().len();
        let Some(port) = (0..ports).find(|port| feed(*port) == *wanted) else {
            let call = format!("open {} (simulated)", wanted.device);
            return Err(SourceError::Kernel { call, errno: Errno::NODEV });
        };
        let (fabric, clock) = (Arc::clone(&self.fabric), Arc::clone(&self.clock));
        Ok(Box::new(PortCounters { fabric, clock, port, counters: Vec::new() }))
    }
}

fn feed(port: usize) -> Feed {
    Feed {
        device: port_name(port).into(),
        rdma_device: None,
        port: None,
        source: SourceKind::Ethtool,
    }
}

fn facts(fabric: &Fabric, port: usize) -> Option<DeviceFacts> {
    let view = fabric.views().get(port)?;
    let enabled = fabric.switch_pfc(port);
    let traffic_class = MLXSW.traffic_classes;
    let peer = PortName { host: view.member.host_name().into(), device: Arc::clone(view.name()) };
    Some(DeviceFacts {
        device: port_name(port).into(),
        incarnation: u32::try_from(port).ok()?.saturating_add(FIRST_IFINDEX),
        driver: MLXSW.name.to_owned(),
        firmware: "30.2012.1012".to_owned(),
        link: LinkFacts {
            up: Some(view.is_plugged()),
            speed: Some(BitsPerSecond(view.member.bits_per_second)),
            lossless: Some(enabled),
            traffic_class: Some(traffic_class),
        },
        settings: PortSettings {
            dcb: Some(Dcb {
                pfc: Some(Pfc { capability: 8, enabled, ..Pfc::default() }),
                ets: Some(Ets { traffic_class, ..Ets::default() }),
                dscp: view.facts().settings.dcb.and_then(|dcb| dcb.dscp),
                ..Dcb::default()
            }),
            trust: Some(Trust::Dscp),
            link_pause: Some(LinkPause { negotiated: false, rx: false, tx: false }),
            mtu_bytes: Some(super::view::MTU_BYTES),
            ..PortSettings::default()
        },
        peer: Some(LinkPeer { port: peer, source: PeerSource::Simulation }),
        ..DeviceFacts::default()
    })
}

/// The statistics of a port.
struct PortCounters {
    fabric: Arc<Mutex<Fabric>>,
    clock: Clock,
    port: usize,
    counters: Vec<Counter>,
}

impl CounterSet for PortCounters {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let presence = Presence { pfc: [false; 8], link_pause: false };
        let (names, counters) = expand(MLXSW.ethtool, presence);
        self.counters = counters;
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let truth = present(&self.fabric, &self.clock).switch_truth(self.port);
        for (position, reading) in wanted.iter().zip(readings) {
            let counter = usize::try_from(*position).ok().and_then(|at| self.counters.get(at));
            *reading = counter.map_or(Reading::Missing(Reason::Invalid), |counter| {
                let value = show(counter.shown, counter.number, &truth, MLXSW.traffic_classes);
                Reading::Value(value)
            });
        }
        Ok(())
    }
}

/// The port of the switch that a NIC hangs on.
pub(super) fn peer_of_nic(port: usize) -> LinkPeer {
    let port = PortName { host: SWITCH.into(), device: port_name(port).into() };
    LinkPeer { port, source: PeerSource::Simulation }
}
