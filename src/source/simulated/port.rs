//! A port of the switch with the NIC on it: what all its priorities share.

use super::lane::bytes_in;
use super::pause::{Edge, Pause};
use super::truth::{EdgeRing, PauseEdge, RdmaTruth};
use crate::model::{Direction, Monotonic, Priority};

/// Percent of the link that memory takes in when nothing is wrong: PCIe has some reserve.
const HEALTHY_DRAIN_PERCENT: u64 = 150;

/// The marking probability at the upper threshold.
const MARK_MAX_PPM: u64 = 50_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Seconds with more than this share of blocked time are counted, as mlx5 does.
const PCIE_STALL_PERCENT: u64 = 30;

/// What a port needs to know of its NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortSpec {
    pub(super) bits_per_second: u64,
    /// The NIC speaks `RoCE`.
    pub(super) roce: bool,
    /// After how long a pause the NIC's stall detector steps in; none where there is no such thing.
    pub(super) stall_timeout_ns: Option<u64>,
}

/// The shared part of a port and its NIC.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) spec: PortSpec,
    /// Bytes per second.
    pub(super) line: u64,
    /// Percent of the line that memory takes in; none when healthy.
    slow_drain: Option<u64>,
    /// Stalls of the receive side that go on now.
    stalls: u32,
    /// The NIC uses 802.3x pause instead of PFC.
    pub(super) link_pause_on: bool,
    pub(super) link_pause: Pause,
    /// Priorities with PFC at the switch's end, as a mask, where that differs from the NIC's.
    pub(super) switch_pfc: Option<u8>,
    /// Bytes per second that all uplinks want together.
    pub(super) uplink_demand: u64,
    /// Bytes per second that all downlinks want together.
    pub(super) downlink_demand: u64,
    /// A receive buffer is at XOFF.
    pub(super) buffer_full: bool,
    /// A receive buffer is above XON.
    pub(super) buffer_filled: bool,
    pub(super) rdma: RdmaTruth,
    pub(super) edges: EdgeRing,
    pub(super) buffer_alarms: u64,
    pub(super) stall_warnings: u64,
    pub(super) stall_errors: u64,
    pcie_parts: u64,
    pcie_parts_before: u64,
    pub(super) pcie_seconds: u64,
    pub(super) pcie_percent: u64,
}

impl Port {
    pub(super) fn new(spec: PortSpec) -> Self {
        Self {
            spec,
            line: spec.bits_per_second / 8,
            slow_drain: None,
            stalls: 0,
            link_pause_on: false,
            link_pause: Pause::new(spec.bits_per_second),
            switch_pfc: None,
            uplink_demand: 0,
            downlink_demand: 0,
            buffer_full: false,
            buffer_filled: false,
            rdma: RdmaTruth::default(),
            edges: EdgeRing::new(),
            buffer_alarms: 0,
            stall_warnings: 0,
            stall_errors: 0,
            pcie_parts: 0,
            pcie_parts_before: 0,
            pcie_seconds: 0,
            pcie_percent: 0,
        }
    }

    pub(super) const fn set_drain(&mut self, percent: Option<u64>) {
        self.slow_drain = percent;
    }

    /// One of the receive buffers stalls, or one does no longer.
    pub(super) const fn count_stall(&mut self, begins: bool) {
        self.stalls = if begins { self.stalls + 1 } else { self.stalls.saturating_sub(1) };
    }

    /// Bytes per second from a receive buffer that does not stall into memory.
    pub(super) fn drain(&self) -> u64 {
        self.line * self.drain_percent() / 100
    }

    fn drain_percent(&self) -> u64 {
        self.slow_drain.unwrap_or(HEALTHY_DRAIN_PERCENT)
    }

    fn blocked_percent(&self) -> u64 {
        if self.stalls > 0 { 100 } else { 100_u64.saturating_sub(self.drain_percent()) }
    }

    /// The marking probability of a queue towards this port, in parts per million.
    pub(super) const fn marking_ppm(&self, queue: u64) -> u64 {
        let lower = bytes_in(self.line, 8_000);
        let upper = bytes_in(self.line, 32_000);
        if queue <= lower {
            0
        } else if queue >= upper {
            super::flow::PPM
        } else {
            (queue - lower) * MARK_MAX_PPM / (upper - lower)
        }
    }

    /// Lets `dt` nanoseconds pass over the way into memory.
    pub(super) fn elapse(&mut self, from: u64, to: u64) {
        self.pcie_parts += (to - from) * self.blocked_percent();
        self.link_pause.elapse(from, to);
    }

    /// Nanoseconds in which the way into memory was blocked.
    pub(super) const fn pcie_stalled_ns(&self) -> u64 {
        self.pcie_parts / 100
    }

    /// Closes a second of the PCIe counters.
    pub(super) const fn close_second(&mut self) {
        self.pcie_percent = (self.pcie_parts - self.pcie_parts_before) / SECOND_NS;
        self.pcie_parts_before = self.pcie_parts;
        if self.pcie_percent > PCIE_STALL_PERCENT {
            self.pcie_seconds += 1;
        }
    }

    /// Keeps an edge.
    pub(super) fn note(
        &mut self,
        edge: Option<Edge>,
        now: u64,
        priority: Option<Priority>,
        direction: Direction,
    ) {
        if let Some(edge) = edge {
            let at = Monotonic::from_nanos(now);
            self.edges.push(PauseEdge { at, priority, direction, paused: edge == Edge::Began });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> Port {
        Port::new(PortSpec { bits_per_second: 100_000_000_000, roce: true, stall_timeout_ns: None })
    }

    #[test]
    fn marking_starts_at_the_lower_threshold_and_is_certain_above_the_upper() {
        let port = port();
        assert_eq!(port.marking_ppm(100_000), 0);
        assert_eq!(port.marking_ppm(250_000), MARK_MAX_PPM / 2);
        assert_eq!(port.marking_ppm(400_000), super::super::flow::PPM);
    }

    #[test]
    fn a_stall_counts_as_blocked_and_makes_a_stalled_second() {
        let mut port = port();
        port.count_stall(true);
        port.elapse(0, 400_000_000);
        port.count_stall(false);
        port.elapse(400_000_000, 1_000_000_000);
        port.close_second();
        assert_eq!(port.pcie_stalled_ns(), 400_000_000);
        assert_eq!((port.pcie_percent, port.pcie_seconds), (40, 1));
    }
}
