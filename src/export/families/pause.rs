//! Pause: PFC by priority, traffic class and buffer; 802.3x; the MAC's own counts.
//!
//! PFC and link pause are never one family, and a traffic class is never a priority: no sum over a family
//! counts a frame twice.

use super::{BUFFER_WAY, CLASS_WAY, DEVICE_WAY, Family, Label, PRIORITY_WAY};
use crate::export::family::{Askable, Split};
use crate::model::Quantity;

pub(super) const ROWS: &[Family] = &[
    Family::counted(
        "roce_pfc_pause_frames",
        PRIORITY_WAY,
        Quantity::PfcPauseFrames,
        Split::Priority,
        "PFC frames that pause this priority: XOFF where the driver splits, else XOFF and XON together. \
         tx = sent by this port: this port is congested and its peer stops; \
         rx = received: this port's transmit is held (mlx5 rx_prio3_pause, ice tx_priority_3_xoff.nic, \
         bnxt rx_pfc_ena_frames_pri3)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_pfc_resume_frames",
        PRIORITY_WAY,
        Quantity::PfcResumeFrames,
        Split::Priority,
        "PFC frames that release this priority (XON), where the driver splits. \
         tx = sent by this port, which is no longer congested; \
         rx = received: this port may transmit again (ice rx_priority_3_xon.nic)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_pfc_pause_seconds",
        PRIORITY_WAY,
        Quantity::PfcPauseTime,
        Split::Priority,
        "Time this priority was paused. tx = by this port, which held its peer; \
         rx = by the peer: this port's transmit was held. The drivers do not say what mlx5's and mlx4's tx \
         duration covers: trust it only while tx pause frames grow (mlx5 rx_prio3_pause_duration, \
         bnxt pfc_pri3_rx_duration_us, mlx4 rx_pause_duration_prio_3)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_pfc_pause_transitions",
        PRIORITY_WAY,
        Quantity::PfcPauseTransitions,
        Split::Priority,
        "Changes of this priority's pause state, as the driver counts them. tx = of the pause this port asks for; \
         rx = of the pause its peer asks for (mlx5 rx_prio3_pause_transition, bnxt pfc_pri3_rx_transitions)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_pfc_traffic_class_pause_frames",
        CLASS_WAY,
        Quantity::PfcPauseFrames,
        Split::TrafficClass,
        "PFC frames that pause a traffic class, where the driver counts by class and not by priority. \
         tx = sent by this port: this port is congested; rx = received: this port's transmit is held",
    ),
    Family::counted(
        "roce_pfc_traffic_class_resume_frames",
        CLASS_WAY,
        Quantity::PfcResumeFrames,
        Split::TrafficClass,
        "PFC frames that release a traffic class (XON), where the driver counts by class. \
         tx = sent by this port; rx = received: this port may transmit again",
    ),
    Family::counted(
        "roce_pfc_buffer_pause_frames",
        BUFFER_WAY,
        Quantity::PfcPauseFrames,
        Split::Buffer,
        "PFC frames that pause, by packet buffer, where the driver counts so. \
         tx = sent by this port: this port is congested; rx = received: this port's transmit is held",
    ),
    Family::counted(
        "roce_pfc_buffer_resume_frames",
        BUFFER_WAY,
        Quantity::PfcResumeFrames,
        Split::Buffer,
        "PFC frames that release (XON), by packet buffer, where the driver counts so. \
         tx = sent by this port; rx = received: this port may transmit again",
    ),
    Family::counted(
        "roce_pfc_frames",
        DEVICE_WAY,
        Quantity::PfcFrames,
        Split::Whole,
        "PFC frames without a split by priority. tx = sent by this port: this port is congested; \
         rx = received: this port's transmit is held (bnxt rx_pfc_frames, qede tx_pfc_frames, \
         hns3 mac_rx_pfc_pkt_num)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_pfc_stall_events",
        &[Label::Device, Label::Severity],
        Quantity::PfcStallEvents,
        Split::Whole,
        "The NIC's own stall detector: its receive side did not drain and it sent pause for too long \
         (mlx5 tx_pause_storm_warning_events, tx_pause_storm_error_events)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_continuous_pause_events",
        &[Label::Device, Label::Direction, Label::Event],
        Quantity::ContinuousPauseEvents,
        Split::Whole,
        "The NIC saw pause without end, or its end. rx = received pause: this port's transmit was held \
         (bnxt continuous_pause_events, resume_pause_events, continuous_roce_pause_events)",
    ),
    Family::counted(
        "roce_link_pause_frames",
        DEVICE_WAY,
        Quantity::LinkPauseFrames,
        Split::Whole,
        "802.3x pause frames, which stop all priorities at once; XOFF where the driver splits. \
         tx = sent by this port: this port is congested; rx = received: this port's transmit is held \
         (mlx5 rx_global_pause, ice link_xoff_rx.nic)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_link_resume_frames",
        DEVICE_WAY,
        Quantity::LinkResumeFrames,
        Split::Whole,
        "802.3x frames that release the link (XON), where the driver splits. \
         tx = sent by this port; rx = received: this port may transmit again (ice link_xon_rx.nic)",
    ),
    Family::counted(
        "roce_link_pause_seconds",
        DEVICE_WAY,
        Quantity::LinkPauseTime,
        Split::Whole,
        "Time the link was paused by 802.3x. tx = by this port, which held its peer; \
         rx = by the peer: this port's transmit was held. The drivers do not say what mlx5's and mlx4's tx \
         duration covers (mlx5 rx_global_pause_duration, mlx4 rx_pause_duration)",
    )
    .asked_of(Askable::Ethtool),
    Family::counted(
        "roce_link_pause_transitions",
        DEVICE_WAY,
        Quantity::LinkPauseTransitions,
        Split::Whole,
        "Changes of the link's 802.3x pause state, as the driver counts them. \
         tx = of the pause this port asks for; rx = of the pause its peer asks for \
         (mlx5 rx_global_pause_transition)",
    ),
    Family::counted(
        "roce_mac_pause_frames",
        DEVICE_WAY,
        Quantity::MacPauseFrames,
        Split::Whole,
        "Frames with the PAUSE opcode at the MAC. Some hardware counts PFC frames here too, so never add it to \
         PFC. tx = sent by this port: this port is congested; rx = received: this port's transmit is held \
         (mlx5 rx_pause_ctrl_phy)",
    ),
    Family::counted(
        "roce_mac_control_frames",
        DEVICE_WAY,
        Quantity::MacControlFrames,
        Split::Whole,
        "All MAC control frames, pause among them. tx = sent by this port; rx = received by this port \
         (mlx5 rx_mac_control_phy)",
    ),
];
