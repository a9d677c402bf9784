//! What really happened, exactly: the yardstick for everything that is shown or computed from it.
//!
//! Times are whole nanoseconds and volumes whole bytes, so the integrals do not drift. Nothing here is
//! rounded to a driver's units; that is done where a driver's counters are shown.

use std::collections::VecDeque;

use crate::model::{Direction, Monotonic, Priority};

/// Bytes of a CNP on the wire, with Ethernet, IP and UDP headers.
pub const CNP_BYTES: u64 = 94;

/// How many pause edges are kept per NIC; the oldest go first.
pub const EDGES_KEPT: usize = 4096;

/// One direction of pausing, of one priority or of a whole link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseTruth {
    /// Nanoseconds paused.
    pub paused_ns: u64,
    /// Frames that pause: the first of each pause and each refresh of its quanta.
    pub xoff_frames: u64,
    /// Frames that release.
    pub xon_frames: u64,
    /// Edges into the paused state.
    pub starts: u64,
    /// Edges out of the paused state.
    pub ends: u64,
}

impl PauseTruth {
    /// XOFF and XON together.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.xoff_frames + self.xon_frames
    }

    /// Edges of both kinds.
    #[must_use]
    pub const fn edges(&self) -> u64 {
        self.starts + self.ends
    }
}

/// One priority of a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriorityTruth {
    /// Pause that this NIC asked for: the time in which it wanted its peer to stop.
    pub tx: PauseTruth,
    /// Pause that this NIC obeyed: the time in which its own sending was held.
    pub rx: PauseTruth,
    /// Nanoseconds in which the peer really held back for this NIC. Less than `tx.paused_ns` when the
    /// peer obeys late or never.
    pub peer_held_ns: u64,
    /// Bytes sent on the wire.
    pub tx_bytes: u64,
    /// Bytes that arrived on the wire.
    pub rx_bytes: u64,
    /// Bytes dropped on arrival since the receive buffer was full.
    pub discarded_bytes: u64,
}

impl PriorityTruth {
    /// The figures of one direction.
    #[must_use]
    pub const fn pause(&self, direction: Direction) -> &PauseTruth {
        match direction {
            Direction::Tx => &self.tx,
            Direction::Rx => &self.rx,
        }
    }

    /// Bytes on the wire in one direction.
    #[must_use]
    pub const fn bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Tx => self.tx_bytes,
            Direction::Rx => self.rx_bytes,
        }
    }
}

/// The RDMA side of a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaTruth {
    /// `RoCE` packets that arrived CE marked (NP).
    pub ecn_marked: u64,
    /// CNPs sent (NP).
    pub cnp_sent: u64,
    /// CNPs that arrived and slowed a sender down (RP).
    pub cnp_handled: u64,
    /// `RoCE` bytes sent.
    pub tx_bytes: u64,
    /// `RoCE` bytes that arrived.
    pub rx_bytes: u64,
    /// Gaps seen by the responder.
    pub out_of_sequence: u64,
    /// Sequence error NAKs that the requester got.
    pub sequence_naks: u64,
    /// ACK timers of the requester that ran out.
    pub timeouts: u64,
    /// `RoCE` bytes dropped on arrival.
    pub discarded_bytes: u64,
}

/// Everything about one NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicTruth {
    /// By [`Priority::position`].
    pub priorities: [PriorityTruth; Priority::COUNT],
    /// 802.3x pause that this NIC asked for.
    pub link_tx: PauseTruth,
    /// 802.3x pause that arrived here. Only NICs send it in this fabric, so only switch ports get it.
    pub link_rx: PauseTruth,
    /// The RDMA side.
    pub rdma: RdmaTruth,
    /// How often the receive buffer passed 85 % of its size.
    pub buffer_alarms: u64,
    /// The stall detector's warnings.
    pub stall_warnings: u64,
    /// The stall detector's errors: pausing was switched off.
    pub stall_errors: u64,
    /// Nanoseconds in which the way into host memory was blocked, weighted by how much of it was.
    pub pcie_stalled_ns: u64,
    /// Whole seconds in which it was blocked for more than 30 %.
    pub pcie_stalled_seconds: u64,
    /// Percent of the last whole second in which it was blocked.
    pub pcie_stalled_percent: u64,
}

impl NicTruth {
    /// The figures of one priority.
    #[must_use]
    pub fn priority(&self, priority: Priority) -> PriorityTruth {
        self.priorities.get(priority.position()).copied().unwrap_or_default()
    }
}

/// An edge of a pause state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseEdge {
    /// When.
    pub at: Monotonic,
    /// Which priority; none for 802.3x pause.
    pub priority: Option<Priority>,
    /// `Tx`: the NIC asked. `Rx`: the NIC was held.
    pub direction: Direction,
    /// Whether the pause began.
    pub paused: bool,
}

/// The last [`EDGES_KEPT`] edges of a NIC.
#[derive(Clone, Debug)]
pub struct EdgeRing {
    edges: VecDeque<PauseEdge>,
    count: u64,
}

impl EdgeRing {
    pub(super) fn new() -> Self {
        Self { edges: VecDeque::with_capacity(EDGES_KEPT), count: 0 }
    }

    pub(super) fn push(&mut self, edge: PauseEdge) {
        if self.edges.len() == EDGES_KEPT {
            self.edges.pop_front();
        }
        self.edges.push_back(edge);
        self.count += 1;
    }

    /// All edges that there have been, forgotten ones included.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// What came after the first `seen` edges, oldest first. Some is missing when more than [`EDGES_KEPT`] did.
    pub fn since(&self, seen: u64) -> impl Iterator<Item = &PauseEdge> {
        let new = usize::try_from(self.count.saturating_sub(seen)).unwrap_or(usize::MAX);
        self.edges.range(self.edges.len().saturating_sub(new)..)
    }

    /// Oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &PauseEdge> {
        self.edges.iter()
    }
}

/// Where all bytes are that applications handed to the NICs:
/// `offered == delivered + queued + dropped` at any instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Handed to a NIC.
    pub offered: u64,
    /// In the receiver's memory.
    pub delivered: u64,
    /// In a sender's queue, the switch or a receive buffer.
    pub queued: u64,
    /// Dropped by the switch or on arrival.
    pub dropped: u64,
}

/// Bytes of a typical packet on the wire: jumbo `RoCE` on the priorities that carry it, a CNP on 6,
/// ordinary traffic elsewhere. Packet counts are byte counts divided by it.
#[must_use]
pub const fn packet_bytes(priority: Priority) -> u64 {
    match priority.number() {
        3..=5 => ROCE_PACKET_BYTES,
        6 => CNP_BYTES,
        _ => 1514,
    }
}

/// A `RoCE` packet at an RDMA MTU of 4096.
pub const ROCE_PACKET_BYTES: u64 = 4154;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_forgets_the_oldest_edges() {
        let mut ring = EdgeRing::new();
        for nanos in 0..u64::try_from(EDGES_KEPT).unwrap() + 3 {
            ring.push(PauseEdge {
                at: Monotonic::from_nanos(nanos),
                priority: None,
                direction: Direction::Tx,
                paused: true,
            });
        }
        assert_eq!(ring.iter().count(), EDGES_KEPT);
        assert_eq!(ring.iter().next().unwrap().at, Monotonic::from_nanos(3));
        let last = ring.count();
        assert_eq!(ring.since(last).count(), 0);
        assert_eq!(ring.since(last - 2).next().unwrap().at, Monotonic::from_nanos(last - 2));
        assert_eq!(ring.since(0).count(), EDGES_KEPT, "three are forgotten");
    }
}
