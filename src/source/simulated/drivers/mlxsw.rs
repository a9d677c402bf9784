//! `mlxsw_spectrum` (`spectrum_ethtool.c`): a port of a switch that runs Linux.
//!
//! Live values per priority: frames, bytes, PFC frames of both kinds together, pause time in microseconds.

use super::{Driver, Each, Group, RX, Shown, TX, quiet, row};

pub(in super::super) const MLXSW: Driver = Driver {
    name: "mlxsw_spectrum",
    rdma_name: None,
    ethtool: ETHTOOL,
    rdma: &[],
    refresh: None,
    traffic_classes: [0, 1, 2, 3, 4, 5, 6, 7],
    stall_timeout: None,
};

const ETHTOOL: &[Group] = &[
    Group {
        each: Each::Port,
        rows: &[
            row("a_frames_transmitted_ok", Shown::PortPackets(TX)),
            row("a_frames_received_ok", Shown::PortPackets(RX)),
            quiet("a_frame_check_sequence_errors"),
            quiet("a_alignment_errors"),
            row("a_octets_transmitted_ok", Shown::PortBytes(TX)),
            row("a_octets_received_ok", Shown::PortBytes(RX)),
            quiet("a_multicast_frames_xmitted_ok"),
            quiet("a_broadcast_frames_xmitted_ok"),
            quiet("a_in_range_length_errors"),
            quiet("a_out_of_range_length_field"),
            quiet("a_frame_too_long_errors"),
            quiet("a_symbol_error_during_carrier"),
            quiet("a_unsupported_opcodes_received"),
            row("a_pause_mac_ctrl_frames_received", Shown::MacPause(RX)),
            row("a_pause_mac_ctrl_frames_xmitted", Shown::MacPause(TX)),
            quiet("if_in_discards"),
            quiet("if_out_discards"),
            quiet("if_out_errors"),
            quiet("discard_ingress_general"),
            quiet("discard_egress_general"),
            quiet("discard_egress_hoq"),
        ],
    },
    Group {
        each: Each::Priority,
        rows: &[
            row("rx_octets_prio_{}", Shown::Bytes(RX)),
            row("rx_frames_prio_{}", Shown::Packets(RX)),
            row("tx_octets_prio_{}", Shown::Bytes(TX)),
            row("tx_frames_prio_{}", Shown::Packets(TX)),
            row("rx_pause_prio_{}", Shown::PauseFrames(RX)),
            row("rx_pause_duration_prio_{}", Shown::PauseMicros(RX)),
            row("tx_pause_prio_{}", Shown::PauseFrames(TX)),
            row("tx_pause_duration_prio_{}", Shown::PauseMicros(TX)),
        ],
    },
];
