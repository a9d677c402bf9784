//! `ionic` (`ionic_stats.c`) and `ionic_rdma` (names given by firmware).
//!
//! Per priority there is traffic and pause time in microseconds, but no pause frames; PFC frames are
//! counted for the whole port. The device writes its statistics by itself; its period is not in the
//! driver, and 100 ms is assumed here.

use std::time::Duration;

use super::{Driver, Each, Group, RX, Shown, TX, quiet, row};

pub(in super::super) const IONIC: Driver = Driver {
    name: "ionic",
    rdma_name: Some("ionic_rdma"),
    ethtool: ETHTOOL,
    rdma: RDMA,
    refresh: Some(Duration::from_millis(100)),
    traffic_classes: [0; 8],
    stall_timeout: None,
};

const ETHTOOL: &[Group] = &[
    Group {
        each: Each::Port,
        rows: &[
            row("tx_packets", Shown::StackPackets(TX)),
            row("tx_bytes", Shown::StackBytes(TX)),
            row("rx_packets", Shown::StackPackets(RX)),
            row("rx_bytes", Shown::StackBytes(RX)),
            quiet("tx_tso"),
            quiet("tx_tso_bytes"),
            quiet("tx_csum_none"),
            row("tx_csum", Shown::StackPackets(TX)),
            quiet("rx_csum_none"),
            row("rx_csum_complete", Shown::StackPackets(RX)),
            quiet("rx_csum_error"),
            quiet("hw_tx_dropped"),
            quiet("hw_rx_dropped"),
            quiet("hw_rx_over_errors"),
            quiet("hw_rx_missed_errors"),
            quiet("hw_tx_aborted_errors"),
            row("frames_rx_ok", Shown::PortPackets(RX)),
            row("frames_rx_all", Shown::PortPackets(RX)),
            quiet("frames_rx_bad_fcs"),
            quiet("frames_rx_bad_all"),
            row("octets_rx_ok", Shown::PortBytes(RX)),
            row("octets_rx_all", Shown::PortBytes(RX)),
            row("frames_rx_unicast", Shown::PortPackets(RX)),
            quiet("frames_rx_multicast"),
            quiet("frames_rx_broadcast"),
            row("frames_rx_pause", Shown::LinkPauseFrames(RX)),
            quiet("frames_rx_bad_length"),
            quiet("frames_rx_undersized"),
            quiet("frames_rx_oversized"),
            quiet("frames_rx_fragments"),
            quiet("frames_rx_jabber"),
            row("frames_rx_pripause", Shown::PfcFrames(RX)),
            quiet("frames_rx_stomped_crc"),
            quiet("frames_rx_too_long"),
            row("frames_rx_dropped", Shown::PortDiscards),
            quiet("frames_rx_64b"),
            row("frames_rx_1024b_1518b", Shown::StackPackets(RX)),
            row("frames_rx_4096b_8191b", Shown::RdmaPackets(RX)),
            row("frames_tx_ok", Shown::PortPackets(TX)),
            row("frames_tx_all", Shown::PortPackets(TX)),
            quiet("frames_tx_bad"),
            row("octets_tx_ok", Shown::PortBytes(TX)),
            row("octets_tx_total", Shown::PortBytes(TX)),
            row("frames_tx_unicast", Shown::PortPackets(TX)),
            quiet("frames_tx_multicast"),
            quiet("frames_tx_broadcast"),
            row("frames_tx_pause", Shown::LinkPauseFrames(TX)),
            row("frames_tx_pripause", Shown::PfcFrames(TX)),
            quiet("frames_tx_vlan"),
            quiet("frames_tx_64b"),
            row("frames_tx_1024b_1518b", Shown::StackPackets(TX)),
            row("frames_tx_4096b_8191b", Shown::RdmaPackets(TX)),
        ],
    },
    Group { each: Each::Priority, rows: &[row("frames_tx_pri_{}", Shown::Packets(TX))] },
    Group { each: Each::Priority, rows: &[row("frames_rx_pri_{}", Shown::Packets(RX))] },
    Group {
        each: Each::Priority,
        rows: &[row("tx_pripause_{}_1us_count", Shown::PauseMicros(TX))],
    },
    Group {
        each: Each::Priority,
        rows: &[row("rx_pripause_{}_1us_count", Shown::PauseMicros(RX))],
    },
    Group {
        each: Each::Port,
        rows: &[
            row("rx_pause_1us_count", Shown::LinkPauseMicros(RX)),
            quiet("frames_tx_truncated"),
        ],
    },
    Group {
        each: Each::Channel,
        rows: &[
            row("tx_{}_pkts", Shown::ChannelPackets(TX)),
            row("tx_{}_bytes", Shown::ChannelBytes(TX)),
            quiet("tx_{}_dma_map_err"),
            quiet("tx_{}_linearize"),
        ],
    },
    Group {
        each: Each::Channel,
        rows: &[
            row("rx_{}_pkts", Shown::ChannelPackets(RX)),
            row("rx_{}_bytes", Shown::ChannelBytes(RX)),
            quiet("rx_{}_dma_map_err"),
            quiet("rx_{}_dropped"),
        ],
    },
];

const RDMA: &[Group] = &[Group {
    each: Each::Port,
    rows: &[
        row("tx_rdma_ucast_bytes", Shown::RdmaBytes(TX)),
        row("tx_rdma_ucast_pkts", Shown::RdmaPackets(TX)),
        quiet("tx_rdma_mcast_bytes"),
        quiet("tx_rdma_mcast_pkts"),
        row("tx_rdma_cnp_pkts", Shown::CnpSent),
        row("rx_rdma_ucast_bytes", Shown::RdmaBytes(RX)),
        row("rx_rdma_ucast_pkts", Shown::RdmaPackets(RX)),
        quiet("rx_rdma_mcast_bytes"),
        quiet("rx_rdma_mcast_pkts"),
        row("rx_rdma_cnp_pkts", Shown::CnpReceived),
        row("rx_rdma_ecn_pkts", Shown::EcnMarked),
        row("req_rx_pkt_seq_err", Shown::SequenceNaks),
        quiet("req_rx_rnr_retry_err"),
        quiet("req_rx_rmt_acc_err"),
        quiet("req_rx_rmt_req_err"),
        quiet("req_rx_oper_err"),
        quiet("req_rx_impl_nak_seq_err"),
        quiet("req_rx_cqe_err"),
        quiet("req_tx_retry_excd_err"),
        quiet("resp_rx_dup_request"),
        quiet("resp_rx_outof_buf"),
        row("resp_rx_outouf_seq", Shown::OutOfSequence),
        quiet("resp_rx_cqe_err"),
        row("resp_tx_pkt_seq_err", Shown::OutOfSequence),
        quiet("resp_tx_rnr_retry_err"),
        row("tx_rdma_ack_timeout", Shown::Timeouts),
    ],
}];
