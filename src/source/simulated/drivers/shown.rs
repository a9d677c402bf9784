//! What a single counter shows of the truth.

use super::super::truth::{NicTruth, PauseTruth, ROCE_PACKET_BYTES, packet_bytes};
use super::CHANNELS;
use crate::model::{Direction, Priority};

/// Bytes of a typical RDMA write.
const MESSAGE_BYTES: u64 = 1 << 20;

/// What a counter counts. Per priority where its row repeats per priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Shown {
    /// Nothing ever happens here.
    Nothing,
    /// Bytes of the priority.
    Bytes(Direction),
    /// Packets of the priority.
    Packets(Direction),
    /// Packets of the priority dropped on arrival.
    Discards,
    /// Bytes of the priority dropped on arrival.
    DiscardedBytes,
    /// XOFF and XON of the priority.
    PauseFrames(Direction),
    /// Microseconds paused.
    PauseMicros(Direction),
    /// XON to XOFF edges.
    PauseStarts(Direction),
    /// XOFF to XON edges.
    PauseEnds(Direction),
    /// Edges of both kinds.
    PauseEdges(Direction),
    /// XOFF of all priorities of the traffic class.
    ClassXoff(Direction),
    /// XON of all priorities of the traffic class.
    ClassXon(Direction),
    /// XOFF of the priority.
    Xoff(Direction),
    /// XON of the priority.
    Xon(Direction),
    /// PFC frames of all priorities.
    PfcFrames(Direction),
    /// 802.3x frames.
    LinkPauseFrames(Direction),
    /// 802.3x XOFF.
    LinkXoff(Direction),
    /// 802.3x XON.
    LinkXon(Direction),
    /// Microseconds paused by 802.3x.
    LinkPauseMicros(Direction),
    /// 802.3x XOFF to XON edges.
    LinkPauseEnds(Direction),
    /// All pause opcodes at the MAC, PFC included.
    MacPause(Direction),
    /// Bytes of the port.
    PortBytes(Direction),
    /// Packets of the port.
    PortPackets(Direction),
    /// Packets of the port dropped on arrival.
    PortDiscards,
    /// Bytes of the kernel's own traffic.
    StackBytes(Direction),
    /// Packets of the kernel's own traffic.
    StackPackets(Direction),
    /// A channel's share of them.
    ChannelBytes(Direction),
    /// A channel's share of them.
    ChannelPackets(Direction),
    /// `RoCE` bytes.
    RdmaBytes(Direction),
    /// `RoCE` packets.
    RdmaPackets(Direction),
    /// `RoCE` packets dropped on arrival.
    RdmaDiscards,
    /// RDMA writes of a typical size.
    RdmaWrites(Direction),
    /// Receive buffer alarms.
    BufferAlarms,
    /// Stall detector: warnings.
    StallWarnings,
    /// Stall detector: errors.
    StallErrors,
    /// Percent of the last second in which PCIe was blocked; goes both ways.
    PciePercent,
    /// Seconds in which PCIe was blocked for more than 30 %.
    PcieSeconds,
    /// CE marked packets that arrived.
    EcnMarked,
    /// CNPs sent.
    CnpSent,
    /// CNPs that arrived, all of which slow a sender here.
    CnpReceived,
    /// Gaps seen by the responder.
    OutOfSequence,
    /// NAKs that the requester got.
    SequenceNaks,
    /// ACK timers that ran out.
    Timeouts,
}

impl Shown {
    /// Whether the value is a state of the moment, which a reset does not clear and no width wraps.
    pub(in super::super) const fn is_gauge(self) -> bool {
        matches!(self, Self::PciePercent)
    }
}

/// The value of a counter before its width is applied.
pub(in super::super) fn show(
    shown: Shown,
    number: u8,
    truth: &NicTruth,
    traffic_classes: [u8; Priority::COUNT],
) -> u64 {
    let priority = Priority::new(number).unwrap_or(Priority::ALL[0]);
    let one = truth.priority(priority);
    match shown {
        Shown::Nothing => 0,
        Shown::Bytes(direction) => one.bytes(direction),
        Shown::Packets(direction) => one.bytes(direction) / packet_bytes(priority),
        Shown::Discards => one.discarded_bytes.div_ceil(packet_bytes(priority)),
        Shown::DiscardedBytes => one.discarded_bytes,
        Shown::PauseFrames(direction) => one.pause(direction).frames(),
        Shown::PauseMicros(direction) => one.pause(direction).paused_ns / 1_000,
        Shown::PauseStarts(direction) => one.pause(direction).starts,
        Shown::PauseEnds(direction) => one.pause(direction).ends,
        Shown::PauseEdges(direction) => one.pause(direction).edges(),
        Shown::Xoff(direction) => one.pause(direction).xoff_frames,
        Shown::Xon(direction) => one.pause(direction).xon_frames,
        Shown::ClassXoff(_) | Shown::ClassXon(_) => of_class(shown, number, truth, traffic_classes),
        Shown::BufferAlarms => truth.buffer_alarms,
        Shown::StallWarnings => truth.stall_warnings,
        Shown::StallErrors => truth.stall_errors,
        Shown::PciePercent => truth.pcie_stalled_percent,
        Shown::PcieSeconds => truth.pcie_stalled_seconds,
        _ => of_port(shown, truth),
    }
}

/// Counters in unison: a frame for one priority of a class counts for all of them.
fn of_class(
    shown: Shown,
    number: u8,
    truth: &NicTruth,
    traffic_classes: [u8; Priority::COUNT],
) -> u64 {
    let class = traffic_classes.get(usize::from(number));
    let mates = truth.priorities.iter().zip(traffic_classes).filter(|(_, of)| Some(of) == class);
    mates
        .map(|(figures, _)| match shown {
            Shown::ClassXoff(direction) => figures.pause(direction).xoff_frames,
            Shown::ClassXon(direction) => figures.pause(direction).xon_frames,
            _ => 0,
        })
        .sum()
}

fn of_port(shown: Shown, truth: &NicTruth) -> u64 {
    match shown {
        Shown::PfcFrames(direction) => pfc_frames(truth, direction),
        Shown::LinkPauseFrames(direction) => link_pause(truth, direction).frames(),
        Shown::LinkXoff(direction) => link_pause(truth, direction).xoff_frames,
        Shown::LinkXon(direction) => link_pause(truth, direction).xon_frames,
        Shown::LinkPauseMicros(direction) => link_pause(truth, direction).paused_ns / 1_000,
        Shown::LinkPauseEnds(direction) => link_pause(truth, direction).ends,
        Shown::MacPause(direction) => {
            pfc_frames(truth, direction) + link_pause(truth, direction).frames()
        }
        Shown::PortBytes(direction) => per_priority(truth, |figures, _| figures.bytes(direction)),
        Shown::PortPackets(direction) => per_priority(truth, |figures, priority| {
            figures.bytes(direction) / packet_bytes(priority)
        }),
        Shown::PortDiscards => per_priority(truth, |figures, priority| {
            figures.discarded_bytes.div_ceil(packet_bytes(priority))
        }),
        Shown::StackBytes(direction) => stack_bytes(truth, direction),
        Shown::StackPackets(direction) => stack_packets(truth, direction),
        Shown::ChannelBytes(direction) => stack_bytes(truth, direction) / CHANNELS,
        Shown::ChannelPackets(direction) => stack_packets(truth, direction) / CHANNELS,
        _ => of_rdma(shown, truth),
    }
}

fn of_rdma(shown: Shown, truth: &NicTruth) -> u64 {
    let rdma = &truth.rdma;
    let bytes = |direction| match direction {
        Direction::Tx => rdma.tx_bytes,
        Direction::Rx => rdma.rx_bytes,
    };
    match shown {
        Shown::RdmaBytes(direction) => bytes(direction),
        Shown::RdmaPackets(direction) => bytes(direction) / ROCE_PACKET_BYTES,
        Shown::RdmaWrites(direction) => bytes(direction) / MESSAGE_BYTES,
        Shown::RdmaDiscards => rdma.discarded_bytes.div_ceil(ROCE_PACKET_BYTES),
        Shown::EcnMarked => rdma.ecn_marked,
        Shown::CnpSent => rdma.cnp_sent,
        Shown::CnpReceived => rdma.cnp_handled,
        Shown::OutOfSequence => rdma.out_of_sequence,
        Shown::SequenceNaks => rdma.sequence_naks,
        Shown::Timeouts => rdma.timeouts,
        _ => 0,
    }
}

fn pfc_frames(truth: &NicTruth, direction: Direction) -> u64 {
    per_priority(truth, |figures, _| figures.pause(direction).frames())
}

fn link_pause(truth: &NicTruth, direction: Direction) -> PauseTruth {
    match direction {
        Direction::Tx => truth.link_tx,
        Direction::Rx => truth.link_rx,
    }
}

fn per_priority(
    truth: &NicTruth,
    figure: impl Fn(&super::super::truth::PriorityTruth, Priority) -> u64,
) -> u64 {
    truth.priorities.iter().zip(Priority::ALL).map(|(one, priority)| figure(one, priority)).sum()
}

fn stack_bytes(truth: &NicTruth, direction: Direction) -> u64 {
    truth.priority(Priority::ALL[0]).bytes(direction)
}

fn stack_packets(truth: &NicTruth, direction: Direction) -> u64 {
    stack_bytes(truth, direction) / packet_bytes(Priority::ALL[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [u8; 8] = [0, 0, 1, 1, 0, 0, 0, 0];

    fn truth() -> NicTruth {
        let mut truth = NicTruth::default();
        truth.priorities[3].tx.xoff_frames = 5;
        truth.priorities[3].tx.xon_frames = 2;
        truth.priorities[3].tx.paused_ns = 1_999;
        truth.priorities[2].tx.xoff_frames = 1;
        truth
    }

    #[test]
    fn a_class_counts_in_unison() {
        let shown = |number| show(Shown::ClassXoff(Direction::Tx), number, &truth(), CLASSES);
        assert_eq!((shown(2), shown(3), shown(4)), (6, 6, 0));
    }

    #[test]
    fn durations_are_whole_microseconds() {
        assert_eq!(show(Shown::PauseMicros(Direction::Tx), 3, &truth(), CLASSES), 1);
    }

    #[test]
    fn pause_at_the_mac_holds_pfc_and_link_pause() {
        let mut truth = truth();
        truth.link_tx.xoff_frames = 10;
        assert_eq!(show(Shown::MacPause(Direction::Tx), 0, &truth, CLASSES), 18);
        assert_eq!(show(Shown::MacPause(Direction::Rx), 0, &truth, CLASSES), 0);
    }
}
