//! Traffic, drops and marks as the netdev's driver counts them, and what the PCIe side did to them.

use super::{BUFFER_WAY, CLASS_WAY, DEVICE, DEVICE_WAY, Family, Label, PRIORITY_WAY};
use crate::export::family::{Askable, Kind, Origin, Split};
use crate::model::Quantity;

pub(super) const ROWS: &[Family] = &[
    Family::counted(
        "roce_priority_bytes",
        PRIORITY_WAY,
        Quantity::Bytes,
        Split::Priority,
        "Octets of this priority. tx = sent, rx = received by this port (mlx5 rx_prio3_bytes, bnxt rx_bytes_pri3)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_priority_packets",
        PRIORITY_WAY,
        Quantity::Packets,
        Split::Priority,
        "Packets of this priority. tx = sent, rx = received by this port (mlx5 rx_prio3_packets)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_priority_discards",
        &[Label::Device, Label::Priority, Label::Direction, Label::Reason],
        Quantity::Discards,
        Split::Priority,
        "Packets of this priority that were dropped; on a lossless priority there should be none. \
         tx = on the way out, rx = on the way in (mlx5 rx_prio3_discards)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_traffic_class_bytes",
        CLASS_WAY,
        Quantity::Bytes,
        Split::TrafficClass,
        "Octets of a traffic class. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_traffic_class_packets",
        CLASS_WAY,
        Quantity::Packets,
        Split::TrafficClass,
        "Packets of a traffic class. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_traffic_class_discards",
        &[Label::Device, Label::TrafficClass, Label::Direction, Label::Reason],
        Quantity::Discards,
        Split::TrafficClass,
        "Packets of a traffic class that were dropped. tx = on the way out, rx = on the way in \
         (mlx5 rx_prio3_buf_discard, bnxt rx_discard_packets_cos3)",
    ),
    Family::counted(
        "roce_buffer_bytes",
        BUFFER_WAY,
        Quantity::Bytes,
        Split::Buffer,
        "Octets that went through a packet buffer. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_buffer_packets",
        BUFFER_WAY,
        Quantity::Packets,
        Split::Buffer,
        "Packets that went through a packet buffer. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_buffer_discards",
        &[Label::Device, Label::Buffer, Label::Direction, Label::Reason],
        Quantity::Discards,
        Split::Buffer,
        "Packets dropped at a packet buffer. tx = on the way out, rx = on the way in \
         (cxgb4 rx_bg0_frames_dropped)",
    ),
    Family::counted(
        "roce_port_bytes",
        DEVICE_WAY,
        Quantity::Bytes,
        Split::Whole,
        "Octets of the port. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_port_packets",
        DEVICE_WAY,
        Quantity::Packets,
        Split::Whole,
        "Packets of the port. tx = sent, rx = received by this port",
    ),
    Family::counted(
        "roce_port_discards",
        &[Label::Device, Label::Direction, Label::Reason],
        Quantity::Discards,
        Split::Whole,
        "Packets of the port that were dropped, without a class. tx = on the way out, rx = on the way in \
         (mlx5 rx_discards_phy, rx_out_of_buffer)",
    ),
    Family::counted(
        "roce_traffic_class_ecn_marked_packets",
        CLASS_WAY,
        Quantity::EcnMarkedByDevice,
        Split::TrafficClass,
        "Packets of a traffic class that this device itself marked with CE (mlx5 rx_prio3_marked)",
    ),
    Family::counted(
        "roce_buffer_ecn_marked_packets",
        BUFFER_WAY,
        Quantity::EcnMarkedByDevice,
        Split::Buffer,
        "Packets that this device itself marked with CE, by packet buffer. No driver in the catalogue \
         counts them; one that is added may",
    ),
    Family::counted(
        "roce_port_ecn_marked_packets",
        DEVICE_WAY,
        Quantity::EcnMarkedByDevice,
        Split::Whole,
        "Packets that this device itself marked with CE (mlxsw ecn_marked)",
    ),
    Family::counted(
        "roce_netdev_ecn_ce_packets",
        DEVICE,
        Quantity::EcnCeReceived,
        Split::Whole,
        "CE marked packets in the netdev's own receive path; RDMA traffic is not in it (mlx5 rx_ecn_mark)",
    ),
    Family::counted(
        "roce_buffer_threshold_events",
        DEVICE,
        Quantity::BufferThresholdEvents,
        Split::Whole,
        "The receive buffer passed its threshold (mlx5 rx_buffer_passed_thres_phy)",
    ),
    Family::counted(
        "roce_vport_rdma_bytes",
        DEVICE_WAY,
        Quantity::VportRdmaBytes,
        Split::Whole,
        "RDMA octets of this function, counted by the netdev's driver. tx = sent, rx = received by this function \
         (mlx5 rx_vport_rdma_unicast_bytes)",
    ),
    Family::counted(
        "roce_vport_rdma_packets",
        DEVICE_WAY,
        Quantity::VportRdmaPackets,
        Split::Whole,
        "RDMA packets of this function, counted by the netdev's driver. tx = sent, rx = received by this function \
         (mlx5 rx_vport_rdma_unicast_packets)",
    ),
    Family::counted(
        "roce_pcie_stalled_seconds",
        &[Label::Device, Label::Operation],
        Quantity::PcieStalledTime,
        Split::Whole,
        "Seconds in which PCIe held the NIC back for more than the device's own threshold: the usual cause of a \
         NIC that sends pause (mlx5 outbound_pci_stalled_rd_events, outbound_pci_stalled_wr_events)",
    )
    .asked_of(Askable::Ethtool),
    Family::new(
        Kind::Gauge,
        "roce_pcie_stalled_ratio",
        &[Label::Device, Label::Operation],
        Origin::Counter(Quantity::PcieStalledRatio, Split::Whole),
        "Share of the last second in which PCIe held the NIC back, as the device says \
         (mlx5 outbound_pci_stalled_rd, outbound_pci_stalled_wr)",
    ),
    Family::counted(
        "roce_pcie_buffer_overflow",
        DEVICE,
        Quantity::PcieBufferOverflow,
        Split::Whole,
        "Packets dropped since the buffer towards PCIe was full (mlx5 outbound_pci_buffer_overflow)",
    ),
    Family::counted(
        "roce_link_down_events",
        DEVICE,
        Quantity::LinkDownEvents,
        Split::Whole,
        "The link went down (mlx5 link_down_events_phy)",
    ),
];
