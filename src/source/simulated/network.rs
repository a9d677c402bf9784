//! The switch and the NICs on it: buffers, queues, flows and the levers that a scenario pulls.
//!
//! A fluid model: rates are constant during a step, and what crosses a threshold ends the step. It
//! refuses single packets, propagation delays and a second switch.

use super::flow::Flow;
use super::lane::{Downlink, Uplink};
use super::pause::Obedience;
use super::port::{Port, PortSpec};
use super::truth::{Balance, CNP_BYTES, NicTruth, PauseTruth, PriorityTruth};
use crate::model::{Direction, Priority};

/// Priority on which CNPs travel.
const CNP_PRIORITY: Priority = Priority::ALL[6];

/// Switch, NICs and everything between them.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) now: u64,
    pub(super) ports: Vec<Port>,
    /// By port and priority, see [`lane_of`].
    pub(super) uplinks: Vec<Uplink>,
    /// By port and priority, see [`lane_of`].
    pub(super) downlinks: Vec<Downlink>,
    /// Lanes with anything to do; the rest is skipped.
    pub(super) active_uplinks: Vec<usize>,
    pub(super) active_downlinks: Vec<usize>,
    pub(super) levers: Levers,
    /// Something waits or is paused.
    pub(super) busy: bool,
    /// Nothing is about to wait, at the present rates.
    pub(super) steady: bool,
    /// The rates hold until something changes.
    pub(super) rates_hold: bool,
    /// Simulated time that may still be spent on short steps, in nanoseconds.
    pub(super) short_credit: u64,
}

/// What a scenario can change at the switch as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levers {
    /// The switch marks.
    pub(super) marking: bool,
    /// CNPs arrive at the senders.
    pub(super) cnp_delivery: bool,
    /// The switches behind this one hold each other: nothing lossless leaves.
    pub(super) stuck: bool,
}

impl Default for Levers {
    fn default() -> Self {
        Self { marking: true, cnp_delivery: true, stuck: false }
    }
}

/// The lane of a priority of a port.
pub(super) const fn lane_of(port: usize, priority: Priority) -> usize {
    port * Priority::COUNT + priority.position()
}

/// The priority of a lane.
pub(super) fn priority_of(lane: usize) -> Option<Priority> {
    Priority::ALL.get(lane % Priority::COUNT).copied()
}

impl Network {
    pub(super) fn new(specs: &[PortSpec]) -> Self {
        let lanes = specs.len() * Priority::COUNT;
        let mut uplinks = Vec::with_capacity(lanes);
        let mut downlinks = Vec::with_capacity(lanes);
        for (port, spec) in specs.iter().enumerate() {
            for _ in Priority::ALL {
                uplinks.push(Uplink::new(port, spec.bits_per_second));
                downlinks.push(Downlink::new(port, spec.bits_per_second));
            }
        }
        Self {
            now: 0,
            ports: specs.iter().copied().map(Port::new).collect(),
            uplinks,
            downlinks,
            active_uplinks: Vec::with_capacity(lanes),
            active_downlinks: Vec::with_capacity(lanes),
            levers: Levers::default(),
            busy: false,
            steady: true,
            rates_hold: false,
            short_credit: 0,
        }
    }

    /// Turns PFC on or off for a priority, at both ends of a port's link.
    pub(super) fn set_pfc(&mut self, port: usize, priority: Priority, on: bool) {
        self.set_uplink_pfc(port, priority, on);
        self.set_downlink_pfc(port, priority, on);
    }

    /// Whether the switch pauses a port's NIC on a priority.
    pub(super) fn set_uplink_pfc(&mut self, port: usize, priority: Priority, on: bool) {
        if let Some(uplink) = self.uplinks.get_mut(lane_of(port, priority)) {
            uplink.lossless = on;
        }
    }

    /// Whether a port's NIC pauses the switch on a priority.
    pub(super) fn set_downlink_pfc(&mut self, port: usize, priority: Priority, on: bool) {
        if let Some(downlink) = self.downlinks.get_mut(lane_of(port, priority)) {
            downlink.lossless = on;
        }
    }

    /// How the switch answers the pause of a port's NIC. The NIC obeys at once.
    pub(super) fn set_obedience(&mut self, port: usize, obedience: Obedience) {
        for priority in Priority::ALL {
            self.set_lane_obedience(port, priority, (obedience, Obedience::AtOnce));
        }
    }

    /// How each end of a port's link answers the other's pause on one priority.
    pub(super) fn set_lane_obedience(
        &mut self,
        port: usize,
        priority: Priority,
        (of_switch, of_nic): (Obedience, Obedience),
    ) {
        let lane = lane_of(port, priority);
        if let Some(downlink) = self.downlinks.get_mut(lane) {
            downlink.pause.set_obedience(of_switch);
        }
        if let Some(uplink) = self.uplinks.get_mut(lane) {
            uplink.pause.set_obedience(of_nic);
        }
    }

    /// The receive side of a lane stalls, or does no longer.
    pub(super) fn count_stall(&mut self, lane: usize, begins: bool) {
        let Some(downlink) = self.downlinks.get_mut(lane) else { return };
        downlink.stalls =
            if begins { downlink.stalls + 1 } else { downlink.stalls.saturating_sub(1) };
        if let Some(port) = self.ports.get_mut(downlink.port) {
            port.count_stall(begins);
        }
    }

    /// Silences all flows, before the loads are laid on again.
    pub(super) fn clear_offers(&mut self) {
        let downlinks = self.downlinks.iter_mut();
        for flow in downlinks.flat_map(|downlink| downlink.flows.all_mut()) {
            flow.offered_rate = 0;
        }
    }

    /// Adds bytes per second to what `from` sends to `to`.
    pub(super) fn add_offer(&mut self, from: usize, to: usize, priority: Priority, rate: u64) {
        let (Some(sender), Some(receiver)) = (self.ports.get(from), self.ports.get(to)) else {
            return;
        };
        let uplink = lane_of(from, priority);
        // Priority 0 is the kernel's own traffic: no RDMA.
        let roce = sender.spec.roce && receiver.spec.roce && priority.number() != 0;
        let new = || Flow::new(from, uplink, sender.line, roce);
        let Some(downlink) = self.downlinks.get_mut(lane_of(to, priority)) else { return };
        if let Some(flow) = downlink.flows.of_sender(from, new) {
            flow.offered_rate += rate;
        }
    }

    /// Finds the lanes with anything to do. After every change of loads or levers.
    pub(super) fn find_active(&mut self) {
        self.active_downlinks.clear();
        self.active_uplinks.clear();
        for (lane, downlink) in self.downlinks.iter_mut().enumerate() {
            downlink.flows.sort();
            if downlink.is_active() {
                self.active_downlinks.push(lane);
            }
        }
        for lane in 0..self.uplinks.len() {
            if self.is_uplink_active(lane) {
                self.active_uplinks.push(lane);
            }
        }
    }

    fn is_uplink_active(&self, lane: usize) -> bool {
        let waiting =
            self.uplinks.get(lane).is_some_and(|uplink| uplink.fill > 0 || uplink.pause.is_asked());
        waiting
            || self
                .active_downlinks
                .iter()
                .filter_map(|downlink| self.downlinks.get(*downlink))
                .flat_map(|downlink| downlink.flows.busy())
                .any(|flow| flow.uplink == lane)
    }

    /// What really happened at a port's NIC.
    pub(super) fn truth(&self, port: usize) -> NicTruth {
        let Some(shared) = self.ports.get(port) else { return NicTruth::default() };
        let mut truth = NicTruth {
            link_tx: shared.link_pause.at_asker(),
            rdma: shared.rdma,
            buffer_alarms: shared.buffer_alarms,
            stall_warnings: shared.stall_warnings,
            stall_errors: shared.stall_errors,
            pcie_stalled_ns: shared.pcie_stalled_ns(),
            pcie_stalled_seconds: shared.pcie_seconds,
            pcie_stalled_percent: shared.pcie_percent,
            ..NicTruth::default()
        };
        let first = lane_of(port, Priority::ALL[0]);
        let lanes = first..first + Priority::COUNT;
        let uplinks = self.uplinks.get(lanes.clone()).unwrap_or_default();
        let downlinks = self.downlinks.get(lanes).unwrap_or_default();
        for ((figures, uplink), downlink) in truth.priorities.iter_mut().zip(uplinks).zip(downlinks)
        {
            *figures = PriorityTruth {
                tx: downlink.pause.at_asker(),
                rx: uplink.pause.at_held(),
                peer_held_ns: downlink.pause.at_held().paused_ns,
                tx_bytes: uplink.sent,
                rx_bytes: downlink.arrived,
                discarded_bytes: downlink.discarded,
            };
        }
        if let Some(cnps) = truth.priorities.get_mut(CNP_PRIORITY.position()) {
            cnps.tx_bytes += shared.rdma.cnp_sent * CNP_BYTES;
            cnps.rx_bytes += shared.rdma.cnp_handled * CNP_BYTES;
        }
        truth
    }

    /// What really happened at the switch's end of a port's link.
    pub(super) fn switch_truth(&self, port: usize) -> NicTruth {
        let nic = self.truth(port);
        let mut truth = NicTruth {
            link_rx: self.ports.get(port).map(|port| port.link_pause.at_held()).unwrap_or_default(),
            ..NicTruth::default()
        };
        let first = lane_of(port, Priority::ALL[0]);
        let lanes = first..first + Priority::COUNT;
        let uplinks = self.uplinks.get(lanes.clone()).unwrap_or_default();
        let downlinks = self.downlinks.get(lanes).unwrap_or_default();
        let ends = uplinks.iter().zip(downlinks).zip(&nic.priorities);
        for (figures, ((uplink, downlink), nic)) in truth.priorities.iter_mut().zip(ends) {
            *figures = PriorityTruth {
                tx: uplink.pause.at_asker(),
                rx: downlink.pause.at_held(),
                peer_held_ns: uplink.pause.at_held().paused_ns,
                tx_bytes: nic.rx_bytes,
                rx_bytes: nic.tx_bytes,
                discarded_bytes: 0,
            };
        }
        truth
    }

    /// What the switch felt of a NIC's pause on one priority.
    pub(super) fn switch_held(&self, port: usize, priority: Priority) -> PauseTruth {
        let downlink = self.downlinks.get(lane_of(port, priority));
        downlink.map(|downlink| downlink.pause.at_held()).unwrap_or_default()
    }

    /// Where all bytes are.
    pub(super) fn balance(&self) -> Balance {
        let mut balance = Balance::default();
        for downlink in &self.downlinks {
            balance.delivered += downlink.delivered;
            balance.queued += downlink.fill;
            balance.dropped += downlink.discarded;
            for flow in downlink.flows.all() {
                balance.offered += flow.offered;
                balance.queued += flow.backlog + flow.in_switch;
                balance.dropped += flow.dropped;
            }
        }
        balance
    }

    /// Ends the pauses of priorities that are no longer lossless, and of NICs that changed their mode.
    pub(super) fn withdraw_pauses(&mut self) {
        let now = self.now;
        for (lane, uplink) in self.uplinks.iter_mut().enumerate() {
            if !uplink.lossless
                && uplink.pause.release().is_some()
                && let Some(port) = self.ports.get_mut(uplink.port)
            {
                let edge = uplink.pause.settle(now);
                port.note(edge, now, priority_of(lane), Direction::Rx);
            }
        }
        for (lane, downlink) in self.downlinks.iter_mut().enumerate() {
            let Some(port) = self.ports.get_mut(downlink.port) else { continue };
            if !downlink.lossless || port.link_pause_on {
                let edge = downlink.pause.release();
                downlink.pause.settle(now);
                port.note(edge, now, priority_of(lane), Direction::Tx);
            }
        }
        for port in self.ports.iter_mut().filter(|port| !port.link_pause_on) {
            let edge = port.link_pause.release();
            port.link_pause.settle(now);
            port.note(edge, now, None, Direction::Tx);
        }
    }
}
